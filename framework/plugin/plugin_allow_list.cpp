#include "framework/plugin/plugin_allow_list.h"

#include <algorithm>
#include <string_view>

namespace pd {
namespace {

bool same_digest(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return x == y || (x >= 'A' && x <= 'F' && x - 'A' + 'a' == y) ||
           (y >= 'A' && y <= 'F' && y - 'A' + 'a' == x);
  });
}

bool file_fits(const AllowedPlugin& entry, const std::string& path, const std::string& real_path) {
  return !entry.file || *entry.file == path || *entry.file == real_path;
}

bool content_fits(const AllowedPlugin& entry, const std::string& sha256) {
  return !entry.sha256 || same_digest(*entry.sha256, sha256);
}

}  // namespace

std::optional<PluginError> PluginAllowList::check_file(const std::string& path,
                                                       const std::string& real_path,
                                                       const std::string& sha256) const {
  if (entries_.empty()) return std::nullopt;
  const AllowedPlugin* other_pin = nullptr;  // the best entry that fits but for its pin
  std::size_t other_pins = 0;
  for (const AllowedPlugin& entry : entries_) {
    if (!file_fits(entry, path, real_path)) continue;
    if (content_fits(entry, sha256)) return std::nullopt;
    ++other_pins;
    if (other_pin == nullptr || entry.file) other_pin = &entry;
  }
  // Which pin was meant is clear for an entry of this very file, or when there is only one.
  if (other_pin != nullptr && (other_pins == 1 || other_pin->file)) {
    return make_plugin_error(PluginErrorCode::kWrongSha256, path, {sha256, *other_pin->sha256});
  }
  return make_plugin_error(PluginErrorCode::kNotAllowed, path,
                           {"this is " + real_path + " with sha256 " + sha256});
}

std::optional<PluginError> PluginAllowList::check_id(const std::string& path,
                                                     const std::string& real_path,
                                                     const std::string& sha256,
                                                     const std::string& id) const {
  if (entries_.empty()) return std::nullopt;
  for (const AllowedPlugin& entry : entries_) {
    if (entry.id == id && file_fits(entry, path, real_path) && content_fits(entry, sha256)) {
      return std::nullopt;
    }
  }
  return make_plugin_error(PluginErrorCode::kNotAllowed, path,
                           {"this is id " + id + " with sha256 " + sha256});
}

}  // namespace pd
