#include "framework/plugin/plugin_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <optional>
#include <system_error>

namespace pd {
namespace {

using Failure = std::optional<PluginError>;

std::string system_text(int error) {
  return std::generic_category().message(error);
}

std::string mode_text(mode_t mode) {
  std::string digits;
  for (unsigned bits = mode & 07777u; bits != 0; bits >>= 3) {
    digits.insert(digits.begin(), static_cast<char>('0' + (bits & 7u)));
  }
  return "0" + digits;
}

std::string_view kind_text(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a folder";
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
    case S_IFBLK:
      return "a device";
    default:
      return "no regular file";
  }
}

bool is_trusted_owner(uid_t owner) {
  return owner == 0 || owner == ::geteuid();
}

bool others_may_write(mode_t mode) {
  return (mode & (S_IWGRP | S_IWOTH)) != 0;
}

PluginError open_error(int error, const std::string& path, const std::string& at) {
  if (error == ELOOP) return make_plugin_error(PluginErrorCode::kLinkLoop, path);
  if (error == ENOENT || error == ENOTDIR) {
    return make_plugin_error(PluginErrorCode::kNotFound, path, {system_text(error)});
  }
  // Opening a socket says "no such device".
  if (error == ENXIO) {
    return make_plugin_error(PluginErrorCode::kNotRegularFile, path, {at, "a socket or a device"});
  }
  return make_plugin_error(PluginErrorCode::kCannotOpen, path, {at, system_text(error)});
}

// Checks one folder on the way. `holds_plugin`: it is the last one.
Failure check_folder(int descriptor, const std::string& path, const std::string& folder,
                     bool holds_plugin) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return open_error(errno, path, folder);
  if (!is_trusted_owner(status.st_uid)) {
    return make_plugin_error(PluginErrorCode::kFolderWrongOwner, path,
                             {folder, std::to_string(status.st_uid), std::to_string(::geteuid())});
  }
  if (!others_may_write(status.st_mode)) return std::nullopt;
  if ((status.st_mode & S_ISVTX) != 0 && !holds_plugin) return std::nullopt;
  struct statvfs volume {};
  if (::fstatvfs(descriptor, &volume) == 0 && (volume.f_flag & ST_RDONLY) != 0) return std::nullopt;
  return make_plugin_error(PluginErrorCode::kFolderWritableByOthers, path,
                           {folder, mode_text(status.st_mode)});
}

Failure check_file(const struct stat& status, const std::string& path, const std::string& real) {
  if (!S_ISREG(status.st_mode)) {
    return make_plugin_error(PluginErrorCode::kNotRegularFile, path,
                             {real, kind_text(status.st_mode)});
  }
  if (!is_trusted_owner(status.st_uid)) {
    return make_plugin_error(PluginErrorCode::kWrongOwner, path,
                             {real, std::to_string(status.st_uid), std::to_string(::geteuid())});
  }
  if ((status.st_mode & (S_ISUID | S_ISGID)) != 0) {
    return make_plugin_error(PluginErrorCode::kSpecialMode, path,
                             {real, mode_text(status.st_mode)});
  }
  if (others_may_write(status.st_mode)) {
    return make_plugin_error(PluginErrorCode::kWritableByOthers, path,
                             {real, mode_text(status.st_mode)});
  }
  return std::nullopt;
}

// Walks from / to the folder of `real`, checking each on the way; what is checked is what is used.
PluginResult<UniqueDescriptor> open_folder_of(const std::string& path, const std::string& real) {
  UniqueDescriptor folder(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return open_error(errno, path, "/");
  std::size_t begin = 1;
  for (;;) {
    const std::size_t end = real.find('/', begin);
    const std::string so_far = begin == 1 ? "/" : real.substr(0, begin - 1);
    if (auto failure = check_folder(folder.get(), path, so_far, end == std::string::npos)) {
      return *std::move(failure);
    }
    if (end == std::string::npos) return folder;
    const std::string name = real.substr(begin, end - begin);
    UniqueDescriptor next(
        ::openat(folder.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return open_error(errno, path, real.substr(0, end));
    folder = std::move(next);
    begin = end + 1;
  }
}

}  // namespace

PluginResult<PluginFile> PluginFile::open(const std::string& path, std::uint64_t max_size) {
  if (path.empty() || path.front() != '/' || path.find('\0') != std::string::npos) {
    return make_plugin_error(PluginErrorCode::kPathNotAbsolute, path);
  }
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr),
                                                             &std::free);
  if (resolved == nullptr) return open_error(errno, path, path);

  PluginFile file;
  file.path_ = path;
  file.real_path_ = resolved.get();
  if (file.real_path_ == "/") {
    return make_plugin_error(PluginErrorCode::kNotRegularFile, path, {"/", "a folder"});
  }
  const auto folder = open_folder_of(path, file.real_path_);
  if (!folder) return folder.error();
  const std::string name = file.real_path_.substr(file.real_path_.rfind('/') + 1);
  // O_NONBLOCK: opening a FIFO without a writer would wait for one.
  file.descriptor_ = UniqueDescriptor(::openat(
      folder->get(), name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
  if (!file.descriptor_) return open_error(errno, path, file.real_path_);

  struct stat status {};
  if (::fstat(file.descriptor_.get(), &status) != 0) return open_error(errno, path, path);
  if (auto failure = check_file(status, path, file.real_path_)) return *std::move(failure);
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  if (file.size_ == 0) return make_plugin_error(PluginErrorCode::kEmptyFile, path);
  if (file.size_ > max_size) {
    return make_plugin_error(PluginErrorCode::kTooLarge, path,
                             {std::to_string(file.size_), std::to_string(max_size)});
  }
  return file;
}

}  // namespace pd
