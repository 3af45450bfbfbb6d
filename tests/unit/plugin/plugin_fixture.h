// Plugins of this build, copied into a folder of the test: a build folder may have other modes.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin_loader.h"
#include "pd/abi.h"

namespace pd {

class PluginTest : public ::testing::Test {
 protected:
  PluginTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pd-test-XXXXXX").string();
    folder_ = std::filesystem::canonical(::mkdtemp(pattern.data())).string();
    host_.struct_size = sizeof host_;
    host_.abi_major = PD_ABI_MAJOR;
    host_.abi_minor = PD_ABI_MINOR;
    host_.service = [](const pd_host*, const char*) -> const void* { return nullptr; };
  }
  ~PluginTest() override { std::filesystem::remove_all(folder_); }

  std::string in_folder(const std::string& name) const { return folder_ + "/" + name; }

  std::string write(const std::string& name, std::string_view content) const {
    const std::string path = in_folder(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << content;
    ::chmod(path.c_str(), 0644);
    return path;
  }

  static std::string read(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  // A copy of plugin NAME, "libpd_NAME.so", of the museum or of the built-in ones.
  std::string copy_broken(const std::string& name, const std::string& as = {}) const {
    return copy(std::string(PD_BROKEN_PLUGINS_DIR) + "/libpd_" + name + ".so", name, as);
  }
  std::string copy_built_in(const std::string& name, const std::string& as = {}) const {
    return copy(std::string(PD_BUILT_IN_PLUGINS_DIR) + "/libpd_" + name + ".so", name, as);
  }

  PluginLoaderOptions options() const {
    PluginLoaderOptions options;
    options.directories = {folder_};
    options.staging = in_folder("staging");
    return options;
  }

  std::string folder_;
  pd_host host_{};

 private:
  std::string copy(const std::string& from, const std::string& name, const std::string& as) const {
    EXPECT_TRUE(std::filesystem::exists(from)) << from;
    return write(as.empty() ? "libpd_" + name + ".so" : as, read(from));
  }
};

}  // namespace pd
