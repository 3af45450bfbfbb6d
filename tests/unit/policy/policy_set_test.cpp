// Building a set of policies, and the probe that every one of them must pass first.
#include "framework/policy/policy_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/policy/policy_probe.h"
#include "tests/unit/select/selection_fixture.h"

namespace pd {
namespace {

using test::kInfinity;
using test::kUnknown;
using ::testing::Contains;
using ::testing::HasSubstr;

class PolicySetTest : public test::SelectionTest {
 protected:
  std::vector<std::string> faults() {
    // Hand-made policies do during the probe what they were given to do.
    test::policies_are_live = true;
    const auto set = PolicySet::build(registry_, choice_, InstanceLimits{}, environment_, 1);
    return set ? std::vector<std::string>{} : set.error();
  }
  template <class Value>
  void score_all(Value value) {
    use_decode([value](const pd_request*, const pd_decode_batch*, pd_scores* scores) {
      for (std::uint32_t i = 0; i < scores->count; ++i) scores->values[i] = value;
      return PD_OK;
    });
  }
};

TEST_F(PolicySetTest, MakesEveryChosenPolicy) {
  choice_.prefill = "prefix_cache";
  choice_.decode = "load_balancing";
  const auto set = PolicySet::build(registry_, choice_, InstanceLimits{}, environment_, 3);
  ASSERT_TRUE(set);
  EXPECT_EQ((*set)->prefill().name(), "prefix_cache");
  EXPECT_EQ((*set)->decode().name(), kDecodePolicyLoadBalancing);
  EXPECT_EQ((*set)->prefill_fallback().name(), "least_request");
  EXPECT_EQ((*set)->decode_fallback().name(), "load_balancing");
  EXPECT_EQ((*set)->label(), "prefix_cache/load_balancing@3");
  EXPECT_EQ((*set)->generation(), 3u);
  EXPECT_EQ((*set)->uses() & PD_USES_PREFIX, PD_USES_PREFIX);
  EXPECT_FALSE((*set)->decode().describe().empty());
}

TEST_F(PolicySetTest, UsesAreThoseOfAllFour) {
  const auto without = PolicySet::build(registry_, choice_, InstanceLimits{}, environment_, 1);
  ASSERT_TRUE(without);
  EXPECT_EQ((*without)->uses(), 0u);
  choice_.prefill_fallback = "conductor";
  const auto with = PolicySet::build(registry_, choice_, InstanceLimits{}, environment_, 1);
  ASSERT_TRUE(with);
  EXPECT_EQ((*with)->uses(), PD_USES_PREFIX | PD_USES_PREFILL_TIME);
}

TEST_F(PolicySetTest, Row91_NamesAreTrimmedAndOfAnyCase) {
  choice_.decode = " Least_Request ";
  EXPECT_THAT(faults(), ::testing::IsEmpty());
}

TEST_F(PolicySetTest, Row92_EveryFaultIsListed) {
  choice_.prefill = "prefix_cash";
  choice_.decode = "load_balance";
  choice_.decode_fallback = "";
  choice_.options["load_balancing"] = {{"weight_runing", 1.0, 7, "pd.toml"}};
  const auto found = faults();
  EXPECT_THAT(found, Contains(HasSubstr("prefix_cash")));
  EXPECT_THAT(found, Contains(HasSubstr("load_balance")));
  EXPECT_GE(found.size(), 3u);
}

TEST_F(PolicySetTest, OptionsReachThePolicy) {
  choice_.decode = "load_balancing";
  choice_.options["load_balancing"] = {{"weight_running", 0.0, 0, ""},
                                       {"weight_throughput", 5.0, 0, ""}};
  set_fleet({test::prefill_pod("p1"), test::decode_pod("d1", "rs1", 4, 50, 0)});
  ASSERT_TRUE(select());
  EXPECT_DOUBLE_EQ(decode_score("d1"), 0.0);
  set_fleet({test::prefill_pod("p1"), test::decode_pod("d1", "rs1", 4, 50, 0),
             test::decode_pod("d2", "rs1", 4, 100, 0)});
  ASSERT_TRUE(select());
  EXPECT_DOUBLE_EQ(decode_score("d1"), 2.5);
}

TEST_F(PolicySetTest, BadOptionsAreRefusedByName) {
  choice_.decode = "load_balancing";
  choice_.options["load_balancing"] = {{"weight_runing", 1.0, 7, "pd.toml"}};
  EXPECT_THAT(faults(), Contains(HasSubstr("weight_runing")));
  choice_.options["load_balancing"] = {{"weight_running", -1.0, 7, "pd.toml"}};
  EXPECT_THAT(faults(), Contains(HasSubstr("weight_running")));
}

TEST_F(PolicySetTest, AFailingCreateIsAFault) {
  score_all(1.0);
  auto policy = std::static_pointer_cast<test::HandMadeDecode<0>>(kept_.back());
  policy->on_create = [](const pd_policy_config*) { return PD_ERR_FAILED; };
  EXPECT_THAT(faults(), Contains(HasSubstr("hand_made")));
}

TEST_F(PolicySetTest, CreateIsToldItsStageAndTheLimits) {
  score_all(1.0);
  auto policy = std::static_pointer_cast<test::HandMadeDecode<0>>(kept_.back());
  int created = 0;
  policy->on_create = [&](const pd_policy_config* config) {
    ++created;
    EXPECT_EQ(config->struct_size, sizeof(pd_policy_config));
    EXPECT_EQ(config->role, PD_ROLE_DECODE);
    EXPECT_EQ(config->worker_count, 7u);
    EXPECT_EQ(config->slot_limit, 99u);
    EXPECT_EQ(config->value_count, 0u);
    return PD_OK;
  };
  EXPECT_TRUE(PolicySet::build(registry_, choice_, InstanceLimits{7, 99}, environment_, 1));
  EXPECT_EQ(created, 1);
}

// ---- The probe --------------------------------------------------------------------------------

TEST_F(PolicySetTest, FiniteScoresPassTheProbe) {
  score_all(-3.5);
  EXPECT_THAT(faults(), ::testing::IsEmpty());
}

TEST_F(PolicySetTest, NaNAndMinusInfinityFailTheProbe) {
  for (const double bad : {kUnknown, -kInfinity}) {
    score_all(bad);
    EXPECT_THAT(faults(), Contains(HasSubstr("hand_made")));
  }
}

TEST_F(PolicySetTest, AnErrorFailsTheProbe) {
  use_decode([](const pd_request*, const pd_decode_batch*, pd_scores*) { return PD_ERR_FAILED; });
  EXPECT_THAT(faults(), Contains(HasSubstr("hand_made")));
}

TEST_F(PolicySetTest, AReasonPassesTheProbe) {
  use_decode([](const pd_request*, const pd_decode_batch*, pd_scores* scores) {
    for (std::uint32_t i = 0; i < scores->count; ++i) {
      scores->reasons[i] = i == 0 ? 1 : 0;
      if (i != 0) scores->values[i] = 1;
    }
    return PD_OK;
  });
  EXPECT_THAT(faults(), ::testing::IsEmpty());
}

TEST_F(PolicySetTest, AReasonThatIsNotInTheTableFailsTheProbe) {
  use_decode([](const pd_request*, const pd_decode_batch*, pd_scores* scores) {
    for (std::uint32_t i = 0; i < scores->count; ++i) scores->reasons[i] = 3;
    return PD_OK;
  });
  EXPECT_THAT(faults(), Contains(HasSubstr("hand_made")));
}

TEST_F(PolicySetTest, TheProbeIsAWholeDryRunOfThePrefillSide) {
  auto& policy = use_prefill(
      [](const pd_request* request, const pd_prefill_batch* batch, pd_scores* scores) {
        EXPECT_EQ(request->flags & PD_REQUEST_DRY_RUN, PD_REQUEST_DRY_RUN);
        EXPECT_GE(batch->candidates->count, 1u);
        for (std::uint32_t i = 0; i < scores->count; ++i) {
          EXPECT_NE(batch->candidates->pods[i], nullptr);
          EXPECT_GE(batch->request_counts[i], 0);
          EXPECT_GE(batch->match_percent[i], 0);
          scores->values[i] = 1;
        }
        return PD_OK;
      },
      PD_USES_PREFIX);
  EXPECT_THAT(faults(), ::testing::IsEmpty());
  EXPECT_EQ(policy.prepared, policy.released);
  EXPECT_GE(policy.prepared, 1);
}

TEST_F(PolicySetTest, AFailedPrepareFailsTheProbe) {
  auto& policy = use_prefill([](const pd_request*, const pd_prefill_batch*, pd_scores* scores) {
    for (std::uint32_t i = 0; i < scores->count; ++i) scores->values[i] = 1;
    return PD_OK;
  });
  policy.prepare_status = PD_ERR_FAILED;
  EXPECT_THAT(faults(), Contains(HasSubstr("hand_made")));
}

// ---- One pod, as the package's API scores it --------------------------------------------------

TEST_F(PolicySetTest, Row87_ScoreDecodePodFollowsTheFormulas) {
  choice_.decode = "load_balancing";
  const auto set = PolicySet::build(registry_, choice_, InstanceLimits{}, environment_, 1);
  ASSERT_TRUE(set);
  set_fleet({test::decode_pod("d1")});
  const pd_request request{};
  const DecodePodInput input{3, 100, 50, 6, 400, 80};
  EXPECT_DOUBLE_EQ((*set)->decode().score_decode_pod(request, pod("d1").abi, input),
                   (3.0 / 6 + (1 - 100.0 / 400)) / (50.0 / 80));
}

TEST_F(PolicySetTest, AnExcludedPodHasNoScore) {
  use_decode([](const pd_request*, const pd_decode_batch*, pd_scores* scores) {
    scores->values[0] = 1;
    scores->reasons[0] = test::policies_are_live ? 1 : 0;
    return PD_OK;
  });
  test::policies_are_live = false;
  const auto set = PolicySet::build(registry_, choice_, InstanceLimits{}, environment_, 1);
  ASSERT_TRUE(set);
  test::policies_are_live = true;
  set_fleet({test::decode_pod("d1")});
  EXPECT_TRUE(
      std::isnan((*set)->decode().score_decode_pod(pd_request{}, pod("d1").abi, DecodePodInput{})));
}

}  // namespace
}  // namespace pd
