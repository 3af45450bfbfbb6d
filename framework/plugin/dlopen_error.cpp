#include "framework/plugin/dlopen_error.h"

#include <optional>

namespace pd {
namespace {

// The part of `text` between two marks, the first of which must be there.
std::optional<std::string> between(std::string_view text, std::string_view before,
                                   std::string_view after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(begin + before.size());
  return std::string(rest.substr(0, rest.find(after)));
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// glibc begins its texts with the path that was opened; ours means nothing to the reader.
std::string without_path(std::string_view text, const std::string& path) {
  std::string out(text);
  for (std::size_t at = out.find(path); at != std::string::npos; at = out.find(path)) {
    out.replace(at, path.size(), "the plugin");
  }
  return out;
}

bool is_sanitizer_symbol(std::string_view symbol) {
  for (const std::string_view prefix :
       {"__asan_", "__tsan_", "__ubsan_", "__msan_", "__sanitizer_"}) {
    if (symbol.substr(0, prefix.size()) == prefix) return true;
  }
  return false;
}

}  // namespace

PluginError translate_dlopen_error(std::string_view text, const std::string& staged_path,
                                   const std::string& file) {
  if (contains(text, "static TLS")) {
    return make_plugin_error(PluginErrorCode::kStaticTlsExhausted, file,
                             {without_path(text, staged_path)});
  }
  if (contains(text, "failed to map segment")) {
    const std::string folder = staged_path.substr(0, staged_path.rfind('/'));
    return make_plugin_error(PluginErrorCode::kStagingNoexec, file, {folder});
  }
  if (const auto symbol = between(text, "undefined symbol: ", " ")) {
    const std::string name = symbol->substr(0, symbol->find(','));
    if (is_sanitizer_symbol(name)) {
      return make_plugin_error(PluginErrorCode::kSanitizerBuild, file, {"it uses " + name});
    }
    return make_plugin_error(PluginErrorCode::kUndefinedSymbol, file, {name});
  }
  if (const auto version = between(text, "version `", "'");
      version && contains(text, "not found")) {
    const auto library = between(text, "", ": version");
    return make_plugin_error(PluginErrorCode::kNewerLibraryVersion, file,
                             {*version, file_name(library.value_or("a library")), "older"});
  }
  if (contains(text, "cannot open shared object file") && text.find(staged_path) != 0) {
    return make_plugin_error(PluginErrorCode::kMissingLibrary, file,
                             {std::string(text.substr(0, text.find(':')))});
  }
  return make_plugin_error(PluginErrorCode::kLoaderRefused, file,
                           {without_path(text, staged_path)});
}

}  // namespace pd
