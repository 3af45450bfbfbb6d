#include "framework/plugin/plugin_staging.h"

#include <dirent.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <vector>

namespace pd {
namespace {

constexpr std::string_view kPrefix = "pd-plugins-";

std::string system_text(int error) {
  return std::generic_category().message(error);
}

// ---- Where -------------------------------------------------------------------------------------

struct Candidate {
  std::string folder;
  bool create;  // make it when it is missing
};

void add_from_environment(const char* variable, std::vector<Candidate>& candidates) {
  const char* value = std::getenv(variable);
  if (value == nullptr) return;
  std::string folder(value);
  folder.resize(std::min(folder.size(), folder.find(':')));  // systemd separates several by colons
  if (!folder.empty() && folder.front() == '/') candidates.push_back({std::move(folder), false});
}

std::vector<Candidate> candidates_of(const std::string& configured) {
  if (!configured.empty()) return {{configured, true}};
  std::vector<Candidate> candidates;
  add_from_environment("RUNTIME_DIRECTORY", candidates);
  add_from_environment("STATE_DIRECTORY", candidates);
  if (::geteuid() == 0) candidates.push_back({"/run/pd", true});
  add_from_environment("XDG_RUNTIME_DIR", candidates);
  candidates.push_back({"/var/lib/pd", false});
  candidates.push_back({"/tmp", false});
  return candidates;
}

struct Refusal {
  bool noexec = false;
  std::string reason;
};

// Why `folder` cannot hold our own; nothing when it can.
std::optional<Refusal> check_parent(const Candidate& candidate) {
  const std::string& folder = candidate.folder;
  if (folder.front() != '/') return Refusal{false, "not an absolute path"};
  if (candidate.create && ::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST && errno != EROFS) {
    return Refusal{false, "cannot be made (" + system_text(errno) + ")"};
  }
  UniqueDescriptor descriptor(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor) return Refusal{false, system_text(errno)};
  struct statvfs volume {};
  if (::fstatvfs(descriptor.get(), &volume) != 0) return Refusal{false, system_text(errno)};
  if ((volume.f_flag & ST_NOEXEC) != 0) return Refusal{true, "mounted noexec"};
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) return Refusal{false, system_text(errno)};
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
    return Refusal{false, "belongs to user " + std::to_string(status.st_uid)};
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0) {
    return Refusal{false, "others may rename what is in it (group- or world-writable, not sticky)"};
  }
  return std::nullopt;
}

// ---- Folders of the living and the dead
// ----------------------------------------------------------

// Takes the lock of a staging folder; none when its owner lives.
UniqueDescriptor lock_folder(const std::string& folder) {
  UniqueDescriptor descriptor(
      ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (descriptor && ::flock(descriptor.get(), LOCK_EX | LOCK_NB) != 0) return UniqueDescriptor();
  return descriptor;
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = copy < 0 ? nullptr : ::fdopendir(copy);
  if (stream == nullptr) {
    if (copy >= 0) ::close(copy);
    return names;
  }
  while (const dirent* entry = ::readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(stream);
  return names;
}

// REQUIRES: we hold the lock of `folder`, or it is ours.
void remove_folder(const std::string& folder, int descriptor) {
  for (const std::string& name : names_in(descriptor)) ::unlinkat(descriptor, name.c_str(), 0);
  ::rmdir(folder.c_str());
}

// A folder whose lock can be taken belongs to nobody that lives, whatever its process id says:
// ids repeat, and differ between containers that share a volume.
void remove_dead_folders(const std::string& parent) {
  const UniqueDescriptor descriptor(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor) return;
  for (const std::string& name : names_in(descriptor.get())) {
    if (name.compare(0, kPrefix.size(), kPrefix) != 0) continue;
    const std::string folder = parent + "/" + name;
    const UniqueDescriptor lock = lock_folder(folder);
    struct stat status {};
    if (lock && ::fstat(lock.get(), &status) == 0 && status.st_uid == ::geteuid()) {
      remove_folder(folder, lock.get());
    }
  }
}

struct LockedFolder {
  std::string path;
  UniqueDescriptor lock;
};

// Between mkdtemp() and the lock, another process may take our folder for a dead one: then try
// again.
std::optional<LockedFolder> make_locked_folder(const std::string& parent) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    std::string path = parent + "/" + std::string(kPrefix) + std::to_string(::getpid()) + "-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return std::nullopt;
    UniqueDescriptor lock = lock_folder(path);
    struct stat named {};
    struct stat locked {};
    if (lock && ::stat(path.c_str(), &named) == 0 && ::fstat(lock.get(), &locked) == 0 &&
        named.st_ino == locked.st_ino && named.st_dev == locked.st_dev) {
      return LockedFolder{std::move(path), std::move(lock)};
    }
  }
  errno = EAGAIN;
  return std::nullopt;
}

// ---- Copying
// -------------------------------------------------------------------------------------

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new()) {
    good_ = context_ != nullptr && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1;
  }
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  ~Sha256() { EVP_MD_CTX_free(context_); }

  void add(const char* data, std::size_t size) {
    good_ = good_ && EVP_DigestUpdate(context_, data, size) == 1;
  }

  // Empty when the crypto library failed.
  std::string hex() {
    static constexpr char kHex[] = "0123456789abcdef";
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (!good_ || EVP_DigestFinal_ex(context_, digest.data(), &size) != 1) return {};
    std::string text;
    for (unsigned i = 0; i < size; ++i) text += {kHex[digest[i] >> 4], kHex[digest[i] & 15]};
    return text;
  }

 private:
  EVP_MD_CTX* context_;
  bool good_ = false;
};

bool write_all(int descriptor, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(descriptor, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

// Gives the finished copy its name; the name, or nothing with errno. Only we write to `folder`.
std::optional<std::string> publish(const std::string& folder, const std::string& temporary,
                                   const std::string& sha256) {
  std::string path = folder + "/" + sha256 + ".so";
  for (int copy = 2; ::access(path.c_str(), F_OK) == 0; ++copy) {
    path = folder + "/" + sha256 + "-" + std::to_string(copy) + ".so";
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return std::nullopt;
  return path;
}

}  // namespace

PluginStaging::PluginStaging(std::string folder, UniqueDescriptor lock)
    : folder_(std::move(folder)), lock_(std::move(lock)) {}

PluginStaging::~PluginStaging() {
  remove_folder(folder_, lock_.get());
}

PluginResult<std::shared_ptr<PluginStaging>> PluginStaging::create(const std::string& configured) {
  std::string reasons;
  for (const Candidate& candidate : candidates_of(configured)) {
    auto refusal = check_parent(candidate);
    if (!refusal) {
      remove_dead_folders(candidate.folder);
      if (auto made = make_locked_folder(candidate.folder)) {
        return std::shared_ptr<PluginStaging>(
            new PluginStaging(std::move(made->path), std::move(made->lock)));
      }
      refusal = Refusal{false, system_text(errno)};
    }
    if (refusal->noexec && !configured.empty()) {
      return make_plugin_error(PluginErrorCode::kStagingNoexec, configured, {configured});
    }
    reasons += (reasons.empty() ? "" : "; ") + candidate.folder + ": " + refusal->reason;
  }
  return make_plugin_error(PluginErrorCode::kStagingUnusable, configured, {reasons});
}

PluginResult<StagedPlugin> PluginStaging::stage(const PluginFile& file) {
  const auto cannot_write = [&] {
    return make_plugin_error(PluginErrorCode::kStagingFailed, file.path(),
                             {folder_, system_text(errno)});
  };
  std::string temporary = folder_ + "/copy-XXXXXX";
  const UniqueDescriptor copy(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!copy) return cannot_write();
  // The temporary name goes on every way out; after publish() it is gone already.
  const struct Remover {
    const std::string& path;
    ~Remover() { ::unlink(path.c_str()); }
  } remover{temporary};

  Sha256 sha256;
  std::vector<char> buffer(256 * 1024);
  std::uint64_t total = 0;
  for (;;) {
    const ssize_t got =
        ::pread(file.descriptor(), buffer.data(), buffer.size(), static_cast<off_t>(total));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return make_plugin_error(PluginErrorCode::kReadFailed, file.path(), {system_text(errno)});
    }
    if (got == 0) break;
    const auto size = static_cast<std::size_t>(got);
    total += size;
    if (total > file.size()) break;  // it grows; the comparison below tells
    sha256.add(buffer.data(), size);
    if (!write_all(copy.get(), buffer.data(), size)) return cannot_write();
  }
  if (total != file.size()) {
    return make_plugin_error(PluginErrorCode::kChangedWhileRead, file.path(),
                             {std::to_string(file.size()), std::to_string(total)});
  }
  StagedPlugin staged;
  staged.size = total;
  staged.sha256 = sha256.hex();
  if (staged.sha256.empty()) {
    errno = EIO;
    return cannot_write();
  }
  auto path = publish(folder_, temporary, staged.sha256);
  if (!path) return cannot_write();
  staged.path = *std::move(path);
  return staged;
}

}  // namespace pd
