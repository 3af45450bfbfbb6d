// The real file behind a configured plugin path, opened once and checked through its descriptor.
#pragma once

#include <cstdint>
#include <string>

#include "framework/plugin/plugin_error.h"
#include "framework/plugin/unique_descriptor.h"

namespace pd {

/// An open plugin file that only root and our own user could have written. [control thread]
///
/// Links are resolved first, since in Kubernetes every mounted file is one; the checks are made on
/// what they lead to. The rule, close to that of sshd for its key files:
///   - the file is regular, belongs to root or to our effective user, and neither group nor others
///     may write to it; no setuid or setgid;
///   - so does every folder from / to it, except that write permission for others is harmless
///     on a read-only mount, and in a sticky folder such as /tmp when another folder of the path
///     lies in it (nobody can rename what belongs to root or us there). The folder that holds the
///     plugin is never excepted as sticky, since anybody could add files to it.
class PluginFile {
 public:
  /// Never blocks on a FIFO or a device. kPathNotAbsolute, kNotFound, kLinkLoop, kNotRegularFile,
  /// kCannotOpen, the permission codes, kEmptyFile, kTooLarge.
  static PluginResult<PluginFile> open(const std::string& path, std::uint64_t max_size);

  const std::string& path() const { return path_; }            ///< as configured
  const std::string& real_path() const { return real_path_; }  ///< without links
  int descriptor() const { return descriptor_.get(); }         ///< open for reading, at offset 0
  std::uint64_t size() const { return size_; }                 ///< bytes, at the time of opening

 private:
  PluginFile() = default;

  std::string path_;
  std::string real_path_;
  UniqueDescriptor descriptor_;
  std::uint64_t size_ = 0;
};

}  // namespace pd
