// Which plugins may be loaded, as plugins.allow says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/plugin/plugin_error.h"

namespace pd {

/// One entry of plugins.allow. A plugin fits when its id and every pin that is set fit.
struct AllowedPlugin {
  std::string id;
  std::optional<std::string> sha256;  ///< of the content, 64 hexadecimal digits
  std::optional<std::string> file;    ///< the path as configured or the real one
};

/// Immutable, any thread. An empty list allows every plugin.
class PluginAllowList {
 public:
  explicit PluginAllowList(std::vector<AllowedPlugin> entries) : entries_(std::move(entries)) {}

  /// Before any code of the plugin runs: could some entry fit? kNotAllowed, or kWrongSha256 when a
  /// pin of the content is all that is wrong.
  std::optional<PluginError> check_file(const std::string& path, const std::string& real_path,
                                        const std::string& sha256) const;

  /// As soon as the id is known: does one fit? kNotAllowed.
  std::optional<PluginError> check_id(const std::string& path, const std::string& real_path,
                                      const std::string& sha256, const std::string& id) const;

 private:
  std::vector<AllowedPlugin> entries_;
};

}  // namespace pd
