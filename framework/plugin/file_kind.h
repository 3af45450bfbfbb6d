// Recognises what a file is that should have been a plugin.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "framework/plugin/plugin_error.h"

namespace pd {

/// kHtmlPage, kLfsPointer, kStaticArchive, kLinkerScript, kCompressed, kTextFile or kNotElf for
/// bytes that do not begin as an ELF file; nothing for those that do. Content is not quoted, since
/// the file may be any file of the system. Pure, any thread.
std::optional<PluginError> not_elf_error(std::span<const std::byte> bytes, const std::string& file);

}  // namespace pd
