// A recorded decision in the shape of the decision format.
#include "host/admin/decision_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/unit/select/selection_fixture.h"

namespace pd {
namespace {

namespace json = boost::json;
using test::decode_pod;
using test::prefill_pod;
using ::testing::HasSubstr;

TEST(JsonNumberTest, NumbersReadBackAndOthersAreWords) {
  for (const double value : {0.0, 0.1, 1.0 / 3, 1e300, 5e-324, -2.5, 12345678.9}) {
    EXPECT_EQ(json::parse(json::serialize(json_number(value))).to_number<double>(), value);
  }
  EXPECT_EQ(json_number(test::kInfinity), "inf");
  EXPECT_EQ(json_number(-test::kInfinity), "-inf");
  EXPECT_EQ(json_number(test::kUnknown), "nan");
}

class DecisionJsonTest : public test::SelectionTest {
 protected:
  // Selects, records, and gives the record as a reader of the admin API gets it.
  json::object decide() {
    const auto decision = select();
    const SelectError error = decision ? SelectError{} : decision.error();
    record_ = record_decision(fleet_, view_.model, router_->policies(), context_, scratch_,
                              decision ? &*decision : nullptr, decision ? nullptr : &error);
    return json::parse(json::serialize(decision_json("req-\"1\"", record_))).as_object();
  }

  // The decision's own keys may stand at the top or under "decision".
  static const json::object& decision_of(const json::object& document) {
    const auto* inner = document.if_contains("decision");
    return inner != nullptr ? inner->as_object() : document;
  }

  DecisionRecord record_;
};

TEST_F(DecisionJsonTest, ADecisionHasTheKeysOfTheFormat) {
  choice_.prefill = "prefix_cache";
  set_fleet({prefill_pod("p1"), prefill_pod("p2", "rs1", 1), decode_pod("d1", "rs1", 2),
             decode_pod("d2", "rs1", 5), prefill_pod("orphan", "rs9")});
  record_prefix("p2", "hello world");
  const json::object document = decide();
  const json::object& decision = decision_of(document);
  EXPECT_EQ(decision.at("id"), "req-\"1\"");
  EXPECT_EQ(decision.at("prefill"), "p2");
  EXPECT_EQ(decision.at("decode"), "d1");
  EXPECT_EQ(decision.at("stage"), "scores");
  EXPECT_TRUE(decision.at("error").is_null());
  EXPECT_EQ(decision.at("fallback_used"), false);
  EXPECT_EQ(decision.at("match_percent").at("p2").to_number<double>(), 100);
  EXPECT_EQ(decision.at("match_percent").at("p1").to_number<double>(), 0);
  EXPECT_EQ(decision.at("prefill_scores").at("p1").to_number<double>(), 10);
  EXPECT_EQ(decision.at("prefill_scores").at("p2").to_number<double>(), 1);
  EXPECT_EQ(decision.at("decode_scores").at("d2").to_number<double>(), 5);
  EXPECT_EQ(decision.at("max_prefill_score").to_number<double>(), 10);
  EXPECT_EQ(decision.at("max_decode_score").to_number<double>(), 5);
  EXPECT_DOUBLE_EQ(decision.at("final").at("rs1").to_number<double>(), 1.0 / 10 + 2.0 / 5);
  EXPECT_EQ(decision.at("dropped").at("orphan"), "roleset");
}

TEST_F(DecisionJsonTest, DroppedPodsHaveANullScoreAndAReason) {
  set_fleet({prefill_pod("p1", "rs1", 9), prefill_pod("p2"), prefill_pod("p3"),
             decode_pod("d1", "rs1", 0), decode_pod("d2", "rs1", 40)});
  const json::object document = decide();
  const json::object& decision = decision_of(document);
  EXPECT_EQ(decision.at("stage"), "decode_requests");
  EXPECT_TRUE(decision.at("prefill_scores").at("p1").is_null());
  EXPECT_EQ(decision.at("dropped").at("p1"), "overload");
  EXPECT_TRUE(decision.at("decode_scores").at("d2").is_null());
  EXPECT_EQ(decision.at("dropped").at("d2"), "imbalance");
}

TEST_F(DecisionJsonTest, AnErrorHasNoPair) {
  set_fleet({prefill_pod("p1")});
  const json::object document = decide();
  const json::object& decision = decision_of(document);
  EXPECT_TRUE(decision.at("prefill").is_null());
  EXPECT_TRUE(decision.at("decode").is_null());
  EXPECT_TRUE(decision.at("stage").is_null());
  EXPECT_EQ(decision.at("error").at("kind"), "no_prefill");
  EXPECT_TRUE(decision.at("error").at("message").is_string());
}

TEST_F(DecisionJsonTest, ItHoldsTheInputsThatItWasMadeFrom) {
  auto p1 = prefill_pod("p1", "rs1", 3);
  auto d1 = decode_pod("d1", "rs1", 4, 120.5, 0.4);
  d1.pending = 2;
  d1.drain_rate = 1.5;
  set_fleet({p1, d1});
  const json::object document = decide();
  const json::value& inputs = document.at("case").at("pods").at(1);
  EXPECT_EQ(inputs.at("name"), "d1");
  EXPECT_EQ(inputs.at("metrics").at("throughput").to_number<double>(), 120.5);
  EXPECT_EQ(inputs.at("metrics").at("drain_rate").to_number<double>(), 1.5);
  EXPECT_EQ(inputs.at("inflight").at("pending_decode").to_number<double>(), 2);
  EXPECT_EQ(record_.prefill.value(RecordedColumn::kRequests, 0), 3);
  EXPECT_EQ(record_.decode.value(RecordedColumn::kRunning, 0), 4);
  EXPECT_EQ(record_.decode.value(RecordedColumn::kPending, 0), 2);
  EXPECT_EQ(record_.decode.value(RecordedColumn::kThroughput, 0), 120.5);
  EXPECT_EQ(record_.decode.value(RecordedColumn::kFreeGpuPercent, 0), 60);
  EXPECT_EQ(record_.decode.value(RecordedColumn::kDrainRate, 0), 1.5);
  EXPECT_EQ(record_.model, "m");
  EXPECT_THAT(record_.policies, HasSubstr("least_request/least_request@3"));
}

TEST_F(DecisionJsonTest, NeverThePrompt) {
  choice_.prefill = "prefix_cache";
  set_prompt("the secret of the client");
  set_fleet({prefill_pod("p1"), decode_pod("d1")});
  EXPECT_EQ(json::serialize(decide()).find("secret"), std::string::npos);
}

TEST_F(DecisionJsonTest, ARecordOutlivesTheNextChoice) {
  set_fleet({prefill_pod("p1"), decode_pod("d1")});
  const json::object before = decide();
  const DecisionRecord kept = record_;
  set_fleet({prefill_pod("p9"), decode_pod("d9")});
  ASSERT_TRUE(select());
  EXPECT_EQ(json::parse(json::serialize(decision_json("req-\"1\"", kept))), json::value(before));
}

TEST_F(DecisionJsonTest, AnInfiniteScoreIsAWord) {
  use_decode([](const pd_request*, const pd_decode_batch*, pd_scores* scores) {
    for (std::uint32_t i = 0; i < scores->count; ++i) scores->values[i] = test::kInfinity;
    return PD_OK;
  });
  set_fleet({prefill_pod("p1"), decode_pod("d1")});
  const json::object document = decide();
  EXPECT_EQ(decision_of(document).at("decode_scores").at("d1"), "inf");
}

}  // namespace
}  // namespace pd
