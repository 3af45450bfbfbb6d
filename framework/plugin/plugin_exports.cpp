#include "framework/plugin/plugin_exports.h"

#include <algorithm>
#include <boost/dll/library_info.hpp>
#include <exception>

#include "framework/policy/error_template.h"

namespace pd {
namespace {

constexpr std::size_t kMostShown = 8;

std::string shown_names(const std::vector<std::string>& names) {
  if (names.empty()) return "nothing";
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kMostShown); ++i) {
    out += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMostShown) {
    out += " and " + std::to_string(names.size() - kMostShown) + " more";
  }
  return out;
}

std::vector<std::string> exported_symbols(const std::string& path) {
  boost::dll::library_info info(path);
  std::vector<std::string> names = info.symbols();
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

std::optional<PluginError> read_exports(const std::string& staged_path, PluginFacts& facts) {
  std::vector<std::string> names;
  try {
    names = exported_symbols(staged_path);
  } catch (const std::exception& e) {
    return make_plugin_error(PluginErrorCode::kMalformedElf, facts.path, {e.what()});
  }
  const auto entry = std::find(names.begin(), names.end(), PD_PLUGIN_ENTRY_SYMBOL);
  if (entry == names.end()) {
    return make_plugin_error(PluginErrorCode::kNoEntrySymbol, facts.path, {shown_names(names)});
  }
  names.erase(entry);
  facts.exports = std::move(names);
  if (!facts.exports.empty()) {
    facts.warnings.push_back(
        fill_template("it exports more than pd_plugin_entry: {}; such names can bind to those of "
                      "other plugins and keep the library mapped; link with the SDK's version "
                      "script, as pd_add_policy() does",
                      {shown_names(facts.exports)}));
  }
  return std::nullopt;
}

}  // namespace pd
