#include "framework/config/config_loader.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "framework/config/settings_table.h"
#include "tests/unit/config/loaded_text.h"

namespace pd {
namespace {

using config_test::kPod;
using config_test::load_good;
using testing::ElementsAre;

class ConfigFile : public testing::Test {
 protected:
  ConfigFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pd_config_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~ConfigFile() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

  static ConfigError only_error(const std::string& file) {
    const LoadResult result = load_settings(file, {});
    if (result || result.error().size() != 1) {
      ADD_FAILURE() << "not exactly one error: " << file;
      return {};
    }
    return result.error()[0];
  }

  std::filesystem::path folder_;
};

TEST_F(ConfigFile, IsLoaded) {
  const std::string file = write("pd.toml", kPod);
  const LoadResult result = load_settings(file, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->file, file);
  EXPECT_EQ(result->settings.fleet.pods.size(), 1U);
}

TEST_F(ConfigFile, IsLoadedThroughALinkAsKubernetesMountsIt) {
  std::filesystem::create_directory(folder_ / "..data");
  write("..data/pd.toml", kPod);
  std::filesystem::create_symlink("..data/pd.toml", folder_ / "pd.toml");
  EXPECT_TRUE(load_settings(path("pd.toml"), {}));
}

TEST_F(ConfigFile, Missing) {
  const ConfigError error = only_error(path("none.toml"));
  EXPECT_EQ(error.code, ConfigErrorCode::kFileMissing);
  EXPECT_EQ(error.file, path("none.toml"));
  EXPECT_EQ(only_error(write("plain", "x") + "/pd.toml").code, ConfigErrorCode::kFileMissing);
}

TEST_F(ConfigFile, WithoutSettingsIsEmpty) {
  EXPECT_EQ(only_error(write("zero", "")).code, ConfigErrorCode::kFileEmpty);
  EXPECT_EQ(only_error(write("newline", "\n")).code, ConfigErrorCode::kFileEmpty);
  EXPECT_EQ(only_error(write("mark", "\xef\xbb\xbf")).code, ConfigErrorCode::kFileEmpty);
  EXPECT_EQ(only_error(write("comment", "# pods follow\n")).code, ConfigErrorCode::kFileEmpty);
}

TEST_F(ConfigFile, FoldersAndPipesAreNoFiles) {
  EXPECT_EQ(only_error(folder_.string()).code, ConfigErrorCode::kNotAFile);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(only_error(path("pipe")).code, ConfigErrorCode::kNotAFile);
  EXPECT_EQ(only_error("/dev/null").code, ConfigErrorCode::kNotAFile);
}

TEST_F(ConfigFile, UnreadableSaysWhy) {
  // Permission bits do not stop root, which tests often are; these two stop everyone.
  EXPECT_EQ(to_string(only_error("/proc/self/mem")),
            "/proc/self/mem: the file cannot be read: Input/output error");
  std::filesystem::create_symlink("loop", folder_ / "loop");
  EXPECT_EQ(only_error(path("loop")).code, ConfigErrorCode::kFileUnreadable);
}

TEST_F(ConfigFile, TooLarge) {
  write("large", "#");
  std::filesystem::resize_file(path("large"), (16U << 20) + 1);
  EXPECT_EQ(only_error(path("large")).code, ConfigErrorCode::kFileTooLarge);
}

TEST_F(ConfigFile, RelativePathsStartAtItsFolder) {
  const std::string file =
      write("pd.toml",
            "[plugins]\ndirectories = [\"plugins\", \"../lib\", \"/abs\"]\n"
            "staging = \"stage\"\nallow = [{ id = \"a\", file = \"a.so\" }]\n" +
                std::string(kPod));
  const LoadResult result = load_settings(file, {});
  ASSERT_TRUE(result);
  EXPECT_THAT(result->settings.plugins.directories,
              ElementsAre(path("plugins"), (folder_.parent_path() / "lib").string(), "/abs"));
  EXPECT_EQ(result->settings.plugins.staging, path("stage"));
  EXPECT_EQ(result->settings.plugins.allow.at(0).file, path("a.so"));
}

TEST(ConfigText, ByteOrderMarkCrlfAndMissingLastNewlineAreFine) {
  const std::string plain = "[server]\nthreads = 4\n[log]\nlevel = \"warn\"\n" + std::string(kPod);
  std::string crlf = "\xef\xbb\xbf";
  for (const char c : plain.substr(0, plain.size() - 1)) {
    if (c == '\n') crlf += '\r';
    crlf += c;
  }
  const LoadedSettings loaded = load_good(crlf, {}, "");
  EXPECT_EQ(loaded.settings.server.threads, 4U);
  EXPECT_EQ(loaded.settings.log.level, LogLevel::kWarn);
  EXPECT_EQ(loaded.settings.fleet.pods.at(0).name, "p0");
  EXPECT_EQ(loaded.pod_positions.at(0).line, 5U);
}

TEST(ConfigText, EveryKeyKnowsItsSource) {
  const LoadedSettings loaded = load_good("[server]\n\nthreads = 4\n[prefill]\npolicy = \"mine\"\n",
                                          {{"AIBRIX_PREFILL_SCORE_POLICY", "least_request"}});
  const auto rows = settings_table();
  ASSERT_EQ(loaded.sources.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string source = describe(loaded.sources[i], loaded.file);
    if (rows[i].spec.key == "server.threads") {
      EXPECT_EQ(source, "pd.toml:3");
    } else if (rows[i].spec.key == "prefill.policy") {
      EXPECT_EQ(source, "environment AIBRIX_PREFILL_SCORE_POLICY");
    } else {
      EXPECT_EQ(source, "default") << rows[i].spec.key;
    }
  }
}

TEST(ConfigText, Pods) {
  const LoadedSettings loaded = load_good(
      "[fleet]\nconnector = \"shfs\"\n", {},
      "[[fleet.pod]]\nname = \"d0\"\nurl = \"http://[fd00::1]:8000/\"\nmodel = \"meta/Llama 3\"\n"
      "role = \"decode\"\nroleset = \"rs0\"\nengine = \"vllm\"\nconnector = \"nixl\"\n"
      "labels = { zone = \"a\", \"x/y\" = \"\" }\nmetrics_url = \"http://h:9/m\"\n"
      "group_index = \"0\"\nreplica_index = \"1\"\n"
      "[[fleet.pod]]\nname = \"c0\"\nurl = \"http://h:1\"\nmodel = \"m\"\nrole = \"combined\"\n");
  const auto& pods = loaded.settings.fleet.pods;
  ASSERT_EQ(pods.size(), 2U);
  EXPECT_EQ(pods[0].name, "d0");
  EXPECT_EQ(pods[0].url, "http://[fd00::1]:8000");
  EXPECT_EQ(pods[0].model, "meta/Llama 3");
  EXPECT_EQ(pods[0].role, ConfiguredRole::kDecode);
  EXPECT_EQ(pods[0].roleset, "rs0");
  EXPECT_EQ(pods[0].engine, EngineKind::kVllm);
  EXPECT_EQ(pods[0].connector, ConnectorKind::kNixl);
  EXPECT_EQ(pods[0].labels, (std::map<std::string, std::string>{{"zone", "a"}, {"x/y", ""}}));
  EXPECT_EQ(pods[0].metrics_url, "http://h:9/m");
  EXPECT_EQ(pods[0].group_index, "0");
  EXPECT_EQ(pods[0].replica_index, "1");
  EXPECT_EQ(pods[1].role, ConfiguredRole::kCombined);
  EXPECT_EQ(pods[1].roleset, "default");
  EXPECT_EQ(pods[1].connector, ConnectorKind::kShfs);
  EXPECT_FALSE(pods[1].metrics_url);
  EXPECT_FALSE(pods[1].group_index);
  EXPECT_EQ(loaded.pod_positions.at(1).line, 15U);
}

TEST(ConfigText, AllowedPlugins) {
  const std::string digits(64, 'A');
  const auto allow =
      load_good("[plugins]\nallow = [\"org.a\", { id = \"org.b\", sha256 = \"" + digits + "\" }]\n")
          .settings.plugins.allow;
  EXPECT_THAT(allow, ElementsAre(PluginAllow{"org.a", {}, {}},
                                 PluginAllow{"org.b", std::string(64, 'a'), {}}));
  const auto tables = load_good("[[plugins.allow]]\nid = \"org.c\"\nfile = \"/x/c.so\"\n");
  EXPECT_THAT(tables.settings.plugins.allow, ElementsAre(PluginAllow{"org.c", {}, "/x/c.so"}));
}

TEST(ConfigText, SectionsInAnyTomlSpelling) {
  const Settings settings = load_good(
                                "server.threads = 3\nlog = { level = \"debug\" }\n"
                                "\"prefill\".'policy' = 'p'\n")
                                .settings;
  EXPECT_EQ(settings.server.threads, 3U);
  EXPECT_EQ(settings.log.level, LogLevel::kDebug);
  EXPECT_EQ(settings.prefill.policy, "p");
}

TEST(ConfigText, BothAddressesMayLeaveThePortToTheKernel) {
  const auto server =
      load_good("[server]\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n").settings.server;
  EXPECT_EQ(server.listen, server.admin);
}

}  // namespace
}  // namespace pd
