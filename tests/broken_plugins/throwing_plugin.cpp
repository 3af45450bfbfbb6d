// A plugin whose load() lets an exception out after it has registered a policy.
#include <stdexcept>

#include "pd/policy.hpp"

namespace {

struct Zero {
  static constexpr char kName[] = "thrown_away";
  static constexpr char kDescription[] = "Scores every pod 0.";
  void score(const pd::sdk::Request&, const pd::sdk::DecodeBatch& batch,
             pd::sdk::Scores scores) const {
    for (std::size_t i = 0; i < batch.size(); ++i) scores[i] = 0;
  }
};

pd_status load(const pd_host*, pd_registrar* registrar, pd_error* error) {
  pd::sdk::Decode<Zero>::add(registrar, error);
  throw std::runtime_error("thrown out of load()");
}

}  // namespace

extern "C" PD_EXPORT const pd_plugin* pd_plugin_entry(void) {
  static constexpr pd_plugin kPlugin{PD_PLUGIN_MAGIC,
                                     sizeof(pd_plugin),
                                     PD_ABI_MAJOR,
                                     PD_NEEDS_MINOR,
                                     0,
                                     PD_ABI_MINOR,
                                     0,
                                     "test.throwing",
                                     "1.0",
                                     nullptr,
                                     nullptr,
                                     nullptr,
                                     nullptr,
                                     &load,
                                     nullptr};
  return &kPlugin;
}
