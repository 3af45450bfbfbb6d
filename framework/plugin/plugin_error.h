// Why a plugin was refused: the step that failed, what was found, what is needed, what to do.
//
// Every text is a whole literal of plugin_error.cpp, each with a stable code. Values, any thread.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace pd {

enum class PluginErrorCode : std::uint8_t {
  // path: from the configured name to the real file
  kPathNotAbsolute,
  kNotFound,
  kLinkLoop,
  kNotRegularFile,
  kCannotOpen,
  // allow list
  kNotAllowed,
  kWrongSha256,
  // permissions
  kWrongOwner,
  kWritableByOthers,
  kSpecialMode,
  kFolderWrongOwner,
  kFolderWritableByOthers,
  // copy: reading the file and making the private copy
  kEmptyFile,
  kTooLarge,
  kChangedWhileRead,
  kReadFailed,
  kStagingUnusable,
  kStagingNoexec,
  kStagingFailed,
  // file kind
  kNotElf,
  kTextFile,
  kHtmlPage,
  kLfsPointer,
  kStaticArchive,
  kLinkerScript,
  kCompressed,
  kWrongClass,
  kWrongByteOrder,
  kWrongMachine,
  kExecutable,
  kNotSharedObject,
  // ELF checks
  kTruncated,
  kMalformedElf,
  kNoSectionTable,
  kExecutableStack,
  kTextRelocations,
  kRunPath,
  kSanitizerBuild,
  kNewerLibraryVersion,
  kNoEntrySymbol,
  // dlopen
  kMissingLibrary,
  kUndefinedSymbol,
  kStaticTlsExhausted,
  kLoaderRefused,
  // descriptor
  kNoDescriptor,
  kWrongMagic,
  kWrongSize,
  kWrongMajor,
  kNewerMinor,
  kUnknownFlags,
  kReservedNotZero,
  kMissingCallback,
  kInvalidText,
  kDuplicateId,
  // load()
  kLoadFailed,
  kLoadThrew,
  // scan
  kFolderUnreadable,
};

/// The stable name of a code: "not_elf", "wrong_machine". Part of the output for programs.
std::string_view code_name(PluginErrorCode code);

struct PluginError {
  PluginErrorCode code{};
  std::string
      step;  ///< "path", "permissions", "copy", "file kind", "ELF", "dlopen", "descriptor" ...
  std::string file;  ///< as configured; for the steps "staging" and "scan" the folder
  std::string message;
};

/// An error with the text of `code`, its gaps filled in order.
PluginError make_plugin_error(PluginErrorCode code, std::string file,
                              std::initializer_list<std::string_view> arguments = {});

/// One line for people: "FILE: STEP: MESSAGE [CODE]".
std::string to_string(const PluginError& error);

template <class T>
using PluginResult = boost::system::result<T, PluginError>;

}  // namespace pd
