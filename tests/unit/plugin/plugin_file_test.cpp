#include "framework/plugin/plugin_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>

#include "tests/unit/plugin/mount_namespace.h"
#include "tests/unit/plugin/plugin_fixture.h"

namespace pd {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class PluginFileTest : public PluginTest {
 protected:
  static PluginError error_of(const std::string& path, std::uint64_t max_size = 1000) {
    const auto file = PluginFile::open(path, max_size);
    return file ? PluginError{} : file.error();
  }
  static std::string code_of(const std::string& path) {
    const auto file = PluginFile::open(path, 1000);
    return file ? "ok" : std::string(code_name(file.error().code));
  }
};

TEST_F(PluginFileTest, OpensARegularFile) {
  const std::string path = write("a/libx.so", "12345");
  const auto file = PluginFile::open(path, 5);
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->size(), 5u);
  EXPECT_EQ(file->real_path(), path);
  char bytes[8];
  EXPECT_EQ(::read(file->descriptor(), bytes, sizeof bytes), 5);
}

TEST_F(PluginFileTest, FollowsTheLinksOfAConfigMapVolume) {
  const std::string real = write("cm/..2026_01/libpd_mine.so", "x");
  fs::create_directory_symlink("..2026_01", in_folder("cm/..data"));
  fs::create_symlink("..data/libpd_mine.so", in_folder("cm/libpd_mine.so"));
  const auto file = PluginFile::open(in_folder("cm/libpd_mine.so"), 10);
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->path(), in_folder("cm/libpd_mine.so"));
  EXPECT_EQ(file->real_path(), real);
}

TEST_F(PluginFileTest, RefusesRelativePaths) {
  EXPECT_EQ(code_of("libx.so"), "path_not_absolute");
  EXPECT_EQ(code_of("./libx.so"), "path_not_absolute");
  EXPECT_EQ(code_of(""), "path_not_absolute");
}

TEST_F(PluginFileTest, RefusesWhatIsNoRegularFileWithoutBlocking) {
  ASSERT_EQ(::mkfifo(in_folder("libfifo.so").c_str(), 0644), 0);
  fs::create_directory(in_folder("libdir.so"));
  fs::create_symlink("libloop.so", in_folder("libloop.so"));
  fs::create_symlink("gone.so", in_folder("libgone.so"));
  EXPECT_EQ(code_of(in_folder("libfifo.so")), "not_regular_file");
  EXPECT_THAT(error_of(in_folder("libfifo.so")).message, HasSubstr("a FIFO"));
  EXPECT_EQ(code_of(in_folder("libdir.so")), "not_regular_file");
  EXPECT_THAT(error_of(in_folder("libdir.so")).message, HasSubstr("a folder"));
  EXPECT_EQ(code_of(in_folder("libloop.so")), "link_loop");
  EXPECT_EQ(code_of(in_folder("libgone.so")), "not_found");
  EXPECT_EQ(code_of(in_folder("nowhere/libx.so")), "not_found");
  EXPECT_EQ(code_of("/"), "not_regular_file");
  EXPECT_EQ(code_of("/dev/zero"), "not_regular_file");
}

TEST_F(PluginFileTest, RefusesASocket) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = in_folder("libsocket.so");
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(code_of(path), "not_regular_file");
  ::close(socket);
}

TEST_F(PluginFileTest, RefusesAFileThatOthersMayWrite) {
  const std::string path = write("libx.so", "x");
  for (const mode_t mode : {0664u, 0646u, 0666u}) {
    ::chmod(path.c_str(), mode);
    EXPECT_EQ(code_of(path), "writable_by_others");
  }
  const PluginError error = error_of(path);
  EXPECT_EQ(error.step, "permissions");
  EXPECT_THAT(error.message, HasSubstr("has mode 0666"));
  EXPECT_THAT(error.message, HasSubstr("defaultMode: 0444"));
  ::chmod(path.c_str(), 04755);
  EXPECT_EQ(code_of(path), "special_mode");
  ::chmod(path.c_str(), 02755);
  EXPECT_EQ(code_of(path), "special_mode");
  ::chmod(path.c_str(), 0444);
  EXPECT_EQ(code_of(path), "ok");
}

TEST_F(PluginFileTest, ChecksTheRealFileBehindALink) {
  const std::string path = write("real/libx.so", "x");
  ::chmod(path.c_str(), 0664);
  fs::create_symlink("real/libx.so", in_folder("libx.so"));
  EXPECT_THAT(error_of(in_folder("libx.so")).message, HasSubstr(path));
}

TEST_F(PluginFileTest, RefusesAFolderThatOthersMayWrite) {
  const std::string path = write("outer/inner/libx.so", "x");
  ::chmod(in_folder("outer/inner").c_str(), 0775);
  EXPECT_EQ(code_of(path), "folder_writable_by_others");
  EXPECT_THAT(error_of(path).message, HasSubstr(in_folder("outer/inner") + " has mode 0775"));
  // Sticky does not help the folder itself: anybody could add a file.
  ::chmod(in_folder("outer/inner").c_str(), 01777);
  EXPECT_EQ(code_of(path), "folder_writable_by_others");
  ::chmod(in_folder("outer/inner").c_str(), 0755);
  ::chmod(in_folder("outer").c_str(), 0777);
  EXPECT_EQ(code_of(path), "folder_writable_by_others");
  // In a sticky folder nobody can rename what is ours.
  ::chmod(in_folder("outer").c_str(), 01777);
  EXPECT_EQ(code_of(path), "ok");
}

// The folder of a ConfigMap volume has mode 0777, and is mounted read-only.
TEST_F(PluginFileTest, WritePermissionIsHarmlessOnAReadOnlyMount) {
  if (::geteuid() != 0) GTEST_SKIP() << "files of other users are not ours in a user namespace";
  const std::string path = write("cm/libx.so", "x");
  const std::string folder = in_folder("cm");
  ::chmod(folder.c_str(), 0777);
  EXPECT_EQ(code_of(path), "folder_writable_by_others");
  const int status = run_with_mounts(
      [&] {
        return ::mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
               ::mount(nullptr, folder.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY,
                       nullptr) == 0;
      },
      [&] { return code_of(path) == "ok" ? 0 : 1; });
  if (status == kMayNotMount) GTEST_SKIP() << "may not mount here";
  EXPECT_EQ(status, 0);
}

TEST_F(PluginFileTest, RefusesOwnersThatAreNeitherRootNorWe) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const std::string path = write("sub/libx.so", "x");
  ASSERT_EQ(::chown(path.c_str(), 4711, 0), 0);
  EXPECT_EQ(code_of(path), "wrong_owner");
  EXPECT_THAT(error_of(path).message, HasSubstr("belongs to user 4711"));
  ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(in_folder("sub").c_str(), 4711, 0), 0);
  EXPECT_EQ(code_of(path), "folder_wrong_owner");
}

TEST_F(PluginFileTest, LimitsTheSize) {
  EXPECT_EQ(code_of(write("libempty.so", "")), "empty_file");
  const std::string path = write("libx.so", "12345");
  EXPECT_TRUE(PluginFile::open(path, 5));
  const PluginError error = error_of(path, 4);
  EXPECT_EQ(error.code, PluginErrorCode::kTooLarge);
  EXPECT_THAT(error.message, HasSubstr("5 bytes, plugins.max_size allows 4"));
}

}  // namespace
}  // namespace pd
