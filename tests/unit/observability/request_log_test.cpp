#include "host/observability/request_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace pd {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

RequestRecord record(const std::string& id) {
  RequestRecord out;
  out.time = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'789'000'000'123));
  out.request_id = id;
  out.model = "lab/team-a/m-small:v2";
  out.path = "/v1/chat/completions";
  out.prefill_pod = "p1";
  out.decode_pod = "d1";
  out.handoff = "nixl";
  out.status = 200;
  out.stream = true;
  out.attempts = 2;
  out.request_bytes = 1234;
  out.answer_bytes = 5678;
  out.events = 9;
  out.selection_ms = 0.125;
  out.prefill_ms = 31.5;
  out.first_byte_ms = 40.25;
  out.total_ms = 99.75;
  return out;
}

std::string without_end(std::string line) {
  while (!line.empty() && line.back() == '\n') line.pop_back();
  return line;
}

TEST(FormatLineTest, BothFormsTellTheSame) {
  const RequestRecord r = record("req-1");
  const std::string people = without_end(format_line(r, false));
  const std::string machines = without_end(format_line(r, true));
  for (const std::string what : {"req-1", "lab/team-a/m-small:v2", "p1", "d1", "nixl", "200"}) {
    EXPECT_THAT(people, HasSubstr(what));
    EXPECT_THAT(machines, HasSubstr(what));
  }
  EXPECT_TRUE(json::parse(machines).is_object());
}

TEST(FormatLineTest, WhatWasNotReachedIsNoNumber) {
  RequestRecord r;
  r.request_id = "x";
  for (const bool as_json : {false, true}) {
    const std::string line = without_end(format_line(r, as_json));
    EXPECT_EQ(line.find("nan"), std::string::npos) << line;
    EXPECT_EQ(line.find("inf"), std::string::npos) << line;
    if (as_json) {
      EXPECT_TRUE(json::parse(line).is_object());
    }
  }
}

TEST(FormatLineTest, NobodyForgesALine) {
  const std::string forged =
      "x\n2026-01-01 INFO id=forged\r\x1b[31m\x7f\x01 status=999\xFF \xE2\x80\xA8";
  RequestRecord r = record(forged);
  r.model = r.path = r.prefill_pod = r.decode_pod = r.handoff = r.error_code = forged;
  for (const bool as_json : {false, true}) {
    const std::string line = without_end(format_line(r, as_json));
    for (const char c : line) {
      EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != '\x7f')
          << "byte " << static_cast<int>(c) << " in " << line;
    }
    EXPECT_EQ(line.find('\xFF'), std::string::npos);
    if (as_json) {
      EXPECT_TRUE(json::parse(line).is_object());
    }
  }
}

// In the form for people, a blank inside a value must not look like the next field.
TEST(FormatLineTest, AValueCannotPoseAsAField) {
  RequestRecord r = record("req-1");
  r.model = "m status=999";
  const std::string line = format_line(r, false);
  const std::size_t at = line.find("m status=999");
  if (at != std::string::npos) {
    ASSERT_GT(at, 0u);
    EXPECT_EQ(line[at - 1], '"') << line;
  }
}

// ---- DecisionStore ----------------------------------------------------------------------------

std::shared_ptr<const RequestRecord> shared(const std::string& id, std::uint64_t mark = 0) {
  auto out = std::make_shared<RequestRecord>(record(id));
  out->request_bytes = mark;
  return out;
}

TEST(DecisionStoreTest, FindsTheNewestOfAnId) {
  DecisionStore store(10, 1 << 20);
  store.add(shared("a", 1));
  store.add(shared("b", 2));
  store.add(shared("a", 3));
  ASSERT_NE(store.find("a"), nullptr);
  EXPECT_EQ(store.find("a")->request_bytes, 3u);
  EXPECT_EQ(store.find("nobody"), nullptr);
  const auto newest = store.newest(2);
  ASSERT_EQ(newest.size(), 2u);
  EXPECT_EQ(newest[0]->request_bytes, 3u);
  EXPECT_EQ(newest[1]->request_bytes, 2u);
  EXPECT_EQ(store.newest(100).size(), 3u);
  EXPECT_TRUE(store.newest(0).empty());
}

TEST(DecisionStoreTest, KeepsNoMoreThanItsNumber) {
  DecisionStore store(3, 1 << 20);
  for (std::uint64_t i = 0; i < 10; ++i) store.add(shared("r" + std::to_string(i), i));
  EXPECT_EQ(store.newest(100).size(), 3u);
  EXPECT_EQ(store.find("r6"), nullptr);
  EXPECT_NE(store.find("r7"), nullptr);
}

TEST(DecisionStoreTest, AnOldRecordThatLeavesDoesNotHideANewerOneOfItsId) {
  DecisionStore store(2, 1 << 20);
  store.add(shared("a", 1));
  store.add(shared("a", 2));
  store.add(shared("b", 3));
  ASSERT_NE(store.find("a"), nullptr);
  EXPECT_EQ(store.find("a")->request_bytes, 2u);
}

TEST(DecisionStoreTest, KeepsNoMoreThanItsMemory) {
  DecisionStore store(1'000'000, 200'000);
  for (int i = 0; i < 200; ++i) {
    auto big = std::make_shared<RequestRecord>(record("r" + std::to_string(i)));
    DecisionRecord decision;
    decision.prefill.columns.assign(1000, 1.0);
    EXPECT_GE(decision.memory(), 8000u);
    big->decisions.push_back(std::move(decision));
    store.add(big);
  }
  EXPECT_LE(store.newest(1000).size(), 25u);
  EXPECT_GE(store.newest(1000).size(), 1u);
}

// ---- Queue and thread -------------------------------------------------------------------------

TEST(RequestRecordQueueTest, KeepsTheOrderAndCountsWhatDoesNotFit) {
  RequestRecordQueue queue;
  std::uint64_t pushed = 0;
  while (queue.dropped() < 3) {
    ASSERT_LT(pushed, 1'000'000u);
    auto r = std::make_unique<RequestRecord>();
    r->request_bytes = pushed++;
    queue.push(std::move(r));
  }
  std::uint64_t popped = 0;
  while (const auto r = queue.pop()) EXPECT_EQ(r->request_bytes, popped++);
  EXPECT_EQ(popped, pushed - 3);
  EXPECT_EQ(queue.pop(), nullptr);
}

TEST(RequestRecordQueueTest, WhatIsLeftIsFreed) {
  RequestRecordQueue queue;
  for (int i = 0; i < 10; ++i) queue.push(std::make_unique<RequestRecord>(record("x")));
}

TEST(RequestLogTest, StopWritesWhatIsStillQueued) {
  DecisionStore store(10'000, 1 << 26);
  std::atomic<int> turns{0};
  RequestLog log(2, store, true, [&] { ++turns; });
  std::thread workers[2];
  for (std::size_t w = 0; w < 2; ++w) {
    workers[w] = std::thread([&log, w] {
      for (int i = 0; i < 500; ++i) {
        log.queue(w).push(std::make_unique<RequestRecord>(
            record("w" + std::to_string(w) + "-" + std::to_string(i))));
      }
    });
  }
  for (auto& worker : workers) worker.join();
  log.stop();
  EXPECT_EQ(store.newest(10'000).size() + log.dropped(), 1000u);
  EXPECT_NE(store.find("w1-499"), nullptr);
  EXPECT_GE(turns, 1);
  log.stop();
}

}  // namespace
}  // namespace pd
