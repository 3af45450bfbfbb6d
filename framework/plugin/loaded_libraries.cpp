#include "framework/plugin/loaded_libraries.h"

#include <elf.h>
#include <link.h>

#include <cstdint>

namespace pd {
namespace {

struct Search {
  std::string_view name;
  bool found = false;
  std::vector<std::string> versions;
};

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// The dynamic section of a mapped library holds addresses; some systems leave them relative.
const char* mapped_at(const dl_phdr_info& info, std::uint64_t value) {
  return reinterpret_cast<const char*>(value < info.dlpi_addr ? info.dlpi_addr + value : value);
}

std::vector<std::string> read_defined_versions(const dl_phdr_info& info, const ElfW(Dyn) * entry) {
  const char* strings = nullptr;
  const char* definition = nullptr;
  std::uint64_t count = 0;
  for (; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = mapped_at(info, entry->d_un.d_ptr);
    if (entry->d_tag == DT_VERDEF) definition = mapped_at(info, entry->d_un.d_ptr);
    if (entry->d_tag == DT_VERDEFNUM) count = entry->d_un.d_val;
  }
  std::vector<std::string> versions;
  if (strings == nullptr || definition == nullptr) return versions;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto* head = reinterpret_cast<const ElfW(Verdef)*>(definition);
    const auto* name = reinterpret_cast<const ElfW(Verdaux)*>(definition + head->vd_aux);
    versions.emplace_back(strings + name->vda_name);
    if (head->vd_next == 0) break;
    definition += head->vd_next;
  }
  return versions;
}

int visit(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (info->dlpi_name == nullptr || file_name(info->dlpi_name) != search.name) return 0;
  search.found = true;
  for (std::size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_DYNAMIC) continue;
    search.versions = read_defined_versions(
        *info, reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + segment.p_vaddr));
  }
  return 1;
}

Search search_for(std::string_view name) {
  Search search{name, false, {}};
  ::dl_iterate_phdr(&visit, &search);
  return search;
}

// "GLIBCXX_3.4.30" -> "GLIBCXX_" and 3, 4, 30.
struct SplitVersion {
  std::string_view word;
  std::vector<std::uint64_t> numbers;
};

SplitVersion split(std::string_view version) {
  const std::size_t digits = version.find_first_of("0123456789");
  SplitVersion out{version.substr(0, digits), {}};
  if (digits == std::string_view::npos) return out;
  std::uint64_t number = 0;
  for (const char c : version.substr(digits)) {
    if (c >= '0' && c <= '9') {
      number = number * 10 + static_cast<std::uint64_t>(c - '0');
    } else {
      out.numbers.push_back(number);
      number = 0;
    }
  }
  out.numbers.push_back(number);
  return out;
}

}  // namespace

bool is_library_loaded(std::string_view name) {
  return search_for(name).found;
}

std::optional<std::vector<std::string>> versions_defined_by(std::string_view name) {
  Search search = search_for(name);
  if (!search.found) return std::nullopt;
  return std::move(search.versions);
}

std::string newest_version_like(std::string_view wanted, const std::vector<std::string>& defined) {
  const SplitVersion model = split(wanted);
  std::string newest;
  SplitVersion newest_split;
  for (const std::string& version : defined) {
    const SplitVersion candidate = split(version);
    if (candidate.word != model.word) continue;
    if (newest.empty() || newest_split.numbers < candidate.numbers) {
      newest = version;
      newest_split = split(version);
    }
  }
  return newest;
}

}  // namespace pd
