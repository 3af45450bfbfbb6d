#include "host/gateway/model_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace pd {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

class ModelPagesTest : public ::testing::Test {
 protected:
  ModelPagesTest() {
    std::vector<PodSpec> specs;
    for (const std::string model : {"lab/team-a/m-small:v2", "m-plain"}) {
      PodSpec spec;
      spec.name = "p-" + model;
      spec.model = model;
      spec.role = Role::kPrefill;
      spec.roleset = "rs1";
      spec.host = "127.0.0.1";
      spec.port = 80;
      specs.push_back(spec);
      spec.name = "d-" + model;
      spec.role = Role::kDecode;
      specs.push_back(spec);
    }
    fleet_ = Fleet::build(specs, slots_, 1);
  }

  json::object page(const std::string& path) {
    const auto text = model_page(*fleet_, path);
    EXPECT_TRUE(text) << path << ": " << (text ? "" : text.error().message);
    return text ? json::parse(*text).as_object() : json::object();
  }
  void expect_unknown(const std::string& path) {
    const auto text = model_page(*fleet_, path);
    ASSERT_FALSE(text) << path;
    EXPECT_EQ(text.error().status, 404) << path;
    EXPECT_EQ(text.error().code, "model_not_found") << path;
    EXPECT_THAT(text.error().message, HasSubstr("m-plain")) << path;
    EXPECT_THAT(text.error().message, HasSubstr("lab/team-a/m-small:v2")) << path;
    EXPECT_TRUE(json::parse(to_json(text.error())).is_object());
  }

  PodSlots slots_;
  std::shared_ptr<const Fleet> fleet_;
};

TEST_F(ModelPagesTest, TheListHasEveryModel) {
  const json::object list = page("/v1/models");
  EXPECT_EQ(list.at("object"), "list");
  std::vector<std::string> ids;
  for (const auto& model : list.at("data").as_array()) {
    EXPECT_EQ(model.at("object"), "model");
    EXPECT_TRUE(model.at("created").is_int64() || model.at("created").is_uint64());
    EXPECT_TRUE(model.at("owned_by").is_string());
    ids.emplace_back(model.at("id").as_string());
  }
  EXPECT_THAT(ids, ::testing::UnorderedElementsAre("lab/team-a/m-small:v2", "m-plain"));
}

TEST_F(ModelPagesTest, EveryIdOfTheListCanBeFetched) {
  const json::object list = page("/v1/models");
  for (const auto& model : list.at("data").as_array()) {
    const std::string id(model.at("id").as_string());
    EXPECT_EQ(json::value(page("/v1/models/" + id)), model);
  }
}

TEST_F(ModelPagesTest, IdsArePercentDecodedOnce) {
  const json::object plain = page("/v1/models/lab/team-a/m-small:v2");
  EXPECT_EQ(plain.at("id"), "lab/team-a/m-small:v2");
  EXPECT_EQ(page("/v1/models/lab%2Fteam-a%2Fm-small%3Av2"), plain);
  EXPECT_EQ(page("/v1/models/lab%2fteam-a/m-small:v2"), plain);
  EXPECT_EQ(page("/v1/models/%6d-plain").at("id"), "m-plain");
}

TEST_F(ModelPagesTest, OthersAreUnknownAndTheErrorListsTheIds) {
  for (const std::string path :
       {"/v1/models/lab/team-a/", "/v1/models/../admin", "/v1/models/lab%252Fteam-a",
        "/v1/models/lab%252Fteam-a%252Fm-small:v2", "/v1/models/nobody", "/v1/models/M-PLAIN",
        "/v1/models/m-plain/", "/v1/models//m-plain", "/v1/models/m-plain%00",
        "/v1/models/%2e%2e/admin", "/v1/models/m-plain%", "/v1/models/m-plain%2", "/v1/models/%zz",
        "/v1/models/%ff"}) {
    expect_unknown(path);
  }
}

TEST_F(ModelPagesTest, AnEmptyFleetHasAnEmptyList) {
  fleet_ = Fleet::build({}, slots_, 2);
  EXPECT_TRUE(page("/v1/models").at("data").as_array().empty());
}

}  // namespace
}  // namespace pd
