#include "examples/pd-sim/handoff_ledger.h"

#include <gtest/gtest.h>

namespace pd::sim {
namespace {

using std::chrono::seconds;

class HandoffLedgerTest : public ::testing::Test {
 protected:
  HandoffLedgerTest() {
    ledger_.restart("engine");
    BlockTable table;
    table.ids = handoff_.blocks;
    ledger_.issue(handoff_, table, now_ + seconds(30));
  }

  Handoff handoff_{"engine", "cmpl-1-0-ab", "client-1", 77, 9, {4, 5, 6}};
  Clock::time_point now_{};
  HandoffLedger ledger_;
};

TEST_F(HandoffLedgerTest, IsReadOnce) {
  EXPECT_EQ(ledger_.pinned_blocks().size(), 3U);
  EXPECT_EQ(ledger_.claim(handoff_, now_), Refusal::kNone);
  EXPECT_EQ(ledger_.pinned_blocks().size(), 3U) << "pinned until they have been read";
  EXPECT_EQ(ledger_.claim(handoff_, now_), Refusal::kReadTwice);
  const auto table = ledger_.finish_read(handoff_.request_id);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->ids, handoff_.blocks);
  EXPECT_EQ(ledger_.claim(handoff_, now_), Refusal::kReadTwice);
  EXPECT_TRUE(ledger_.pinned_blocks().empty());
}

TEST_F(HandoffLedgerTest, RefusesEveryWrongField) {
  const auto refusal = [this](auto&& change) {
    Handoff wanted = handoff_;
    change(wanted);
    return ledger_.claim(wanted, now_);
  };
  EXPECT_EQ(refusal([](Handoff& h) { h.engine_id = "other"; }), Refusal::kWrongEngine);
  EXPECT_EQ(refusal([](Handoff& h) { h.request_id = "nobody"; }), Refusal::kUnknownRequest);
  EXPECT_EQ(refusal([](Handoff& h) { h.prompt_hash = 1; }), Refusal::kWrongPrompt);
  EXPECT_EQ(refusal([](Handoff& h) { h.blocks = {4, 5}; }), Refusal::kWrongBlocks);
  EXPECT_EQ(refusal([](Handoff& h) { h.tokens = 10; }), Refusal::kWrongBlocks);
  EXPECT_EQ(refusal([](Handoff& h) { h.client_request_id.clear(); }), Refusal::kRequestIdDiffers);
  EXPECT_EQ(ledger_.claim(handoff_, now_), Refusal::kNone) << "a refusal takes nothing";
}

TEST_F(HandoffLedgerTest, ExpiresUnread) {
  EXPECT_EQ(ledger_.next_expiry(), now_ + seconds(30));
  EXPECT_TRUE(ledger_.expire(now_ + seconds(29)).empty());
  const auto tables = ledger_.expire(now_ + seconds(30));
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].ids, handoff_.blocks);
  EXPECT_EQ(ledger_.claim(handoff_, now_ + seconds(31)), Refusal::kExpired);
  EXPECT_FALSE(ledger_.next_expiry());
}

TEST_F(HandoffLedgerTest, IsRefusedBetweenTheEndOfTheLeaseAndItsTimer) {
  EXPECT_EQ(ledger_.claim(handoff_, now_ + seconds(30)), Refusal::kExpired);
}

TEST_F(HandoffLedgerTest, DoesNotExpireWhileBeingRead) {
  EXPECT_EQ(ledger_.claim(handoff_, now_ + seconds(29)), Refusal::kNone);
  EXPECT_TRUE(ledger_.expire(now_ + seconds(60)).empty());
  EXPECT_TRUE(ledger_.finish_read(handoff_.request_id));
}

TEST_F(HandoffLedgerTest, RestartForgetsAndChangesIdentity) {
  EXPECT_EQ(ledger_.claim(handoff_, now_), Refusal::kNone);
  ledger_.restart("engine-2");
  EXPECT_FALSE(ledger_.finish_read(handoff_.request_id));
  EXPECT_EQ(ledger_.claim(handoff_, now_), Refusal::kWrongEngine);
  EXPECT_TRUE(ledger_.pinned_blocks().empty());
}

}  // namespace
}  // namespace pd::sim
