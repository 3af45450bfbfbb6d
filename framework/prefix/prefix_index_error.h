// Why a prefix index cannot be built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pd {

enum class PrefixIndexErrorCode : std::uint8_t {
  kCapacityOutOfRange,
  kTtlOutOfRange,
  kOutOfMemory,
};

/// The stable name of a code: "prefix-index-out-of-memory".
std::string_view code_name(PrefixIndexErrorCode code);

struct PrefixIndexError {
  PrefixIndexErrorCode code{};
  std::string message;
};

namespace prefix_index_errors {

PrefixIndexError capacity_out_of_range(std::uint64_t found, std::uint64_t allowed);
PrefixIndexError ttl_out_of_range(std::int64_t found_ms, std::int64_t allowed_ms);
PrefixIndexError out_of_memory(std::uint64_t blocks, int error_number);

}  // namespace prefix_index_errors
}  // namespace pd
