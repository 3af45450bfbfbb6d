// The client leaves: whoever still works for it hears of it at once, and nothing stays behind.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>

#include "tests/integration/deployment.h"

namespace pd::test {
namespace {

using std::string;

constexpr const char* kChat = "/v1/chat/completions";
// An engine must hear of a client that left well before anybody would call it a time-out.
constexpr std::chrono::seconds kAtOnce{3};

enum class Leaving : std::uint8_t { kClose, kReset };

struct Way {
  bool stream;
  Leaving leaving;
};

string chat(bool stream, int tokens) {
  string prompt;
  for (int i = 0; i < 40; ++i) prompt += "some words of a prompt ";
  return R"({"model":"sim","messages":[{"role":"user","content":")" + prompt +
         R"("}],"max_tokens":)" + std::to_string(tokens) + (stream ? ",\"stream\":true}" : "}");
}

class GatewayCancellationTest : public ::testing::TestWithParam<Way> {
 protected:
  GatewayCancellationTest()
      : fleet_({.pods = one_by_one(), .sim_flags = {"--zero-latency", "--lease", "1500ms"}}) {}

  void leave(WireClient& client) {
    if (GetParam().leaving == Leaving::kClose) {
      client.close();
    } else {
      client.reset();
    }
  }
  WireClient start(int tokens = 20) {
    WireClient client = fleet_.client();
    client.send(http_request("POST", kChat, chat(GetParam().stream, tokens)));
    return client;
  }
  void expect_aborted(const string& pod) {
    EXPECT_TRUE(eventually([&] { return fleet_.sim(pod, "running") == 0; }, kAtOnce))
        << pod << " still works for a client that left";
    EXPECT_EQ(fleet_.sim(pod, "aborted"), 1);
  }
  // Everything is released, and not by a lease that ran out.
  void expect_nothing_left() {
    fleet_.expect_quiet();
    EXPECT_EQ(fleet_.sim("p0", "handoffs_expired"), 0) << "a hand-off was thrown away";
    EXPECT_EQ(fleet_.sim("p0", "handoffs_issued"), fleet_.sim("p0", "handoffs_read"));
    EXPECT_TRUE(eventually([&] { return fleet_.metric("pd_client_connections") == 0; }));
    fleet_.timing(R"({"prefill_base":"0ms","decode_base":"0ms","kv_transfer_per_token":"0us"})");
    EXPECT_EQ(fleet_.post(kChat, chat(GetParam().stream, 4)).status, 200);
    fleet_.expect_quiet();
  }

  Deployment fleet_;
};

TEST_P(GatewayCancellationTest, WhileSendingTheHead) {
  WireClient client = fleet_.client();
  client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: gw");
  leave(client);
  EXPECT_TRUE(eventually([&] { return fleet_.metric("pd_client_connections") == 0; }));
  expect_nothing_left();
}

TEST_P(GatewayCancellationTest, WhileSendingTheBody) {
  const string request = http_request("POST", kChat, chat(GetParam().stream, 20));
  WireClient client = fleet_.client();
  client.send(request.substr(0, request.size() - 10));
  EXPECT_TRUE(eventually([&] { return fleet_.metric("pd_client_connections") == 1; }));
  leave(client);
  EXPECT_TRUE(eventually([&] { return fleet_.metric("pd_client_connections") == 0; }));
  EXPECT_EQ(fleet_.sim_sum("requests"), 0);
  expect_nothing_left();
}

TEST_P(GatewayCancellationTest, WhilePrefillRuns) {
  fleet_.timing(R"({"prefill_base":"600s"})");
  WireClient client = start();
  ASSERT_TRUE(eventually([&] { return fleet_.sim("p0", "running") == 1; }));
  leave(client);
  expect_aborted("p0");
  EXPECT_EQ(fleet_.sim("d0", "requests"), 0);
  expect_nothing_left();
}

TEST_P(GatewayCancellationTest, WhileTheHandoffTravels) {
  fleet_.timing(R"({"kv_transfer_per_token":"2ms"})");
  WireClient client = start();
  ASSERT_TRUE(eventually([&] { return fleet_.sim("d0", "requests") == 1; }));
  leave(client);
  expect_nothing_left();
}

TEST_P(GatewayCancellationTest, BeforeTheFirstByteOfDecode) {
  fleet_.timing(R"({"decode_base":"600s"})");
  WireClient client = start();
  ASSERT_TRUE(eventually([&] { return fleet_.sim("p0", "handoffs_read") == 1; }));
  leave(client);
  fleet_.timing(R"({"decode_base":"20ms"})");
  EXPECT_TRUE(eventually([&] { return fleet_.sim("d0", "running") == 0; }))
      << "decode still works for a client that left";
  expect_nothing_left();
}

TEST_P(GatewayCancellationTest, MidwayThroughTheAnswer) {
  fleet_.timing(R"({"decode_base":"20ms"})");
  WireClient client = start(1000000);
  if (GetParam().stream) {
    ASSERT_TRUE(client.read_until("\"content\":\" "));
  } else {
    ASSERT_TRUE(eventually([&] { return fleet_.sim("p0", "handoffs_read") == 1; }));
  }
  leave(client);
  expect_aborted("d0");
  expect_nothing_left();
}

TEST_P(GatewayCancellationTest, WithThePipelinedNextRequestOnItsWay) {
  fleet_.timing(R"({"decode_base":"20ms"})");
  WireClient client = fleet_.client();
  const string one = http_request("POST", kChat, chat(GetParam().stream, 1000000));
  client.send(one + one);
  ASSERT_TRUE(eventually([&] { return fleet_.sim("p0", "handoffs_read") == 1; }));
  leave(client);
  EXPECT_TRUE(eventually([&] { return fleet_.sim("d0", "running") == 0; }, kAtOnce));
  expect_nothing_left();
}

// Leaves at ever later moments, so that each border between two phases is met now and then.
TEST_P(GatewayCancellationTest, AtAnyMoment) {
  fleet_.timing(R"({"prefill_base":"4ms","kv_transfer_per_token":"20us","decode_base":"1ms"})");
  std::mt19937 random(7);
  std::uniform_int_distribution<int> moment(0, 40000);
  for (int i = 0; i < 150; ++i) {
    WireClient client = start(20);
    client.await_bytes(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::microseconds(moment(random)));
    leave(client);
  }
  fleet_.expect_quiet();
}

string way_name(const ::testing::TestParamInfo<Way>& info) {
  return string(info.param.stream ? "Stream" : "Plain") +
         (info.param.leaving == Leaving::kClose ? "Close" : "Reset");
}

INSTANTIATE_TEST_SUITE_P(EveryWay, GatewayCancellationTest,
                         ::testing::Values(Way{true, Leaving::kClose}, Way{true, Leaving::kReset},
                                           Way{false, Leaving::kClose},
                                           Way{false, Leaving::kReset}),
                         way_name);

}  // namespace
}  // namespace pd::test
