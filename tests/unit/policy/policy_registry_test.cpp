#include "framework/policy/policy_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>

namespace pd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

pd_status create(const pd_policy_config*, void**, pd_error*) {
  return PD_OK;
}
void destroy(void*) {}
pd_status decode_score(void*, const pd_request*, const pd_decode_batch*, pd_scores*, pd_error*) {
  return PD_OK;
}
pd_status prepare(void*, const pd_request*, const pd_prefill_batch*, void**, pd_error*) {
  return PD_OK;
}
pd_status prefill_score(void*, void*, const pd_request*, const pd_prefill_batch*, pd_scores*,
                        pd_error*) {
  return PD_OK;
}

// A correct policy of both kinds, for a test to break.
struct Tables {
  pd_policy policy{};
  pd_decode_policy decode{};
  pd_prefill_policy prefill{};
  pd_option option{};
  const pd_option* options[2] = {&option, &option};
  const char* reasons[1] = {"too hot"};

  explicit Tables(const char* name = "mine") {
    policy.struct_size = sizeof policy;
    policy.name = name;
    policy.description = "A policy.";
    policy.create = &create;
    policy.destroy = &destroy;
    decode.struct_size = sizeof decode;
    decode.policy = &policy;
    decode.score = &decode_score;
    prefill.struct_size = sizeof prefill;
    prefill.policy = &policy;
    prefill.prepare = &prepare;
    prefill.score = &prefill_score;
    option.struct_size = sizeof option;
    option.type = PD_OPTION_FLOAT;
    option.key = "weight";
    option.help = "How much it weighs.";
    option.default_float = 1;
    option.max_float = 2;
  }
  Tables(const Tables&) = delete;

  std::string decode_code() {
    PolicyRegistry registry;
    const auto entry = register_decode_policy(registry, &decode, nullptr);
    EXPECT_EQ(registry.decode_policies().size(), entry ? 1u : 0u);
    if (entry) return "ok";
    message = entry.error().message;
    return std::string(code_name(entry.error().code));
  }
  std::string prefill_code() {
    PolicyRegistry registry;
    const auto entry = register_prefill_policy(registry, &prefill, nullptr);
    if (entry) return "ok";
    message = entry.error().message;
    return std::string(code_name(entry.error().code));
  }
  std::string option_fault() {
    policy.options = options;
    policy.option_count = 1;
    EXPECT_EQ(decode_code(), "invalid_option");
    return message;
  }

  std::string message;
};

TEST(PolicyRegistryTest, ResolvesTrimmedAndWithoutRegardToCase) {
  Tables tables("load_balancing");
  PolicyRegistry registry;
  ASSERT_TRUE(register_decode_policy(registry, &tables.decode, nullptr));
  for (const char* name : {"load_balancing", " Load_Balancing\t", "LOAD_BALANCING\n"}) {
    const auto entry = resolve_decode_policy(registry, name);
    ASSERT_TRUE(entry) << name;
    EXPECT_EQ((*entry)->name, "load_balancing");
  }
  EXPECT_FALSE(resolve_prefill_policy(registry, "load_balancing"));
}

TEST(PolicyRegistryTest, UnknownNameListsTheValidOnesAndTheClosest) {
  Tables one("load_balancing");
  Tables two("least_request");
  PolicyRegistry registry;
  ASSERT_TRUE(register_decode_policy(registry, &one.decode, nullptr));
  ASSERT_TRUE(register_decode_policy(registry, &two.decode, nullptr));
  EXPECT_THAT(decode_policy_names(registry), ElementsAre("least_request", "load_balancing"));
  const auto near = resolve_decode_policy(registry, "Load-Balancing");
  ASSERT_FALSE(near);
  EXPECT_EQ(near.error().code, PolicyErrorCode::kUnknownPolicy);
  EXPECT_EQ(near.error().message,
            "no decode policy is named \"Load-Balancing\"; registered are: least_request, "
            "load_balancing; did you mean \"load_balancing\"?");
  const auto far = resolve_decode_policy(registry, "round_robin");
  ASSERT_FALSE(far);
  EXPECT_THAT(far.error().message, ::testing::Not(HasSubstr("did you mean")));
  EXPECT_FALSE(resolve_decode_policy(registry, ""));
  EXPECT_FALSE(resolve_decode_policy(registry, std::string(100000, 'a')));
  const auto none = resolve_prefill_policy(registry, "x");
  EXPECT_THAT(none.error().message, HasSubstr("registered are: none"));
}

TEST(PolicyRegistryTest, KeepsKindsApart) {
  Tables tables;
  PolicyRegistry registry;
  ASSERT_TRUE(register_decode_policy(registry, &tables.decode, nullptr));
  ASSERT_TRUE(register_prefill_policy(registry, &tables.prefill, nullptr));
  EXPECT_THAT(registry.warnings(), ElementsAre());
  EXPECT_THAT(prefill_policy_names(registry), ElementsAre("mine"));
}

TEST(PolicyRegistryTest, ALaterNameReplacesWithAWarning) {
  Tables first;
  Tables second;
  PolicyRegistry registry;
  ASSERT_TRUE(register_decode_policy(registry, &first.decode, nullptr));
  const auto kept = resolve_decode_policy(registry, "mine");
  const auto entry = register_decode_policy(registry, &second.decode, nullptr);
  ASSERT_TRUE(entry);
  EXPECT_EQ(*resolve_decode_policy(registry, "mine"), *entry);
  ASSERT_EQ(registry.warnings().size(), 1u);
  EXPECT_THAT(registry.warnings()[0],
              HasSubstr("decode policy mine of the host itself is replaced"));
  EXPECT_EQ((*kept)->name, "mine");
}

TEST(PolicyRegistryTest, TheEntryPointsIntoItself) {
  std::shared_ptr<const DecodePolicyEntry> entry;
  {
    PolicyRegistry registry;
    Tables tables;
    tables.policy.options = tables.options;
    tables.policy.option_count = 1;
    tables.policy.reasons = tables.reasons;
    tables.policy.reason_count = 1;
    entry = *register_decode_policy(registry, &tables.decode, nullptr);
    std::memset(static_cast<void*>(&tables.policy), 0, sizeof tables.policy);
    std::memset(static_cast<void*>(&tables.option), 0, sizeof tables.option);
  }
  EXPECT_EQ(entry->table.policy, &entry->policy);
  EXPECT_EQ(entry->policy.name, entry->name.c_str());
  EXPECT_STREQ(entry->policy.reasons[0], "too hot");
  EXPECT_EQ(entry->policy.options[0], &entry->options[0]);
  EXPECT_EQ(entry->options[0].max_float, 2);
}

TEST(PolicyRegistryTest, ALongerTableOfANewerPluginIsCut) {
  struct Newer {
    pd_policy policy;
    void* later;
  } newer{};
  Tables tables;
  newer.policy = tables.policy;
  newer.policy.struct_size = sizeof newer;
  newer.later = &tables;
  tables.decode.policy = &newer.policy;
  PolicyRegistry registry;
  const auto entry = register_decode_policy(registry, &tables.decode, nullptr);
  ASSERT_TRUE(entry) << entry.error().message;
  EXPECT_EQ((*entry)->policy.struct_size, sizeof(pd_policy));
}

TEST(PolicyTableTest, RefusesSizesThatCannotBe) {
  const std::uint32_t right = sizeof(pd_policy);
  for (const std::uint32_t size : {0u, 8u, right - 8, right + 4, 65544u, UINT32_MAX}) {
    Tables tables;
    tables.policy.struct_size = size;
    EXPECT_EQ(tables.decode_code(), "wrong_size") << size;
    EXPECT_THAT(tables.message, HasSubstr("pd_policy is " + std::to_string(size)));
  }
  Tables decode;
  decode.decode.struct_size = 8;
  EXPECT_EQ(decode.decode_code(), "wrong_size");
  Tables prefill;
  prefill.prefill.struct_size = 16;
  EXPECT_EQ(prefill.prefill_code(), "wrong_size");
}

TEST(PolicyTableTest, RefusesNullTables) {
  PolicyRegistry registry;
  const auto entry = register_decode_policy(registry, nullptr, nullptr);
  ASSERT_FALSE(entry);
  EXPECT_EQ(entry.error().code, PolicyErrorCode::kNullTable);
  Tables tables;
  tables.decode.policy = nullptr;
  EXPECT_EQ(tables.decode_code(), "null_table");
}

TEST(PolicyTableTest, RefusesNames) {
  const std::string longest(64, 'a');
  const std::string too_long(65, 'a');
  EXPECT_EQ(Tables(longest.c_str()).decode_code(), "ok");
  for (const char* name : {"", "My", "a b", "a/b", "\xff", "a\n", too_long.c_str()}) {
    Tables tables(name);
    EXPECT_EQ(tables.decode_code(), "invalid_name") << name;
  }
  EXPECT_EQ(Tables(nullptr).decode_code(), "invalid_name");
}

TEST(PolicyTableTest, RefusesMissingFunctions) {
  Tables tables;
  tables.policy.create = nullptr;
  EXPECT_EQ(tables.decode_code(), "missing_callback");
  EXPECT_THAT(tables.message, HasSubstr("policy mine: the required function create is null"));
  tables.policy.create = &create;
  tables.policy.destroy = nullptr;
  EXPECT_EQ(tables.prefill_code(), "missing_callback");
  tables.policy.destroy = &destroy;
  tables.decode.score = nullptr;
  EXPECT_EQ(tables.decode_code(), "missing_callback");
  tables.prefill.prepare = nullptr;
  EXPECT_EQ(tables.prefill_code(), "missing_callback");
  tables.prefill.prepare = &prepare;
  EXPECT_EQ(tables.prefill_code(), "ok");
  tables.prefill.score = nullptr;
  EXPECT_EQ(tables.prefill_code(), "missing_callback");
}

TEST(PolicyTableTest, RefusesBitsOfANewerAbi) {
  Tables tables;
  tables.policy.uses = std::uint64_t{1} << 63 | PD_USES_PREFIX;
  EXPECT_EQ(tables.decode_code(), "newer_uses");
  EXPECT_THAT(tables.message, HasSubstr("0x8000000000000001"));
  EXPECT_THAT(tables.message, HasSubstr("needs a newer host"));
  tables.policy.uses = PD_USES_KNOWN;
  EXPECT_EQ(tables.decode_code(), "ok");
  tables.policy.flags = 0x100;
  EXPECT_EQ(tables.decode_code(), "unknown_flags");
  tables.policy.flags = PD_POLICY_FLAGS_KNOWN;
  EXPECT_EQ(tables.decode_code(), "ok");
  tables.decode.reserved0 = 1;
  EXPECT_EQ(tables.decode_code(), "reserved_not_zero");
}

TEST(PolicyTableTest, RefusesTexts) {
  Tables tables;
  tables.policy.description = nullptr;
  EXPECT_EQ(tables.decode_code(), "invalid_text");
  tables.policy.description = "\x1b[31mred";
  EXPECT_EQ(tables.decode_code(), "invalid_text");
  tables.policy.description = "Für alle.";
  EXPECT_EQ(tables.decode_code(), "ok");
  tables.policy.reason_count = 1;
  EXPECT_EQ(tables.decode_code(), "invalid_text");
  tables.policy.reason_count = UINT32_MAX;
  tables.policy.reasons = tables.reasons;
  EXPECT_EQ(tables.decode_code(), "invalid_text");
}

TEST(PolicyOptionTableTest, RefusesWhatBreaksTheContract) {
  const auto fault = [](auto&& change) {
    Tables tables;
    change(tables);
    return tables.option_fault();
  };
  EXPECT_THAT(fault([](Tables& t) { t.option.default_float = 3; }), HasSubstr("outside min_float"));
  EXPECT_THAT(
      fault([](Tables& t) { t.option.default_float = std::numeric_limits<double>::quiet_NaN(); }),
      HasSubstr("not finite"));
  EXPECT_THAT(fault([](Tables& t) { t.option.min_float = 9; }), HasSubstr("min_float is above"));
  EXPECT_THAT(fault([](Tables& t) { t.option.key = "Weight"; }), HasSubstr("a-z 0-9 _"));
  EXPECT_THAT(fault([](Tables& t) { t.option.key = nullptr; }), HasSubstr("a-z 0-9 _"));
  EXPECT_THAT(fault([](Tables& t) { t.option.help = nullptr; }), HasSubstr("weight: help"));
  EXPECT_THAT(fault([](Tables& t) { t.option.type = 9; }), HasSubstr("type is none of"));
  EXPECT_THAT(fault([](Tables& t) {
                t.option.type = PD_OPTION_BOOL;
                t.option.default_int = 2;
              }),
              HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(fault([](Tables& t) {
                t.option.type = PD_OPTION_INT;
                t.option.default_int = 7;
                t.option.max_int = 6;
              }),
              HasSubstr("outside min_int"));
  EXPECT_THAT(fault([](Tables& t) { t.option.type = PD_OPTION_STRING; }),
              HasSubstr("default_string is missing"));
  EXPECT_THAT(fault([](Tables& t) {
                static const char* const kChoices[] = {"a", "b"};
                t.option.type = PD_OPTION_STRING;
                t.option.default_string = "c";
                t.option.choices = kChoices;
                t.option.choice_count = 2;
              }),
              HasSubstr("not among choices"));
}

TEST(PolicyOptionTableTest, RefusesTheSameKeyTwice) {
  Tables tables;
  tables.policy.options = tables.options;
  tables.policy.option_count = 2;
  EXPECT_EQ(tables.decode_code(), "invalid_option");
  EXPECT_THAT(tables.message, HasSubstr("weight: the key is declared twice"));
  tables.policy.option_count = UINT32_MAX;
  EXPECT_EQ(tables.decode_code(), "invalid_option");
}

}  // namespace
}  // namespace pd
