// Why a client's request body is refused before any pod sees it: always the client's to mend (HTTP
// 400).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pd {

struct RequestError {
  std::string_view code;  // stable, for clients: "invalid_json", "duplicate_key", ...
  std::string param;      // the key at fault, or empty
  std::string message;    // what was found, where, and what is allowed
};

// Each builds the error of one kind; `offset` counts bytes from the start of the body.
RequestError invalid_json(std::size_t offset, std::string_view reason);
RequestError body_is_no_object(std::size_t offset);
RequestError too_many_members(std::size_t limit);
RequestError duplicate_key(std::string_view key, std::size_t offset);
RequestError reserved_key(std::string_view key, std::size_t offset);
RequestError missing_key(std::string_view key, std::string_view needed);
RequestError wrong_type(std::string_view key, std::size_t offset, std::string_view found,
                        std::string_view allowed);
RequestError out_of_range(std::string_view key, std::size_t offset, std::string_view found,
                          std::string_view allowed);

}  // namespace pd
