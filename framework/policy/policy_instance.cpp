#include "framework/policy/policy_instance.h"

#include <algorithm>
#include <cstring>

#include "framework/policy/untrusted_text.h"

namespace pd {

boost::system::result<std::unique_ptr<PolicyInstance>, PolicyCreateError> PolicyInstance::create(
    const PolicyEntry& policy, std::uint32_t role, const PolicyOptionValues& values,
    const InstanceLimits& limits, std::shared_ptr<HostServices> services) {
  std::unique_ptr<PolicyInstance> instance(new PolicyInstance(policy, std::move(services)));
  pd_policy_config config = values.config(instance->services_->host());
  config.role = role;
  config.worker_count = limits.worker_count;
  config.slot_limit = limits.slot_limit;

  PluginMessage message;
  if (policy.policy.create(&config, &instance->handle_, message.get()) != PD_OK) {
    return PolicyCreateError{policy.name, message.text()};
  }
  instance->created_ = true;
  if (policy.policy.service != nullptr) {
    const auto* feedback = static_cast<const pd_feedback_v1*>(
        policy.policy.service(instance->handle_, PD_SERVICE_FEEDBACK));
    if (feedback != nullptr) {
      std::memcpy(&instance->feedback_, feedback,
                  std::min<std::size_t>(feedback->struct_size, sizeof(pd_feedback_v1)));
    }
  }
  return instance;
}

PolicyInstance::~PolicyInstance() {
  if (created_) policy_.policy.destroy(handle_);
}

void PolicyInstance::chosen(const pd_request& request, const pd_choice& choice) const {
  if (feedback_.chosen != nullptr) feedback_.chosen(handle_, &request, &choice);
}

void PolicyInstance::outcome(const pd_outcome& outcome) const {
  if (feedback_.outcome != nullptr) feedback_.outcome(handle_, &outcome);
}

std::string PluginMessage::text() {
  text_[sizeof(text_) - 1] = '\0';
  return text_[0] == '\0' ? "the policy gave no reason" : printable_text(text_);
}

}  // namespace pd
