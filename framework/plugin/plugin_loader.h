// Loads policy plugins from files, trusting neither the files nor what is in them.
//
// The steps, each of which can refuse with an error of its own: path and links, permissions,
// private copy, allow list, kind of file and ELF checks, exported symbols, dlopen, descriptor,
// load().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/plugin/plugin.h"
#include "framework/plugin/plugin_allow_list.h"
#include "framework/plugin/plugin_error.h"
#include "framework/plugin/plugin_staging.h"
#include "framework/policy/policy_registry.h"
#include "pd/abi.h"

namespace pd {

struct PluginLoaderOptions {
  std::vector<std::string> directories;  ///< absolute; scanned in this order
  std::vector<AllowedPlugin> allow;      ///< empty: every plugin of the directories
  std::string staging;                   ///< folder for private copies; empty: see PluginStaging
  std::uint64_t max_size = 64ull * 1024 * 1024;  ///< bytes of one plugin file
};

/// What a scan of the plugin folders found.
struct PluginScan {
  std::vector<std::string> folders;  ///< looked in
  std::vector<std::string> files;    ///< candidates: by folder, then by name
  std::vector<PluginError> errors;   ///< kFolderUnreadable
};

/// What load_all() did.
struct LoadedPlugins {
  std::vector<std::string> folders;
  std::vector<std::shared_ptr<const Plugin>> plugins;
  std::vector<PluginError> errors;  ///< one for each file and folder that was refused
};

/// [control thread] Keeps the staging folder; must outlive the plugins' use of their copies only in
/// so far as the copies vanish with it: what is mapped stays mapped.
class PluginLoader {
 public:
  /// `host` is what load() is given; it must outlive every plugin that is loaded.
  PluginLoader(PluginLoaderOptions options, const pd_host* host);

  /// The files lib*.so of the configured folders. Hidden files, left-overs of editors and package
  /// managers ("libx.so~", "libx.so.dpkg-new") and versioned names ("libx.so.1") are passed over;
  /// of several links to one real file the first counts.
  PluginScan scan() const;

  /// Loads one file and registers its policies. On an error `registry` is as before.
  PluginResult<std::shared_ptr<const Plugin>> load(const std::string& file,
                                                   PolicyRegistry& registry);

  /// The same; `facts` holds what was learned, also when the file is refused.
  PluginResult<std::shared_ptr<const Plugin>> load(const std::string& file,
                                                   PolicyRegistry& registry, PluginFacts& facts);

  /// Loads everything that scan() lists. One refused file does not keep others out.
  LoadedPlugins load_all(PolicyRegistry& registry);

 private:
  PluginResult<StagedPlugin> copy_to_staging(const std::string& file, PluginFacts& facts);
  std::optional<PluginError> check_copy(const StagedPlugin& staged, PluginFacts& facts) const;
  PluginResult<std::shared_ptr<Plugin>> open_library(const StagedPlugin& staged,
                                                     PluginFacts& facts) const;

  PluginLoaderOptions options_;
  PluginAllowList allow_;
  const pd_host* host_;
  std::shared_ptr<PluginStaging> staging_;  // made when the first file needs it
};

}  // namespace pd
