// A load client that takes a wrong answer for a right one makes every figure worthless.
#include "tests/bench/load_client/answer_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace pd::bench {
namespace {

using State = AnswerReader::State;

ChatRequest request_for(bool stream) {
  ChatRequest request;
  request.answer = R"( one \"two\" three)";
  request.tokens = 3;
  request.stream = stream;
  return request;
}

std::string whole_answer(const std::string& text) {
  const std::string body = fmt::format(R"({{"choices":[{{"message":{{"content":"{}"}}}}]}})", text);
  return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
}

std::string event(const std::string& text) {
  return fmt::format("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", text);
}

std::string chunk(const std::string& data) {
  return fmt::format("{:x}\r\n{}\r\n", data.size(), data);
}

std::string streamed_answer(const std::string& events) {
  return "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunk(events) + "0\r\n\r\n";
}

const std::string kGoodEvents =
    event("") + event(" one") + event(R"( \"two\")") + event(" three") + "data: [DONE]\n\n";

std::string fault_of(const std::string& bytes, bool stream) {
  AnswerReader reader;
  if (reader.feed(bytes) == State::kBroken) return reader.fault();
  if (reader.state() != State::kDone) return "not complete";
  return answer_fault(request_for(stream), reader);
}

TEST(AnswerReader, TakesRightAnswersByteByByteAndOneAfterTheOther) {
  AnswerReader reader;
  for (const bool stream : {false, true, false}) {
    const std::string bytes =
        stream ? streamed_answer(kGoodEvents) : whole_answer(request_for(false).answer);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      ASSERT_NE(reader.state(), State::kDone) << i;
      reader.feed(bytes.substr(i, 1));
    }
    ASSERT_EQ(reader.state(), State::kDone) << reader.fault();
    EXPECT_EQ(answer_fault(request_for(stream), reader), "");
    reader.reset();
  }
}

TEST(AnswerReader, FindsWrongFraming) {
  const std::string good = whole_answer(request_for(false).answer);
  EXPECT_EQ(fault_of(good, false), "");
  EXPECT_EQ(fault_of(good + "x", false), "bytes behind the answer");
  EXPECT_EQ(fault_of(good.substr(0, good.size() - 1), false), "not complete");
  EXPECT_EQ(fault_of("HTTP/1.1 200 OK\r\n\r\n", false), "not exactly one kind of framing");
  EXPECT_EQ(fault_of("HTTP/1.0 200 OK\r\n\r\n", false), "no HTTP/1.1 status line");
  const std::string head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
  EXPECT_EQ(fault_of(head + "xy\r\n", true), "a malformed chunk size");
  EXPECT_EQ(fault_of(head + "2\r\nabcd", true), "a chunk without end");
  EXPECT_EQ(fault_of(head + "0\r\nA: b\r\n\r\n", true), "trailers");
}

TEST(AnswerFault, FindsAnotherText) {
  EXPECT_EQ(fault_of(whole_answer(R"( one \"two\" four)"), false), "a wrong text");
  EXPECT_EQ(fault_of(whole_answer(" one"), false), "a wrong text");
  EXPECT_EQ(fault_of("HTTP/1.1 503 No\r\nContent-Length: 4\r\n\r\nbusy", false),
            "status 503: busy");
  EXPECT_EQ(fault_of(streamed_answer(kGoodEvents), false), "framing of the other kind of answer");
}

TEST(AnswerFault, FindsStreamsThatLackSomething) {
  EXPECT_EQ(fault_of(streamed_answer(kGoodEvents), true), "");
  EXPECT_EQ(fault_of(streamed_answer(event("") + event(" one")), true),
            "the stream does not end with [DONE]");
  EXPECT_EQ(fault_of(streamed_answer(event(" two") + "data: [DONE]\n\n"), true), "a wrong token");
  EXPECT_EQ(fault_of(streamed_answer(event(" one") + "data: [DONE]\n\n"), true),
            "the text of the stream is too short");
  EXPECT_EQ(fault_of(streamed_answer(event("") + kGoodEvents), true), "6 events instead of 5");
}

}  // namespace
}  // namespace pd::bench
