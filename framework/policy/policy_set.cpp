#include "framework/policy/policy_set.h"

#include <fmt/format.h>

#include <utility>

#include "framework/policy/policy_probe.h"

namespace pd {
namespace {

// Turns configured names into instances and collects what is wrong on the way.
class Builder {
 public:
  Builder(const PolicyRegistry& registry, const PolicyChoice& choice, const InstanceLimits& limits,
          std::shared_ptr<const HostEnvironment> environment)
      : registry_(registry),
        choice_(choice),
        limits_(limits),
        environment_(std::move(environment)) {}

  std::shared_ptr<const PrefillScorePolicy> prefill(const std::string& name, std::string_view key,
                                                    RandomStream stream) {
    auto entry = resolve_prefill_policy(registry_, name);
    if (!entry) return refuse(key, entry.error().message);
    auto instance = make_instance(**entry, PD_ROLE_PREFILL, "prefill", stream);
    if (instance == nullptr) return nullptr;
    auto policy = std::make_shared<const PrefillScorePolicy>(*entry, std::move(instance));
    if (const auto fault = probe_policy(*policy)) return refuse(key, *fault);
    return policy;
  }

  std::shared_ptr<const DecodeScorePolicy> decode(const std::string& name, std::string_view key,
                                                  RandomStream stream) {
    auto entry = resolve_decode_policy(registry_, name);
    if (!entry) return refuse(key, entry.error().message);
    auto instance = make_instance(**entry, PD_ROLE_DECODE, "decode", stream);
    if (instance == nullptr) return nullptr;
    auto policy = std::make_shared<const DecodeScorePolicy>(*entry, std::move(instance));
    if (const auto fault = probe_policy(*policy)) return refuse(key, *fault);
    return policy;
  }

  // [policy.NAME] tables that belong to no registered policy are most likely misspelled.
  void check_option_tables() {
    for (const auto& [name, options] : choice_.options) {
      if (resolve_prefill_policy(registry_, name) || resolve_decode_policy(registry_, name))
        continue;
      errors_.push_back(fmt::format("[policy.{}]: {}", name,
                                    resolve_decode_policy(registry_, name).error().message));
    }
  }

  std::vector<std::string>& errors() { return errors_; }

 private:
  std::nullptr_t refuse(std::string_view key, std::string_view text) {
    errors_.push_back(fmt::format("{}: {}", key, text));
    return nullptr;
  }

  std::unique_ptr<PolicyInstance> make_instance(const PolicyEntry& entry, std::uint32_t role,
                                                std::string_view stage, RandomStream stream) {
    static const std::vector<PolicyOptionInput> kNone;
    const auto it = choice_.options.find(entry.name);
    auto values = check_policy_options(entry, it == choice_.options.end() ? kNone : it->second);
    if (!values) {
      for (const PolicyError& error : values.error()) errors_.push_back(error.message);
      return nullptr;
    }
    auto services = std::make_shared<HostServices>(environment_,
                                                   fmt::format("{} {}", stage, entry.name), stream);
    auto instance = PolicyInstance::create(entry, role, *values, limits_, std::move(services));
    if (!instance) {
      errors_.push_back(
          fmt::format("policy {} could not be created: {}", entry.name, instance.error().message));
      return nullptr;
    }
    return std::move(*instance);
  }

  const PolicyRegistry& registry_;
  const PolicyChoice& choice_;
  const InstanceLimits limits_;
  const std::shared_ptr<const HostEnvironment> environment_;
  std::vector<std::string> errors_;
};

}  // namespace

boost::system::result<std::shared_ptr<const PolicySet>, std::vector<std::string>> PolicySet::build(
    const PolicyRegistry& registry, const PolicyChoice& choice, const InstanceLimits& limits,
    std::shared_ptr<const HostEnvironment> environment, std::uint64_t generation) {
  Builder builder(registry, choice, limits, std::move(environment));
  auto set = std::make_shared<PolicySet>();
  set->generation_ = generation;
  set->prefill_ = builder.prefill(choice.prefill, "prefill.policy", RandomStream::kPrefill);
  set->prefill_fallback_ = choice.prefill_fallback == choice.prefill
                               ? set->prefill_
                               : builder.prefill(choice.prefill_fallback, "prefill.fallback",
                                                 RandomStream::kPrefillFallback);
  set->decode_ = builder.decode(choice.decode, "decode.policy", RandomStream::kDecode);
  set->decode_fallback_ = choice.decode_fallback == choice.decode
                              ? set->decode_
                              : builder.decode(choice.decode_fallback, "decode.fallback",
                                               RandomStream::kDecodeFallback);
  builder.check_option_tables();
  if (!builder.errors().empty()) return std::move(builder.errors());

  set->uses_ = set->prefill_->entry().policy.uses | set->prefill_fallback_->entry().policy.uses |
               set->decode_->entry().policy.uses | set->decode_fallback_->entry().policy.uses;
  set->label_ = fmt::format("{}/{}@{}", set->prefill_->name(), set->decode_->name(), generation);
  return std::shared_ptr<const PolicySet>(std::move(set));
}

}  // namespace pd
