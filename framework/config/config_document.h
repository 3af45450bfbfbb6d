// A parsed TOML document without the parser: the only shape in which the rest of framework/config
// sees a file, so that no other source has to compile toml++.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/config/settings.h"

namespace pd {

/// One value, array or table. Children of a table are in the order of the file.
struct ConfigNode {
  enum class Kind : std::uint8_t { kString, kInteger, kFloat, kBoolean, kDate, kArray, kTable };

  std::string key;  ///< within the parent table; empty for the root and for elements of an array
  Kind kind = Kind::kTable;
  std::string text;  ///< of a string, or the spelling of a date or time
  std::int64_t integer = 0;
  double number = 0;
  bool boolean = false;
  std::vector<ConfigNode> children;
  ConfigPosition key_position;
  ConfigPosition position;  ///< of the value

  const ConfigNode* child(std::string_view name) const {
    for (const ConfigNode& node : children) {
      if (node.key == name) return &node;
    }
    return nullptr;
  }
};

}  // namespace pd
