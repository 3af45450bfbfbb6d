#include "host/upstream/leg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <ostream>

#include "tests/unit/upstream/scripted_pod.h"

namespace pd {
namespace {

using namespace std::chrono_literals;
using test::ScriptedPod;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Connection = ScriptedPod::Connection;

const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

// Collects what happens on a leg, and resumes it after each payload unless told to wait.
class Recorder final : public LegEvents {
 public:
  explicit Recorder(boost::asio::io_context& io) : io_(io) {}

  void on_leg_head(const http::ResponseHead& head) override {
    EXPECT_FALSE(inside_start);
    EXPECT_EQ(status, 0) << "a second head";
    status = head.status;
    for (const auto& field : head.fields) {
      fields += std::string(field.name) + "=" + std::string(field.value) + ";";
    }
  }
  void on_leg_payload(std::span<char> payload, bool end) override {
    EXPECT_FALSE(inside_start);
    EXPECT_FALSE(waiting_) << "a payload while the last one was not taken";
    EXPECT_FALSE(done) << "a payload behind the last one";
    EXPECT_NE(status, 0) << "a payload in front of the head";
    body.append(payload.data(), payload.size());
    done = end;
    ++payloads;
    waiting_ = true;
    if (!hold) resume();
  }
  void on_leg_fault(LegFault kind, const std::string& text) override {
    EXPECT_FALSE(inside_start);
    EXPECT_FALSE(fault.has_value()) << "a second fault";
    EXPECT_FALSE(done) << "a fault behind the end";
    EXPECT_FALSE(text.empty());
    fault = kind;
    fault_text = text;
  }

  void resume() {
    boost::asio::post(io_, [this, held = leg] {
      waiting_ = false;
      held->resume();
    });
  }
  bool over() const { return done || fault.has_value(); }

  std::shared_ptr<Leg> leg;
  bool inside_start = false;
  bool hold = false;
  int status = 0;
  int payloads = 0;
  std::string fields, body, fault_text;
  bool done = false;
  std::optional<LegFault> fault;

 private:
  boost::asio::io_context& io_;
  bool waiting_ = false;
};

class LegTest : public ::testing::Test {
 protected:
  // Starts a leg to that pod.
  std::unique_ptr<Recorder> start(std::uint16_t port, BodyPieces body = {"he", "llo"},
                                  const std::string& host = "127.0.0.1") {
    auto events = std::make_unique<Recorder>(io_);
    events->leg = std::make_shared<Leg>(io_, pool_, *events);
    LegRequest request;
    request.head = "POST /v1/completions HTTP/1.1\r\nHost: pod\r\nContent-Length: " +
                   std::to_string(size_of(body)) + "\r\n\r\n";
    request.body = std::move(body);
    events->inside_start = true;
    events->leg->start(host, port, host + ":" + std::to_string(port), std::move(request));
    events->inside_start = false;
    return events;
  }

  template <class Condition>
  bool run_until(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "waited in vain";
        return false;
      }
      io_.restart();
      io_.run_one_for(5ms);
    }
    return true;
  }
  void run_to_end(const Recorder& events) {
    run_until([&] { return events.over(); });
    settle();
  }
  // Lets what is ready happen.
  void settle() {
    io_.restart();
    io_.poll();
  }

  // One request to a pod that plays `answer` and closes.
  std::unique_ptr<Recorder> exchange(const std::string& answer, bool byte_by_byte = false) {
    ScriptedPod pod({[&](Connection& connection) {
      connection.read_request();
      if (byte_by_byte) {
        connection.send_byte_by_byte(answer);
      } else {
        connection.send(answer);
      }
    }});
    auto events = start(pod.port());
    run_to_end(*events);
    return events;
  }

  boost::asio::io_context io_;
  UpstreamPool pool_{4s};
};

TEST_F(LegTest, SendsTheRequestAndGivesTheAnswer) {
  std::string request;
  std::promise<void> read;
  ScriptedPod pod({[&](Connection& connection) {
    request = connection.read_request();
    read.set_value();
    connection.send("HTTP/1.1 207 Odd\r\nX-A: b\r\nContent-Length: 3\r\n\r\nabc");
  }});
  const auto events = start(pod.port());
  run_to_end(*events);
  read.get_future().wait();
  EXPECT_EQ(request,
            "POST /v1/completions HTTP/1.1\r\nHost: pod\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(events->status, 207);
  EXPECT_THAT(events->fields, HasSubstr("X-A=b;"));
  EXPECT_EQ(events->body, "abc");
  EXPECT_TRUE(events->done);
  EXPECT_TRUE(events->leg->connected());
  EXPECT_TRUE(events->leg->sent());
  EXPECT_TRUE(events->leg->ended());
}

// ---- Shapes of answers ------------------------------------------------------------------------

struct Answer {
  const char* name;
  std::string bytes;
  int status;
  std::string body;
};

void PrintTo(const Answer& answer, std::ostream* out) {
  *out << answer.name;
}

class LegAnswerTest : public LegTest, public ::testing::WithParamInterface<Answer> {};

TEST_P(LegAnswerTest, InOnePiece) {
  const auto events = exchange(GetParam().bytes);
  EXPECT_EQ(events->status, GetParam().status);
  EXPECT_EQ(events->body, GetParam().body);
  EXPECT_TRUE(events->done) << events->fault_text;
}

TEST_P(LegAnswerTest, ByteByByte) {
  const auto events = exchange(GetParam().bytes, true);
  EXPECT_EQ(events->status, GetParam().status);
  EXPECT_EQ(events->body, GetParam().body);
  EXPECT_TRUE(events->done) << events->fault_text;
}

INSTANTIATE_TEST_SUITE_P(
    All, LegAnswerTest,
    ::testing::Values(
        Answer{"length", kOk, 200, "hello"},
        Answer{"empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, ""},
        Answer{"no_content", "HTTP/1.1 204 No Content\r\n\r\n", 204, ""},
        Answer{"chunked",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
               "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: t\r\n\r\n",
               200, "abcde"},
        Answer{"until_close", "HTTP/1.1 200 OK\r\n\r\nto the end", 200, "to the end"},
        Answer{"http_1_0", "HTTP/1.0 200 OK\r\n\r\nold", 200, "old"},
        Answer{"interim",
               "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + kOk,
               200, "hello"},
        Answer{"error_status", "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy", 503, "busy"}),
    [](const auto& test_case) { return test_case.param.name; });

TEST_F(LegTest, LargeAnswersComeWhole) {
  std::string body;
  for (int i = 0; body.size() < 5'000'000; ++i) body += std::to_string(i) + ",";
  const auto events = exchange("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) +
                               "\r\n\r\n" + body);
  EXPECT_TRUE(events->done);
  EXPECT_TRUE(events->body == body);
}

TEST_F(LegTest, LargeRequestsInManyPiecesGoOutWhole) {
  std::vector<std::string> texts;
  for (int i = 0; i < 3000; ++i) {
    texts.push_back(std::to_string(i) + std::string(static_cast<std::size_t>(i) % 7, '.'));
  }
  texts.push_back(std::string(8'000'000, 'x'));
  std::string whole;
  BodyPieces pieces;
  for (const auto& piece : texts) {
    pieces.push_back(piece);
    whole += piece;
  }
  std::promise<bool> same;
  ScriptedPod pod({[&](Connection& connection) {
    const std::string request = connection.read_request();
    same.set_value(request.substr(request.find("\r\n\r\n") + 4) == whole);
    connection.send(kOk);
  }});
  const auto events = start(pod.port(), pieces);
  run_to_end(*events);
  EXPECT_TRUE(same.get_future().get());
  EXPECT_EQ(events->body, "hello");
}

TEST_F(LegTest, ReadsOnOnlyAfterResume) {
  std::promise<void> all_sent;
  ScriptedPod pod({[&](Connection& connection) {
    connection.read_request();
    connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
    connection.send("1\r\nb\r\n0\r\n\r\n");
    all_sent.set_value();
    connection.read_to_end();
  }});
  auto events = start(pod.port());
  events->hold = true;
  run_until([&] { return events->payloads == 1; });
  all_sent.get_future().wait();
  for (int i = 0; i < 20; ++i) settle();
  EXPECT_EQ(events->payloads, 1);
  events->hold = false;
  events->resume();
  run_to_end(*events);
  EXPECT_EQ(events->body, "ab");
  pool_.sweep(UpstreamPool::Clock::now() + 1h);
}

// ---- Reuse ------------------------------------------------------------------------------------

TEST_F(LegTest, ConnectionsAreUsedAgain) {
  ScriptedPod pod({[&](Connection& connection) {
    for (int i = 0; i < 3; ++i) {
      connection.read_request();
      connection.send(kOk);
    }
  }});
  for (int i = 0; i < 3; ++i) {
    const auto events = start(pod.port());
    run_to_end(*events);
    EXPECT_EQ(events->body, "hello");
    EXPECT_EQ(pool_.idle(), 1u);
  }
  EXPECT_EQ(pod.connections(), 1);
}

TEST_F(LegTest, AChunkedAnswersConnectionIsUsedAgain) {
  ScriptedPod pod({[&](Connection& connection) {
    for (int i = 0; i < 2; ++i) {
      connection.read_request();
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n");
    }
  }});
  for (int i = 0; i < 2; ++i) {
    const auto events = start(pod.port());
    run_to_end(*events);
    EXPECT_EQ(events->body, "a");
  }
  EXPECT_EQ(pod.connections(), 1);
}

TEST_F(LegTest, ConnectionsThatThePodEndsAreNotKept) {
  for (const std::string answer :
       {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na",
        "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", "HTTP/1.1 200 OK\r\n\r\na"}) {
    const auto events = exchange(answer);
    EXPECT_TRUE(events->done);
    EXPECT_EQ(pool_.idle(), 0u) << answer;
  }
}

TEST_F(LegTest, BytesBehindTheAnswerAreNeverTakenForTheNextOne) {
  const std::string extra = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";
  const auto script = [&](Connection& connection) {
    connection.read_request();
    connection.send(kOk + extra);
    connection.read_to_end();
  };
  ScriptedPod pod({script, script});
  for (int i = 0; i < 2; ++i) {
    const auto events = start(pod.port());
    run_to_end(*events);
    EXPECT_EQ(events->body, "hello");
  }
  EXPECT_EQ(pod.connections(), 2);
  pool_.sweep(UpstreamPool::Clock::now() + 1h);
  EXPECT_EQ(pool_.idle(), 0u);
}

TEST_F(LegTest, AStaleConnectionIsReplacedOnce) {
  const auto answer = [](Connection& connection) {
    connection.read_request();
    connection.send(kOk);
  };
  ScriptedPod pod({[&](Connection& connection) {
                     answer(connection);
                     // The next request meets a connection that closes under it.
                     connection.read_request();
                   },
                   answer});
  const auto first = start(pod.port());
  run_to_end(*first);
  const auto second = start(pod.port());
  run_to_end(*second);
  EXPECT_FALSE(second->fault.has_value()) << second->fault_text;
  EXPECT_EQ(second->body, "hello");
  EXPECT_EQ(pod.connections(), 2);
}

TEST_F(LegTest, AResetStaleConnectionIsReplacedToo) {
  const auto answer = [](Connection& connection) {
    connection.read_request();
    connection.send(kOk);
  };
  ScriptedPod pod({[&](Connection& connection) {
                     answer(connection);
                     connection.read_request();
                     connection.reset();
                   },
                   answer});
  run_to_end(*start(pod.port()));
  const auto second = start(pod.port());
  run_to_end(*second);
  EXPECT_EQ(second->body, "hello");
}

TEST_F(LegTest, TheReplacementIsNotReplaced) {
  const auto close_under_request = [](Connection& connection) { connection.read_request(); };
  ScriptedPod pod({[&](Connection& connection) {
                     connection.read_request();
                     connection.send(kOk);
                     connection.read_request();
                   },
                   close_under_request, close_under_request, close_under_request});
  run_to_end(*start(pod.port()));
  const auto second = start(pod.port());
  run_to_end(*second);
  EXPECT_EQ(second->fault, LegFault::kReset);
  EXPECT_EQ(pod.connections(), 2);
}

TEST_F(LegTest, AFreshConnectionIsNotReplaced) {
  ScriptedPod pod({[](Connection& connection) { connection.read_request(); },
                   [](Connection& connection) {
                     connection.read_request();
                     connection.send(kOk);
                   }});
  const auto events = start(pod.port());
  run_to_end(*events);
  EXPECT_EQ(events->fault, LegFault::kReset);
  EXPECT_EQ(events->status, 0);
  EXPECT_EQ(pod.connections(), 1);
}

TEST_F(LegTest, OnceAByteOfTheAnswerCameNothingIsRepeated) {
  ScriptedPod pod({[](Connection& connection) {
                     connection.read_request();
                     connection.send(kOk);
                     connection.read_request();
                     connection.send("HTTP/1.1 2");
                   },
                   [](Connection& connection) {
                     connection.read_request();
                     connection.send(kOk);
                   }});
  run_to_end(*start(pod.port()));
  const auto second = start(pod.port());
  run_to_end(*second);
  EXPECT_TRUE(second->fault.has_value());
  EXPECT_EQ(pod.connections(), 1);
}

TEST_F(LegTest, AnIdleConnectionThatThePodClosedIsThrownAway) {
  std::promise<void> closed;
  const auto answer = [](Connection& connection) {
    connection.read_request();
    connection.send(kOk);
  };
  ScriptedPod pod({answer, answer});
  run_to_end(*start(pod.port()));
  ASSERT_EQ(pool_.idle(), 1u);
  const auto second = start(pod.port());
  run_to_end(*second);
  EXPECT_EQ(second->body, "hello");
}

// ---- Faults -----------------------------------------------------------------------------------

TEST_F(LegTest, ARefusedConnectionIsAFault) {
  std::uint16_t port = 0;
  {
    boost::asio::io_context io;
    boost::asio::ip::tcp::acceptor acceptor(io, {boost::asio::ip::make_address("127.0.0.1"), 0});
    port = acceptor.local_endpoint().port();
  }
  const auto events = start(port);
  run_to_end(*events);
  EXPECT_EQ(events->fault, LegFault::kConnect);
  EXPECT_FALSE(events->leg->connected());
}

TEST_F(LegTest, AHostWithoutAnAddressIsAFault) {
  const auto events = start(80, {"x"}, std::string(300, 'a'));
  run_to_end(*events);
  EXPECT_EQ(events->fault, LegFault::kResolve);
}

TEST_F(LegTest, BrokenOffAnswersAreFaults) {
  EXPECT_EQ(exchange("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello")->fault,
            LegFault::kTruncated);
  EXPECT_EQ(exchange("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")->fault,
            LegFault::kTruncated);
  EXPECT_EQ(exchange("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe")->fault,
            LegFault::kTruncated);
  const auto in_head = exchange("HTTP/1.1 200 OK\r\nContent-");
  ASSERT_TRUE(in_head->fault.has_value());
  EXPECT_EQ(in_head->status, 0);
}

TEST_F(LegTest, WhatCameInFrontOfTheBreakIsGiven) {
  const auto events = exchange("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
  EXPECT_EQ(events->status, 200);
  EXPECT_EQ(events->body, "hello");
  EXPECT_FALSE(events->done);
}

TEST_F(LegTest, AResetInTheBodyIsATruncation) {
  std::promise<void> seen;
  ScriptedPod pod({[&](Connection& connection) {
    connection.read_request();
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
    seen.get_future().wait();
    connection.reset();
  }});
  const auto events = start(pod.port());
  run_until([&] { return events->body == "hello"; });
  seen.set_value();
  run_to_end(*events);
  EXPECT_EQ(events->fault, LegFault::kTruncated);
}

TEST_F(LegTest, WhatIsNotHttpIsMalformed) {
  for (const std::string answer :
       {"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 99 X\r\n\r\n", "HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"}) {
    const auto events = exchange(answer);
    EXPECT_EQ(events->fault, LegFault::kMalformed) << answer;
    EXPECT_EQ(pool_.idle(), 0u);
  }
}

TEST_F(LegTest, ABadChunkIsMalformed) {
  const auto events = exchange("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabXX");
  EXPECT_EQ(events->fault, LegFault::kMalformed);
  EXPECT_EQ(events->status, 200);
}

// ---- Early answers and cancelling -------------------------------------------------------------

TEST_F(LegTest, AnAnswerBeforeTheRequestHasEndedIsTaken) {
  const std::string huge(30'000'000, 'x');
  std::promise<void> answered;
  ScriptedPod pod({[&](Connection& connection) {
    connection.send("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig");
    answered.get_future().wait();
  }});
  const auto events = start(pod.port(), {huge});
  run_until([&] { return events->over(); });
  answered.set_value();
  settle();
  EXPECT_EQ(events->status, 413);
  EXPECT_EQ(events->body, "big");
  EXPECT_EQ(pool_.idle(), 0u) << "half a request is still on that connection";
}

TEST_F(LegTest, CancellingClosesTheConnectionWithoutAWord) {
  std::promise<void> got_request, saw_end;
  ScriptedPod pod({[&](Connection& connection) {
    connection.read_request();
    got_request.set_value();
    connection.read_to_end();
    saw_end.set_value();
  }});
  const auto events = start(pod.port());
  auto got = got_request.get_future();
  run_until([&] { return got.wait_for(0s) == std::future_status::ready; });
  events->leg->cancel();
  EXPECT_TRUE(events->leg->ended());
  auto ended = saw_end.get_future();
  run_until([&] { return ended.wait_for(0s) == std::future_status::ready; });
  settle();
  EXPECT_FALSE(events->over());
  EXPECT_EQ(pool_.idle(), 0u);
  events->leg->cancel();
}

TEST_F(LegTest, CancellingInTheBodyGivesNoFurtherPayload) {
  std::promise<void> saw_end;
  ScriptedPod pod({[&](Connection& connection) {
    connection.read_request();
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\nhello");
    connection.read_to_end();
    saw_end.set_value();
  }});
  auto events = start(pod.port());
  events->hold = true;
  run_until([&] { return events->payloads == 1; });
  events->leg->cancel();
  auto ended = saw_end.get_future();
  run_until([&] { return ended.wait_for(0s) == std::future_status::ready; });
  settle();
  EXPECT_EQ(events->payloads, 1);
  EXPECT_FALSE(events->fault.has_value());
}

TEST_F(LegTest, CancellingBeforeAnythingHappened) {
  ScriptedPod pod({[](Connection& connection) { connection.read_to_end(); }});
  const auto events = start(pod.port());
  events->leg->cancel();
  for (int i = 0; i < 20; ++i) settle();
  EXPECT_FALSE(events->over());
}

// The head must be usable until the payload comes, and the events may cancel from within a call.
class Canceller final : public LegEvents {
 public:
  void on_leg_head(const http::ResponseHead&) override {
    ++calls;
    leg->cancel();
  }
  void on_leg_payload(std::span<char>, bool) override { ++calls; }
  void on_leg_fault(LegFault, const std::string&) override { ++calls; }
  std::shared_ptr<Leg> leg;
  int calls = 0;
};

TEST_F(LegTest, EventsMayCancelFromWithinTheHead) {
  ScriptedPod pod({[](Connection& connection) {
    connection.read_request();
    connection.send(kOk);
    connection.read_to_end();
  }});
  Canceller events;
  events.leg = std::make_shared<Leg>(io_, pool_, events);
  events.leg->start("127.0.0.1", pod.port(), "a", {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", {}});
  run_until([&] { return events.calls > 0; });
  for (int i = 0; i < 20; ++i) settle();
  EXPECT_EQ(events.calls, 1);
  EXPECT_EQ(pool_.idle(), 0u);
}

// ---- The pool ---------------------------------------------------------------------------------

TEST_F(LegTest, IdleConnectionsExpire) {
  ScriptedPod pod({[](Connection& connection) {
    connection.read_request();
    connection.send(kOk);
    connection.read_to_end();
  }});
  run_to_end(*start(pod.port()));
  ASSERT_EQ(pool_.idle(), 1u);
  pool_.sweep(UpstreamPool::Clock::now());
  EXPECT_EQ(pool_.idle(), 1u);
  pool_.sweep(UpstreamPool::Clock::now() + 5s);
  EXPECT_EQ(pool_.idle(), 0u);
  EXPECT_EQ(pool_.take("127.0.0.1:" + std::to_string(pod.port())), nullptr);
}

TEST_F(LegTest, ThePoolKeepsAddressesApart) {
  ScriptedPod pod({[](Connection& connection) {
    connection.read_request();
    connection.send(kOk);
    connection.read_to_end();
  }});
  run_to_end(*start(pod.port()));
  EXPECT_EQ(pool_.take("127.0.0.1:1"), nullptr);
  auto connection = pool_.take("127.0.0.1:" + std::to_string(pod.port()));
  ASSERT_NE(connection, nullptr);
  EXPECT_TRUE(connection->reused);
  EXPECT_EQ(pool_.idle(), 0u);
}

}  // namespace
}  // namespace pd
