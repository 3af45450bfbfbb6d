// What pd_add_policy() protects against, all in one: built without it, so that the checks of
// exported_symbols_test have something to find.
#include "pd/abi.h"

namespace careless {

template <class T>
struct Registry {
  static int count;
};
template <class T>
int Registry<T>::count = 1;

__attribute__((tls_model("initial-exec"))) thread_local int calls = 0;

int next() {
  return calls += Registry<int>::count;
}

}  // namespace careless

extern "C" PD_EXPORT const pd_plugin* pd_plugin_entry(void) {
  static pd_plugin plugin{};
  plugin.flags = static_cast<uint32_t>(careless::next());
  return &plugin;
}
