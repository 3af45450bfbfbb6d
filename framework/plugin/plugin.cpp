#include "framework/plugin/plugin.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <boost/dll/shared_library.hpp>
#include <mutex>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PD_KEEP_LIBRARIES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PD_KEEP_LIBRARIES 1
#endif
#endif
#ifndef PD_KEEP_LIBRARIES
#define PD_KEEP_LIBRARIES 0
#endif

namespace pd {
namespace {

std::atomic<std::uint64_t> closed_count{0};
std::atomic<std::uint64_t> pinned_count{0};
std::atomic<std::uint64_t> retired_count{0};

// Never destroyed: code of these libraries may run until the very end of the process.
void keep_forever(std::unique_ptr<boost::dll::shared_library> library) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::unique_ptr<boost::dll::shared_library>>();
  const std::lock_guard<std::mutex> lock(mutex);
  kept.push_back(std::move(library));
}

// dlclose() says nothing about whether the library left, so ask for it without loading it.
bool is_still_mapped(const std::string& path) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOLOAD | RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return false;
  ::dlclose(handle);
  return true;
}

}  // namespace

PluginUnloadCounts plugin_unload_counts() {
  return {closed_count.load(), pinned_count.load(), retired_count.load()};
}

Plugin::Plugin(PluginFacts facts, std::unique_ptr<boost::dll::shared_library> library,
               std::string staged_path, const pd_plugin& descriptor)
    : facts_(std::move(facts)),
      library_(std::move(library)),
      staged_path_(std::move(staged_path)),
      descriptor_(descriptor) {}

Plugin::~Plugin() {
  if (loaded_ && descriptor_.unload != nullptr) descriptor_.unload();
  if (PD_KEEP_LIBRARIES == 0 && (descriptor_.flags & PD_PLUGIN_UNLOAD_SAFE) != 0) {
    close_library();
  } else {
    retire_library();
  }
}

void Plugin::close_library() {
  library_->unload();
  if (is_still_mapped(staged_path_)) {
    pinned_count.fetch_add(1);
  } else {
    closed_count.fetch_add(1);
    ::unlink(staged_path_.c_str());
  }
}

void Plugin::retire_library() {
  retired_count.fetch_add(1);
  keep_forever(std::move(library_));
}

}  // namespace pd
