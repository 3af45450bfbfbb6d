#include "framework/plugin/dlopen_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kStaged[] = "/run/pd/pd-plugins-1-abc/0123.so";

PluginError translate(const std::string& text) {
  return translate_dlopen_error(text, kStaged, "/usr/lib/pd/plugins/libmine.so");
}

// Texts as glibc 2.36 writes them.
TEST(DlopenErrorTest, NamesTheMissingLibrary) {
  const PluginError error =
      translate("libvanished.so.7: cannot open shared object file: No such file or directory");
  EXPECT_EQ(error.code, PluginErrorCode::kMissingLibrary);
  EXPECT_THAT(error.message, HasSubstr("it needs the library libvanished.so.7,"));
  EXPECT_EQ(error.file, "/usr/lib/pd/plugins/libmine.so");
}

TEST(DlopenErrorTest, NamesTheUndefinedSymbol) {
  const PluginError error = translate(std::string(kStaged) + ": undefined symbol: gone");
  EXPECT_EQ(error.code, PluginErrorCode::kUndefinedSymbol);
  EXPECT_THAT(error.message, HasSubstr("it uses gone,"));
  EXPECT_EQ(translate(std::string(kStaged) + ": undefined symbol: __asan_init").code,
            PluginErrorCode::kSanitizerBuild);
}

TEST(DlopenErrorTest, NamesTheMissingVersion) {
  const PluginError error = translate(
      "/lib/x86_64-linux-gnu/libm.so.6: version `GLIBC_2.38' not "
      "found (required by " +
      std::string(kStaged) + ")");
  EXPECT_EQ(error.code, PluginErrorCode::kNewerLibraryVersion);
  EXPECT_THAT(error.message, HasSubstr("it needs GLIBC_2.38 of libm.so.6"));
}

TEST(DlopenErrorTest, ExplainsStaticTls) {
  const PluginError error =
      translate(std::string(kStaged) + ": cannot allocate memory in static TLS block");
  EXPECT_EQ(error.code, PluginErrorCode::kStaticTlsExhausted);
  EXPECT_THAT(error.message, HasSubstr("restart pd"));
}

TEST(DlopenErrorTest, ExplainsNoexec) {
  const PluginError error =
      translate(std::string(kStaged) + ": failed to map segment from shared object");
  EXPECT_EQ(error.code, PluginErrorCode::kStagingNoexec);
  EXPECT_THAT(error.message, HasSubstr("/run/pd/pd-plugins-1-abc"));
  EXPECT_THAT(error.message, Not(HasSubstr("segment")));
}

TEST(DlopenErrorTest, PassesOnWhatItDoesNotKnowWithoutOurPath) {
  const PluginError error = translate(std::string(kStaged) + ": something new");
  EXPECT_EQ(error.code, PluginErrorCode::kLoaderRefused);
  EXPECT_THAT(error.message, HasSubstr("the plugin: something new"));
  EXPECT_THAT(error.message, Not(HasSubstr(kStaged)));
}

}  // namespace
}  // namespace pd
