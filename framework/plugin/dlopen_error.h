// Makes an error that people can act on out of what dlerror() says.
#pragma once

#include <string>
#include <string_view>

#include "framework/plugin/plugin_error.h"

namespace pd {

/// kMissingLibrary, kUndefinedSymbol, kSanitizerBuild, kNewerLibraryVersion, kStaticTlsExhausted,
/// kStagingNoexec or, with the text itself, kLoaderRefused. `staged_path` is what dlopen() was
/// called with and does not appear in the result. Pure, any thread.
PluginError translate_dlopen_error(std::string_view text, const std::string& staged_path,
                                   const std::string& file);

}  // namespace pd
