// Pages of metrics that stand beside the tests.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace pd {

// The bytes of tests/unit/load/pages/<name>; a missing file fails the test.
inline std::string read_page_file(const std::string& name) {
  std::ifstream file(std::string(PD_LOAD_PAGES_DIR) + "/" + name, std::ios::binary);
  std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_FALSE(page.empty()) << name;
  return page;
}

}  // namespace pd
