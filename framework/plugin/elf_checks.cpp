#include "framework/plugin/elf_checks.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "framework/plugin/elf_bytes.h"
#include "framework/plugin/file_kind.h"
#include "framework/plugin/loaded_libraries.h"

namespace pd {
namespace {

using Failure = std::optional<PluginError>;

#if defined(__x86_64__)
constexpr std::uint16_t kHostMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kHostMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr std::uint16_t kHostMachine = EM_RISCV;
#elif defined(__powerpc64__)
constexpr std::uint16_t kHostMachine = EM_PPC64;
#else
#error "name the ELF machine of this processor here"
#endif
static_assert(sizeof(void*) == 8 && std::endian::native == std::endian::little);

struct MachineName {
  std::uint16_t machine;
  std::string_view name;
};
constexpr MachineName kMachineNames[] = {
    {EM_X86_64, "x86-64"},    {EM_AARCH64, "AArch64"}, {EM_386, "x86 (32-bit)"},
    {EM_ARM, "ARM (32-bit)"}, {EM_RISCV, "RISC-V"},    {EM_PPC64, "PowerPC 64"},
    {EM_S390, "S/390"},       {EM_MIPS, "MIPS"},       {EM_SPARCV9, "SPARC V9"},
    {EM_IA_64, "Itanium"},    {258, "LoongArch"},
};

std::string machine_name(std::uint16_t machine) {
  for (const MachineName& entry : kMachineNames) {
    if (entry.machine == machine) return std::string(entry.name);
  }
  return "machine number " + std::to_string(machine);
}

// More than any plugin has; a file with more is damaged, and reading it would take long.
constexpr std::size_t kMostVersions = 4096;
constexpr std::size_t kMostLibraries = 1024;

class ElfParser {
 public:
  ElfParser(std::span<const std::byte> bytes, const std::string& file)
      : bytes_(bytes), file_(file) {}

  PluginResult<ElfFacts> parse() {
    if (auto failure = read_header()) return *std::move(failure);
    if (auto failure = read_program_headers()) return *std::move(failure);
    if (auto failure = check_is_library()) return *std::move(failure);
    if (auto failure = check_sections()) return *std::move(failure);
    if (auto failure = read_dynamic_section()) return *std::move(failure);
    if (auto failure = read_needed_versions()) return *std::move(failure);
    return std::move(facts_);
  }

 private:
  PluginError error(PluginErrorCode code,
                    std::initializer_list<std::string_view> arguments = {}) const {
    return make_plugin_error(code, file_, arguments);
  }
  PluginError malformed(std::string_view what) const {
    return error(PluginErrorCode::kMalformedElf, {what});
  }
  PluginError truncated(std::string_view what, std::uint64_t offset, std::uint64_t length) const {
    const std::uint64_t end = offset + length < offset ? UINT64_MAX : offset + length;
    return error(PluginErrorCode::kTruncated,
                 {what, std::to_string(end), std::to_string(bytes_.size())});
  }

  Failure read_header() {
    const std::string host = machine_name(kHostMachine);
    const auto ident = bytes_.at<std::array<unsigned char, EI_NIDENT>>(0);
    if (!ident) return truncated("the ELF header", 0, sizeof(Elf64_Ehdr));
    if ((*ident)[EI_CLASS] == ELFCLASS32) return error(PluginErrorCode::kWrongClass, {host});
    if ((*ident)[EI_CLASS] != ELFCLASS64) return malformed("the class is neither 32 nor 64 bits");
    if ((*ident)[EI_DATA] == ELFDATA2MSB) return error(PluginErrorCode::kWrongByteOrder, {host});
    if ((*ident)[EI_DATA] != ELFDATA2LSB) return malformed("the byte order is unknown");
    const auto header = bytes_.at<Elf64_Ehdr>(0);
    if (!header) return truncated("the ELF header", 0, sizeof(Elf64_Ehdr));
    header_ = *header;
    if (header_.e_machine != kHostMachine) {
      return error(PluginErrorCode::kWrongMachine, {machine_name(header_.e_machine), host, host});
    }
    return check_type();
  }

  Failure check_type() const {
    switch (header_.e_type) {
      case ET_DYN:
        return std::nullopt;
      case ET_EXEC:
        return error(PluginErrorCode::kExecutable);
      case ET_REL:
        return error(PluginErrorCode::kNotSharedObject, {"an object file (.o)"});
      case ET_CORE:
        return error(PluginErrorCode::kNotSharedObject, {"a core dump"});
      default:
        return malformed("the file type is unknown");
    }
  }

  Failure read_program_headers() {
    if (header_.e_phnum == 0 || header_.e_phentsize != sizeof(Elf64_Phdr)) {
      return malformed("there is no table of program headers");
    }
    for (std::size_t i = 0; i < header_.e_phnum; ++i) {
      const auto segment = bytes_.at<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr));
      if (!segment || header_.e_phoff > bytes_.size()) {
        return truncated("the table of program headers", header_.e_phoff,
                         header_.e_phnum * sizeof(Elf64_Phdr));
      }
      if (auto failure = take_segment(*segment)) return failure;
    }
    if (loads_.empty()) return malformed("there is no segment to load");
    if (!dynamic_) return malformed("there is no dynamic section");
    facts_.executable_stack = facts_.executable_stack || !facts_.has_stack_header;
    return std::nullopt;
  }

  Failure take_segment(const Elf64_Phdr& segment) {
    switch (segment.p_type) {
      case PT_LOAD:
        if (segment.p_filesz > segment.p_memsz ||
            segment.p_vaddr + segment.p_memsz < segment.p_vaddr) {
          return malformed("a segment is larger in the file than in memory");
        }
        if (!bytes_.holds(segment.p_offset, segment.p_filesz)) {
          return truncated("a segment to load", segment.p_offset, segment.p_filesz);
        }
        loads_.push_back(segment);
        return std::nullopt;
      case PT_DYNAMIC:
        if (!bytes_.holds(segment.p_offset, segment.p_filesz)) {
          return truncated("the dynamic section", segment.p_offset, segment.p_filesz);
        }
        dynamic_ = segment;
        return std::nullopt;
      case PT_INTERP:
        has_interpreter_ = true;
        return std::nullopt;
      case PT_TLS:
        facts_.tls_size = segment.p_memsz;
        return std::nullopt;
      case PT_GNU_STACK:
        facts_.has_stack_header = true;
        facts_.executable_stack = (segment.p_flags & PF_X) != 0;
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

  Failure check_is_library() const {
    if (has_interpreter_) return error(PluginErrorCode::kExecutable);
    return std::nullopt;
  }

  // boost::dll::library_info trusts the section table, so it is checked before.
  Failure check_sections() const {
    if (header_.e_shnum == 0 || header_.e_shstrndx >= header_.e_shnum) {
      return error(PluginErrorCode::kNoSectionTable);
    }
    if (header_.e_shentsize != sizeof(Elf64_Shdr)) return malformed("section headers of odd size");
    for (std::size_t i = 0; i < header_.e_shnum; ++i) {
      const auto section = bytes_.at<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr));
      if (!section || header_.e_shoff > bytes_.size()) {
        return truncated("the section table", header_.e_shoff,
                         header_.e_shnum * sizeof(Elf64_Shdr));
      }
      if (section->sh_type == SHT_NULL || section->sh_type == SHT_NOBITS) {
        if (i == header_.e_shstrndx) return error(PluginErrorCode::kNoSectionTable);
        continue;
      }
      if (!bytes_.holds(section->sh_offset, section->sh_size)) {
        return truncated("a section", section->sh_offset, section->sh_size);
      }
      if ((section->sh_type == SHT_SYMTAB || section->sh_type == SHT_DYNSYM) &&
          section->sh_size != 0 && section->sh_size < sizeof(Elf64_Sym)) {
        return malformed("a symbol table is shorter than one symbol");
      }
    }
    return std::nullopt;
  }

  Failure read_dynamic_section() {
    const std::uint64_t count = dynamic_->p_filesz / sizeof(Elf64_Dyn);
    std::vector<std::uint64_t> needed;
    std::optional<std::uint64_t> run_path;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto entry = bytes_.at<Elf64_Dyn>(dynamic_->p_offset + i * sizeof(Elf64_Dyn));
      if (!entry || entry->d_tag == DT_NULL) break;
      switch (entry->d_tag) {
        case DT_NEEDED:
          if (needed.size() == kMostLibraries) return malformed("it needs too many libraries");
          needed.push_back(entry->d_un.d_val);
          break;
        case DT_RPATH:
        case DT_RUNPATH:
          run_path = entry->d_un.d_val;
          break;
        case DT_STRTAB:
          strings_ = file_offset(entry->d_un.d_ptr);
          break;
        case DT_STRSZ:
          strings_size_ = entry->d_un.d_val;
          break;
        case DT_VERNEED:
          versions_ = file_offset(entry->d_un.d_ptr);
          has_versions_ = true;
          break;
        case DT_VERNEEDNUM:
          version_count_ = entry->d_un.d_val;
          break;
        case DT_TEXTREL:
          facts_.text_relocations = true;
          break;
        case DT_FLAGS:
          facts_.text_relocations =
              facts_.text_relocations || (entry->d_un.d_val & DF_TEXTREL) != 0;
          facts_.static_tls = (entry->d_un.d_val & DF_STATIC_TLS) != 0;
          break;
        case DT_FLAGS_1:
          if ((entry->d_un.d_val & DF_1_PIE) != 0) return error(PluginErrorCode::kExecutable);
          break;
        default:
          break;
      }
    }
    if (!strings_ || !bytes_.holds(*strings_, strings_size_)) {
      return malformed("the table of strings is missing or leaves the file");
    }
    for (const std::uint64_t offset : needed) {
      auto name = string_at(offset);
      if (!name) return malformed("the name of a needed library leaves the file");
      facts_.needed.push_back(*std::move(name));
    }
    if (run_path) {
      auto path = string_at(*run_path);
      if (!path) return malformed("the library search path leaves the file");
      facts_.run_path = path->empty() ? "(empty)" : *std::move(path);
    }
    return std::nullopt;
  }

  Failure read_needed_versions() {
    if (!has_versions_ || version_count_ == 0) return std::nullopt;
    if (!versions_) return malformed("the table of needed versions leaves the file");
    std::uint64_t offset = *versions_;
    for (std::uint64_t i = 0; i < version_count_; ++i) {
      const auto library = bytes_.at<Elf64_Verneed>(offset);
      const auto name = library ? string_at(library->vn_file) : std::nullopt;
      if (!name) return malformed("the table of needed versions leaves the file");
      if (auto failure = read_versions_of(*library, offset + library->vn_aux, *name)) {
        return failure;
      }
      if (library->vn_next == 0) break;
      offset += library->vn_next;
    }
    return std::nullopt;
  }

  Failure read_versions_of(const Elf64_Verneed& library, std::uint64_t offset,
                           const std::string& name) {
    for (std::uint32_t i = 0; i < library.vn_cnt; ++i) {
      const auto version = bytes_.at<Elf64_Vernaux>(offset);
      auto text = version ? string_at(version->vna_name) : std::nullopt;
      if (!text || ++versions_read_ > kMostVersions) {
        return malformed("the table of needed versions leaves the file");
      }
      if ((version->vna_flags & VER_FLG_WEAK) == 0) {
        facts_.needed_versions.push_back({name, *std::move(text)});
      }
      if (version->vna_next == 0) break;
      offset += version->vna_next;
    }
    return std::nullopt;
  }

  // Where the byte of a virtual address lies in the file.
  std::optional<std::uint64_t> file_offset(std::uint64_t address) const {
    for (const Elf64_Phdr& load : loads_) {
      if (address >= load.p_vaddr && address - load.p_vaddr < load.p_filesz) {
        return load.p_offset + (address - load.p_vaddr);
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> string_at(std::uint64_t offset) const {
    if (offset >= strings_size_) return std::nullopt;
    return bytes_.text(*strings_ + offset, *strings_ + strings_size_);
  }

  ElfBytes bytes_;
  const std::string& file_;
  ElfFacts facts_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> loads_;
  std::optional<Elf64_Phdr> dynamic_;
  bool has_interpreter_ = false;
  std::optional<std::uint64_t> strings_;
  std::uint64_t strings_size_ = 0;
  bool has_versions_ = false;
  std::optional<std::uint64_t> versions_;
  std::uint64_t version_count_ = 0;
  std::size_t versions_read_ = 0;
};

bool is_sanitizer_runtime(std::string_view library) {
  for (const std::string_view stem :
       {"libasan", "libtsan", "liblsan", "libubsan", "libhwasan", "libclang_rt."}) {
    if (library.substr(0, stem.size()) == stem) return true;
  }
  return false;
}

// A sanitizer that comes in with a plugin ends the process ("runtime does not come first").
Failure check_sanitizers(const ElfFacts& facts, const std::string& file) {
  for (const std::string& library : facts.needed) {
    if (is_sanitizer_runtime(library) && !is_library_loaded(library)) {
      return make_plugin_error(PluginErrorCode::kSanitizerBuild, file, {"it needs " + library});
    }
  }
  return std::nullopt;
}

Failure check_versions(const ElfFacts& facts, const std::string& file) {
  for (const NeededVersion& needed : facts.needed_versions) {
    const auto defined = versions_defined_by(needed.library);
    if (!defined || std::find(defined->begin(), defined->end(), needed.version) != defined->end()) {
      continue;
    }
    std::string newest = newest_version_like(needed.version, *defined);
    if (newest.empty()) newest = "none of that name";
    return make_plugin_error(PluginErrorCode::kNewerLibraryVersion, file,
                             {needed.version, needed.library, newest});
  }
  return std::nullopt;
}

}  // namespace

PluginResult<ElfFacts> read_elf(std::span<const std::byte> bytes, const std::string& file) {
  if (auto failure = not_elf_error(bytes, file)) return *std::move(failure);
  return ElfParser(bytes, file).parse();
}

std::optional<PluginError> check_elf(const ElfFacts& facts, const std::string& file) {
  if (facts.executable_stack) {
    return make_plugin_error(
        PluginErrorCode::kExecutableStack, file,
        {facts.has_stack_header ? "PT_GNU_STACK has the flag X" : "PT_GNU_STACK is missing"});
  }
  if (facts.text_relocations) return make_plugin_error(PluginErrorCode::kTextRelocations, file);
  if (!facts.run_path.empty()) {
    return make_plugin_error(PluginErrorCode::kRunPath, file, {facts.run_path});
  }
  if (auto failure = check_sanitizers(facts, file)) return failure;
  return check_versions(facts, file);
}

}  // namespace pd
