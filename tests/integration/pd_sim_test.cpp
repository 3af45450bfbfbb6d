// pd-sim as a router meets it: the real executable over real sockets.

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/raw_http_client.h"
#include "tests/integration/sim_process.h"

namespace pd::test {
namespace {

namespace json = boost::json;
using std::string;

constexpr std::string_view kAskHandoff =
    R"({"do_remote_decode":true,"do_remote_prefill":false,"remote_engine_id":null,)"
    R"("remote_block_ids":null,"remote_host":null,"remote_port":null})";

std::vector<string> pods(std::vector<string> more) {
  std::vector<string> all{"--pod", "name=p0,role=prefill,port=0",
                          "--pod", "name=d0,role=decode,port=0",
                          "--pod", "name=c0,role=combined"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

class PdSimTest : public ::testing::Test {
 protected:
  RawAnswer post(const string& pod, std::string_view path, std::string_view body,
                 std::string_view headers = {}) {
    RawHttpClient client(sim_->port(pod));
    client.post(path, body, headers);
    return client.read();
  }
  RawAnswer get(const string& pod, std::string_view path) {
    RawHttpClient client(sim_->port(pod));
    client.get(path);
    return client.read();
  }
  json::object pod_state(const string& pod) {
    const auto state = json::parse(get("c0", "/sim/state?bodies=1").body);
    return state.at("pods").at(pod).as_object();
  }
  std::int64_t count(const string& pod, std::string_view name) {
    return pod_state(pod).at(name).to_number<std::int64_t>();
  }
  std::int64_t refused(const string& pod, std::string_view why) {
    const json::object state = pod_state(pod);
    const json::value* found = state.at("refused_because").as_object().if_contains(why);
    return found == nullptr ? 0 : found->to_number<std::int64_t>();
  }
  // Waits until the condition holds; false after a generous deadline.
  static bool eventually(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < deadline) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  void fault(const string& pod, std::string_view fault, int count = 0) {
    string body = R"({"pod":")" + pod + R"(","fault":)" + string(fault);
    if (count > 0) body += ",\"count\":" + std::to_string(count);
    const auto answer = post("c0", "/sim/faults", body + "}");
    ASSERT_EQ(answer.status, 200) << answer.body;
  }
  void clear(const string& pod) { fault(pod, "null"); }
  void timing(std::string_view body) { ASSERT_EQ(post("c0", "/sim/timing", body).status, 200); }

  static string completion(std::string_view prompt, std::string_view more) {
    return R"({"model":"sim","prompt":")" + string(prompt) + "\"," + string(more) + "}";
  }
  static string prefill_copy(std::string_view prompt) {
    return completion(prompt, R"("max_tokens":1,"stream":false,"ignore_eos":true,)"
                              R"("kv_transfer_params":)" +
                                  string(kAskHandoff));
  }
  static string decode_body(std::string_view prompt, const json::value& handoff,
                            std::string_view more = R"("max_tokens":8)") {
    return completion(prompt, string(more) + ",\"kv_transfer_params\":" + json::serialize(handoff));
  }
  json::value prefill(std::string_view prompt, std::string_view headers = {}) {
    const auto answer = post("p0", "/v1/completions", prefill_copy(prompt), headers);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json::parse(answer.body).at("kv_transfer_params");
  }
  static string text_of(const RawAnswer& answer) {
    return string(json::parse(answer.body).at("choices").at(0).at("text").as_string());
  }
  void expect_no_blocks_held() {
    for (const char* pod : {"p0", "d0", "c0"}) {
      EXPECT_TRUE(eventually([&] { return count(pod, "kv_blocks_in_use") == 0; })) << pod;
      EXPECT_EQ(count(pod, "pinned_blocks"), 0) << pod;
      EXPECT_EQ(count(pod, "leaked_blocks"), 0) << pod;
    }
  }

  std::unique_ptr<SimProcess> sim_;
};

class PdSimFastTest : public PdSimTest {
 protected:
  PdSimFastTest() {
    sim_ = std::make_unique<SimProcess>(pods({"--zero-latency", "--lease", "300ms"}));
  }
};

class PdSimTwoThreadsTest : public PdSimTest {
 protected:
  PdSimTwoThreadsTest() {
    sim_ = std::make_unique<SimProcess>(pods({"--zero-latency", "--threads", "2"}));
  }
};

TEST_F(PdSimFastTest, AnswersTheSmallPaths) {
  EXPECT_EQ(get("p0", "/health").status, 200);
  EXPECT_EQ(json::parse(get("p0", "/v1/models").body).at("data").at(0).at("id").as_string(), "sim");
  EXPECT_EQ(get("p0", "/version").status, 200);
  EXPECT_EQ(json::parse(get("p0", "/load").body).at("server_load").as_int64(), 0);
  EXPECT_EQ(get("p0", "/nothing").status, 404);
  EXPECT_EQ(get("p0", "/v1/completions").status, 405);
  EXPECT_EQ(json::parse(post("p0", "/tokenize", R"({"prompt":"12345678"})").body).at("count"), 2);
}

TEST_F(PdSimFastTest, AnswersAlikeOnEveryPodAndFollowsTheRequestId) {
  const string body = completion("one and the same prompt", R"("max_tokens":20)");
  const auto one = post("d0", "/v1/completions", body, "X-Request-Id: abc\r\n");
  const auto other = post("c0", "/v1/completions", body);
  ASSERT_EQ(one.status, 200) << one.body;
  EXPECT_EQ(text_of(one), text_of(other));
  EXPECT_NE(text_of(one), text_of(post("d0", "/v1/completions", completion("other", R"("n":1)"))));
  const json::value parsed = json::parse(one.body);
  EXPECT_EQ(parsed.at("id").as_string(), "cmpl-abc");
  EXPECT_EQ(parsed.at("usage").at("completion_tokens"), 20);
  EXPECT_EQ(parsed.at("usage").at("prompt_tokens"), 6) << "23 bytes, 4 per token";
  EXPECT_TRUE(parsed.at("kv_transfer_params").is_null());
  EXPECT_EQ(count("d0", "recomputed"), 2);
}

TEST_F(PdSimFastTest, StreamsWhatItAnswersWhole) {
  const string prompt = R"("messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}])";
  const string common = R"({"model":"sim",)" + prompt + R"(,"max_completion_tokens":12)";
  const auto whole = json::parse(post("c0", "/v1/chat/completions", common + "}").body);
  const auto stream = post("c0", "/v1/chat/completions",
                           common + R"(,"stream":true,"stream_options":{"include_usage":true}})");
  ASSERT_EQ(stream.status, 200);
  EXPECT_NE(stream.head.find("transfer-encoding: chunked"), string::npos);
  const auto events = stream.events();
  ASSERT_EQ(events.size(), 1U + 12U + 1U + 1U) << stream.body;
  EXPECT_EQ(json::parse(events[0]).at("choices").at(0).at("delta").at("role").as_string(),
            "assistant");
  string text;
  for (std::size_t i = 1; i <= 12; ++i) {
    const auto choice = json::parse(events[i]).at("choices").at(0);
    text += choice.at("delta").at("content").as_string();
    EXPECT_EQ(choice.at("finish_reason").is_null(), i < 12);
  }
  EXPECT_EQ(text, whole.at("choices").at(0).at("message").at("content").as_string());
  EXPECT_EQ(json::parse(events[13]).at("usage").at("completion_tokens"), 12);
  EXPECT_EQ(events[14], "[DONE]");
}

TEST_F(PdSimFastTest, AnswersEveryPromptAndChoice) {
  const auto answer =
      post("c0", "/v1/completions", R"({"model":"sim","prompt":["a","b"],"n":2,"max_tokens":3})");
  const auto parsed = json::parse(answer.body);
  ASSERT_EQ(parsed.at("choices").as_array().size(), 4U) << answer.body;
  EXPECT_EQ(parsed.at("choices").at(3).at("index"), 3);
  EXPECT_NE(parsed.at("choices").at(0).at("text"), parsed.at("choices").at(1).at("text"));
  const auto ids = post("c0", "/v1/completions", R"({"model":"sim","prompt":[[1,2,3],[4]]})");
  EXPECT_EQ(json::parse(ids.body).at("usage").at("prompt_tokens"), 4) << ids.body;
}

TEST_F(PdSimFastTest, RefusesBadBodiesAsVllmDoes) {
  const auto refusal = [this](std::string_view body, std::string_view path = "/v1/completions") {
    const auto answer = post("c0", path, body);
    EXPECT_TRUE(json::parse(answer.body).at("error").at("message").is_string()) << answer.body;
    EXPECT_EQ(json::parse(answer.body).at("error").at("code"), answer.status);
    return answer.status;
  };
  EXPECT_EQ(refusal(R"({"model":"sim","prompt":)"), 400);
  EXPECT_EQ(refusal(R"({"model":"sim"})"), 400);
  EXPECT_EQ(refusal(R"({"model":"sim"})", "/v1/chat/completions"), 400);
  EXPECT_EQ(refusal(R"({"model":"nobody","prompt":"a"})"), 404);
  EXPECT_EQ(refusal(R"({"model":"sim","prompt":"a","stream":false,"stream":false})"), 400);
  EXPECT_EQ(refusal(R"({"model":"sim","prompt":"a","max\u005ftokens":1,"max_tokens":1})"), 400);
  EXPECT_EQ(refusal(R"({"model":"sim","prompt":"a"}})"), 400);
  EXPECT_EQ(refusal(R"({"model":"sim","prompt":"a",})"), 400);
  EXPECT_EQ(refusal(R"({"model":"sim","prompt":"a","max_tokens":0})"), 400);
  EXPECT_EQ(refusal(R"({"model":"sim","prompt":"a","max_tokens":1,"min_tokens":2})"), 400);
  EXPECT_EQ(refusal(R"({"model":"sim","prompt":"a","stream_options":{"include_usage":true}})"),
            400);
  EXPECT_EQ(refusal("[1]"), 400);
}

TEST_F(PdSimFastTest, RefusesFramingThatARouterMustNotSend) {
  const auto status = [this](std::string_view head) {
    RawHttpClient client(sim_->port("c0"));
    client.send("POST /v1/completions HTTP/1.1\r\n" + string(head) + "\r\n");
    const auto answer = client.read();
    return answer.status;
  };
  EXPECT_EQ(status("Host: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n"), 400);
  EXPECT_EQ(status("Host: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n"), 400);
  EXPECT_EQ(status("Host: a\r\nUpgrade: websocket\r\n"), 400);
  EXPECT_EQ(status("Content-Length: 0\r\n"), 400);
  EXPECT_EQ(count("c0", "bad_framing"), 4);
}

TEST_F(PdSimFastTest, TakesChunkedLargeAndPipelinedBodies) {
  RawHttpClient client(sim_->port("c0"));
  client.send(
      "POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "e\r\n{\"model\":\"sim\"\r\ne\r\n,\"prompt\":\"a\"}\r\n0\r\n\r\n");
  EXPECT_EQ(client.read().status, 200);
  client.post("/v1/completions", completion(string(3 << 20, 'x'), R"("max_tokens":2)"));
  const auto large = client.read();
  EXPECT_EQ(json::parse(large.body).at("usage").at("prompt_tokens"), (3 << 20) / 4);
  const string small = completion("p", R"("max_tokens":2)");
  client.post("/v1/completions", small);
  client.post("/v1/completions", small);
  EXPECT_EQ(client.read().status, 200);
  EXPECT_EQ(client.read().status, 200);
}

TEST_F(PdSimFastTest, HandsOffAndFreesTheBlocks) {
  const string prompt(400, 'h');
  const auto handoff = prefill(prompt, "X-Request-Id: both\r\n");
  for (const char* field :
       {"remote_engine_id", "remote_block_ids", "remote_request_id", "remote_host", "remote_port",
        "tp_size", "dcp_size", "pp_size", "remote_num_tokens", "remote_blocks_expiry_time",
        "transfer_mode", "remote_prefill_cached_tokens"}) {
    EXPECT_TRUE(handoff.as_object().contains(field)) << field;
  }
  EXPECT_EQ(count("p0", "pinned_blocks"), 7) << "100 tokens in blocks of 16";
  const auto answer =
      post("d0", "/v1/completions", decode_body(prompt, handoff), "X-Request-Id: both\r\n");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(text_of(answer),
            text_of(post("c0", "/v1/completions", completion(prompt, R"("max_tokens":8)"))));
  EXPECT_EQ(count("p0", "handoffs_read"), 1);
  EXPECT_EQ(count("d0", "recomputed"), 0);
  expect_no_blocks_held();

  const auto twice =
      post("d0", "/v1/completions", decode_body(prompt, handoff), "X-Request-Id: both\r\n");
  EXPECT_EQ(twice.status, 500);
  EXPECT_EQ(refused("d0", "read_twice"), 1);
}

TEST_F(PdSimFastTest, RefusesEveryWrongHandoff) {
  timing(R"({"lease":"100s"})");
  const auto handoff = prefill("a prompt", "X-Request-Id: r\r\n");
  const auto expect = [&](std::string_view key, json::value value, std::string_view why) {
    json::object wrong = handoff.as_object();
    wrong[key] = std::move(value);
    const auto answer =
        post("d0", "/v1/completions", decode_body("a prompt", wrong), "X-Request-Id: r\r\n");
    EXPECT_EQ(answer.status, 500) << why;
    EXPECT_EQ(refused("d0", why), 1) << why;
  };
  expect("remote_engine_id", "00000000-0000-0000-0000-000000000000", "wrong_engine");
  expect("remote_port", 1, "unknown_pod");
  expect("remote_host", nullptr, "incomplete");
  expect("remote_request_id", "cmpl-nobody", "unknown_request");
  expect("remote_block_ids", json::array{json::array{9999}}, "wrong_blocks");
  EXPECT_EQ(
      post("d0", "/v1/completions", decode_body("b prompt", handoff), "X-Request-Id: r\r\n").status,
      500);
  EXPECT_EQ(refused("d0", "wrong_prompt"), 1);
  EXPECT_EQ(
      post("d0", "/v1/completions", decode_body("a prompt", handoff), "X-Request-Id: s\r\n").status,
      500);
  EXPECT_EQ(refused("d0", "request_id_differs"), 1);
  EXPECT_EQ(count("d0", "engine_killed"), 0);
  EXPECT_EQ(
      post("d0", "/v1/completions", decode_body("a prompt", handoff), "X-Request-Id: r\r\n").status,
      200)
      << "no refusal took the blocks";
}

TEST_F(PdSimFastTest, APartialHandoffKillsTheEngine) {
  const auto handoff = prefill("a prompt");
  std::int64_t killed = 0;
  for (const char* field : {"remote_block_ids", "remote_request_id", "remote_engine_id"}) {
    json::object partial = handoff.as_object();
    partial.erase(field);
    EXPECT_EQ(post("d0", "/v1/completions", decode_body("a prompt", partial)).status, 500);
    EXPECT_EQ(count("d0", "engine_killed"), ++killed) << field;
  }
}

TEST_F(PdSimFastTest, AFailedLoadOnAStreamIsStatus200) {
  const auto answer = post("d0", "/v1/chat/completions",
                           R"({"model":"sim","messages":[{"role":"user","content":"x"}],)"
                           R"("stream":true,"kv_transfer_params":{"do_remote_prefill":true}})");
  EXPECT_EQ(answer.status, 200);
  const auto events = answer.events();
  ASSERT_EQ(events.size(), 3U) << answer.body;
  EXPECT_NE(events[0].find("assistant"), string::npos);
  EXPECT_EQ(json::parse(events[1]).at("error").at("code"), 500);
  EXPECT_EQ(events[2], "[DONE]");
}

TEST_F(PdSimFastTest, RefusesAPrefillCopyThatMakesMoreThanOneToken) {
  const string ask = R"(,"kv_transfer_params":)" + string(kAskHandoff);
  for (const char* more : {R"("max_tokens":2)", R"("stream":false)",
                           R"("max_tokens":1,"stream":true)", R"("max_tokens":1,"n":2)"}) {
    EXPECT_EQ(post("p0", "/v1/completions", completion("a", more + ask)).status, 400) << more;
  }
  const string chat = R"({"model":"sim","messages":[{"role":"user","content":"x"}],)";
  EXPECT_EQ(post("p0", "/v1/chat/completions", chat + R"("max_tokens":1)" + ask + "}").status, 400);
  EXPECT_EQ(post("p0", "/v1/chat/completions",
                 chat + R"("max_tokens":1,"max_completion_tokens":1)" + ask + "}")
                .status,
            200);
}

TEST_F(PdSimFastTest, AStopAtTokenOneReturnsNoHandoff) {
  const string ask = R"("max_tokens":1,"kv_transfer_params":)" + string(kAskHandoff);
  const auto handoff_with = [&](std::string_view more) {
    const auto answer = post("p0", "/v1/completions", completion("a", ask + string(more)));
    EXPECT_EQ(answer.status, 200);
    return json::parse(answer.body).at("kv_transfer_params");
  };
  EXPECT_TRUE(handoff_with(R"(,"stop":["x"])").is_null());
  EXPECT_TRUE(handoff_with(R"(,"stop_token_ids":[5])").is_null());
  EXPECT_FALSE(handoff_with(R"(,"stop":[])").is_null());
  fault("p0", R"({"kind":"eos_first"})");
  EXPECT_TRUE(handoff_with("").is_null());
  EXPECT_FALSE(handoff_with(R"(,"ignore_eos":true)").is_null());
  expect_no_blocks_held();
}

TEST_F(PdSimFastTest, AnUnreadHandoffIsOrphanedWhenItsLeaseEnds) {
  const auto handoff = prefill("nobody comes");
  EXPECT_TRUE(eventually([&] { return count("p0", "orphaned_blocks") == 1; }));
  expect_no_blocks_held();
  EXPECT_EQ(post("d0", "/v1/completions", decode_body("nobody comes", handoff)).status, 500);
  EXPECT_EQ(refused("d0", "expired"), 1);
}

TEST_F(PdSimTwoThreadsTest, HandsOffAcrossThreads) {
  for (int i = 0; i < 200; ++i) {
    const string prompt = "prompt number " + std::to_string(i);
    ASSERT_EQ(post("d0", "/v1/completions", decode_body(prompt, prefill(prompt))).status, 200);
  }
  expect_no_blocks_held();
  EXPECT_EQ(count("p0", "handoffs_read"), 200);
}

class PdSimSlowTest : public PdSimTest {
 protected:
  PdSimSlowTest() {
    sim_ = std::make_unique<SimProcess>(
        pods({"--prefill-base", "0", "--prefill-per-token", "0", "--decode-base", "0",
              "--decode-per-running", "0", "--kv-transfer-per-token", "0", "--lease", "400ms"}));
  }
};

TEST_F(PdSimSlowTest, AClientThatLeavesDuringPrefillFreesTheBlocks) {
  timing(R"({"pod":"p0","prefill_base":"1000s"})");
  RawHttpClient first(sim_->port("p0"));
  RawHttpClient second(sim_->port("p0"));
  first.post("/v1/completions", prefill_copy("first"));
  EXPECT_TRUE(eventually([&] { return count("p0", "running") == 1; }));
  second.post("/v1/completions", prefill_copy("second"));
  EXPECT_TRUE(eventually([&] { return count("p0", "waiting") == 1; }));
  EXPECT_EQ(count("p0", "leaked_blocks"), 0);
  second.close();
  EXPECT_TRUE(eventually([&] { return count("p0", "waiting") == 0; }));
  first.close();
  EXPECT_TRUE(eventually([&] { return count("p0", "running") == 0; }));
  EXPECT_EQ(count("p0", "aborted"), 2);
  EXPECT_EQ(count("p0", "handoffs_issued"), 0);
  expect_no_blocks_held();
}

TEST_F(PdSimSlowTest, AClientThatLeavesDuringTheTransferFreesBothSidesAfterIt) {
  const auto handoff = prefill("a prompt");
  timing(R"({"pod":"d0","kv_transfer_per_token":"250ms"})");  // 2 tokens: longer than the lease
  RawHttpClient client(sim_->port("d0"));
  client.post("/v1/completions", decode_body("a prompt", handoff));
  EXPECT_TRUE(eventually([&] { return count("d0", "waiting") == 1; }));
  client.close();
  EXPECT_TRUE(eventually([&] { return count("d0", "aborted") == 1; }));
  EXPECT_TRUE(eventually([&] { return count("p0", "handoffs_read") == 1; }));
  expect_no_blocks_held();
  EXPECT_EQ(count("p0", "orphaned_blocks"), 0);
}

TEST_F(PdSimSlowTest, AClientThatLeavesMidStreamEndsTheDecode) {
  timing(R"({"pod":"d0","decode_base":"2ms"})");
  const auto handoff = prefill("a prompt");
  RawHttpClient client(sim_->port("d0"));
  client.post("/v1/completions",
              decode_body("a prompt", handoff, R"("max_tokens":100000,"stream":true)"));
  EXPECT_TRUE(client.read_until("data: "));
  EXPECT_EQ(count("d0", "running"), 1);
  client.close();
  EXPECT_TRUE(eventually([&] { return count("d0", "running") == 0; }));
  EXPECT_EQ(count("d0", "aborted"), 1);
  expect_no_blocks_held();
}

TEST_F(PdSimSlowTest, QueuesBehindMaxRunningAndShowsItInTheMetrics) {
  timing(R"({"pod":"d0","decode_base":"1000s","max_running":1})");
  const auto gauge = [&](const string& name) {
    const string page = get("d0", "/metrics").body;
    const std::size_t at = page.find("\nvllm:" + name + "{");
    if (at == string::npos) return string("missing");
    const std::size_t value = page.find("} ", at) + 2;
    return page.substr(value, page.find('\n', value) - value);
  };
  const auto generated = gauge("generation_tokens_total");
  RawHttpClient first(sim_->port("d0"));
  RawHttpClient second(sim_->port("d0"));
  const string body = completion("p", R"("max_tokens":5,"stream":true)");
  first.post("/v1/completions", body);
  EXPECT_TRUE(first.read_until("data: "));
  second.post("/v1/completions", body);
  EXPECT_TRUE(eventually([&] { return gauge("num_requests_waiting") == "1.0"; }));
  EXPECT_EQ(gauge("num_requests_running"), "1.0");
  EXPECT_NE(gauge("kv_cache_usage_perc"), "0.0");
  EXPECT_EQ(generated, "0.0");
  EXPECT_EQ(gauge("generation_tokens_total"), "1.0");
  EXPECT_EQ(gauge("request_prefill_time_seconds_count"), "1.0");
}

TEST_F(PdSimSlowTest, PacesTheStream) {
  timing(R"({"pod":"c0","decode_base":"20ms"})");
  const auto start = std::chrono::steady_clock::now();
  const auto answer =
      post("c0", "/v1/completions", completion("p", R"("max_tokens":11,"stream":true)"));
  EXPECT_EQ(answer.events().size(), 12U);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(200));
  EXPECT_GE(answer.reads, 10U);
}

class PdSimFaultTest : public PdSimFastTest {
 protected:
  RawAnswer plain(const string& pod = "d0") {
    return post(pod, "/v1/completions", completion("p", R"("max_tokens":4)"));
  }
  RawAnswer stream() {
    return post("d0", "/v1/completions", completion("p", R"("max_tokens":30,"stream":true)"));
  }
};

TEST_F(PdSimFaultTest, RefusesConnectionsUntilCleared) {
  fault("d0", R"({"kind":"refuse"})");
  EXPECT_FALSE(RawHttpClient(sim_->port("d0")).connected());
  clear("d0");
  EXPECT_EQ(plain().status, 200);
  fault("d0", R"({"kind":"refuse","mode":"reset"})");
  EXPECT_EQ(plain().status, 0);
  clear("d0");
  EXPECT_EQ(plain().status, 200);
}

TEST_F(PdSimFaultTest, ResetsAfterTheGivenBytes) {
  fault("d0", R"({"kind":"reset","after_bytes":100})", 1);
  const auto answer = plain();
  EXPECT_EQ(answer.bytes, 100U);
  EXPECT_EQ(answer.ending, Ending::kReset);
  EXPECT_EQ(plain().status, 200) << "the count is used up";
}

TEST_F(PdSimFaultTest, HangsInEachPhase) {
  const auto hang = [this](std::string_view phase) {
    fault("d0", R"({"kind":"hang","after_events":3,"phase":")" + string(phase) + "\"}", 1);
    RawHttpClient client(sim_->port("d0"));
    client.post("/v1/completions", completion("p", R"("max_tokens":30,"stream":true)"));
    return client.read(300);
  };
  const auto before = hang("before_head");
  EXPECT_EQ(before.ending, Ending::kTimeout);
  EXPECT_EQ(before.bytes, 0U);
  const auto after = hang("after_head");
  EXPECT_EQ(after.status, 200);
  EXPECT_EQ(after.body, "");
  EXPECT_EQ(after.ending, Ending::kTimeout);
  const auto middle = hang("mid_stream");
  EXPECT_EQ(middle.events().size(), 3U);
  EXPECT_EQ(middle.ending, Ending::kTimeout);
  EXPECT_TRUE(eventually([&] { return count("d0", "open_connections") == 0; }));
}

TEST_F(PdSimFaultTest, AnswersAStatus) {
  fault("d0", R"({"kind":"status","status":429,"body":{"error":"busy"}})", 1);
  auto answer = plain();
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.body, R"({"error":"busy"})");
  fault("d0", R"({"kind":"status"})", 1);
  answer = plain();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(json::parse(answer.body).at("error").at("code"), 503);
}

TEST_F(PdSimFaultTest, BreaksTheAnswer) {
  fault("d0", R"({"kind":"malformed_json"})", 1);
  json::error_code error;
  json::parse(plain().body, error);
  EXPECT_TRUE(error);
  fault("d0", R"({"kind":"wrong_content_length","delta":10})", 1);
  {
    RawHttpClient client(sim_->port("d0"));
    client.post("/v1/completions", completion("p", R"("max_tokens":4)"));
    EXPECT_EQ(client.read(300).ending, Ending::kTimeout);
  }
  fault("d0", R"({"kind":"huge_headers","bytes":50000})", 1);
  EXPECT_GT(plain().head.size(), 50000U);
  fault("d0", R"({"kind":"early_eof","after_events":5})", 1);
  auto answer = stream();
  EXPECT_EQ(answer.events().size(), 5U);
  EXPECT_EQ(answer.ending, Ending::kClosed);
  fault("d0", R"({"kind":"half_close","after_bytes":150})", 1);
  answer = plain();
  EXPECT_EQ(answer.bytes, 150U);
  EXPECT_EQ(answer.ending, Ending::kClosed);
  fault("d0", R"({"kind":"slow_head","delay":"160ms"})", 1);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(plain().status, 200);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(150));
}

TEST_F(PdSimFaultTest, SplitsAtAwkwardBytesWithoutChangingTheText) {
  const auto straight = stream();
  fault("d0", R"({"kind":"split","gap":"200us"})", 1);
  const auto split = stream();
  ASSERT_EQ(split.events().size(), straight.events().size());
  const auto text = [](const string& event) {
    return string(json::parse(event).at("choices").at(0).at("text").as_string());
  };
  for (std::size_t i = 0; i + 1 < split.events().size(); ++i) {
    EXPECT_EQ(text(split.events()[i]), text(straight.events()[i]));
  }
  EXPECT_EQ(split.ending, Ending::kComplete);
  EXPECT_GT(split.bytes, straight.bytes) << "more chunks, more framing";
}

TEST_F(PdSimFaultTest, SpoilsTheHandoff) {
  fault("p0", R"({"kind":"no_handoff"})", 1);
  EXPECT_TRUE(prefill("a").is_null());
  fault("p0", R"({"kind":"partial_handoff","missing":"remote_request_id"})", 1);
  const auto partial = prefill("b");
  EXPECT_FALSE(partial.as_object().contains("remote_request_id"));
  EXPECT_TRUE(partial.as_object().contains("remote_engine_id"));
  fault("p0", R"({"kind":"null_host"})", 1);
  auto filled = prefill("c").as_object();
  EXPECT_TRUE(filled["remote_host"].is_null());
  filled["remote_host"] = "127.0.0.1";
  EXPECT_EQ(post("d0", "/v1/completions", decode_body("c", filled)).status, 200);
}

TEST_F(PdSimFaultTest, RestartsWithANewIdentityAndAnEmptyCache) {
  const string prompt(1000, 'r');
  const auto handoff = prefill(prompt);
  const auto identity = pod_state("p0").at("engine_id");
  RawHttpClient idle(sim_->port("p0"));
  EXPECT_TRUE(eventually([&] { return count("p0", "open_connections") == 1; }));
  fault("p0", R"({"kind":"restart"})");
  EXPECT_NE(idle.read().ending, Ending::kComplete);
  EXPECT_NE(pod_state("p0").at("engine_id"), identity);
  EXPECT_EQ(post("d0", "/v1/completions", decode_body(prompt, handoff)).status, 500);
  EXPECT_EQ(refused("d0", "wrong_engine"), 1);
  EXPECT_EQ(prefill(prompt).at("remote_prefill_cached_tokens"), 0);
  EXPECT_NE(prefill(prompt).at("remote_prefill_cached_tokens"), 0);
}

TEST_F(PdSimFaultTest, SpoilsTheMetrics) {
  const auto page = [this] { return get("d0", "/metrics"); };
  fault("d0", R"({"kind":"metrics_missing"})", 1);
  EXPECT_EQ(page().status, 404);
  const string before = page().body;
  fault("d0", R"({"kind":"metrics_stale"})");
  plain();
  EXPECT_EQ(page().body, before);
  clear("d0");
  EXPECT_NE(page().body, before);
  fault("d0", R"({"kind":"metrics_malformed"})", 1);
  EXPECT_NE(page().body.find("\xff\xfe"), string::npos);
}

TEST_F(PdSimFaultTest, RefusesFaultsItDoesNotKnow) {
  EXPECT_EQ(post("c0", "/sim/faults", R"({"pod":"d0","fault":{"kind":"sulk"}})").status, 400);
  EXPECT_EQ(post("c0", "/sim/faults", R"({"pod":"zz","fault":null})").status, 404);
  EXPECT_EQ(post("c0", "/sim/faults", R"({"pod":"d0","fault":{"kind":"hang","phase":"x"}})").status,
            400);
  EXPECT_EQ(post("c0", "/sim/timing", R"({"prefill_base":"soon"})").status, 400);
}

TEST_F(PdSimFastTest, ShowsTheRequestsItReceived) {
  const string body = completion("remember me", R"("max_tokens":1)");
  post("d0", "/v1/completions", body, "X-Seen: yes\r\n");
  const auto bodies = pod_state("d0").at("bodies");
  ASSERT_EQ(bodies.as_array().size(), 1U);
  EXPECT_EQ(bodies.at(0).at("body").as_string(), body);
  EXPECT_NE(string(bodies.at(0).at("head").as_string()).find("X-Seen: yes"), string::npos);
}

TEST(PdSimProcessTest, EndsCleanlyWithOpenStreams) {
  SimProcess sim({"--pod", "name=c0,role=combined", "--decode-base", "5ms", "--threads", "2"});
  RawHttpClient client(sim.port("c0"));
  client.post("/v1/completions",
              R"({"model":"sim","prompt":"a","stream":true,"max_tokens":100000})");
  EXPECT_TRUE(client.read_until("data: "));
  EXPECT_EQ(sim.terminate(), 0);
}

}  // namespace
}  // namespace pd::test
