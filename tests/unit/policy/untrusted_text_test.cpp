#include "framework/policy/untrusted_text.h"

#include <gtest/gtest.h>

#include <vector>

namespace pd {
namespace {

TEST(UntrustedTextTest, ReadsNoFurtherThanTheLimit) {
  // No terminating zero: a reader that goes on is caught by AddressSanitizer.
  const std::vector<char> unterminated(5, 'a');
  EXPECT_EQ(untrusted_text(unterminated.data(), 4), std::nullopt);
  EXPECT_EQ(untrusted_text("aaaa", 4), "aaaa");
  EXPECT_EQ(untrusted_text("", 4), "");
  EXPECT_EQ(untrusted_text(nullptr, 4), std::nullopt);
}

TEST(UntrustedTextTest, WantsPrintableUtf8) {
  EXPECT_EQ(untrusted_text("grün €", 64), "grün €");
  for (const char* bad : {"a\tb", "\x1b[0m", "\x7f", "\xc3", "\xc0\xaf", "\xed\xa0\x80",
                          "\xf4\x90\x80\x80", "\xc2\x80", "\x80"}) {
    EXPECT_EQ(untrusted_text(bad, 64), std::nullopt);
  }
}

TEST(PrintableTextTest, EscapesAndCuts) {
  EXPECT_EQ(printable_text("a\nb\xff"),
            "a\\x0a"
            "b\\xff");
  EXPECT_EQ(printable_text("grün"), "grün");
  EXPECT_EQ(printable_text("abcdef", 3), "abc...");
  EXPECT_EQ(printable_text("abc", 3), "abc");
}

}  // namespace
}  // namespace pd
