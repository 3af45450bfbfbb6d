// A loaded plugin: who it is, and the library that holds its code.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/plugin/elf_checks.h"
#include "pd/abi.h"

namespace boost::dll {
class shared_library;
}

namespace pd {

/// What is known about a plugin; the members after the first refusal are empty. Copies, which need
/// no library.
struct PluginFacts {
  std::string path;       ///< as configured
  std::string real_path;  ///< without links
  std::string sha256;     ///< of the content: the identity of a build
  std::uint64_t size = 0;
  ElfFacts elf;
  std::vector<std::string> exports;  ///< without pd_plugin_entry; should be empty
  std::string id;
  std::string version;
  std::string vendor;
  std::string licence;
  std::string description;
  std::string build;
  std::uint32_t abi_major = 0;
  std::uint32_t abi_minor = 0;               ///< the smallest minor version of a host that will do
  std::uint32_t header_minor = 0;            ///< of the header it was built with
  std::uint32_t flags = 0;                   ///< PD_PLUGIN_*
  std::vector<std::string> decode_policies;  ///< registered by load(), in order
  std::vector<std::string> prefill_policies;
  std::vector<std::string> warnings;  ///< sentences for the operator
};

/// How many libraries of this process were closed after use, and what became of them.
struct PluginUnloadCounts {
  std::uint64_t closed = 0;   ///< really left the address space
  std::uint64_t pinned = 0;   ///< closed, but something in them kept them mapped
  std::uint64_t retired = 0;  ///< left mapped on purpose: not UNLOAD_SAFE, or a sanitizer build
};

/// [any thread]
PluginUnloadCounts plugin_unload_counts();

/// Immutable once loaded; any thread may read it, but the last reference must be dropped on the
/// control thread, after every instance of its policies is destroyed: the destructor calls unload()
/// and removes the library when the plugin declares PD_PLUGIN_UNLOAD_SAFE. Sanitizer builds never
/// remove one, since their reports would lose the names of its functions.
class Plugin {
 public:
  /// Takes over an open library and the checked, full-size copy of its descriptor.
  Plugin(PluginFacts facts, std::unique_ptr<boost::dll::shared_library> library,
         std::string staged_path, const pd_plugin& descriptor);
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  ~Plugin();

  const PluginFacts& facts() const { return facts_; }

  /// For the loader, before others see the plugin.
  PluginFacts& facts() { return facts_; }
  const pd_plugin& descriptor() const { return descriptor_; }

  /// load() has succeeded, so unload() is due.
  void mark_loaded() { loaded_ = true; }

 private:
  void close_library();
  void retire_library();

  PluginFacts facts_;
  std::unique_ptr<boost::dll::shared_library> library_;
  std::string staged_path_;
  pd_plugin descriptor_;
  bool loaded_ = false;
};

}  // namespace pd
