#include "framework/plugin/plugin_registration.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <string>

#include "framework/policy/error_template.h"
#include "framework/policy/untrusted_text.h"

namespace pd {
namespace {

constexpr std::size_t kMessageLimit = 1000;

// What registrar->host_data points to during load().
struct Registration {
  PolicyRegistry& registry;
  const std::shared_ptr<Plugin>& plugin;
};

void write_error(pd_error* error, std::string_view text) {
  if (error == nullptr || error->text == nullptr || error->capacity == 0) return;
  const std::size_t length = std::min<std::size_t>(text.size(), error->capacity - 1);
  std::memcpy(error->text, text.data(), length);
  error->text[length] = '\0';
}

// `add` registers and gives a result. Nothing may be thrown into the plugin.
template <class Add>
pd_status take_policy(pd_registrar* registrar, pd_error* error, std::string_view kind,
                      std::vector<std::string> PluginFacts::*names, const Add& add) noexcept {
  if (registrar == nullptr || registrar->host_data == nullptr) {
    write_error(error, "registrar is not the one that load() was given");
    return PD_ERR_INVALID;
  }
  try {
    auto& registration = *static_cast<Registration*>(registrar->host_data);
    PluginFacts& facts = registration.plugin->facts();
    const auto entry = add(registration);
    if (entry) {
      (facts.*names).push_back((*entry)->name);
      return PD_OK;
    }
    facts.warnings.push_back(
        fill_template("its {} policy was refused: {}", {kind, entry.error().message}));
    write_error(error, entry.error().message);
    return PD_ERR_INVALID;
  } catch (const std::exception& e) {
    write_error(error, e.what());
    return PD_ERR_FAILED;
  }
}

pd_status take_decode_policy(pd_registrar* registrar, const pd_decode_policy* policy,
                             pd_error* error) {
  return take_policy(registrar, error, "decode", &PluginFacts::decode_policies,
                     [policy](Registration& registration) {
                       return register_decode_policy(registration.registry, policy,
                                                     registration.plugin);
                     });
}

pd_status take_prefill_policy(pd_registrar* registrar, const pd_prefill_policy* policy,
                              pd_error* error) {
  return take_policy(registrar, error, "prefill", &PluginFacts::prefill_policies,
                     [policy](Registration& registration) {
                       return register_prefill_policy(registration.registry, policy,
                                                      registration.plugin);
                     });
}

std::optional<PluginError> call_load(const Plugin& plugin, const pd_host* host,
                                     pd_registrar& registrar) {
  std::array<char, kMessageLimit + 24> text{};
  pd_error error{sizeof(pd_error), kMessageLimit, text.data()};
  try {
    const pd_status status = plugin.descriptor().load(host, &registrar, &error);
    if (status == PD_OK) return std::nullopt;
    text.back() = '\0';  // the plugin may have forgotten it
    std::string message = printable_text(text.data(), kMessageLimit);
    if (message.empty()) message = "(nothing)";
    return make_plugin_error(PluginErrorCode::kLoadFailed, plugin.facts().path,
                             {std::to_string(status), message});
  } catch (const std::exception& e) {
    return make_plugin_error(PluginErrorCode::kLoadThrew, plugin.facts().path, {e.what()});
  } catch (...) {
    return make_plugin_error(PluginErrorCode::kLoadThrew, plugin.facts().path,
                             {"no std::exception"});
  }
}

}  // namespace

std::optional<PluginError> run_load(const std::shared_ptr<Plugin>& plugin, const pd_host* host,
                                    PolicyRegistry& registry) {
  PolicyRegistry before = registry;
  Registration registration{registry, plugin};
  pd_registrar registrar{};
  registrar.struct_size = sizeof registrar;
  registrar.host_data = &registration;
  registrar.register_decode_policy = &take_decode_policy;
  registrar.register_prefill_policy = &take_prefill_policy;

  auto failure = call_load(*plugin, host, registrar);
  if (failure) {
    registry = std::move(before);
    plugin->facts().decode_policies.clear();
    plugin->facts().prefill_policies.clear();
    return failure;
  }
  plugin->mark_loaded();
  PluginFacts& facts = plugin->facts();
  if (facts.decode_policies.empty() && facts.prefill_policies.empty()) {
    facts.warnings.emplace_back("its load() succeeded without registering a policy");
  }
  registry.add_plugin(plugin);
  return std::nullopt;
}

}  // namespace pd
