#include "host/gateway/gateway_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace pd {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

json::object error_in(const std::string& text) {
  boost::system::error_code fault;
  const json::value value = json::parse(text, fault);
  EXPECT_FALSE(fault) << text;
  if (fault) return {};
  EXPECT_EQ(value.as_object().size(), 1u);
  return value.at("error").as_object();
}

// The data of the one event in `text`, as a strict SSE reader takes it after a broken-off line.
std::string data_of_event(const std::string& text) {
  std::string stream = "data: {\"half\":\"li" + text, data, last;
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t end = stream.find('\n', at);
    EXPECT_NE(end, std::string::npos) << "the event is not ended";
    if (end == std::string::npos) break;
    const std::string line = stream.substr(at, end - at);
    if (line.rfind("data:", 0) == 0) data += line.substr(line[5] == ' ' ? 6 : 5);
    if (line.empty()) {
      if (!data.empty()) last = data;
      data.clear();
    }
    at = end + 1;
  }
  EXPECT_EQ(data, "") << "the event is not ended by an empty line";
  return last;
}

constexpr char kNastyBytes[] =
    "q\" b\\ n\n r\r t\t z\0 e\x1b d\x7f u\xFF\xC3 \xE2\x80\xA8 \xC3\xBC";
const std::string kNasty(kNastyBytes, sizeof kNastyBytes - 1);

std::vector<GatewayError> every_error() {
  return {from_request_error(invalid_json(5, "why")),
          from_request_error(body_is_no_object(0)),
          from_request_error(too_many_members(512)),
          from_request_error(duplicate_key("stream", 7)),
          from_request_error(reserved_key("kv_transfer_params", 7)),
          from_request_error(missing_key("model", "the name of a model")),
          from_request_error(wrong_type("n", 3, "a string", "a whole number")),
          from_request_error(out_of_range("n", 3, "0", "1 to 128")),
          from_select_error({SelectErrorKind::kUnknownModel, "model x"}),
          from_select_error({SelectErrorKind::kMixedEngines, "engines"}),
          from_select_error({SelectErrorKind::kNoPrefill, "no prefill"}),
          from_select_error({SelectErrorKind::kNoDecode, "no decode"}),
          unknown_path(kNasty),
          unknown_model_id(kNasty, kNasty),
          wrong_method("DELETE", "GET, HEAD"),
          body_too_large(64),
          unsupported_encoding(kNasty),
          too_many_requests(5),
          shutting_down(),
          missing_body(),
          deadline_passed("prefill", "p1", 30'000),
          deadline_passed("total", "", 1),
          slow_request("head", 10'000),
          leg_failed("prefill", "p1", kNasty, 3),
          no_hand_off("p1", kNasty),
          no_sockets(),
          unknown_connector("p1", "vllm", kNasty)};
}

TEST(GatewayErrorTest, EveryErrorIsOneLineOfTheOpenAiForm) {
  for (const auto& error : every_error()) {
    const std::string text = to_json(error);
    EXPECT_EQ(text.find_first_of("\r\n"), std::string::npos) << text;
    const json::object fields = error_in(text);
    for (const char* key : {"message", "type", "code", "param"}) {
      EXPECT_TRUE(fields.contains(key)) << key << " in " << text;
    }
    EXPECT_EQ(fields.size(), 4u) << text;
    EXPECT_TRUE(fields.at("message").is_string());
    EXPECT_FALSE(fields.at("message").as_string().empty());
    EXPECT_EQ(std::string(fields.at("code").as_string()), error.code);
    EXPECT_FALSE(error.code.empty());
    EXPECT_GE(error.status, 400);
    EXPECT_LT(error.status, 600);
    EXPECT_NE(error.status, 500) << "never a 500 for something foreseeable: " << text;
  }
}

TEST(GatewayErrorTest, TypesFollowTheStatus) {
  const std::map<int, std::string> types = {{400, "invalid_request_error"},
                                            {404, "invalid_request_error"},
                                            {401, "authentication_error"},
                                            {429, "rate_limit_error"},
                                            {503, "overloaded_error"},
                                            {502, "api_error"},
                                            {504, "api_error"}};
  for (const auto& error : every_error()) {
    const auto type = types.find(error.status);
    if (type == types.end()) continue;
    EXPECT_EQ(std::string(error_in(to_json(error)).at("type").as_string()), type->second)
        << error.message;
  }
}

TEST(GatewayErrorTest, StatusesAreThoseOfTheContract) {
  EXPECT_EQ(from_request_error(invalid_json(5, "why")).status, 400);
  EXPECT_EQ(from_request_error(duplicate_key("stream", 7)).param, "stream");
  EXPECT_EQ(from_select_error({SelectErrorKind::kUnknownModel, "x"}).status, 404);
  EXPECT_EQ(from_select_error({SelectErrorKind::kUnknownModel, "x"}).code, "model_not_found");
  for (const auto kind : {SelectErrorKind::kNoPrefill, SelectErrorKind::kNoDecode}) {
    const auto error = from_select_error({kind, "x"});
    EXPECT_EQ(error.status, 503);
    EXPECT_GT(error.retry_after_s, 0);
  }
  EXPECT_EQ(unknown_path("/x").status, 404);
  EXPECT_EQ(unknown_model_id("x", "m").status, 404);
  EXPECT_EQ(unknown_model_id("x", "m").code, "model_not_found");
  EXPECT_NE(unknown_path("/x").code, "model_not_found");
  EXPECT_EQ(wrong_method("DELETE", "GET, HEAD").status, 405);
  EXPECT_EQ(wrong_method("DELETE", "GET, HEAD").allow, "GET, HEAD");
  EXPECT_EQ(body_too_large(1).status, 413);
  EXPECT_EQ(unsupported_encoding("gzip").status, 415);
  EXPECT_THAT(unsupported_encoding("gzip").message, HasSubstr("gzip"));
  EXPECT_EQ(too_many_requests(5).status, 429);
  EXPECT_GT(too_many_requests(5).retry_after_s, 0);
  EXPECT_EQ(shutting_down().status, 503);
  EXPECT_EQ(deadline_passed("prefill", "p1", 5).status, 504);
  EXPECT_THAT(deadline_passed("prefill", "p1", 5).message, HasSubstr("prefill"));
  EXPECT_EQ(slow_request("head", 5).status, 408);
  EXPECT_EQ(leg_failed("decode", "d1", "reset", 2).status, 502);
  EXPECT_THAT(leg_failed("decode", "d1", "reset", 2).message, HasSubstr("decode"));
  EXPECT_THAT(leg_failed("decode", "d1", "reset", 2).message, HasSubstr("d1"));
  EXPECT_EQ(no_hand_off("p1", "x").status, 502);
}

TEST(GatewayErrorTest, TheSseEventStandsOnAFreshLine) {
  for (const auto& error : every_error()) {
    const std::string text = to_sse_event(error);
    EXPECT_EQ(text.front(), '\n');
    EXPECT_EQ(std::string(error_in(data_of_event(text)).at("code").as_string()), error.code);
  }
}

TEST(GatewayErrorTest, QuotedTextReadsBack) {
  EXPECT_EQ(json::parse(json_quoted("a\"b\\c\n\t\x01 ü 😀")), "a\"b\\c\n\t\x01 ü 😀");
  EXPECT_EQ(json_quoted(""), "\"\"");
  EXPECT_EQ(json::parse(json_quoted(std::string_view("\0", 1))), json::string_view("\0", 1));
}

TEST(GatewayErrorTest, WhatIsNotUtf8IsReplaced) {
  const std::string replaced = "\xEF\xBF\xBD";
  for (const std::string bad : {"\xFF", "\x80", "\xC3", "\xE2\x82", "\xF0\x9F\x98", "\xC0\xAF",
                                "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80"}) {
    boost::system::error_code fault;
    const json::value value = json::parse(json_quoted("a" + bad + "z"), fault);
    ASSERT_FALSE(fault) << json_quoted("a" + bad + "z");
    const std::string text(value.as_string());
    EXPECT_THAT(text, HasSubstr(replaced));
    EXPECT_EQ(text.front(), 'a');
    EXPECT_EQ(text.back(), 'z');
  }
  EXPECT_EQ(json::parse(json_quoted("\xEF\xBF\xBF \xF4\x8F\xBF\xBF")),
            "\xEF\xBF\xBF \xF4\x8F\xBF\xBF");
}

}  // namespace
}  // namespace pd
