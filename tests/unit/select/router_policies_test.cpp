// What policies answer, and what the router makes of it: no score, errors, exclusions, infinities.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/select/selection_fixture.h"

namespace pd {
namespace {

using test::decode_pod;
using test::kInfinity;
using test::kUnknown;
using test::prefill_pod;
using test::view;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// Scores by pod name; what is not listed keeps the NaN that the host has filled in.
using Scores = std::map<std::string, double, std::less<>>;

pd_status fill(const pd_candidates* candidates, pd_scores* scores, const Scores& by_name) {
  for (std::uint32_t i = 0; i < scores->count; ++i) {
    const auto found = by_name.find(view(candidates->pods[i]->name));
    if (found != by_name.end()) scores->values[i] = found->second;
  }
  return PD_OK;
}

class RouterPoliciesTest : public test::SelectionTest {
 protected:
  RouterPoliciesTest() { settings_.prefill_stddev_factor = 100; }

  test::HandMadeDecode<0>& decode_by(Scores by_name, std::uint32_t flags = 0) {
    return use_decode(
        [by_name](const pd_request*, const pd_decode_batch* batch, pd_scores* scores) {
          return fill(batch->candidates, scores, by_name);
        },
        0, flags);
  }
  test::HandMadePrefill<0>& prefill_by(Scores by_name, std::uint32_t flags = 0) {
    return use_prefill(
        [by_name](const pd_request*, const pd_prefill_batch* batch, pd_scores* scores) {
          return fill(batch->candidates, scores, by_name);
        },
        0, flags);
  }

  const PolicyCounters& decode_counters() const {
    return router_->policies().decode().instance().counters();
  }
  const PolicyCounters& prefill_counters() const {
    return router_->policies().prefill().instance().counters();
  }
};

TEST_F(RouterPoliciesTest, TheLowestScoreWins) {
  decode_by({{"d1", 2.5}, {"d2", -1.5}, {"d3", 0}});
  prefill_by({{"p1", 7}, {"p2", 3}});
  set_fleet(
      {prefill_pod("p1"), prefill_pod("p2"), decode_pod("d1"), decode_pod("d2"), decode_pod("d3")});
  EXPECT_EQ(selected(), "p2 d2 scores");
  EXPECT_FALSE(select()->fallback_used);
  EXPECT_EQ(scratch_.decode.max_score, 2.5);
}

TEST_F(RouterPoliciesTest, ANaNScoreIsReplacedByTheFallbackForThatPodAlone) {
  decode_by({{"d1", 50}});
  set_fleet(
      {prefill_pod("p1"), decode_pod("d1", "rs1", 1, 10, .5), decode_pod("d2", "rs1", 4, 20, .5)});
  const auto decision = select();
  ASSERT_TRUE(decision);
  EXPECT_TRUE(decision->fallback_used);
  EXPECT_EQ(decision->decode->spec.name, "d2");
  EXPECT_EQ(decode_score("d1"), 50);
  EXPECT_EQ(decode_score("d2"), 1.0);  // load_balancing: (4/4 + (1 - 20/20)) / (50/50)
  EXPECT_EQ(decode_counters().invalid_scores, 1u);
  EXPECT_EQ(decode_counters().fallbacks, 1u);
  EXPECT_EQ(decode_counters().errors, 0u);
}

TEST_F(RouterPoliciesTest, AnInfinityBelowZeroIsNoScore) {
  decode_by({{"d1", -kInfinity}, {"d2", 0.5}});
  set_fleet({prefill_pod("p1"), decode_pod("d1", "rs1", 5), decode_pod("d2", "rs1", 5)});
  const auto decision = select();
  ASSERT_TRUE(decision);
  EXPECT_TRUE(decision->fallback_used);
  EXPECT_EQ(decision->decode->spec.name, "d2");
  EXPECT_EQ(decode_score("d1"), 2);  // load_balancing: 5/5 + (1 - 0/1)
}

TEST_F(RouterPoliciesTest, AnErrorMakesEveryScoreInvalid) {
  auto& policy = use_decode([](const pd_request*, const pd_decode_batch* batch, pd_scores* scores) {
    fill(batch->candidates, scores, {{"d1", 0}, {"d2", 100}});
    return PD_ERR_FAILED;
  });
  set_fleet({prefill_pod("p1"), decode_pod("d1", "rs1", 9), decode_pod("d2", "rs1", 1)});
  const auto decision = select();
  ASSERT_TRUE(decision);
  EXPECT_EQ(policy.calls, 1);
  EXPECT_TRUE(decision->fallback_used);
  EXPECT_EQ(decision->decode->spec.name, "d2");
  EXPECT_EQ(decode_counters().errors, 1u);
}

TEST_F(RouterPoliciesTest, AnUnknownStatusIsAnError) {
  use_decode([](const pd_request*, const pd_decode_batch* batch, pd_scores* scores) -> pd_status {
    fill(batch->candidates, scores, {{"d1", 0}, {"d2", 100}});
    return 12345;
  });
  set_fleet({prefill_pod("p1"), decode_pod("d1", "rs1", 9), decode_pod("d2", "rs1", 1)});
  EXPECT_EQ(selected(), "p1 d2 scores");
  EXPECT_EQ(decode_counters().errors, 1u);
}

TEST_F(RouterPoliciesTest, AnErrorDoesNotExcludeEither) {
  use_decode([](const pd_request*, const pd_decode_batch*, pd_scores* scores) {
    for (std::uint32_t i = 0; i < scores->count; ++i) scores->reasons[i] = 1;
    return PD_ERR_FAILED;
  });
  set_fleet({prefill_pod("p1"), decode_pod("d1", "rs1", 9), decode_pod("d2", "rs1", 1)});
  EXPECT_EQ(selected(), "p1 d2 scores");
}

TEST_F(RouterPoliciesTest, APrefillErrorFallsBackToo) {
  use_prefill([](const pd_request*, const pd_prefill_batch*, pd_scores*) { return PD_ERR_FAILED; });
  set_fleet({prefill_pod("p1", "rs1", 4), prefill_pod("p2", "rs1", 2), decode_pod("d1")});
  const auto decision = select();
  ASSERT_TRUE(decision);
  EXPECT_TRUE(decision->fallback_used);
  EXPECT_EQ(decision->prefill->spec.name, "p2");
  EXPECT_EQ(prefill_score("p1"), 4);
  EXPECT_EQ(prefill_counters().errors, 1u);
}

// Row 59: in the reference nothing is chosen; here the fallback stands in, and says so.
TEST_F(RouterPoliciesTest, Row59_AFailedPrepareFallsBack) {
  auto& policy = prefill_by({{"p1", 0}, {"p2", 9}});
  policy.prepare_status = PD_ERR_FAILED;
  set_fleet({prefill_pod("p1", "rs1", 4), prefill_pod("p2", "rs1", 2), decode_pod("d1")});
  const auto decision = select();
  ASSERT_TRUE(decision);
  EXPECT_TRUE(decision->fallback_used);
  EXPECT_EQ(decision->prefill->spec.name, "p2");
  EXPECT_EQ(policy.calls, 0);
  EXPECT_EQ(policy.released, 0);
}

TEST_F(RouterPoliciesTest, ExcludedPodsAreNotChosenAndKeepTheirReason) {
  use_decode([](const pd_request*, const pd_decode_batch* batch, pd_scores* scores) {
    for (std::uint32_t i = 0; i < scores->count; ++i) {
      const bool excluded = view(batch->candidates->pods[i]->name) == "d1";
      scores->values[i] = excluded ? 0 : 5;
      scores->reasons[i] = excluded ? 2 : 0;
    }
    return PD_OK;
  });
  set_fleet({prefill_pod("p1"), decode_pod("d1"), decode_pod("d2")});
  const auto decision = select();
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->decode->spec.name, "d2");
  EXPECT_FALSE(decision->fallback_used);
  EXPECT_EQ(decode_drop("d1"), Drop::kExcluded);
  EXPECT_EQ(scratch_.decode.reasons[row(scratch_.decode, "d1")], 2u);
  EXPECT_TRUE(std::isnan(decode_score("d1")));
  EXPECT_EQ(scratch_.decode.max_score, 5);
  EXPECT_EQ(decode_counters().invalid_scores, 0u);
}

TEST_F(RouterPoliciesTest, AllExcludedIsATypedError) {
  use_decode([](const pd_request*, const pd_decode_batch*, pd_scores* scores) {
    for (std::uint32_t i = 0; i < scores->count; ++i) scores->reasons[i] = 1;
    return PD_OK;
  });
  set_fleet({prefill_pod("p1"), decode_pod("d1"), decode_pod("d2")});
  const auto decision = select();
  ASSERT_FALSE(decision);
  EXPECT_THAT(decision.error().kind,
              AnyOf(SelectErrorKind::kNoDecode, SelectErrorKind::kNoPrefill));
  EXPECT_THAT(decision.error().message, HasSubstr("m"));
}

TEST_F(RouterPoliciesTest, ExclusionsOfOneRolesetLeaveTheOther) {
  use_prefill([](const pd_request*, const pd_prefill_batch* batch, pd_scores* scores) {
    for (std::uint32_t i = 0; i < scores->count; ++i) {
      scores->values[i] = 3;
      if (view(batch->candidates->pods[i]->roleset) == "rs1") scores->reasons[i] = 1;
    }
    return PD_OK;
  });
  set_fleet({prefill_pod("p1", "rs1"), decode_pod("d1", "rs1", 1), prefill_pod("p2", "rs2"),
             decode_pod("d2", "rs2", 9)});
  for (std::uint64_t seed = 0; seed < 10; ++seed) EXPECT_EQ(selected(seed), "p2 d2 scores");
}

TEST_F(RouterPoliciesTest, AReasonThatTheTableDoesNotHaveIsNotTrusted) {
  use_decode([](const pd_request*, const pd_decode_batch*, pd_scores* scores) {
    scores->values[0] = scores->values[1] = 1;
    scores->reasons[0] = scores->reasons[1] = 77;
    return PD_OK;
  });
  set_fleet({prefill_pod("p1"), decode_pod("d1"), decode_pod("d2")});
  const auto decision =
      select();  // either reading is safe; the row must stay in the table's bounds
  for (const auto reason : scratch_.decode.reasons) EXPECT_LE(reason, 2u);
  if (!decision) {
    EXPECT_EQ(decision.error().kind, SelectErrorKind::kNoDecode);
  }
}

TEST_F(RouterPoliciesTest, PlusInfinityIsALastResortNotAFailure) {
  decode_by({{"d1", kInfinity}, {"d2", kInfinity}});
  set_fleet({prefill_pod("p1"), decode_pod("d1"), decode_pod("d2")});
  const auto decision = select();
  ASSERT_TRUE(decision);
  EXPECT_FALSE(decision->fallback_used);
  EXPECT_EQ(decision->prefill->spec.name, "p1");
}

TEST_F(RouterPoliciesTest, PlusInfinityOnBothSidesStillGivesAPair) {
  decode_by({{"d1", kInfinity}});
  prefill_by({{"p1", kInfinity}});
  set_fleet({prefill_pod("p1"), decode_pod("d1")});
  EXPECT_EQ(selected(), "p1 d1 scores");
}

TEST_F(RouterPoliciesTest, AnyFiniteScoreBeatsPlusInfinity) {
  decode_by({{"d1", kInfinity}, {"d2", 1e300}});
  set_fleet({prefill_pod("p1"), decode_pod("d1"), decode_pod("d2")});
  EXPECT_EQ(selected(), "p1 d2 scores");
  EXPECT_EQ(scratch_.decode.max_score, 1e300);
  set_fleet({prefill_pod("p1", "rs1"), decode_pod("d1", "rs1"), prefill_pod("p2", "rs2", 9),
             decode_pod("d2", "rs2")});
  EXPECT_EQ(selected(), "p2 d2 scores");
}

TEST_F(RouterPoliciesTest, HugeScoresDoNotOverflowToNoPair) {
  constexpr double kMax = std::numeric_limits<double>::max();
  decode_by({{"d1", kMax}, {"d2", kMax}});
  prefill_by({{"p1", kMax}, {"p2", -kMax}});
  set_fleet({prefill_pod("p1"), prefill_pod("p2"), decode_pod("d1"), decode_pod("d2")});
  const auto decision = select();
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->prefill->spec.name, "p2");
}

// A prefill pod of last resort and a decode score that overflows below zero: their sum is no
// number, and must not keep another roleset out.
TEST_F(RouterPoliciesTest, ASumThatIsNoNumberDoesNotHideAnotherRoleset) {
  constexpr double kMax = std::numeric_limits<double>::max();
  prefill_by({{"p1", kInfinity}, {"p2", 1}});
  decode_by({{"d1", -kMax}, {"d2", 0}});
  set_fleet({prefill_pod("p1", "rs1"), decode_pod("d1", "rs1"), prefill_pod("p2", "rs2"),
             decode_pod("d2", "rs2")});
  EXPECT_EQ(selected(), "p2 d2 scores");
  set_fleet({prefill_pod("p2", "rs1"), decode_pod("d2", "rs1"), prefill_pod("p1", "rs2"),
             decode_pod("d1", "rs2")});
  EXPECT_EQ(selected(), "p2 d2 scores");
}

TEST_F(RouterPoliciesTest, NaNOfPolicyAndFallbackDropsThePod) {
  // The fallback is a policy of the test's own too: it knows d2 alone.
  auto fallback = std::make_shared<test::HandMadeDecode<1>>(
      [](const pd_request*, const pd_decode_batch* batch, pd_scores* scores) {
        return fill(batch->candidates, scores, {{"d2", 7}});
      });
  kept_.push_back(fallback);
  ASSERT_TRUE(register_decode_policy(registry_, &fallback->table, nullptr));
  decode_by({});
  choice_.decode_fallback = fallback->policy.name;
  set_fleet({prefill_pod("p1"), decode_pod("d1"), decode_pod("d2")});
  EXPECT_EQ(selected(), "p1 d2 scores");
  EXPECT_EQ(decode_drop("d1"), Drop::kNan);
  EXPECT_EQ(fallback->calls, 1);
  set_fleet({prefill_pod("p1"), decode_pod("d1"), decode_pod("d3")});
  const auto decision = select();
  ASSERT_FALSE(decision);
}

TEST_F(RouterPoliciesTest, AFallbackThatIsThePolicyItselfIsNoLoop) {
  auto& policy = decode_by({});
  choice_.decode_fallback = choice_.decode;
  set_fleet({prefill_pod("p1"), decode_pod("d1")});
  EXPECT_FALSE(select());
  EXPECT_LE(policy.calls, 2);
}

// ---- Shortcuts --------------------------------------------------------------------------------

TEST_F(RouterPoliciesTest, NoShortcutsTurnsDecodeImbalanceOff) {
  decode_by({{"d1", 9}, {"d2", 1}}, PD_POLICY_NO_SHORTCUTS);
  set_fleet({prefill_pod("p1"), decode_pod("d1", "rs1", 0, 1), decode_pod("d2", "rs1", 90, 9000)});
  EXPECT_EQ(selected(), "p1 d2 scores");
}

TEST_F(RouterPoliciesTest, NoShortcutsTurnsPrefillImbalanceOff) {
  prefill_by({{"p1", 9}, {"p2", 1}}, PD_POLICY_NO_SHORTCUTS);
  set_fleet({prefill_pod("p1"), prefill_pod("p2", "rs1", 90), decode_pod("d1")});
  EXPECT_EQ(selected(), "p2 d1 scores");
}

TEST_F(RouterPoliciesTest, NoShortcutsOfOneStageLeavesTheOthers) {
  decode_by({{"d1", 9}, {"d2", 1}}, PD_POLICY_NO_SHORTCUTS);
  set_fleet({prefill_pod("p1"), prefill_pod("p2", "rs1", 90), decode_pod("d1", "rs1", 0),
             decode_pod("d2", "rs1", 90)});
  EXPECT_EQ(selected(), "p1 d2 prefill_imbalance");
}

TEST_F(RouterPoliciesTest, NoShortcutsScoresColdPodsToo) {
  auto& policy = decode_by({{"cold", 0}, {"d1", 5}}, PD_POLICY_NO_SHORTCUTS);
  set_fleet({prefill_pod("p1"), decode_pod("cold"), decode_pod("d1", "rs1", 3)});
  EXPECT_EQ(selected(), "p1 cold scores");
  EXPECT_EQ(policy.calls, 1);
  EXPECT_EQ(decode_score("cold"), 0);
}

TEST_F(RouterPoliciesTest, WithShortcutsColdPodsAreNotInTheBatch) {
  std::uint32_t seen = 0;
  use_decode([&](const pd_request*, const pd_decode_batch* batch, pd_scores* scores) {
    seen = batch->candidates->count;
    return fill(batch->candidates, scores, {{"d1", 5}});
  });
  set_fleet({prefill_pod("p1"), decode_pod("cold"), decode_pod("d1", "rs1", 3)});
  EXPECT_EQ(selected(), "p1 cold scores");
  EXPECT_EQ(seen, 1u);
  EXPECT_EQ(decode_score("cold"), 1);
}

// ---- What a policy sees -----------------------------------------------------------------------

TEST_F(RouterPoliciesTest, TheBatchHoldsExactlyTheCandidates) {
  std::vector<std::string> seen;
  double max_requests = 0;
  use_prefill([&](const pd_request*, const pd_prefill_batch* batch, pd_scores* scores) {
    for (std::uint32_t i = 0; i < scores->count; ++i) {
      seen.emplace_back(view(batch->candidates->pods[i]->name));
      scores->values[i] = batch->request_counts[i];
    }
    max_requests = batch->max_request_count;
    return PD_OK;
  });
  settings_.prefill_stddev_factor = 1;
  auto unready = prefill_pod("unready");
  unready.health = PodHealth::kUnready;
  set_fleet({prefill_pod("p1"), prefill_pod("p2"), prefill_pod("p3"), prefill_pod("busy", "rs1", 9),
             unready, prefill_pod("orphan", "rs9"), decode_pod("d1")});
  ASSERT_TRUE(select());
  EXPECT_THAT(seen, ::testing::UnorderedElementsAre("p1", "p2", "p3"));
  EXPECT_EQ(max_requests, 9);
}

TEST_F(RouterPoliciesTest, TheRequestIsWhatTheClientSent) {
  set_body(R"({"model":"m","stream":true,"max_tokens":33,"n":1,"priority":-7,)"
           R"("messages":[{"content":"abcdefgh"}]})");
  bool seen = false;
  use_decode(
      [&](const pd_request* request, const pd_decode_batch* batch, pd_scores* scores) {
        seen = true;
        EXPECT_EQ(request->struct_size, sizeof(pd_request));
        EXPECT_EQ(view(request->request_id), "req-1");
        EXPECT_EQ(view(request->model), "m");
        EXPECT_EQ(view(request->path), "/v1/chat/completions");
        EXPECT_EQ(view(request->session), "session-1");
        EXPECT_EQ(view(request->prompt), "abcdefgh");
        EXPECT_EQ(request->prompt_bytes, 8u);
        EXPECT_EQ(request->block_count, 2u);
        EXPECT_NE(request->block_hashes, nullptr);
        EXPECT_EQ(request->block_size, 4u);
        EXPECT_EQ(request->flags, PD_REQUEST_STREAM);
        EXPECT_EQ(request->max_output_tokens, 33u);
        EXPECT_EQ(request->priority, -7);
        EXPECT_EQ(request->arrival_ns, kNow - 5);
        EXPECT_EQ(request->decision_ns, kNow);
        EXPECT_EQ(request->choices, 1u);
        EXPECT_EQ(request->attempt, 2u);
        EXPECT_EQ(request->tried_pod_count, 1u);
        EXPECT_EQ(request->tried_pods[0], 4711u);
        EXPECT_EQ(request->worker, 1u);
        EXPECT_EQ(request->reserved0, 0u);
        EXPECT_EQ(batch->candidates->fleet_generation, fleet_->generation());
        for (std::uint32_t i = 0; i < scores->count; ++i) scores->values[i] = 1;
        return PD_OK;
      },
      PD_USES_PROMPT | PD_USES_PREFIX);
  set_fleet({prefill_pod("p1"), decode_pod("d1")});
  tried_ = {4711};
  ASSERT_TRUE(select());
  EXPECT_TRUE(seen);
}

TEST_F(RouterPoliciesTest, ADryRunIsMarked) {
  std::uint32_t flags = 0;
  auto& policy =
      use_decode([&](const pd_request* request, const pd_decode_batch*, pd_scores* scores) {
        flags = request->flags;
        for (std::uint32_t i = 0; i < scores->count; ++i) scores->values[i] = 1;
        return PD_OK;
      });
  int told = 0;
  policy.on_chosen = [&](const pd_request*, const pd_choice*) { ++told; };
  set_fleet({prefill_pod("p1"), decode_pod("d1")});
  dry_run_ = true;
  ASSERT_TRUE(select());
  EXPECT_EQ(flags & PD_REQUEST_DRY_RUN, PD_REQUEST_DRY_RUN);
  EXPECT_EQ(told, 0);
  dry_run_ = false;
  ASSERT_TRUE(select());
  EXPECT_EQ(told, 1);
}

TEST_F(RouterPoliciesTest, DecodeColumnsHoldValuesWhereNothingIsKnown) {
  use_decode([&](const pd_request*, const pd_decode_batch* batch, pd_scores* scores) {
    EXPECT_EQ(batch->struct_size, sizeof(pd_decode_batch));
    for (std::uint32_t i = 0; i < scores->count; ++i) {
      EXPECT_EQ(batch->running_reqs[i], 0);
      EXPECT_EQ(batch->throughput[i], 0);
      EXPECT_EQ(batch->free_gpu_percent[i], 100);
      scores->values[i] = 1;
    }
    EXPECT_EQ(batch->max_request_count, 1);
    EXPECT_EQ(batch->max_throughput, 1);
    EXPECT_EQ(batch->max_free_gpu_usage, 100);
    return PD_OK;
  });
  set_fleet({prefill_pod("p1"), decode_pod("d1"), decode_pod("d2")});
  EXPECT_TRUE(select());
}

TEST_F(RouterPoliciesTest, LoadColumnsBelongToTheirPods) {
  const auto check = [&](const pd_candidates* candidates) {
    const pd_load& load = *candidates->load;
    for (std::uint32_t i = 0; i < candidates->count; ++i) {
      const bool d1 = view(candidates->pods[i]->name) == "d1";
      const auto same = [](double a, double b) {
        return a == b || (std::isnan(a) && std::isnan(b));
      };
      EXPECT_TRUE(same(load.running[i], d1 ? 4 : kUnknown));
      EXPECT_TRUE(same(load.waiting[i], d1 ? 5 : kUnknown));
      EXPECT_TRUE(same(load.throughput[i], d1 ? 6 : kUnknown));
      EXPECT_TRUE(same(load.kv_usage[i], d1 ? .5 : kUnknown));
      EXPECT_TRUE(same(load.kv_blocks[i], d1 ? 7 : kUnknown));
      EXPECT_TRUE(same(load.kv_block_tokens[i], d1 ? 8 : kUnknown));
      EXPECT_TRUE(same(load.prefill_time_ms[i], d1 ? 9 : kUnknown));
      EXPECT_TRUE(same(load.drain_rate[i], d1 ? 10 : kUnknown));
      EXPECT_TRUE(same(load.prefill_prealloc[i], d1 ? 11 : kUnknown));
      EXPECT_TRUE(same(load.decode_prealloc[i], d1 ? 12 : kUnknown));
      EXPECT_TRUE(same(load.sample_age_s[i], d1 ? 1.0 : kUnknown));
      EXPECT_EQ(load.prefill_requests[i], d1 ? 1 : 0);
      EXPECT_EQ(load.decode_requests[i], d1 ? 2 : 0);
      EXPECT_EQ(load.pending_decode[i], d1 ? 3 : 0);
      EXPECT_EQ(load.prefill_tokens[i], d1 ? 100 : 0);
      EXPECT_EQ(load.decode_tokens[i], d1 ? 200 : 0);
      EXPECT_TRUE(same(load.idle_s[i], d1 ? 0.5 : kUnknown));
      EXPECT_TRUE(same(load.ttft_ms[i], d1 ? 13 : kUnknown));
      EXPECT_TRUE(same(load.inter_token_ms[i], d1 ? 14 : kUnknown));
      EXPECT_TRUE(same(load.error_rate[i], d1 ? 1 : kUnknown));
    }
  };
  auto& policy = use_decode(
      [&](const pd_request*, const pd_decode_batch* batch, pd_scores* scores) {
        check(batch->candidates);
        for (std::uint32_t i = 0; i < scores->count; ++i) scores->values[i] = 1;
        return PD_OK;
      },
      PD_USES_KNOWN & ~std::uint64_t{PD_USES_TOKENIZER_OUTPUT}, PD_POLICY_NO_SHORTCUTS);
  set_fleet({prefill_pod("p1"), decode_pod("d2"), decode_pod("d1"), decode_pod("d3")});
  for (const char* unsampled : {"d2", "d3"}) {
    fleet_->columns().store(pod(unsampled).index, EngineSample{}, 0);
  }
  EngineSample sample;
  sample.running = 4;
  sample.waiting = 5;
  sample.throughput = 6;
  sample.kv_usage = .5;
  sample.kv_blocks = 7;
  sample.kv_block_tokens = 8;
  sample.prefill_time_ms = 9;
  sample.drain_rate = 10;
  sample.prefill_prealloc = 11;
  sample.decode_prealloc = 12;
  fleet_->columns().store(pod("d1").index, sample, kSampledAt);
  PodSlot& slot = *pod("d1").slot;
  slot.prefill_requests = 1;
  slot.decode_requests = 2;
  slot.pending_decode = 3;
  slot.prefill_tokens = 100;
  slot.decode_tokens = 200;
  slot.averages.note_chosen(kNow - 500'000'000);
  slot.averages.note_ttft_ms(13);
  slot.averages.note_inter_token_ms(14);
  slot.averages.note_result(true);
  ASSERT_TRUE(select());
  EXPECT_EQ(policy.calls, 1);
}

TEST_F(RouterPoliciesTest, PrefillColumnsOfThePrefix) {
  settings_.prefill_stddev_factor = 1;
  int calls = 0;
  use_prefill(
      [&](const pd_request* request, const pd_prefill_batch* batch, pd_scores* scores) {
        ++calls;
        EXPECT_EQ(request->block_count, 3u);
        for (std::uint32_t i = 0; i < scores->count; ++i) {
          const bool p1 = view(batch->candidates->pods[i]->name) == "p1";
          EXPECT_EQ(batch->match_percent[i], p1 ? 66 : 0);
          EXPECT_EQ(batch->matched_blocks[i], p1 ? 2 : 0);
          EXPECT_DOUBLE_EQ(batch->matched_bytes[i], p1 ? 66 * 14 / 100.0 : 0);
          scores->values[i] = 1;
        }
        return PD_OK;
      },
      PD_USES_PREFIX);
  set_prompt("aaaabbbbccccdd");
  set_fleet({prefill_pod("p1"), prefill_pod("p2"), decode_pod("d1")});
  record_prefix("p1", "aaaabbbb");
  ASSERT_TRUE(select());
  EXPECT_EQ(calls, 1);
}

// ---- Life cycle and feedback ------------------------------------------------------------------

TEST_F(RouterPoliciesTest, EveryPreparedScorerIsReleased) {
  auto& policy = prefill_by({{"p1", 1}});
  set_fleet({prefill_pod("p1"), decode_pod("d1")});
  ASSERT_TRUE(select());
  EXPECT_EQ(policy.prepared, 1);
  EXPECT_EQ(policy.released, 1);
  EXPECT_EQ(policy.released_with_choice, 1);
}

TEST_F(RouterPoliciesTest, AScorerIsReleasedWithoutAChoiceWhereThereIsNone) {
  auto& policy = prefill_by({{"p1", 1}});
  use_decode([](const pd_request*, const pd_decode_batch*, pd_scores* scores) {
    for (std::uint32_t i = 0; i < scores->count; ++i) scores->reasons[i] = 1;
    return PD_OK;
  });
  set_fleet({prefill_pod("p1"), decode_pod("d1")});
  ASSERT_FALSE(select());
  EXPECT_EQ(policy.prepared, 1);
  EXPECT_EQ(policy.released, 1);
  EXPECT_EQ(policy.released_with_choice, 0);
}

TEST_F(RouterPoliciesTest, FeedbackNamesThePairAndTheTag) {
  auto& decode = use_decode([](const pd_request*, const pd_decode_batch* batch, pd_scores* scores) {
    scores->tag = 77;
    return fill(batch->candidates, scores, {{"d1", 2}, {"d2", 1}});
  });
  auto& prefill =
      use_prefill([](const pd_request*, const pd_prefill_batch* batch, pd_scores* scores) {
        scores->tag = 88;
        return fill(batch->candidates, scores, {{"p1", 1}});
      });
  std::vector<std::string> told;
  const auto tell = [&](const pd_request*, const pd_choice* choice) {
    told.push_back(std::string(view(choice->prefill->name)) + " " +
                   std::string(view(choice->decode->name)) + " " + std::to_string(choice->tag) +
                   " " + std::to_string(choice->flags));
  };
  decode.on_chosen = tell;
  prefill.on_chosen = tell;
  set_fleet({prefill_pod("p1"), decode_pod("d1"), decode_pod("d2")});
  const auto decision = select();
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->decode_tag, 77u);
  EXPECT_EQ(decision->prefill_tag, 88u);
  EXPECT_THAT(told, ::testing::UnorderedElementsAre("p1 d2 77 0", "p1 d2 88 0"));
}

TEST_F(RouterPoliciesTest, ShortcutsAreToldToo) {
  auto& decode = decode_by({{"d1", 2}, {"d2", 1}});
  std::uint32_t flags = 0;
  decode.on_chosen = [&](const pd_request*, const pd_choice* choice) { flags = choice->flags; };
  set_fleet({prefill_pod("p1"), decode_pod("d1", "rs1", 0), decode_pod("d2", "rs1", 50)});
  EXPECT_EQ(selected(), "p1 d1 decode_requests");
  EXPECT_EQ(flags, PD_CHOICE_SHORTCUT);
}

TEST_F(RouterPoliciesTest, ReplacedSetsDestroyTheirInstances) {
  auto& decode = decode_by({{"d1", 1}});
  set_fleet({prefill_pod("p1"), decode_pod("d1")});
  ASSERT_TRUE(select());
  EXPECT_EQ(decode.instances, 1);
  router_.reset();
  EXPECT_EQ(decode.instances, 0);
}

}  // namespace
}  // namespace pd
