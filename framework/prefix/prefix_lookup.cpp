#include "framework/prefix/prefix_lookup.h"

#include <xxhash.h>

#include <algorithm>

namespace pd {

void PrefixLookup::match(std::span<const std::uint64_t> hashes, std::span<const pd_pod* const> pods,
                         std::uint64_t* matched_blocks) const {
  scratch.keys.clear();
  for (const pd_pod* pod : pods) scratch.keys.push_back(make_pod_key(pod->slot, pod->incarnation));
  const auto matched = index.match(model_salt, hashes, scratch.keys, scratch.match);
  std::copy(matched.begin(), matched.end(), matched_blocks);
}

std::uint64_t prefix_salt(std::string_view model, std::string_view cache_salt) {
  const std::uint64_t salt = XXH64(model.data(), model.size(), 0);
  return cache_salt.empty() ? salt : XXH64(cache_salt.data(), cache_salt.size(), salt);
}

}  // namespace pd
