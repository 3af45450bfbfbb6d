// The private folder from which plugins run: copies that nobody else can change or truncate.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "framework/plugin/plugin_error.h"
#include "framework/plugin/plugin_file.h"
#include "framework/plugin/unique_descriptor.h"

namespace pd {

/// A copy of a plugin in the staging folder.
struct StagedPlugin {
  std::string path;  ///< "FOLDER/SHA256.so", with "-2", "-3" ... for further copies of one content
  std::string sha256;  ///< 64 lower-case hexadecimal digits
  std::uint64_t size = 0;
};

/// [control thread] One folder of mode 0700, named pd-plugins-PID-RANDOM and locked while we live.
/// Where it lies, in this order: the configured folder, and nothing else when there is one; else
/// the first that works of $RUNTIME_DIRECTORY and $STATE_DIRECTORY (set by systemd), /run/pd (as
/// root), $XDG_RUNTIME_DIR, /var/lib/pd, /tmp. "Works" means: a folder that is ours or sticky,
/// writable, and not on a file system mounted noexec.
class PluginStaging {
 public:
  /// Also removes what dead processes left in the folder that is taken. kStagingUnusable with the
  /// reason of every candidate, or kStagingNoexec for a configured one.
  static PluginResult<std::shared_ptr<PluginStaging>> create(const std::string& configured);

  PluginStaging(const PluginStaging&) = delete;
  PluginStaging& operator=(const PluginStaging&) = delete;

  /// Removes the folder and every copy in it. What is mapped stays mapped.
  ~PluginStaging();

  const std::string& folder() const { return folder_; }

  /// Copies what the descriptor of `file` reads, hashing it on the way. Each call makes a new file,
  /// since the system's loader hands out the old library for a path that it knows.
  /// kChangedWhileRead, kReadFailed, kStagingFailed.
  PluginResult<StagedPlugin> stage(const PluginFile& file);

 private:
  PluginStaging(std::string folder, UniqueDescriptor lock);

  std::string folder_;
  UniqueDescriptor lock_;  // the folder itself, with an exclusive flock
};

}  // namespace pd
