#include "framework/prefix/prefix_index_error.h"

#include <fmt/format.h>

#include <system_error>

namespace pd {

std::string_view code_name(PrefixIndexErrorCode code) {
  switch (code) {
    case PrefixIndexErrorCode::kCapacityOutOfRange:
      return "prefix-index-capacity-out-of-range";
    case PrefixIndexErrorCode::kTtlOutOfRange:
      return "prefix-index-ttl-out-of-range";
    case PrefixIndexErrorCode::kOutOfMemory:
      return "prefix-index-out-of-memory";
  }
  return "prefix-index-unknown";
}

namespace prefix_index_errors {

PrefixIndexError capacity_out_of_range(std::uint64_t found, std::uint64_t allowed) {
  return {PrefixIndexErrorCode::kCapacityOutOfRange,
          fmt::format("prefix_index.capacity: found {} blocks, allowed: 1..{}", found, allowed)};
}

PrefixIndexError ttl_out_of_range(std::int64_t found_ms, std::int64_t allowed_ms) {
  return {PrefixIndexErrorCode::kTtlOutOfRange,
          fmt::format("prefix_index.ttl: found {} ms, allowed: 1 ms..{} ms", found_ms, allowed_ms)};
}

PrefixIndexError out_of_memory(std::uint64_t blocks, int error_number) {
  return {
      PrefixIndexErrorCode::kOutOfMemory,
      fmt::format("prefix_index.capacity: cannot reserve address space for {} blocks ({}); "
                  "lower prefix_index.capacity, or raise the limit on address space (ulimit -v)",
                  blocks, std::generic_category().message(error_number))};
}

}  // namespace prefix_index_errors
}  // namespace pd
