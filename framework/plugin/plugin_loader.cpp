#include "framework/plugin/plugin_loader.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>

#include "framework/plugin/dlopen_error.h"
#include "framework/plugin/elf_checks.h"
#include "framework/plugin/floating_point_guard.h"
#include "framework/plugin/plugin_descriptor.h"
#include "framework/plugin/plugin_exports.h"
#include "framework/plugin/plugin_file.h"
#include "framework/plugin/plugin_registration.h"
#include "framework/policy/error_template.h"

namespace pd {
namespace {

namespace fs = std::filesystem;
using Failure = std::optional<PluginError>;

constexpr std::string_view kFloatingPointWarning =
    "it changed the floating-point environment of the thread that loaded it (as -ffast-math does); "
    "the environment was restored; build the plugin without -ffast-math and -Ofast";

// A staged copy that goes when loading ends early.
class StagedCopy {
 public:
  explicit StagedCopy(const std::string& path) : path_(path) {}
  StagedCopy(const StagedCopy&) = delete;
  StagedCopy& operator=(const StagedCopy&) = delete;
  ~StagedCopy() {
    if (!kept_) ::unlink(path_.c_str());
  }
  void keep() { kept_ = true; }

 private:
  const std::string& path_;
  bool kept_ = false;
};

bool is_candidate_name(const std::string& name) {
  static constexpr std::string_view kPrefix = "lib";
  static constexpr std::string_view kSuffix = ".so";
  return name.size() > kPrefix.size() + kSuffix.size() &&
         name.compare(0, kPrefix.size(), kPrefix) == 0 &&
         name.compare(name.size() - kSuffix.size(), kSuffix.size(), kSuffix) == 0;
}

// Candidate names in a folder, sorted; nothing, and `error`, when it cannot be listed.
std::vector<std::string> list_folder(const std::string& folder, std::error_code& error) {
  std::vector<std::string> names;
  fs::directory_iterator entries(folder, error);
  while (!error && entries != fs::directory_iterator()) {
    const std::string name = entries->path().filename().string();
    if (is_candidate_name(name)) names.push_back(name);
    entries.increment(error);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::vector<std::byte>> read_bytes(const StagedPlugin& staged) {
  std::vector<std::byte> bytes(staged.size);
  std::ifstream stream(staged.path, std::ios::binary);
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!stream) return std::nullopt;
  return bytes;
}

void warn_about_tls(PluginFacts& facts) {
  if (!facts.elf.static_tls) return;
  facts.warnings.push_back(fill_template(
      "it uses static TLS (DF_STATIC_TLS, {} bytes), a small pool of the process that "
      "replacing plugins uses up; build it with -ftls-model=global-dynamic and "
      "without a bundled allocator",
      {std::to_string(facts.elf.tls_size)}));
}

void warn_about_floating_point(FloatingPointGuard& guard, PluginFacts& facts) {
  if (guard.restore()) facts.warnings.emplace_back(kFloatingPointWarning);
}

Failure check_id_is_free(const PluginFacts& facts, const PolicyRegistry& registry) {
  for (const auto& other : registry.plugins()) {
    if (other->facts().id == facts.id) {
      return make_plugin_error(PluginErrorCode::kDuplicateId, facts.path,
                               {facts.id, other->facts().path});
    }
  }
  return std::nullopt;
}

}  // namespace

PluginLoader::PluginLoader(PluginLoaderOptions options, const pd_host* host)
    : options_(std::move(options)), allow_(options_.allow), host_(host) {}

PluginScan PluginLoader::scan() const {
  PluginScan scan;
  std::set<std::string> real_paths;
  for (const std::string& folder : options_.directories) {
    scan.folders.push_back(folder);
    std::error_code error;
    for (const std::string& name : list_folder(folder, error)) {
      const std::string path = (fs::path(folder) / name).string();
      std::error_code unresolved;
      const fs::path real = fs::canonical(path, unresolved);
      // What does not resolve stays a candidate, for load() to say why.
      if (unresolved || real_paths.insert(real.string()).second) scan.files.push_back(path);
    }
    if (error) {
      scan.errors.push_back(
          make_plugin_error(PluginErrorCode::kFolderUnreadable, folder, {error.message()}));
    }
  }
  return scan;
}

PluginResult<std::shared_ptr<const Plugin>> PluginLoader::load(const std::string& file,
                                                               PolicyRegistry& registry) {
  PluginFacts facts;
  return load(file, registry, facts);
}

PluginResult<std::shared_ptr<const Plugin>> PluginLoader::load(const std::string& file,
                                                               PolicyRegistry& registry,
                                                               PluginFacts& facts) {
  facts = PluginFacts();
  facts.path = file;
  const auto staged = copy_to_staging(file, facts);
  if (!staged) return staged.error();
  StagedCopy copy(staged->path);
  if (auto failure = allow_.check_file(facts.path, facts.real_path, facts.sha256)) {
    return *std::move(failure);
  }
  if (auto failure = check_copy(*staged, facts)) return *std::move(failure);

  FloatingPointGuard floating_point;
  auto opened = open_library(*staged, facts);
  if (!opened) return opened.error();
  copy.keep();  // from here on it goes with the plugin
  const std::shared_ptr<Plugin>& plugin = *opened;
  auto failure = allow_.check_id(facts.path, facts.real_path, facts.sha256, facts.id);
  if (!failure) failure = check_id_is_free(facts, registry);
  if (!failure) failure = run_load(plugin, host_, registry);
  warn_about_floating_point(floating_point, plugin->facts());
  facts = plugin->facts();
  if (failure) return *std::move(failure);
  return std::shared_ptr<const Plugin>(plugin);
}

LoadedPlugins PluginLoader::load_all(PolicyRegistry& registry) {
  PluginScan found = scan();
  LoadedPlugins loaded;
  loaded.folders = std::move(found.folders);
  loaded.errors = std::move(found.errors);
  for (const std::string& file : found.files) {
    auto plugin = load(file, registry);
    if (plugin) {
      loaded.plugins.push_back(*std::move(plugin));
    } else {
      loaded.errors.push_back(plugin.error());
    }
  }
  return loaded;
}

PluginResult<StagedPlugin> PluginLoader::copy_to_staging(const std::string& file,
                                                         PluginFacts& facts) {
  const auto opened = PluginFile::open(file, options_.max_size);
  if (!opened) return opened.error();
  facts.real_path = opened->real_path();
  facts.size = opened->size();
  if (staging_ == nullptr) {
    auto staging = PluginStaging::create(options_.staging);
    if (!staging) return staging.error();
    staging_ = *std::move(staging);
  }
  auto staged = staging_->stage(*opened);
  if (staged) facts.sha256 = staged->sha256;
  return staged;
}

// Everything that can be told without running code of the plugin.
std::optional<PluginError> PluginLoader::check_copy(const StagedPlugin& staged,
                                                    PluginFacts& facts) const {
  const auto bytes = read_bytes(staged);
  if (!bytes) {
    return make_plugin_error(PluginErrorCode::kReadFailed, facts.path,
                             {"the private copy cannot be read back"});
  }
  auto elf = read_elf(*bytes, facts.path);
  if (!elf) return elf.error();
  facts.elf = *std::move(elf);
  warn_about_tls(facts);
  if (auto failure = check_elf(facts.elf, facts.path)) return failure;
  return read_exports(staged.path, facts);
}

// dlopen runs the constructors of the library, so everything from here on trusts the allow list.
PluginResult<std::shared_ptr<Plugin>> PluginLoader::open_library(const StagedPlugin& staged,
                                                                 PluginFacts& facts) const {
  auto library = std::make_unique<boost::dll::shared_library>();
  std::error_code error;
  library->load(staged.path, error,
                boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
  if (error) {
    // Boost keeps only "bad file descriptor"; the text is still there.
    const char* text = ::dlerror();
    return translate_dlopen_error(text == nullptr ? error.message() : std::string(text),
                                  staged.path, facts.path);
  }
  Failure failure;
  pd_plugin descriptor{};
  if (library->has(PD_PLUGIN_ENTRY_SYMBOL)) {
    const auto entry = library->get<const pd_plugin*()>(PD_PLUGIN_ENTRY_SYMBOL);
    failure = read_descriptor(entry(), descriptor, facts);
  } else {
    failure = make_plugin_error(PluginErrorCode::kNoEntrySymbol, facts.path, {"nothing usable"});
  }
  // Without a valid descriptor nobody has said that closing the library is safe: it is retired.
  if (failure) descriptor.flags = 0;
  auto plugin = std::make_shared<Plugin>(facts, std::move(library), staged.path, descriptor);
  if (failure) return *std::move(failure);
  return plugin;
}

}  // namespace pd
