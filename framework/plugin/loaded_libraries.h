// What the libraries in this process define.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pd {

/// Is a library of that file name ("libasan.so.8") mapped? [control thread]
bool is_library_loaded(std::string_view name);

/// The symbol versions that the mapped library `name` defines ("GLIBC_2.36"); nothing when it is
/// not mapped. [control thread]
std::optional<std::vector<std::string>> versions_defined_by(std::string_view name);

/// The highest element of `defined` with the same word before the number as `wanted`: for
/// "GLIBC_2.99" the highest "GLIBC_*". Empty when there is none. Pure, any thread.
std::string newest_version_like(std::string_view wanted, const std::vector<std::string>& defined);

}  // namespace pd
