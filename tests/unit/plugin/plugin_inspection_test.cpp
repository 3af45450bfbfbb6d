#include "framework/plugin/plugin_inspection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/unit/plugin/plugin_fixture.h"

namespace pd {
namespace {

using ::testing::HasSubstr;

class PluginInspectionTest : public PluginTest {
 protected:
  PluginInspection inspect(const std::string& file) {
    return inspect_plugin(file, options(), &host_);
  }
};

TEST_F(PluginInspectionTest, ShowsAPluginWithItsPolicyAndOptions) {
  const PluginInspection inspection = inspect(copy_built_in("decode_load_balancing"));
  ASSERT_EQ(inspection.error, std::nullopt) << to_string(*inspection.error);
  ASSERT_EQ(inspection.policies.size(), 1u);
  EXPECT_EQ(inspection.policies[0].kind, "decode");
  EXPECT_EQ(inspection.policies[0].name, "load_balancing");
  ASSERT_FALSE(inspection.policies[0].options.empty());

  const std::string table = format_table(inspection);
  EXPECT_THAT(table, HasSubstr("sha256        " + inspection.facts.sha256));
  EXPECT_THAT(table, HasSubstr("id            pd.decode_load_balancing"));
  EXPECT_THAT(table, HasSubstr("decode policy load_balancing: "));
  EXPECT_THAT(table, HasSubstr(inspection.policies[0].options[0].key + " = 1  ("));
  EXPECT_THAT(table, HasSubstr("result        ok"));

  const boost::json::value json = boost::json::parse(to_json(inspection));
  EXPECT_EQ(json.at("id"), "pd.decode_load_balancing");
  EXPECT_EQ(json.at("abi_major"), 1);
  EXPECT_TRUE(json.at("error").is_null());
  EXPECT_EQ(json.at("policies").at(0).at("options").at(0).at("type"), "float");
  EXPECT_TRUE(json.at("extra_exports").as_array().empty());
}

TEST_F(PluginInspectionTest, ShowsWhyAndHowFarARefusedPluginCame) {
  const PluginInspection inspection = inspect(copy_broken("newer_minor"));
  ASSERT_TRUE(inspection.error);
  EXPECT_THAT(format_table(inspection), HasSubstr("refused       [newer_minor] descriptor: "));
  const boost::json::value json = boost::json::parse(to_json(inspection));
  EXPECT_EQ(json.at("error").at("code"), "newer_minor");
  EXPECT_EQ(json.at("error").at("step"), "descriptor");
  EXPECT_EQ(json.at("needs_minor"), 7);
  EXPECT_EQ(json.at("sha256").as_string().size(), 64u);
  EXPECT_TRUE(json.at("policies").as_array().empty());
}

TEST_F(PluginInspectionTest, HandlesAFileThatIsNotThere) {
  const PluginInspection inspection = inspect(in_folder("libnone.so"));
  EXPECT_THAT(format_table(inspection), HasSubstr("[not_found]"));
  EXPECT_EQ(boost::json::parse(to_json(inspection)).at("error").at("code"), "not_found");
}

}  // namespace
}  // namespace pd
