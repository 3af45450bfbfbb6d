#include "framework/plugin/plugin_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/unit/plugin/plugin_fixture.h"

namespace pd {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kBuiltIn[] = {"decode_load_balancing", "decode_least_request",
                                    "decode_conductor",      "prefill_prefix_cache",
                                    "prefill_least_request", "prefill_conductor"};

bool is_empty(const PolicyRegistry& registry) {
  return registry.decode_policies().empty() && registry.prefill_policies().empty() &&
         registry.plugins().empty();
}

class PluginLoaderTest : public PluginTest {
 protected:
  PluginError error_of(const std::string& file) {
    PolicyRegistry registry;
    PluginLoader loader(options(), &host_);
    const auto plugin = loader.load(file, registry);
    EXPECT_TRUE(plugin || is_empty(registry)) << file;
    return plugin ? PluginError{PluginErrorCode::kNotFound, "loaded", file, ""} : plugin.error();
  }
};

// ---- The built-in policies
// -----------------------------------------------------------------------

class BuiltInPluginTest : public PluginTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(BuiltInPluginTest, LoadsAndExportsNothingButItsEntry) {
  PolicyRegistry registry;
  PluginLoader loader(options(), &host_);
  const auto plugin = loader.load(copy_built_in(GetParam()), registry);
  ASSERT_TRUE(plugin) << to_string(plugin.error());
  const PluginFacts& facts = (*plugin)->facts();
  EXPECT_EQ(facts.id, std::string("pd.") + GetParam());
  EXPECT_THAT(facts.exports, ElementsAre());
  EXPECT_THAT(facts.warnings, ElementsAre());
  EXPECT_EQ(facts.abi_major, PD_ABI_MAJOR);
  EXPECT_EQ(facts.sha256.size(), 64u);
  EXPECT_EQ(facts.decode_policies.size() + facts.prefill_policies.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(All, BuiltInPluginTest, ::testing::ValuesIn(kBuiltIn));

TEST_F(PluginLoaderTest, LoadsTheBuiltInPoliciesTogether) {
  for (const char* name : kBuiltIn) copy_built_in(name);
  PolicyRegistry registry;
  PluginLoader loader(options(), &host_);
  const LoadedPlugins loaded = loader.load_all(registry);
  for (const PluginError& error : loaded.errors) ADD_FAILURE() << to_string(error);
  EXPECT_EQ(loaded.plugins.size(), std::size(kBuiltIn));
  EXPECT_THAT(loaded.folders, ElementsAre(folder_));
  EXPECT_THAT(decode_policy_names(registry),
              ElementsAre("conductor", "least_request", "load_balancing"));
  EXPECT_THAT(prefill_policy_names(registry),
              ElementsAre("conductor", "least_request", "prefix_cache"));
  EXPECT_THAT(registry.warnings(), ElementsAre());
}

// ---- The museum
// ----------------------------------------------------------------------------------

struct Exhibit {
  const char* name;
  const char* code;
  const char* step;
  std::vector<const char*> words;
};

std::ostream& operator<<(std::ostream& out, const Exhibit& exhibit) {
  return out << exhibit.name;
}

class BrokenPluginTest : public PluginLoaderTest, public ::testing::WithParamInterface<Exhibit> {};

TEST_P(BrokenPluginTest, IsRefusedWithItsOwnText) {
  const Exhibit& exhibit = GetParam();
  const std::string file = copy_broken(exhibit.name);
  const PluginError error = error_of(file);
  EXPECT_EQ(code_name(error.code), exhibit.code) << error.message;
  EXPECT_EQ(error.step, exhibit.step);
  EXPECT_EQ(error.file, file);
  for (const char* word : exhibit.words) EXPECT_THAT(error.message, HasSubstr(word));
}

const Exhibit kMuseum[] = {
    {"wrong_magic", "wrong_magic", "descriptor", {"0x11223344", "0x4c504450", "no pd plugin"}},
    {"short_descriptor", "wrong_size", "descriptor", {"is 24", "at least"}},
    {"wrong_major", "wrong_major", "descriptor", {"plugin ABI 2.0", "speaks 1.0"}},
    {"newer_minor", "newer_minor", "descriptor", {"needs plugin ABI 1.7, this host has 1.0"}},
    {"unknown_flags", "unknown_flags", "descriptor", {"0x00000080", "0x00000001"}},
    {"reserved_set", "reserved_not_zero", "descriptor", {"is 5"}},
    {"no_descriptor", "no_descriptor", "descriptor", {"null pointer"}},
    {"no_load", "missing_callback", "descriptor", {"load is null"}},
    {"empty_id", "invalid_text", "descriptor", {"its id is \"\""}},
    {"spaced_id", "invalid_text", "descriptor", {"its id is \"My Plugin\"", "a-z 0-9"}},
    {"no_version", "invalid_text", "descriptor", {"its version is \"(null)\""}},
    {"load_fails", "load_failed", "load", {"status 1", "licence\\x0aserver is down"}},
    {"throwing_plugin", "load_threw", "load", {"thrown out of load()", "the contract forbids"}},
    {"empty_policy_name", "load_failed", "load", {"status 2", "policy name \"\" is not allowed"}},
    {"newer_uses", "load_failed", "load", {"policy broken", "0x8000000000000001", "newer host"}},
    {"no_score", "load_failed", "load", {"policy broken", "score is null"}},
    {"short_policy", "load_failed", "load", {"pd_policy is 16"}},
    {"executable_stack", "executable_stack", "ELF", {"flag X", "noexecstack"}},
    {"text_relocation", "text_relocations", "ELF", {"-fPIC"}},
    {"run_path", "run_path", "ELF", {"\"/opt/vendor/lib\"", "-rpath"}},
    {"missing_library",
     "missing_library",
     "dlopen",
     {"libpd_vanished_dependency.so.7", "LD_LIBRARY_PATH is not the way"}},
    {"no_entry", "no_entry_symbol", "ELF", {"pd_plugin_entry", "some_library_function"}},
    {"undefined_symbol", "undefined_symbol", "dlopen", {"function_of_nobody", "-z,defs"}},
};

INSTANTIATE_TEST_SUITE_P(Museum, BrokenPluginTest, ::testing::ValuesIn(kMuseum),
                         [](const auto& exhibit) { return std::string(exhibit.param.name); });

TEST_F(PluginLoaderTest, SaysWhatAFileIsThatIsNoPlugin) {
  EXPECT_EQ(error_of(write("libtext.so", "hello\n")).code, PluginErrorCode::kTextFile);
  EXPECT_EQ(error_of(write("libhtml.so", "<html>404")).code, PluginErrorCode::kHtmlPage);
  EXPECT_EQ(error_of(write("libar.so", "!<arch>\n")).code, PluginErrorCode::kStaticArchive);
  const std::string good = read(copy_broken("valid"));
  EXPECT_EQ(error_of(write("libcut.so", good.substr(0, 700))).code, PluginErrorCode::kTruncated);
}

// ---- Warnings
// ------------------------------------------------------------------------------------

class PluginWarningTest : public PluginLoaderTest {
 protected:
  PluginFacts facts_of(const std::string& name) {
    PolicyRegistry registry;
    PluginLoader loader(options(), &host_);
    const auto plugin = loader.load(copy_broken(name), registry);
    EXPECT_TRUE(plugin) << to_string(plugin.error());
    return plugin ? (*plugin)->facts() : PluginFacts();
  }
};

TEST_F(PluginWarningTest, ListsExportsBesidesTheEntry) {
  const PluginFacts facts = facts_of("exports_the_world");
  EXPECT_THAT(facts.exports, ::testing::Contains("one_export_too_many"));
  ASSERT_EQ(facts.warnings.size(), 1u);
  EXPECT_THAT(facts.warnings[0], HasSubstr("one_export_too_many"));
}

TEST_F(PluginWarningTest, ReportsStaticTls) {
  const PluginFacts facts = facts_of("static_tls");
  EXPECT_TRUE(facts.elf.static_tls);
  EXPECT_GE(facts.elf.tls_size, 64u);
  ASSERT_EQ(facts.warnings.size(), 1u);
  EXPECT_THAT(facts.warnings[0], HasSubstr("-ftls-model=global-dynamic"));
}

#if defined(__x86_64__)
TEST_F(PluginWarningTest, RestoresTheFloatingPointEnvironment) {
  const unsigned before = __builtin_ia32_stmxcsr();
  const PluginFacts facts = facts_of("fast_math");
  EXPECT_EQ(__builtin_ia32_stmxcsr(), before);
  ASSERT_EQ(facts.warnings.size(), 1u);
  EXPECT_THAT(facts.warnings[0], HasSubstr("floating-point environment"));
}
#endif

// ---- Identity
// ------------------------------------------------------------------------------------

TEST_F(PluginLoaderTest, RefusesTheSameIdTwiceAndNamesBothFiles) {
  PolicyRegistry registry;
  PluginLoader loader(options(), &host_);
  const std::string first = copy_broken("valid");
  const std::string second = copy_broken("valid_twin");
  ASSERT_TRUE(loader.load(first, registry));
  const auto twin = loader.load(second, registry);
  ASSERT_FALSE(twin);
  EXPECT_EQ(twin.error().code, PluginErrorCode::kDuplicateId);
  EXPECT_EQ(twin.error().file, second);
  EXPECT_THAT(twin.error().message, HasSubstr(first));
  EXPECT_THAT(decode_policy_names(registry), ElementsAre("valid"));
  // The next generation has a registry of its own.
  PolicyRegistry next;
  EXPECT_TRUE(loader.load(second, next));
}

TEST_F(PluginLoaderTest, WarnsWhenAPluginReplacesThePolicyOfAnother) {
  PolicyRegistry registry;
  PluginLoader loader(options(), &host_);
  ASSERT_TRUE(loader.load(copy_broken("valid"), registry));
  ASSERT_TRUE(loader.load(copy_broken("same_policy_name"), registry));
  ASSERT_EQ(registry.warnings().size(), 1u);
  EXPECT_THAT(registry.warnings()[0], HasSubstr("decode policy valid of plugin test.valid"));
  EXPECT_THAT(registry.warnings()[0], HasSubstr("plugin test.same_policy_name"));
  const auto entry = resolve_decode_policy(registry, "valid");
  ASSERT_TRUE(entry);
  EXPECT_EQ((*entry)->plugin->facts().id, "test.same_policy_name");
}

TEST_F(PluginLoaderTest, KeepsToTheAllowList) {
  const std::string file = copy_broken("valid");
  std::string sha256;
  const auto load = [&](std::vector<AllowedPlugin> allow) {
    PluginLoaderOptions options = this->options();
    options.allow = std::move(allow);
    PolicyRegistry registry;
    PluginFacts facts;
    const auto plugin = PluginLoader(options, &host_).load(file, registry, facts);
    sha256 = facts.sha256;
    return plugin ? "ok" : std::string(code_name(plugin.error().code));
  };
  EXPECT_EQ(load({}), "ok");
  const std::string right = sha256;
  const std::string wrong(64, '0');
  EXPECT_EQ(load({{"test.valid", {}, {}}}), "ok");
  EXPECT_EQ(load({{"test.valid", right, file}}), "ok");
  EXPECT_EQ(load({{"test.other", {}, {}}}), "not_allowed");
  EXPECT_EQ(load({{"test.valid", wrong, {}}}), "wrong_sha256");
  EXPECT_EQ(load({{"test.valid", wrong, {}}, {"test.valid", right, {}}}), "ok");
  EXPECT_EQ(load({{"test.valid", {}, in_folder("elsewhere.so")}}), "not_allowed");
  EXPECT_EQ(load({{"test.other", right, {}}, {"test.valid", wrong, {}}}), "not_allowed");
}

// ---- Folders
// -------------------------------------------------------------------------------------

TEST_F(PluginLoaderTest, ScansFoldersAsOrchestratorsBuildThem) {
  const std::string good = read(copy_broken("valid", "good.bin"));
  const auto scanned = [&](const std::string& folder) {
    PluginLoaderOptions options = this->options();
    options.directories = {in_folder(folder)};
    std::vector<std::string> names;
    for (const std::string& file : PluginLoader(options, &host_).scan().files) {
      names.push_back(fs::path(file).filename().string());
    }
    return names;
  };
  write("cm/..2026_01/libpd_mine.so", good);
  fs::create_directory_symlink("..2026_01", in_folder("cm/..data"));
  fs::create_symlink("..data/libpd_mine.so", in_folder("cm/libpd_mine.so"));
  EXPECT_THAT(scanned("cm"), ElementsAre("libpd_mine.so"));

  write("ver/libpd_mine.so.1.2.0", good);
  fs::create_symlink("libpd_mine.so.1.2.0", in_folder("ver/libpd_mine.so.1"));
  fs::create_symlink("libpd_mine.so.1", in_folder("ver/libpd_mine.so"));
  EXPECT_THAT(scanned("ver"), ElementsAre("libpd_mine.so"));

  write("twice/libpd_b.so", good);
  fs::create_symlink("libpd_b.so", in_folder("twice/libpd_a.so"));
  EXPECT_THAT(scanned("twice"), ElementsAre("libpd_a.so"));

  for (const char* name : {"libpd_mine.so", ".libpd_mine.so.swp", "libpd_mine.so.dpkg-new",
                           "libpd_mine.so~", ".libpd_hidden.so", "notes.txt"}) {
    write(std::string("junk/") + name, good);
  }
  EXPECT_THAT(scanned("junk"), ElementsAre("libpd_mine.so"));
  EXPECT_THAT(scanned("nowhere"), ElementsAre());
}

TEST_F(PluginLoaderTest, RefusesAnEvilFolderPrecisely) {
  fs::create_directory(in_folder("evil"));
  fs::create_symlink("/etc/passwd", in_folder("evil/libpd_passwd.so"));
  fs::create_symlink("libpd_loop.so", in_folder("evil/libpd_loop.so"));
  ASSERT_EQ(::mkfifo(in_folder("evil/libpd_fifo.so").c_str(), 0644), 0);
  fs::create_directory(in_folder("evil/libpd_dir.so"));
  PluginLoaderOptions options = this->options();
  options.directories = {in_folder("evil"), in_folder("nowhere")};
  PolicyRegistry registry;
  const LoadedPlugins loaded = PluginLoader(options, &host_).load_all(registry);
  EXPECT_TRUE(loaded.plugins.empty());
  std::vector<std::string> codes;
  for (const PluginError& error : loaded.errors) codes.emplace_back(code_name(error.code));
  EXPECT_THAT(codes, ElementsAre("folder_unreadable", "not_regular_file", "not_regular_file",
                                 "link_loop", "text_file"));
  EXPECT_THAT(loaded.errors.back().message, ::testing::Not(HasSubstr("root:")));
}

TEST_F(PluginLoaderTest, OneRefusedFileDoesNotKeepOthersOut) {
  copy_broken("valid");
  write("libpd_aaa.so", "text");
  PolicyRegistry registry;
  const LoadedPlugins loaded = PluginLoader(options(), &host_).load_all(registry);
  EXPECT_EQ(loaded.plugins.size(), 1u);
  EXPECT_EQ(loaded.errors.size(), 1u);
}

TEST_F(PluginLoaderTest, LoadsTheNewFileAfterAVolumeWasSwapped) {
  write("cm/..1/libpd_mine.so", read(copy_broken("valid")));
  write("cm/..2/libpd_mine.so", read(copy_broken("same_policy_name")));
  fs::create_directory_symlink("..1", in_folder("cm/..data"));
  fs::create_symlink("..data/libpd_mine.so", in_folder("cm/libpd_mine.so"));
  PluginLoader loader(options(), &host_);
  PolicyRegistry first;
  const auto before = loader.load(in_folder("cm/libpd_mine.so"), first);
  ASSERT_TRUE(before) << to_string(before.error());
  fs::create_directory_symlink("..2", in_folder("cm/..tmp"));
  fs::rename(in_folder("cm/..tmp"), in_folder("cm/..data"));
  PolicyRegistry second;
  const auto after = loader.load(in_folder("cm/libpd_mine.so"), second);
  ASSERT_TRUE(after) << to_string(after.error());
  EXPECT_EQ((*before)->facts().id, "test.valid");
  EXPECT_EQ((*after)->facts().id, "test.same_policy_name");
}

// ---- Going away
// ----------------------------------------------------------------------------------

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kClosesLibraries = false;
#else
constexpr bool kClosesLibraries = true;
#endif

TEST_F(PluginLoaderTest, ClosesAnUnloadSafePluginWithItsLastReference) {
  const std::string file = copy_broken("valid");
  PluginLoader loader(options(), &host_);
  const PluginUnloadCounts before = plugin_unload_counts();
  for (int i = 0; i < 50; ++i) {
    PolicyRegistry registry;
    ASSERT_TRUE(loader.load(file, registry));
  }
  const PluginUnloadCounts after = plugin_unload_counts();
  EXPECT_EQ(after.closed - before.closed, kClosesLibraries ? 50u : 0u);
  EXPECT_EQ(after.retired - before.retired, kClosesLibraries ? 0u : 50u);
  EXPECT_EQ(after.pinned, before.pinned);
}

TEST_F(PluginLoaderTest, KeepsAPluginAliveAsLongAsOneOfItsPolicies) {
  PluginLoader loader(options(), &host_);
  const PluginUnloadCounts before = plugin_unload_counts();
  std::shared_ptr<const DecodePolicyEntry> policy;
  {
    PolicyRegistry registry;
    ASSERT_TRUE(loader.load(copy_broken("valid"), registry));
    policy = *resolve_decode_policy(registry, "valid");
  }
  const PluginUnloadCounts held = plugin_unload_counts();
  EXPECT_EQ(held.closed + held.retired, before.closed + before.retired);
  void* instance = nullptr;
  EXPECT_EQ(policy->policy.create(nullptr, &instance, nullptr), PD_OK);
  policy.reset();
  const PluginUnloadCounts after = plugin_unload_counts();
  EXPECT_EQ(after.closed + after.retired, before.closed + before.retired + 1);
}

TEST_F(PluginLoaderTest, RetiresAPluginThatIsNotUnloadSafe) {
  PluginLoader loader(options(), &host_);
  const PluginUnloadCounts before = plugin_unload_counts();
  {
    PolicyRegistry registry;
    ASSERT_TRUE(loader.load(copy_broken("not_unload_safe"), registry));
  }
  const PluginUnloadCounts after = plugin_unload_counts();
  EXPECT_EQ(after.retired, before.retired + 1);
  EXPECT_EQ(after.closed, before.closed);
}

TEST_F(PluginLoaderTest, LeavesNoCopyOfARefusedFile) {
  PluginLoader loader(options(), &host_);
  PolicyRegistry registry;
  EXPECT_FALSE(loader.load(copy_broken("run_path"), registry));
  for (const auto& entry : fs::recursive_directory_iterator(in_folder("staging"))) {
    EXPECT_FALSE(entry.is_regular_file()) << entry.path();
  }
}

}  // namespace
}  // namespace pd
