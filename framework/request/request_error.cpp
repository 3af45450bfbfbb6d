#include "framework/request/request_error.h"

#include <fmt/format.h>

namespace pd {

RequestError invalid_json(std::size_t offset, std::string_view reason) {
  return {"invalid_json", "",
          fmt::format("the request body is not valid JSON at byte {}: {}", offset, reason)};
}

RequestError body_is_no_object(std::size_t offset) {
  return {
      "invalid_json", "",
      fmt::format("the request body must be a JSON object: byte {} does not begin one", offset)};
}

RequestError too_many_members(std::size_t limit) {
  return {"too_many_keys", "",
          fmt::format("the request body has more than {} keys at its top level", limit)};
}

RequestError duplicate_key(std::string_view key, std::size_t offset) {
  return {"duplicate_key", std::string(key),
          fmt::format("the key \"{}\" occurs again at byte {}; it must occur once, because engines "
                      "disagree on which one counts",
                      key, offset)};
}

RequestError reserved_key(std::string_view key, std::size_t offset) {
  return {
      "reserved_key", std::string(key),
      fmt::format("the key \"{}\" at byte {} steers the hand-off between pods and is set by the "
                  "gateway; leave it out",
                  key, offset)};
}

RequestError missing_key(std::string_view key, std::string_view needed) {
  return {"missing_key", std::string(key),
          fmt::format("the key \"{}\" is missing: {}", key, needed)};
}

RequestError wrong_type(std::string_view key, std::size_t offset, std::string_view found,
                        std::string_view allowed) {
  return {"wrong_type", std::string(key),
          fmt::format("\"{}\" at byte {} is {}; allowed: {}", key, offset, found, allowed)};
}

RequestError out_of_range(std::string_view key, std::size_t offset, std::string_view found,
                          std::string_view allowed) {
  return {"out_of_range", std::string(key),
          fmt::format("\"{}\" at byte {} is {}; allowed: {}", key, offset, found, allowed)};
}

}  // namespace pd
