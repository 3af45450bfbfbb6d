// The C++ wrapper as a host sees it: through the C tables alone.
#include "pd/policy.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "hand_made_host.h"
#include "policies_under_test.h"

PD_PLUGIN("org.example.wrapper", "3.1", "Example", "MIT", "Two policies", PD_PLUGIN_UNLOAD_SAFE,
          pd::sdk::Decode<pd::test::Plain>, pd::sdk::Prefill<pd::test::Counting>,
          pd::sdk::Decode<pd::test::Choosy>)

namespace pd::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class P>
constexpr const pd_policy& decode_base() {
  return *sdk::Decode<P>::kTable.policy;
}

// An instance of P, made and destroyed through the table of its policy.
template <class P>
class Instance {
 public:
  explicit Instance(OptionValues values = {}) {
    const pd_policy_config config = values.config(host_, PD_ROLE_DECODE);
    status = decode_base<P>().create(&config, &handle, error.get());
  }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance() {
    if (handle != nullptr) decode_base<P>().destroy(handle);
  }
  const P& object() const { return *static_cast<const P*>(handle); }

  ErrorBuffer error;
  void* handle = nullptr;
  pd_status status = -1;

 private:
  ClockHost host_;
};

// Three pods and one request: a choice of a decode or a prefill pod.
class Choice {
 public:
  Choice() {
    request.struct_size = sizeof(pd_request);
    request.request_id = text("r-1");
    request.model = text("m");
    request.session = text("s");
    request.prompt_bytes = 100;
    request.block_hashes = hashes.data();
    request.block_count = hashes.size();
    request.attempt = 2;
    request.decision_ns = 99;
    for (std::size_t i = 0; i < pods.size(); ++i) {
      pods[i].struct_size = sizeof(pd_pod);
      pods[i].incarnation = 10 + i;
      pod_pointers[i] = &pods[i];
    }
    load.struct_size = sizeof(pd_load);
    load.waiting = waiting.data();
  }
  Choice(const Choice&) = delete;
  Choice& operator=(const Choice&) = delete;

  std::array<std::uint64_t, 2> hashes{0xAB, 0xCD};
  std::array<double, 3> counts{4, 5, 6};
  std::array<double, 3> matched_bytes{10, 20, 30};
  std::array<double, 3> waiting{1.25, 2, 3};
  std::array<pd_pod, 3> pods{};
  std::array<const pd_pod*, 3> pod_pointers{};
  pd_request request{};
  pd_load load{};
  pd_candidates candidates{sizeof(pd_candidates), 3, pod_pointers.data(), &load, 17};
  pd_decode_batch decode{
      sizeof(pd_decode_batch), 0, &candidates, counts.data(), nullptr, nullptr, 6, 1, 1};
  pd_prefill_batch prefill{
      sizeof(pd_prefill_batch), 0, &candidates, counts.data(), 8, nullptr, nullptr,
      matched_bytes.data()};
  std::array<double, 3> values{kNan, kNan, kNan};
  std::array<std::uint32_t, 3> reasons{};
  pd_scores scores{sizeof(pd_scores), 3, values.data(), reasons.data(), 0};
  ErrorBuffer error;
};

// ---- The plugin's descriptor and load() --------------------------------------------------------

TEST(PolicyWrapperPlugin, DescribesItself) {
  const pd_plugin* plugin = pd_plugin_entry();
  EXPECT_EQ(plugin->magic, 0x4C504450u);
  EXPECT_EQ(std::memcmp(&plugin->magic, "PDPL", 4), 0);
  EXPECT_EQ(plugin->struct_size, sizeof(pd_plugin));
  EXPECT_EQ(plugin->abi_major, 1);
  EXPECT_EQ(plugin->abi_minor, 0) << "what the plugin needs, not what it was built with";
  EXPECT_EQ(plugin->header_minor, PD_ABI_MINOR);
  EXPECT_EQ(plugin->flags, PD_PLUGIN_UNLOAD_SAFE);
  EXPECT_EQ(plugin->reserved0, 0u);
  EXPECT_STREQ(plugin->id, "org.example.wrapper");
  EXPECT_STREQ(plugin->version, "3.1");
  EXPECT_STREQ(plugin->vendor, "Example");
  EXPECT_STREQ(plugin->licence, "MIT");
  EXPECT_STREQ(plugin->description, "Two policies");
  EXPECT_EQ(std::string(plugin->build).rfind("C++ ", 0), 0u) << plugin->build;
  EXPECT_EQ(plugin->unload, nullptr);
  EXPECT_EQ(pd_plugin_entry(), plugin);
}

TEST(PolicyWrapperPlugin, RegistersItsPoliciesInOrder) {
  ClockHost host;
  RecordingRegistrar registrar;
  ErrorBuffer error;
  ASSERT_EQ(pd_plugin_entry()->load(host.get(), registrar.get(), error.get()), PD_OK);
  ASSERT_EQ(registrar.decode.size(), 2u);
  ASSERT_EQ(registrar.prefill.size(), 1u);
  EXPECT_STREQ(registrar.decode[0]->policy->name, "plain");
  EXPECT_STREQ(registrar.decode[1]->policy->name, "choosy");
  EXPECT_STREQ(registrar.prefill[0]->policy->name, "counting");
}

TEST(PolicyWrapperPlugin, StopsAtTheFirstRefusalAndPassesItOn) {
  ClockHost host;
  RecordingRegistrar registrar;
  registrar.refuse_after = 1;
  ErrorBuffer error;
  EXPECT_EQ(pd_plugin_entry()->load(host.get(), registrar.get(), error.get()), PD_ERR_INVALID);
  EXPECT_EQ(error.message(), "refused by the test");
  EXPECT_EQ(registrar.decode.size() + registrar.prefill.size(), 1u);
}

// ---- Tables -------------------------------------------------------------------------------------

TEST(PolicyWrapperTable, OfAPlainPolicyDeclaresNothing) {
  const pd_policy& policy = decode_base<Plain>();
  EXPECT_EQ(policy.struct_size, sizeof(pd_policy));
  EXPECT_EQ(policy.flags, 0u);
  EXPECT_STREQ(policy.name, "plain");
  EXPECT_STREQ(policy.description, "Counts the requests.");
  EXPECT_EQ(policy.uses, 0u);
  EXPECT_EQ(policy.option_count, 0u);
  EXPECT_EQ(policy.reason_count, 0u);
  EXPECT_NE(policy.create, nullptr);
  EXPECT_NE(policy.destroy, nullptr);
  EXPECT_EQ(sdk::Decode<Plain>::kTable.struct_size, sizeof(pd_decode_policy));
  EXPECT_EQ(sdk::Decode<Plain>::kTable.reserved0, 0u);
  EXPECT_EQ(sdk::Prefill<Counting>::kTable.struct_size, sizeof(pd_prefill_policy));
  EXPECT_EQ(sdk::Prefill<Counting>::kTable.reserved0, 0u);
}

TEST(PolicyWrapperTable, CarriesUsesFlagsAndReasons) {
  const pd_policy& policy = decode_base<Choosy>();
  EXPECT_EQ(policy.uses, PD_USES_WAITING);
  EXPECT_EQ(policy.flags, PD_POLICY_NO_SHORTCUTS);
  ASSERT_EQ(policy.reason_count, 2u);
  EXPECT_STREQ(policy.reasons[0], "too far");
  EXPECT_STREQ(policy.reasons[1], "too full");
}

TEST(PolicyWrapperTable, CarriesOptions) {
  const pd_policy& policy = decode_base<Tunable>();
  ASSERT_EQ(policy.option_count, 4u);
  const pd_option& weight = *policy.options[0];
  EXPECT_EQ(weight.struct_size, sizeof(pd_option));
  EXPECT_EQ(weight.type, PD_OPTION_FLOAT);
  EXPECT_STREQ(weight.key, "weight");
  EXPECT_STREQ(weight.help, "A number.");
  EXPECT_EQ(weight.default_float, 1.5);
  EXPECT_EQ(weight.min_float, 0.5);
  EXPECT_EQ(weight.max_float, 2.5);
  const pd_option& limit = *policy.options[1];
  EXPECT_EQ(limit.type, PD_OPTION_INT);
  EXPECT_STREQ(limit.key, "limit");
  EXPECT_EQ(limit.default_int, 7);
  EXPECT_EQ(limit.min_int, -3);
  EXPECT_EQ(limit.max_int, 9);
  const pd_option& strict = *policy.options[2];
  EXPECT_EQ(strict.type, PD_OPTION_BOOL);
  EXPECT_STREQ(strict.key, "strict");
  EXPECT_EQ(strict.default_int, 1);
  const pd_option& zone = *policy.options[3];
  EXPECT_EQ(zone.type, PD_OPTION_STRING);
  EXPECT_STREQ(zone.key, "zone");
  EXPECT_STREQ(zone.default_string, "north");
  EXPECT_EQ(zone.choice_count, 0u);
}

// ---- create() and destroy() ---------------------------------------------------------------------

TEST(PolicyWrapperCreate, GivesOptionsByKeyAndServicesById) {
  Instance<Tunable> instance(OptionValues().number(2.25).integer(-1).flag(false).string("south"));
  ASSERT_EQ(instance.status, PD_OK) << instance.error.message();
  EXPECT_EQ(instance.object().weight, 2.25);
  EXPECT_EQ(instance.object().limit, -1);
  EXPECT_FALSE(instance.object().strict);
  EXPECT_EQ(instance.object().zone, "south");
  ASSERT_NE(instance.object().clock, nullptr);
  EXPECT_EQ(instance.object().clock->now_ns(instance.object().host, nullptr), 42u);
  EXPECT_EQ(instance.object().random, nullptr) << "this host has none";
}

TEST(PolicyWrapperCreate, FailsWithTheKeyThatWasNotDeclared) {
  Instance<WrongKey> instance(OptionValues().number(1));
  EXPECT_EQ(instance.status, PD_ERR_FAILED);
  EXPECT_EQ(instance.handle, nullptr);
  EXPECT_NE(instance.error.message().find("\"wieght\""), std::string::npos)
      << instance.error.message();
}

TEST(PolicyWrapperCreate, FailsWithTheKeyThatHasAnotherType) {
  Instance<WrongType> instance(OptionValues().number(1));
  EXPECT_EQ(instance.status, PD_ERR_FAILED);
  EXPECT_EQ(instance.handle, nullptr);
  EXPECT_NE(instance.error.message().find("\"weight\""), std::string::npos)
      << instance.error.message();
}

TEST(PolicyWrapperCreate, TurnsAnExceptionOfTheConstructorIntoAnError) {
  Instance<Throwing<Throws::kInConstructor, true>> instance;
  EXPECT_EQ(instance.status, PD_ERR_FAILED);
  EXPECT_EQ(instance.handle, nullptr);
  EXPECT_EQ(instance.error.message(), "the cellar is flooded");
}

TEST(PolicyWrapperCreate, TurnsAnythingThrownIntoAnError) {
  Instance<Throwing<Throws::kInConstructor, false>> instance;
  EXPECT_EQ(instance.status, PD_ERR_FAILED);
  EXPECT_EQ(instance.handle, nullptr);
  EXPECT_FALSE(instance.error.message().empty());
}

TEST(PolicyWrapperCreate, MakesAnyNumberOfInstancesAndDestroyEndsEach) {
  ASSERT_EQ(Counted::alive, 0);
  {
    Instance<Counted> first;
    Instance<Counted> second;
    EXPECT_EQ(Counted::alive, 2);
    EXPECT_NE(first.handle, second.handle);
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST(PolicyWrapperError, IsCutToTheBufferAndNeverOverrun) {
  ErrorBuffer error;
  const std::string message(1000, 'x');
  EXPECT_EQ(sdk::fail(error.get(), PD_ERR_INVALID, message.c_str()), PD_ERR_INVALID);
  EXPECT_EQ(error.message(), std::string(255, 'x'));
  EXPECT_FALSE(error.overrun());
}

// ---- Decode -------------------------------------------------------------------------------------

TEST(PolicyWrapperDecode, WritesEveryScore) {
  Instance<Plain> instance;
  Choice choice;
  ASSERT_EQ(sdk::Decode<Plain>::kTable.score(instance.handle, &choice.request, &choice.decode,
                                             &choice.scores, choice.error.get()),
            PD_OK);
  EXPECT_EQ(choice.values, (std::array<double, 3>{4, 5, 6}));
  EXPECT_EQ(choice.reasons, (std::array<std::uint32_t, 3>{0, 0, 0}));
  EXPECT_EQ(choice.scores.tag, 0u);
}

TEST(PolicyWrapperDecode, WritesScoresExclusionsAndTagWhereTheyBelong) {
  Instance<Choosy> instance;
  Choice choice;
  ASSERT_EQ(sdk::Decode<Choosy>::kTable.score(instance.handle, &choice.request, &choice.decode,
                                              &choice.scores, choice.error.get()),
            PD_OK);
  EXPECT_EQ(choice.values[0], 1.25);
  EXPECT_TRUE(std::isnan(choice.values[1])) << "excluded, not scored";
  EXPECT_EQ(choice.values[2], 2);
  EXPECT_EQ(choice.reasons, (std::array<std::uint32_t, 3>{0, 2, 0})) << "1 + index of the reason";
  EXPECT_EQ(choice.scores.tag, 100u);
}

TEST(PolicyWrapperDecode, TurnsExceptionsOfScoreIntoErrors) {
  using Policy = Throwing<Throws::kInScore, true>;
  Instance<Policy> instance;
  ASSERT_EQ(instance.status, PD_OK);
  Choice choice;
  EXPECT_EQ(sdk::Decode<Policy>::kTable.score(instance.handle, &choice.request, &choice.decode,
                                              &choice.scores, choice.error.get()),
            PD_ERR_FAILED);
  EXPECT_EQ(choice.error.message(), "the cellar is flooded");
}

TEST(PolicyWrapperDecode, ShowsRequestCandidatesAndColumns) {
  Choice choice;
  const sdk::Request request(&choice.request);
  EXPECT_EQ(request.id(), "r-1");
  EXPECT_EQ(request.model(), "m");
  EXPECT_EQ(request.session(), "s");
  EXPECT_EQ(request.prompt_bytes(), 100u);
  const sdk::DecodeBatch batch(&choice.decode);
  EXPECT_EQ(batch.size(), 3u);
  EXPECT_EQ(batch.pod(2)->incarnation, 12u);
  EXPECT_EQ(batch.fleet_generation(), 17u);
  EXPECT_EQ(batch.max_request_count(), 6);
  const sdk::Column counts = batch.running_reqs();
  EXPECT_EQ(std::vector<double>(counts.begin(), counts.end()), (std::vector<double>{4, 5, 6}));
  EXPECT_FALSE(batch.throughput()) << "a column that is not there";
  EXPECT_EQ(batch.throughput().size(), 0u);
  EXPECT_TRUE(batch.load(&pd_load::waiting));
  EXPECT_FALSE(batch.load(&pd_load::running));
}

// ---- Prefill ------------------------------------------------------------------------------------

TEST(PolicyWrapperPrefill, PreparesNothingAndScoresTheBatch) {
  const pd_prefill_policy& table = sdk::Prefill<Hashing>::kTable;
  Choice choice;
  void* scorer = nullptr;
  ErrorBuffer error;
  ASSERT_EQ(table.prepare(nullptr, &choice.request, &choice.prefill, &scorer, error.get()), PD_OK);
  EXPECT_EQ(scorer, nullptr);
  EXPECT_EQ(table.release, nullptr);
  Hashing policy;
  ASSERT_EQ(table.score(&policy, scorer, &choice.request, &choice.prefill, &choice.scores,
                        choice.error.get()),
            PD_OK);
  EXPECT_EQ(choice.values, (std::array<double, 3>{90 + 4 / 8.0, 80 + 5 / 8.0, 70 + 6 / 8.0}));
}

TEST(PolicyWrapperPrefill, RecordsTheHashesOfTheHostWhenItUsesThem) {
  const pd_prefill_policy& table = sdk::Prefill<Hashing>::kTable;
  Choice choice;
  pd_choice chosen{sizeof(pd_choice), 0, &choice.pods[1], nullptr, 1, PD_NO_INDEX, 0};
  pd_prefix_record record{sizeof(pd_prefix_record), 0, nullptr, 0};
  Hashing policy;
  ASSERT_NE(table.prefix_hashes, nullptr);
  ASSERT_EQ(
      table.prefix_hashes(&policy, nullptr, &choice.request, &chosen, &record, choice.error.get()),
      PD_OK);
  EXPECT_EQ(record.hashes, choice.request.block_hashes);
  EXPECT_EQ(record.count, 2u);
}

TEST(PolicyWrapperPrefill, RecordsNothingWithoutPrefixOrWhenToldSo) {
  EXPECT_EQ(sdk::Prefill<Counting>::kTable.prefix_hashes, nullptr);
  EXPECT_EQ(sdk::Prefill<HashingSilently>::kTable.prefix_hashes, nullptr);
  EXPECT_EQ(sdk::Prefill<HashingSilently>::kTable.policy->uses, PD_USES_PREFIX);
}

TEST(PolicyWrapperPrefill, TurnsExceptionsOfScoreIntoErrors) {
  using Policy = Throwing<Throws::kInScore, false>;
  Policy policy;
  Choice choice;
  EXPECT_EQ(sdk::Prefill<Policy>::kTable.score(&policy, nullptr, &choice.request, &choice.prefill,
                                               &choice.scores, choice.error.get()),
            PD_ERR_FAILED);
  EXPECT_FALSE(choice.error.message().empty());
}

// ---- Feedback -----------------------------------------------------------------------------------

template <class P>
const pd_feedback_v1* feedback_of(void* instance) {
  return static_cast<const pd_feedback_v1*>(
      decode_base<P>().service(instance, PD_SERVICE_FEEDBACK));
}

TEST(PolicyWrapperFeedback, IsNotOfferedByAClassWithoutTheMembers) {
  Instance<Plain> instance;
  EXPECT_EQ(feedback_of<Plain>(instance.handle), nullptr);
}

TEST(PolicyWrapperFeedback, IsTheOnlyServiceOffered) {
  Instance<HearsChoices> instance;
  EXPECT_EQ(decode_base<HearsChoices>().service(instance.handle, PD_SERVICE_STATE), nullptr);
  EXPECT_EQ(decode_base<HearsChoices>().service(instance.handle, "pd.feedback/2"), nullptr);
}

TEST(PolicyWrapperFeedback, PassesChoicesOn) {
  Instance<HearsChoices> instance;
  const pd_feedback_v1* feedback = feedback_of<HearsChoices>(instance.handle);
  ASSERT_NE(feedback, nullptr);
  EXPECT_EQ(feedback->struct_size, sizeof(pd_feedback_v1));
  EXPECT_EQ(feedback->outcome, nullptr);
  ASSERT_NE(feedback->chosen, nullptr);
  Choice choice;
  const pd_choice chosen{sizeof(pd_choice), 0, nullptr, &choice.pods[2], PD_NO_INDEX, 2, 0};
  feedback->chosen(instance.handle, &choice.request, &chosen);
  EXPECT_EQ(instance.object().heard, "r-1:2");
}

TEST(PolicyWrapperFeedback, PassesOutcomesOn) {
  Instance<HearsOutcomes> instance;
  const pd_feedback_v1* feedback = feedback_of<HearsOutcomes>(instance.handle);
  ASSERT_NE(feedback, nullptr);
  EXPECT_EQ(feedback->chosen, nullptr);
  ASSERT_NE(feedback->outcome, nullptr);
  pd_outcome outcome{};
  outcome.struct_size = sizeof(pd_outcome);
  outcome.tag = 77;
  feedback->outcome(instance.handle, &outcome);
  EXPECT_EQ(instance.object().heard, 77u);
}

TEST(PolicyWrapperFeedback, LetsNoExceptionOut) {
  using Policy = Throwing<Throws::kInFeedback, true>;
  Instance<Policy> instance;
  const pd_feedback_v1* feedback = feedback_of<Policy>(instance.handle);
  ASSERT_NE(feedback, nullptr);
  Choice choice;
  const pd_choice chosen{sizeof(pd_choice), 0, nullptr, &choice.pods[0], PD_NO_INDEX, 0, 0};
  pd_outcome outcome{};
  outcome.struct_size = sizeof(pd_outcome);
  EXPECT_NO_THROW(feedback->chosen(instance.handle, &choice.request, &chosen));
  EXPECT_NO_THROW(feedback->outcome(instance.handle, &outcome));
}

}  // namespace
}  // namespace pd::test
