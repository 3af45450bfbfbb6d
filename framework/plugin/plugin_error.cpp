#include "framework/plugin/plugin_error.h"

#include <array>

#include "framework/policy/error_template.h"

namespace pd {
namespace {

struct PluginErrorText {
  PluginErrorCode code;
  std::string_view name;
  std::string_view step;
  std::string_view text;
};

using Code = PluginErrorCode;

constexpr std::array kPluginErrorTexts = {
    PluginErrorText{Code::kPathNotAbsolute, "path_not_absolute", "path",
                    "the path is relative; needed is an absolute path, so that the working folder "
                    "does not decide which code runs; write the full path"},
    PluginErrorText{Code::kNotFound, "not_found", "path",
                    "nothing is there ({}); check the path and, when it is a link, what the link "
                    "points to"},
    PluginErrorText{Code::kLinkLoop, "link_loop", "path",
                    "symbolic links point at each other in a circle; point the link at the plugin"},
    PluginErrorText{Code::kNotRegularFile, "not_regular_file", "path",
                    "{} is {}; needed is a regular file; name the plugin's .so"},
    PluginErrorText{Code::kCannotOpen, "cannot_open", "path",
                    "cannot open {}: {}; make it readable for the user that runs pd (owner root or "
                    "that user, mode 0444 or 0644)"},
    PluginErrorText{Code::kNotAllowed, "not_allowed", "allow list",
                    "no entry of plugins.allow fits: {}; add the plugin's id (and its sha256) to "
                    "plugins.allow, or remove the file from the folder"},
    PluginErrorText{
        Code::kWrongSha256, "wrong_sha256", "allow list",
        "the content has sha256 {}, plugins.allow pins {}; install the pinned build, or "
        "change the pin when the new build is meant"},
    PluginErrorText{Code::kWrongOwner, "wrong_owner", "permissions",
                    "{} belongs to user {}; needed is root or user {}, who runs pd, because the "
                    "owner can replace the code; change the owner with chown"},
    PluginErrorText{Code::kWritableByOthers, "writable_by_others", "permissions",
                    "{} has mode {}: its group or others can change the code; needed is no write "
                    "permission for them; run chmod go-w, or in Kubernetes mount the volume with "
                    "defaultMode: 0444"},
    PluginErrorText{Code::kSpecialMode, "special_mode", "permissions",
                    "{} has mode {}: setuid and setgid have no place on a plugin; run chmod ug-s"},
    PluginErrorText{Code::kFolderWrongOwner, "folder_wrong_owner", "permissions",
                    "the folder {} belongs to user {}; needed is root or user {}, who runs pd, "
                    "because its owner can put another file there; move the plugin or change the "
                    "owner with chown"},
    PluginErrorText{Code::kFolderWritableByOthers, "folder_writable_by_others", "permissions",
                    "the folder {} has mode {}: its group or others can put another file there; "
                    "needed is no write permission for them; run chmod go-w on it, or move the "
                    "plugin, for instance to /usr/lib/pd/plugins"},
    PluginErrorText{Code::kEmptyFile, "empty_file", "copy",
                    "the file has 0 bytes; a copy was probably cut short; copy the plugin again"},
    PluginErrorText{Code::kTooLarge, "too_large", "copy",
                    "the file has {} bytes, plugins.max_size allows {}; raise plugins.max_size if "
                    "this is the plugin that is meant"},
    PluginErrorText{Code::kChangedWhileRead, "changed_while_read", "copy",
                    "the file had {} bytes and then {} while it was read; write plugins under "
                    "another name and rename them into place, then load again"},
    PluginErrorText{Code::kReadFailed, "read_failed", "copy",
                    "reading failed: {}; check the disk or the volume, then load again"},
    PluginErrorText{
        Code::kStagingUnusable, "staging_unusable", "staging",
        "no folder can hold the private copies from which plugins run: {}; set "
        "plugins.staging to a folder of the user that runs pd, on a file system that is "
        "not mounted noexec"},
    PluginErrorText{Code::kStagingNoexec, "staging_noexec", "staging",
                    "the staging folder {} is on a file system mounted noexec, from which no code "
                    "may run; set plugins.staging to a folder on another file system"},
    PluginErrorText{Code::kStagingFailed, "staging_failed", "staging",
                    "cannot write the private copy {}: {}; make room there, or set plugins.staging "
                    "to another folder"},
    PluginErrorText{Code::kNotElf, "not_elf", "file kind",
                    "this is not an ELF file (its first bytes are {}); needed is a shared object "
                    "built with pd_add_policy(); install the built .so"},
    PluginErrorText{Code::kTextFile, "text_file", "file kind",
                    "this is not an ELF file but text; needed is a shared object built with "
                    "pd_add_policy(); check which file was installed under this name"},
    PluginErrorText{
        Code::kHtmlPage, "html_page", "file kind",
        "this is an HTML page, not an ELF file: a download has saved an error page or a "
        "login page; download the file itself and compare its sha256"},
    PluginErrorText{Code::kLfsPointer, "lfs_pointer", "file kind",
                    "this is a Git LFS pointer, not the file that it stands for; run git lfs pull "
                    "and install the real file"},
    PluginErrorText{Code::kStaticArchive, "static_archive", "file kind",
                    "this is a static library (ar archive), which cannot be loaded; link its "
                    "objects into a shared object with pd_add_policy()"},
    PluginErrorText{Code::kLinkerScript, "linker_script", "file kind",
                    "this is a linker script, text that names the real library; install the shared "
                    "object that it names"},
    PluginErrorText{Code::kCompressed, "compressed", "file kind",
                    "this is a {} file, not an ELF file; unpack it and install the .so in it"},
    PluginErrorText{Code::kWrongClass, "wrong_class", "file kind",
                    "this is a 32-bit ELF file, this host is 64-bit; build the plugin for {}"},
    PluginErrorText{Code::kWrongByteOrder, "wrong_byte_order", "file kind",
                    "this is a big-endian ELF file, this host is little-endian; build the plugin "
                    "for {}"},
    PluginErrorText{Code::kWrongMachine, "wrong_machine", "file kind",
                    "built for {}, this host is {}; build the plugin for {} or install the package "
                    "of this machine"},
    PluginErrorText{Code::kExecutable, "executable", "file kind",
                    "this is an executable program, not a shared object; link it with -shared, as "
                    "pd_add_policy() does"},
    PluginErrorText{
        Code::kNotSharedObject, "not_shared_object", "file kind",
        "this is {}, not a shared object; link it with -shared, as pd_add_policy() does"},
    PluginErrorText{
        Code::kTruncated, "truncated", "ELF",
        "the file is cut short: {} reaches to byte {}, the file has {}; copy the plugin "
        "again and compare its sha256"},
    PluginErrorText{Code::kMalformedElf, "malformed_elf", "ELF",
                    "the ELF structure is damaged: {}; copy or build the plugin again"},
    PluginErrorText{Code::kNoSectionTable, "no_section_table", "ELF",
                    "the section table is missing, so that the exported symbols cannot be read "
                    "without running code; do not strip section headers (plain strip keeps them)"},
    PluginErrorText{Code::kExecutableStack, "executable_stack", "ELF",
                    "it asks for an executable stack ({}), which would weaken the whole process; "
                    "link with -Wl,-z,noexecstack and mark assembler files with .note.GNU-stack"},
    PluginErrorText{
        Code::kTextRelocations, "text_relocations", "ELF",
        "it has text relocations, for which its code would have to be writable; compile "
        "every object, static libraries included, with -fPIC"},
    PluginErrorText{Code::kRunPath, "run_path", "ELF",
                    "it carries the library search path \"{}\" (RPATH or RUNPATH), which decides "
                    "what else is loaded; link without -rpath, in CMake set SKIP_BUILD_RPATH ON"},
    PluginErrorText{
        Code::kSanitizerBuild, "sanitizer_build", "ELF",
        "it was built with a sanitizer ({}), this host was not; build the plugin without "
        "-fsanitize, or use a host of a sanitizer build"},
    PluginErrorText{Code::kNewerLibraryVersion, "newer_library_version", "ELF",
                    "it needs {} of {}, the newest present is {}: it was built on a newer system; "
                    "build it on Debian 12 or on the oldest system that it shall run on"},
    PluginErrorText{Code::kNoEntrySymbol, "no_entry_symbol", "ELF",
                    "it does not export pd_plugin_entry (it exports: {}); define the entry with "
                    "PD_PLUGIN() or as extern \"C\" PD_EXPORT, and link with the SDK's version "
                    "script"},
    PluginErrorText{
        Code::kMissingLibrary, "missing_library", "dlopen",
        "it needs the library {}, which is not on this system; install the package that "
        "has it or link it statically into the plugin; LD_LIBRARY_PATH is not the way"},
    PluginErrorText{Code::kUndefinedSymbol, "undefined_symbol", "dlopen",
                    "it uses {}, which neither it nor its libraries define; link the missing "
                    "library with -Wl,-z,defs to see this at build time, and call the host through "
                    "its tables only"},
    PluginErrorText{Code::kStaticTlsExhausted, "static_tls_exhausted", "dlopen",
                    "the process has no static TLS left for it ({}): plugins with initial-exec TLS "
                    "use up a small pool, also those that were replaced; build it with "
                    "-ftls-model=global-dynamic and without a bundled allocator, and restart pd to "
                    "get the pool back"},
    PluginErrorText{Code::kLoaderRefused, "loader_refused", "dlopen",
                    "the system's loader refused it: {}; build it again on this system, or report "
                    "this text"},
    PluginErrorText{Code::kNoDescriptor, "no_descriptor", "descriptor",
                    "pd_plugin_entry returned a null pointer; return the address of a static "
                    "pd_plugin"},
    PluginErrorText{
        Code::kWrongMagic, "wrong_magic", "descriptor",
        "the descriptor begins with {}, needed is {}: this is no pd plugin; set magic to "
        "PD_PLUGIN_MAGIC"},
    PluginErrorText{Code::kWrongSize, "wrong_size", "descriptor",
                    "struct_size of the descriptor is {}; needed is a multiple of 8, at least {} "
                    "(ABI 1.0) and at most 65536; set struct_size to sizeof(pd_plugin)"},
    PluginErrorText{Code::kWrongMajor, "wrong_major", "descriptor",
                    "it was built for plugin ABI {}, this host speaks {}; build it with the SDK of "
                    "major version {}"},
    PluginErrorText{Code::kNewerMinor, "newer_minor", "descriptor",
                    "it needs plugin ABI {}, this host has {}; get a host with ABI {} or newer, or "
                    "build the plugin with the SDK {}"},
    PluginErrorText{
        Code::kUnknownFlags, "unknown_flags", "descriptor",
        "its flags are {}, this host knows only {}; get a newer host or clear the other "
        "bits"},
    PluginErrorText{Code::kReservedNotZero, "reserved_not_zero", "descriptor",
                    "reserved0 of the descriptor is {}, needed is 0; zero it, or get a newer host "
                    "when the plugin means it"},
    PluginErrorText{Code::kMissingCallback, "missing_callback", "descriptor",
                    "the required function {} is null; set it in the pd_plugin descriptor"},
    PluginErrorText{Code::kInvalidText, "invalid_text", "descriptor",
                    "its {} is \"{}\"; needed is {}; correct the descriptor"},
    PluginErrorText{Code::kDuplicateId, "duplicate_id", "descriptor",
                    "its id {} is that of {}, which is loaded already; remove one of the two files "
                    "or give the plugin an id of its own"},
    PluginErrorText{Code::kLoadFailed, "load_failed", "load",
                    "load() returned status {}; the plugin says: {}; nothing of it was kept; do "
                    "what the plugin asks for"},
    PluginErrorText{
        Code::kLoadThrew, "load_threw", "load",
        "load() let an exception out ({}), which the contract forbids; nothing of it was "
        "kept; catch it in the plugin and return a status"},
    PluginErrorText{Code::kFolderUnreadable, "folder_unreadable", "scan",
                    "cannot list the plugin folder: {}; correct plugins.directories or the "
                    "permissions of the folder"},
};

const PluginErrorText& text_of(PluginErrorCode code) {
  for (const PluginErrorText& entry : kPluginErrorTexts) {
    if (entry.code == code) return entry;
  }
  return kPluginErrorTexts.front();
}

}  // namespace

std::string_view code_name(PluginErrorCode code) {
  return text_of(code).name;
}

PluginError make_plugin_error(PluginErrorCode code, std::string file,
                              std::initializer_list<std::string_view> arguments) {
  const PluginErrorText& entry = text_of(code);
  return {code, std::string(entry.step), std::move(file), fill_template(entry.text, arguments)};
}

std::string to_string(const PluginError& error) {
  return fill_template("{}: {}: {} [{}]",
                       {error.file, error.step, error.message, code_name(error.code)});
}

}  // namespace pd
