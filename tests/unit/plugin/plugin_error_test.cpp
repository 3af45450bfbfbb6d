#include "framework/plugin/plugin_error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace pd {
namespace {

constexpr int kCodes = static_cast<int>(PluginErrorCode::kFolderUnreadable) + 1;

TEST(PluginErrorTest, EveryCodeHasItsOwnNameAndText) {
  std::set<std::string> names;
  std::set<std::string> texts;
  for (int i = 0; i < kCodes; ++i) {
    const auto code = static_cast<PluginErrorCode>(i);
    const PluginError error = make_plugin_error(code, "/p.so");
    EXPECT_TRUE(names.insert(std::string(code_name(code))).second) << code_name(code);
    EXPECT_TRUE(texts.insert(error.message).second) << error.message;
    EXPECT_FALSE(error.step.empty());
    EXPECT_EQ(error.file, "/p.so");
  }
}

TEST(PluginErrorTest, EveryTextSaysWhatToDo) {
  for (int i = 0; i < kCodes; ++i) {
    const PluginError error = make_plugin_error(static_cast<PluginErrorCode>(i), "/p.so");
    // What was found, then ":", ";" or "," and what is needed or to do.
    EXPECT_GT(error.message.size(), 40u) << error.message;
    EXPECT_NE(error.message.find_first_of(";,"), std::string::npos) << error.message;
  }
}

TEST(PluginErrorTest, FillsGapsInOrderAndEscapesWhatIsNotPrintable) {
  const PluginError error =
      make_plugin_error(PluginErrorCode::kWritableByOthers, "/a\n.so", {"/a\n.so", "0666"});
  EXPECT_EQ(error.message.find("/a\\x0a.so has mode 0666: its group or others can change the code"),
            0u);
  EXPECT_EQ(to_string(error).find("/a\\x0a.so: permissions: /a\\x0a.so has mode 0666"), 0u);
  EXPECT_NE(to_string(error).find("[writable_by_others]"), std::string::npos);
}

}  // namespace
}  // namespace pd
