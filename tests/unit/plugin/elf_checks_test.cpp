#include "framework/plugin/elf_checks.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <random>

#include "framework/plugin/loaded_libraries.h"
#include "framework/plugin/plugin_exports.h"
#include "tests/unit/plugin/plugin_fixture.h"

namespace pd {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

PluginResult<ElfFacts> read_bytes(std::string_view bytes) {
  return read_elf(std::as_bytes(std::span(bytes.data(), bytes.size())), "/p.so");
}

PluginError error_of(std::string_view bytes) {
  const auto facts = read_bytes(bytes);
  return facts ? PluginError{} : facts.error();
}

std::string code_of(std::string_view bytes) {
  const auto facts = read_bytes(bytes);
  return facts ? "ok" : std::string(code_name(facts.error().code));
}

class ElfChecksTest : public PluginTest {
 protected:
  std::string valid() const { return read(copy_broken("valid")); }
  std::string conductor() const { return read(copy_built_in("decode_conductor")); }

  template <class T>
  static std::string patched(std::string bytes, std::size_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
    return bytes;
  }
};

TEST(ElfKindTest, RecognisesWhatWasTakenForAPlugin) {
  using namespace std::string_view_literals;
  EXPECT_EQ(code_of("root:x:0:0:root:/root:/bin/bash\n"), "text_file");
  EXPECT_EQ(code_of("<html>404</html>"), "html_page");
  EXPECT_EQ(code_of("\n  <!DOCTYPE html><p>login"), "html_page");
  EXPECT_EQ(code_of("version https://git-lfs.github.com/spec/v1\noid"), "lfs_pointer");
  EXPECT_EQ(code_of("!<arch>\n"), "static_archive");
  EXPECT_EQ(code_of("GROUP ( libreal.so )\n"), "linker_script");
  EXPECT_EQ(code_of("/* GNU ld script\n*/ INPUT(x)"), "linker_script");
  EXPECT_EQ(code_of("\x1f\x8b\x08\x00"sv), "compressed");
  EXPECT_EQ(code_of("PK\x03\x04zzz"), "compressed");
  EXPECT_EQ(code_of("\x00\x01\x02\x03\x04"sv), "not_elf");
  EXPECT_EQ(code_of(""), "not_elf");
  EXPECT_EQ(code_of("\x7f"
                    "ELF"),
            "truncated");
}

TEST(ElfKindTest, DoesNotQuoteTheContent) {
  const PluginError error = error_of("root:secret:0:0\n");
  EXPECT_THAT(error.message, HasSubstr("not an ELF file"));
  EXPECT_THAT(error.message, ::testing::Not(HasSubstr("secret")));
}

TEST_F(ElfChecksTest, ReadsABuiltInPolicy) {
  const auto facts = read_bytes(conductor());
  ASSERT_TRUE(facts) << to_string(facts.error());
  EXPECT_THAT(facts->needed, Contains("libc.so.6"));
  EXPECT_FALSE(facts->needed_versions.empty());
  EXPECT_FALSE(facts->executable_stack);
  EXPECT_FALSE(facts->text_relocations);
  EXPECT_FALSE(facts->static_tls);
  EXPECT_EQ(facts->run_path, "");
  EXPECT_EQ(check_elf(*facts, "/p.so"), std::nullopt);
}

TEST_F(ElfChecksTest, NamesMachineClassAndByteOrder) {
  const std::string file = valid();
  const std::uint16_t other = file[18] == EM_X86_64 ? EM_AARCH64 : EM_X86_64;
  const PluginError machine = error_of(patched(file, 18, other));
  EXPECT_EQ(machine.code, PluginErrorCode::kWrongMachine);
  EXPECT_THAT(machine.message,
              HasSubstr(other == EM_AARCH64 ? "built for AArch64, this host is x86-64"
                                            : "built for x86-64, this host is AArch64"));
  EXPECT_EQ(code_of(patched(file, EI_CLASS, char{ELFCLASS32})), "wrong_class");
  EXPECT_EQ(code_of(patched(file, EI_DATA, char{ELFDATA2MSB})), "wrong_byte_order");
  EXPECT_EQ(code_of(patched(file, 16, std::uint16_t{ET_REL})), "not_shared_object");
  EXPECT_EQ(code_of(patched(file, 16, std::uint16_t{ET_CORE})), "not_shared_object");
  EXPECT_EQ(code_of(patched(file, 16, std::uint16_t{ET_EXEC})), "executable");
  EXPECT_EQ(code_of(patched(file, offsetof(Elf64_Ehdr, e_shnum), std::uint16_t{0})),
            "no_section_table");
}

TEST_F(ElfChecksTest, RecognisesAnExecutable) {
  EXPECT_EQ(code_of(read(std::string(PD_BROKEN_PLUGINS_DIR) + "/pd_broken_program")), "executable");
}

TEST_F(ElfChecksTest, RefusesEveryTruncation) {
  const std::string file = valid();
  ASSERT_EQ(code_of(file), "ok");
  // Dense where the headers are, then in steps that are no power of two, then dense at the end.
  for (std::size_t length = 0; length < file.size();
       length += length < 2000 || length + 300 > file.size() ? 1 : 97) {
    const std::string_view cut(file.data(), length);
    const PluginError error = error_of(cut);
    if (length < 4) {
      EXPECT_EQ(error.step, "file kind") << length;
    } else {
      EXPECT_EQ(error.code, PluginErrorCode::kTruncated) << length << ": " << error.message;
    }
  }
}

TEST_F(ElfChecksTest, RefusesASegmentThatLeavesTheFile) {
  const std::string file = valid();
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const std::size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr segment;
    std::memcpy(&segment, file.data() + at, sizeof segment);
    if (segment.p_type != PT_LOAD) continue;
    Elf64_Phdr moved = segment;
    moved.p_offset = file.size() - segment.p_filesz + 1;
    EXPECT_EQ(code_of(patched(file, at, moved)), "truncated");
    moved.p_offset = UINT64_MAX - 8;
    EXPECT_EQ(code_of(patched(file, at, moved)), "truncated");
  }
}

TEST_F(ElfChecksTest, NamesTheVersionWantedAndTheNewestPresent) {
  std::string file = conductor();
  const std::string wanted = "CXXABI_1.3";
  const std::size_t at = file.find(wanted);
  ASSERT_NE(at, std::string::npos) << "the plugin uses no symbol of the C++ run time";
  file.replace(at, wanted.size(), "CXXABI_9.3");
  const auto facts = read_bytes(file);
  ASSERT_TRUE(facts) << to_string(facts.error());
  const auto error = check_elf(*facts, "/p.so");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, PluginErrorCode::kNewerLibraryVersion);
  EXPECT_THAT(error->message, HasSubstr("it needs CXXABI_9.3"));
  EXPECT_THAT(error->message, HasSubstr("of libstdc++.so.6, the newest present is CXXABI_1."));
  EXPECT_THAT(error->message, HasSubstr("build it on Debian 12"));
}

TEST(LoadedLibrariesTest, KnowsTheVersionsOfThisProcess) {
  const auto versions = versions_defined_by("libc.so.6");
  ASSERT_TRUE(versions);
  EXPECT_THAT(*versions, Contains("GLIBC_2.34"));  // every system that this is built for has it
  EXPECT_EQ(versions_defined_by("libnothere.so.1"), std::nullopt);
  EXPECT_EQ(newest_version_like("GLIBC_2.99", {"GLIBC_2.9", "GLIBC_2.36", "GLIBC_PRIVATE"}),
            "GLIBC_2.36");
  EXPECT_EQ(newest_version_like("OTHER_1", {"GLIBC_2.9"}), "");
}

// A short fuzzing run: damage of every kind must end in facts or in an error, never in a crash.
TEST_F(ElfChecksTest, SurvivesDamage) {
  const std::string file = conductor();
  std::mt19937_64 random(20260101);
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  // Three in four changes hit the tables that are read.
  const std::size_t hot[] = {0, header.e_phoff, header.e_shoff};
  std::size_t refused = 0;
  std::size_t runs = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < end) {
    std::string damaged = file;
    const std::size_t changes = 1 + random() % 8;
    for (std::size_t i = 0; i < changes; ++i) {
      const std::size_t kind = random() % 4;
      const std::size_t at =
          (kind < 3 ? hot[kind] + random() % 800 : random()) % (damaged.size() - 8);
      const std::uint64_t values[] = {random(), 0, UINT64_MAX, file.size(), random() % 4096};
      const std::size_t width = std::size_t{1} << (random() % 4);
      std::memcpy(damaged.data() + at, &values[random() % 5], width);
    }
    if (random() % 16 == 0) damaged.resize(random() % damaged.size());
    const auto facts = read_bytes(damaged);
    if (facts) {
      static_cast<void>(check_elf(*facts, "/p.so"));
      // What is accepted goes to Boost, which trusts the section table.
      PluginFacts exports;
      static_cast<void>(read_exports(write("damaged.so", damaged), exports));
    } else {
      ++refused;
    }
    ++runs;
  }
  EXPECT_GT(runs, 100u);
  EXPECT_GT(refused, runs / 10);
}

}  // namespace
}  // namespace pd
