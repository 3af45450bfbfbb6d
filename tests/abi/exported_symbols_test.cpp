// What a built plugin shows to the dynamic linker: its entry and nothing else, no state that would
// be shared with another plugin or keep it from being unloaded, no path of the machine it was
// built on. Read with the tools of the toolchain, not with our own ELF reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Output of a command that has to succeed.
std::string output_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) {
    ADD_FAILURE() << "cannot run " << command;
    return {};
  }
  std::string output;
  std::array<char, 4096> buffer{};
  for (std::size_t got; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.append(buffer.data(), got);
  }
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return output;
}

// "T pd_plugin_entry" and the like: class and name of each symbol that others can bind to.
std::vector<std::string> defined_symbols(const std::string& plugin) {
  std::istringstream lines(output_of(PD_NM " -D --defined-only '" + plugin + "'"));
  std::vector<std::string> symbols;
  for (std::string address, type, name; lines >> address >> type >> name;) {
    symbols.push_back(type + " " + name);
  }
  return symbols;
}

std::vector<std::string> unique_symbols(const std::string& plugin) {
  std::vector<std::string> unique;
  for (const std::string& symbol : defined_symbols(plugin)) {
    if (symbol.rfind("u ", 0) == 0) unique.push_back(symbol);
  }
  return unique;
}

std::string dynamic_section(const std::string& plugin) {
  return output_of(PD_READELF " -dW '" + plugin + "'");
}

std::string relocations(const std::string& plugin) {
  return output_of(PD_READELF " -rW '" + plugin + "'");
}

std::string program_headers(const std::string& plugin) {
  return output_of(PD_READELF " -lW '" + plugin + "'");
}

class BuiltInPlugin : public testing::TestWithParam<std::string> {};

TEST_P(BuiltInPlugin, ExportsItsEntryAndNothingElse) {
  EXPECT_THAT(defined_symbols(GetParam()), ElementsAre("T pd_plugin_entry"));
}

TEST_P(BuiltInPlugin, HasNoSymbolThatIsSharedByTheWholeProcess) {
  EXPECT_THAT(unique_symbols(GetParam()), IsEmpty());
}

TEST_P(BuiltInPlugin, NamesNoPathToSearchLibrariesIn) {
  const std::string dynamic = dynamic_section(GetParam());
  EXPECT_THAT(dynamic, HasSubstr("(NEEDED)"));
  EXPECT_THAT(dynamic, Not(HasSubstr("(RPATH)")));
  EXPECT_THAT(dynamic, Not(HasSubstr("(RUNPATH)")));
}

TEST_P(BuiltInPlugin, TakesNothingFromTheStaticTlsOfTheProcess) {
  EXPECT_THAT(dynamic_section(GetParam()), Not(HasSubstr("STATIC_TLS")));
  EXPECT_THAT(relocations(GetParam()), Not(HasSubstr("TPOFF")));
}

TEST_P(BuiltInPlugin, BindsEverythingAtLoadAndIsNotWritableCode) {
  const std::string dynamic = dynamic_section(GetParam());
  EXPECT_THAT(dynamic, HasSubstr("BIND_NOW"));
  EXPECT_THAT(dynamic, Not(HasSubstr("TEXTREL")));
  const std::string headers = program_headers(GetParam());
  EXPECT_THAT(headers, HasSubstr("GNU_RELRO"));
  EXPECT_THAT(headers, Not(HasSubstr("RWE")));
}

std::vector<std::string> built_in_plugins() {
  std::istringstream names(PD_BUILT_IN_PLUGINS);
  std::vector<std::string> paths;
  for (std::string path; std::getline(names, path, ':');) paths.push_back(path);
  return paths;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  const std::string file = info.param.substr(info.param.rfind('/') + 1);
  return file.substr(0, file.find('.'));
}

INSTANTIATE_TEST_SUITE_P(Plugins, BuiltInPlugin, testing::ValuesIn(built_in_plugins()), test_name);

// The checks above must be able to fail: a plugin built the careless way shows each fault.
TEST(CarelessPlugin, IsCaughtByEveryCheck) {
  const std::string plugin = PD_CARELESS_PLUGIN;
  EXPECT_GT(defined_symbols(plugin).size(), 1u);
  EXPECT_THAT(dynamic_section(plugin), testing::ContainsRegex("RPATH|RUNPATH"));
  EXPECT_THAT(dynamic_section(plugin), HasSubstr("STATIC_TLS"));
  EXPECT_THAT(relocations(plugin), HasSubstr("TPOFF"));
  EXPECT_THAT(dynamic_section(plugin), Not(HasSubstr("BIND_NOW")));
#if defined(__GNUC__) && !defined(__clang__)
  EXPECT_THAT(unique_symbols(plugin), Not(IsEmpty()));
#endif
}

}  // namespace
