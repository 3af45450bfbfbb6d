#include "framework/plugin/plugin_staging.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/unit/plugin/mount_namespace.h"
#include "tests/unit/plugin/plugin_fixture.h"

namespace pd {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// SHA-256 of "abc", from FIPS 180-2.
constexpr char kSha256OfAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

class PluginStagingTest : public PluginTest {
 protected:
  std::vector<std::string> folders() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(in_folder("staging"))) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
};

TEST_F(PluginStagingTest, StagesUnderTheSha256InAPrivateFolder) {
  const std::string source = write("libx.so", "abc");
  std::string folder;
  {
    const auto staging = PluginStaging::create(in_folder("staging"));
    ASSERT_TRUE(staging) << to_string(staging.error());
    folder = (*staging)->folder();
    EXPECT_THAT(folder, HasSubstr(in_folder("staging") + "/pd-plugins-" +
                                  std::to_string(::getpid()) + "-"));
    struct stat status {};
    ASSERT_EQ(::stat(folder.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777u, 0700u);

    const auto file = PluginFile::open(source, 10);
    ASSERT_TRUE(file);
    const auto first = (*staging)->stage(*file);
    ASSERT_TRUE(first) << to_string(first.error());
    EXPECT_EQ(first->sha256, kSha256OfAbc);
    EXPECT_EQ(first->path, folder + "/" + kSha256OfAbc + ".so");
    EXPECT_EQ(first->size, 3u);
    EXPECT_EQ(read(first->path), "abc");

    // The system's loader knows libraries by path, so the next generation needs another one.
    const auto second = (*staging)->stage(*file);
    ASSERT_TRUE(second);
    EXPECT_NE(second->path, first->path);
    EXPECT_EQ(read(second->path), "abc");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 2);
  }
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(PluginStagingTest, NoticesThatTheFileChanged) {
  const std::string source = write("libx.so", "abc");
  const auto staging = PluginStaging::create(in_folder("staging"));
  ASSERT_TRUE(staging);
  for (const char* other : {"abcd", "ab"}) {
    write("libx.so", "abc");
    const auto file = PluginFile::open(source, 10);
    ASSERT_TRUE(file);
    write("libx.so", other);
    const auto staged = (*staging)->stage(*file);
    ASSERT_FALSE(staged) << other;
    EXPECT_EQ(staged.error().code, PluginErrorCode::kChangedWhileRead);
  }
  EXPECT_TRUE(fs::is_empty((*staging)->folder()));
}

TEST_F(PluginStagingTest, ReadsTheFileThatWasChecked) {
  const std::string source = write("libx.so", "abc");
  const auto file = PluginFile::open(source, 10);
  ASSERT_TRUE(file);
  write("libother.so", "evil");
  fs::rename(in_folder("libother.so"), source);
  const auto staging = PluginStaging::create(in_folder("staging"));
  const auto staged = (*staging)->stage(*file);
  ASSERT_TRUE(staged);
  EXPECT_EQ(staged->sha256, kSha256OfAbc);
}

TEST_F(PluginStagingTest, RemovesFoldersOfTheDeadAndKeepsThoseOfTheLiving) {
  const std::string parent = in_folder("staging");
  const auto ours = PluginStaging::create(parent);
  ASSERT_TRUE(ours);

  int ready[2];
  int release[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(release, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {  // lives until it is told to die, and then without cleaning up
    const auto staging = PluginStaging::create(parent);
    const char done = staging ? 'y' : 'n';
    if (::write(ready[1], &done, 1) != 1) ::_exit(1);
    char byte;
    ::close(release[1]);
    static_cast<void>(::read(release[0], &byte, 1));
    ::_exit(0);
  }
  char done = 0;
  ASSERT_EQ(::read(ready[0], &done, 1), 1);
  ASSERT_EQ(done, 'y');
  EXPECT_EQ(folders().size(), 2u);
  { const auto other = PluginStaging::create(parent); }
  EXPECT_EQ(folders().size(), 2u) << "the folders of living processes were touched";

  ::close(release[1]);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  { const auto other = PluginStaging::create(parent); }
  EXPECT_EQ(folders(), std::vector<std::string>{fs::path((*ours)->folder()).filename().string()});
  for (const int descriptor : {ready[0], ready[1], release[0]}) ::close(descriptor);
}

TEST_F(PluginStagingTest, LeavesOtherFilesAlone) {
  write("staging/pd-plugins-note.txt", "mine");
  write("staging/other/file", "mine");
  { const auto staging = PluginStaging::create(in_folder("staging")); }
  EXPECT_TRUE(fs::exists(in_folder("staging/pd-plugins-note.txt")));
  EXPECT_TRUE(fs::exists(in_folder("staging/other/file")));
}

TEST_F(PluginStagingTest, RefusesAConfiguredFolderThatCannotWork) {
  const auto in_file = PluginStaging::create(write("file", "x") + "/sub");
  ASSERT_FALSE(in_file);
  EXPECT_EQ(in_file.error().code, PluginErrorCode::kStagingUnusable);
  EXPECT_EQ(in_file.error().step, "staging");
  EXPECT_THAT(in_file.error().message, HasSubstr("plugins.staging"));

  fs::create_directory(in_folder("open"));
  ::chmod(in_folder("open").c_str(), 0777);
  const auto writable = PluginStaging::create(in_folder("open"));
  ASSERT_FALSE(writable);
  EXPECT_THAT(writable.error().message, HasSubstr("group- or world-writable"));
  EXPECT_FALSE(PluginStaging::create("relative/folder"));
}

TEST_F(PluginStagingTest, NamesTheFolderAndTheKeyWhenItIsMountedNoexec) {
  const std::string folder = in_folder("noexec");
  fs::create_directory(folder);
  const int status = run_with_mounts(
      [&] { return ::mount("tmpfs", folder.c_str(), "tmpfs", MS_NOEXEC, nullptr) == 0; },
      [&] {
        const auto staging = PluginStaging::create(folder);
        if (staging || staging.error().code != PluginErrorCode::kStagingNoexec) return 1;
        for (const std::string& word :
             {folder, std::string("noexec"), std::string("plugins.staging")}) {
          if (staging.error().message.find(word) == std::string::npos) return 2;
        }
        return 0;
      });
  if (status == kMayNotMount) GTEST_SKIP() << "may not mount here";
  EXPECT_EQ(status, 0);
}

TEST_F(PluginStagingTest, TakesTheFolderThatSystemdMade) {
  fs::create_directory(in_folder("runtime"));
  ::setenv("RUNTIME_DIRECTORY", (in_folder("runtime") + ":/nowhere").c_str(), 1);
  const auto staging = PluginStaging::create("");
  ::unsetenv("RUNTIME_DIRECTORY");
  ASSERT_TRUE(staging) << to_string(staging.error());
  EXPECT_THAT((*staging)->folder(), HasSubstr(in_folder("runtime") + "/pd-plugins-"));
}

}  // namespace
}  // namespace pd
