// What an ELF file says about itself, read without running any of it and without trusting it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/plugin/plugin_error.h"

namespace pd {

/// A symbol version that a library must define: "GLIBCXX_3.4.30" of "libstdc++.so.6".
struct NeededVersion {
  std::string library;
  std::string version;
};

struct ElfFacts {
  std::vector<std::string> needed;             ///< DT_NEEDED, in order
  std::vector<NeededVersion> needed_versions;  ///< without weak ones
  std::string run_path;                        ///< DT_RPATH or DT_RUNPATH, or empty
  bool executable_stack = false;               ///< PT_GNU_STACK asks for it, or is missing
  bool has_stack_header = false;
  bool text_relocations = false;
  bool static_tls = false;     ///< DF_STATIC_TLS
  std::uint64_t tls_size = 0;  ///< bytes per thread
};

/// Reads a shared object of this machine. Every offset is checked against the size of `bytes`, any
/// bytes may be given; time and memory are bounded by their number. Pure, any thread.
/// The codes of the steps "file kind" and "ELF" up to kNoSectionTable; afterwards every PT_LOAD and
/// every section lies inside the file.
PluginResult<ElfFacts> read_elf(std::span<const std::byte> bytes, const std::string& file);

/// Why a well-formed plugin is refused: kExecutableStack, kTextRelocations, kRunPath,
/// kSanitizerBuild, kNewerLibraryVersion. Compares with the libraries of this process.
std::optional<PluginError> check_elf(const ElfFacts& facts, const std::string& file);

}  // namespace pd
