// Many streams at once: each answer is right to the byte, and afterwards nothing is held.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <regex>
#include <string>
#include <vector>

#include "tests/integration/deployment.h"
#include "tests/integration/stream_crowd.h"

namespace pd::test {
namespace {

using std::string;

constexpr int kStreams = PD_LOAD_STREAMS;
constexpr std::chrono::seconds kPatience{60};

// The children inherit the limit.
void allow_many_files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Time stamps and what a pod happened to have cached: all that two runs may say differently.
string comparable(const string& body) {
  static const std::regex kVaries(R"x("(created|cached_tokens)":[0-9]+)x");
  return std::regex_replace(body, kVaries, "\"$1\":0");
}

struct Ask {
  string target;
  string body;
  string headers;
};

// Different prompts, some with a long common start; both paths; all streamed.
Ask ask(int number) {
  const string id = std::to_string(number);
  string prompt = number % 3 == 0 ? string(2000, 's') : string();
  prompt += "prompt number " + id;
  const string more = R"(,"max_tokens":)" + std::to_string(16 + number % 32) +
                      R"(,"stream":true,"stream_options":{"include_usage":true}})";
  const string headers = "X-Request-Id: load-" + id + "\r\n";
  if (number % 2 == 0) {
    return {"/v1/completions", R"({"model":"sim","prompt":")" + prompt + "\"" + more, headers};
  }
  return {"/v1/chat/completions",
          R"({"model":"sim","messages":[{"role":"user","content":")" + prompt + "\"}]" + more,
          headers};
}

class GatewayLoadTest : public ::testing::Test {
 protected:
  GatewayLoadTest() {
    allow_many_files();
    fleet_ = std::make_unique<Deployment>(
        DeploymentPlan{.pods = {{.name = "p0", .role = "prefill", .roleset = "a"},
                                {.name = "p1", .role = "prefill", .roleset = "a"},
                                {.name = "d0", .role = "decode", .roleset = "a"},
                                {.name = "p2", .role = "prefill", .roleset = "b"},
                                {.name = "d1", .role = "decode", .roleset = "b"},
                                {.name = "d2", .role = "decode", .roleset = "b"}},
                       .settings = "[log]\nlevel = \"warn\"\n",
                       .sim_flags = {"--threads", "2", "--record", "0", "--max-running", "1024",
                                     "--lease", "60s"}});
  }

  std::vector<CrowdMember> crowd() const {
    std::vector<CrowdMember> members;
    for (int i = 0; i < kStreams; ++i) {
      const Ask one = ask(i);
      members.push_back({.request = http_request("POST", one.target, one.body, one.headers)});
    }
    return members;
  }
  // Afterwards the engines answer at once, so that the comparison is quick.
  std::vector<WireAnswer> run(const std::vector<CrowdMember>& members) const {
    auto answers = run_crowd(fleet_->host().gateway(), members, kPatience);
    fleet_->timing(R"({"prefill_base":"0","prefill_per_token":"0","decode_base":"0",)"
                   R"("decode_per_running":"0"})");
    return answers;
  }
  void expect_right(int number, const WireAnswer& answer) const {
    const Ask one = ask(number);
    ASSERT_EQ(answer.status, 200) << number << ": " << answer.body;
    ASSERT_TRUE(answer.whole()) << number << ": " << answer.problem << answer.body;
    EXPECT_EQ(answer.header("x-request-id"), "load-" + std::to_string(number));
    EXPECT_EQ(answer.header("x-pd-handoff"), "nixl");
    const auto direct = fleet_->direct(one.target, one.body, one.headers);
    ++direct_answers_;
    EXPECT_EQ(comparable(answer.body), comparable(direct.body)) << number;
  }
  void expect_nothing_left() const {
    fleet_->expect_quiet();
    EXPECT_EQ(fleet_->sim_sum("handoffs_refused"), 0);
    EXPECT_EQ(fleet_->sim_sum("handoffs_expired"), 0);
    // Only the plain pod that the answers were compared with has computed a prompt itself.
    EXPECT_EQ(fleet_->sim_sum("recomputed"), direct_answers_);
    EXPECT_EQ(fleet_->sim_sum("bad_requests"), 0);
  }

  std::unique_ptr<Deployment> fleet_;
  mutable int direct_answers_ = 0;
};

TEST_F(GatewayLoadTest, ManyStreamsAtOnceAreAllRight) {
  const auto members = crowd();
  const auto answers = run(members);
  for (int i = 0; i < kStreams; ++i) expect_right(i, answers[static_cast<std::size_t>(i)]);
  EXPECT_EQ(fleet_->sim_sum("handoffs_issued"), kStreams);
  EXPECT_EQ(fleet_->sim_sum("handoffs_read"), kStreams);
  expect_nothing_left();
}

TEST_F(GatewayLoadTest, ThoseWhoLeaveDoNotDisturbTheOthers) {
  auto members = crowd();
  for (std::size_t i = 0; i < members.size(); i += 3) members[i].leave_after = 1 + (i * 37) % 4000;
  const auto answers = run(members);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].leave_after == 0) expect_right(static_cast<int>(i), answers[i]);
  }
  expect_nothing_left();
}

}  // namespace
}  // namespace pd::test
