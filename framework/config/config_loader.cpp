#include "framework/config/config_loader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "framework/config/document_reader.h"
#include "framework/config/environment_overrides.h"
#include "framework/config/settings_table.h"
#include "framework/config/toml_document.h"
#include "framework/config/value_text.h"

namespace pd {
namespace {

// Ten thousand pods with all their keys take about a quarter of this.
constexpr std::uint64_t kLargestFile = std::uint64_t{16} << 20;

class OpenFile {
 public:
  // O_NONBLOCK: opening a FIFO must not wait for its writer. Regular files ignore it.
  explicit OpenFile(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

std::string reason_of(int error) {
  return std::generic_category().message(error);
}

boost::system::result<std::string, ConfigError> read_all(int descriptor, const std::string& path) {
  std::string text;
  std::array<char, 16384> buffer{};
  while (true) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count < 0) {
      if (errno == EINTR) continue;
      return config_errors::file_unreadable(path, reason_of(errno));
    }
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kLargestFile) return config_errors::file_too_large(path, kLargestFile);
  }
}

boost::system::result<std::string, ConfigError> read_file(const std::string& path) {
  const OpenFile file(path);
  if (file.descriptor() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return config_errors::file_missing(path);
    return config_errors::file_unreadable(path, reason_of(errno));
  }
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0) {
    return config_errors::file_unreadable(path, reason_of(errno));
  }
  if (S_ISDIR(status.st_mode)) return config_errors::not_a_file(path, "a folder");
  if (!S_ISREG(status.st_mode)) return config_errors::not_a_file(path, "a device, pipe or socket");
  return read_all(file.descriptor(), path);
}

ConfigPosition position_of(const DocumentReading& reading, std::string_view key) {
  const auto found = reading.positions.find(std::string(key));
  return found == reading.positions.end() ? ConfigPosition{} : found->second;
}

std::vector<ValueSource> sources_of(const DocumentReading& reading) {
  std::vector<ValueSource> sources;
  for (const SettingRow& row : settings_table()) {
    const ConfigPosition position = position_of(reading, row.spec.key);
    sources.push_back({position.line == 0 ? ValueSource::Kind::kDefault : ValueSource::Kind::kFile,
                       position,
                       {}});
  }
  return sources;
}

std::string shown(std::string_view key, const Settings& settings) {
  const SettingRow* row = find_setting(key);
  return format_value(row->spec, row->get(settings));
}

// Rules over more than one key, checked on the values that count in the end.
void check_combinations(const LoadedSettings& loaded, const DocumentReading& reading,
                        std::vector<ConfigError>& errors) {
  const FleetSettings& fleet = loaded.settings.fleet;
  if (fleet.stale <= fleet.scrape) {
    const ConfigPosition stale = position_of(reading, "fleet.stale");
    errors.push_back(config_errors::stale_before_scrape(
        {loaded.file, stale.line != 0 ? stale : position_of(reading, "fleet.scrape"),
         "fleet.stale"},
        shown("fleet.stale", loaded.settings), shown("fleet.scrape", loaded.settings)));
  }
  const ServerSettings& server = loaded.settings.server;
  constexpr std::string_view kAnyPort = ":0";
  const bool kernel_chooses =
      server.listen.size() > kAnyPort.size() &&
      server.listen.compare(server.listen.size() - kAnyPort.size(), kAnyPort.size(), kAnyPort) == 0;
  if (server.listen == server.admin && !kernel_chooses) {
    const ConfigPosition admin = position_of(reading, "server.admin");
    errors.push_back(config_errors::same_listen_and_admin(
        {loaded.file, admin.line != 0 ? admin : position_of(reading, "server.listen"),
         "server.admin"},
        server.admin));
  }
}

void sort_by_place(std::vector<ConfigError>& errors) {
  std::stable_sort(errors.begin(), errors.end(), [](const ConfigError& a, const ConfigError& b) {
    return a.position < b.position;
  });
}

LoadResult load_document(std::string_view text, const std::string& name,
                         const std::string& base_folder, const EnvironmentVariables& environment) {
  if (text.empty()) return std::vector<ConfigError>{config_errors::file_empty(name)};
  const auto document = parse_toml(text, name);
  if (!document) return std::vector<ConfigError>{document.error()};
  if (document->children.empty()) {
    return std::vector<ConfigError>{config_errors::file_empty(name)};
  }

  std::vector<ConfigError> errors;
  DocumentReading reading = read_document(*document, name, base_folder, errors);
  LoadedSettings loaded;
  loaded.file = name;
  loaded.sources = sources_of(reading);
  loaded.settings = std::move(reading.settings);
  apply_environment(environment, loaded);
  // On top of a bad value a rule over two keys would only blame the innocent one.
  if (errors.empty()) check_combinations(loaded, reading, errors);
  if (!errors.empty()) {
    sort_by_place(errors);
    return errors;
  }
  loaded.pod_positions = std::move(reading.pod_positions);
  for (PodSettings& pod : loaded.settings.fleet.pods) {
    if (!pod.connector) pod.connector = loaded.settings.fleet.connector;
  }
  return loaded;
}

}  // namespace

LoadResult load_settings(const std::string& path, const EnvironmentVariables& environment) {
  const auto text = read_file(path);
  if (!text) return std::vector<ConfigError>{text.error()};
  std::error_code ignored;
  const std::filesystem::path absolute = std::filesystem::absolute(path, ignored);
  return load_document(*text, path, absolute.parent_path().string(), environment);
}

LoadResult load_settings_text(std::string_view text, const std::string& name,
                              const EnvironmentVariables& environment) {
  return load_document(text, name, std::filesystem::path(name).parent_path().string(), environment);
}

std::string describe(const ValueSource& source, const std::string& file) {
  switch (source.kind) {
    case ValueSource::Kind::kDefault:
      return "default";
    case ValueSource::Kind::kFile:
      return file + ":" + std::to_string(source.position.line);
    case ValueSource::Kind::kEnvironment:
      return "environment " + source.variable;
  }
  return {};
}

}  // namespace pd
