#include "framework/fleet/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

PodSpec pod(const std::string& name, Role role, std::optional<std::string> roleset = "rs1") {
  PodSpec spec;
  spec.name = name;
  spec.model = "m";
  spec.role = role;
  spec.roleset = std::move(roleset);
  spec.engine = "vllm";
  spec.host = "10.0.0.1";
  spec.port = 8000;
  return spec;
}

std::vector<std::string> names(const Fleet& fleet, const std::vector<std::uint32_t>& pods) {
  std::vector<std::string> out;
  for (const auto index : pods) out.push_back(fleet.pods()[index].spec.name);
  return out;
}

std::string_view view(pd_str text) {
  return {text.data, static_cast<std::size_t>(text.size)};
}

TEST(PodSpecTest, Row42Row43OnlyTheFirstPodOfAGroupServesHttp) {
  PodSpec spec = pod("a", Role::kPrefill);
  EXPECT_TRUE(serves_http(spec));
  EXPECT_FALSE(is_follower(spec));
  spec.group_index = "0";
  EXPECT_TRUE(serves_http(spec));
  EXPECT_FALSE(is_follower(spec));
  spec.group_index = "1";
  EXPECT_FALSE(serves_http(spec));
  EXPECT_TRUE(is_follower(spec));
}

// Reference 4.1: an integer above 0 (also "+1" and out-of-range digits) takes the pod out of
// everything; other values keep it in the checks, without an HTTP server.
TEST(PodSpecTest, Row44OddGroupIndices) {
  for (const std::string index : {"invalid", "", "-1", "0 ", " 0", "00", "x", "1x", "-0"}) {
    PodSpec spec = pod("a", Role::kPrefill);
    spec.group_index = index;
    EXPECT_FALSE(serves_http(spec)) << "'" << index << "'";
    EXPECT_FALSE(is_follower(spec)) << "'" << index << "'";
  }
  for (const std::string index : {"1", "+1", "12", "99999999999999999999999999"}) {
    PodSpec spec = pod("a", Role::kPrefill);
    spec.group_index = index;
    EXPECT_FALSE(serves_http(spec)) << "'" << index << "'";
    EXPECT_TRUE(is_follower(spec)) << "'" << index << "'";
  }
}

TEST(PodSpecTest, RolesHaveNames) {
  EXPECT_STREQ(role_name(Role::kPrefill), "prefill");
  EXPECT_STREQ(role_name(Role::kDecode), "decode");
  EXPECT_STREQ(role_name(Role::kCombined), "combined");
  EXPECT_STREQ(role_name(Role::kOther), "other");
}

TEST(FleetTest, GroupsPodsByModelAndRole) {
  PodSlots slots;
  auto other = pod("x", Role::kDecode);
  other.model = "another";
  const auto fleet = Fleet::build(
      {pod("p1", Role::kPrefill), pod("d1", Role::kDecode, "rs2"), pod("o1", Role::kOther),
       pod("n1", Role::kDecode, std::nullopt), pod("e1", Role::kPrefill, ""), other},
      slots, 7);
  EXPECT_EQ(fleet->generation(), 7u);
  ASSERT_EQ(fleet->models().size(), 2u);
  EXPECT_EQ(fleet->models()[0].name, "another");
  const ModelPods* model = fleet->find_model("m");
  ASSERT_NE(model, nullptr);
  EXPECT_THAT(names(*fleet, model->pods), UnorderedElementsAre("p1", "d1", "o1", "n1", "e1"));
  EXPECT_THAT(names(*fleet, model->prefill), UnorderedElementsAre("p1", "e1"));
  EXPECT_THAT(names(*fleet, model->decode), UnorderedElementsAre("d1"));
  EXPECT_THAT(model->rolesets, UnorderedElementsAre("rs1", "rs2", ""));
  for (const auto index : model->prefill) {
    const Pod& p = fleet->pods()[index];
    EXPECT_EQ(model->rolesets[p.roleset], *p.spec.roleset);
    EXPECT_EQ(p.index, index);
  }
  EXPECT_EQ(fleet->find_model("nobody"), nullptr);
  EXPECT_EQ(fleet->find_pod("p1")->spec.name, "p1");
  EXPECT_EQ(fleet->find_pod("nobody"), nullptr);
}

TEST(FleetTest, AnEmptyFleetIsFine) {
  PodSlots slots;
  const auto fleet = Fleet::build({}, slots, 1);
  EXPECT_THAT(fleet->pods(), IsEmpty());
  EXPECT_EQ(fleet->find_model(""), nullptr);
}

TEST(FleetTest, EnginesAreComparedAsText) {
  const auto one_engine = [](std::optional<std::string> a, std::optional<std::string> b,
                             std::optional<std::string> group = std::nullopt) {
    PodSlots slots;
    auto first = pod("a", Role::kPrefill);
    auto second = pod("b", Role::kOther, std::nullopt);
    first.engine = std::move(a);
    second.engine = std::move(b);
    second.group_index = std::move(group);
    return Fleet::build({first, second}, slots, 1)->find_model("m")->one_engine;
  };
  EXPECT_TRUE(one_engine("vllm", "vllm"));
  EXPECT_FALSE(one_engine("vllm", "sglang"));
  EXPECT_FALSE(one_engine("vllm", "VLLM"));
  EXPECT_FALSE(one_engine("vllm", "sglang", "x"));
  EXPECT_TRUE(one_engine("vllm", "sglang", "1"));
  EXPECT_TRUE(one_engine("vllm", "sglang", "+2"));
  EXPECT_TRUE(one_engine(std::nullopt, std::nullopt));
}

TEST(FleetTest, AbiPodsTellWhatTheSpecTells) {
  PodSlots slots;
  auto spec = pod("p1", Role::kPrefill);
  spec.host = "fd00::1";
  spec.port = 81;
  spec.labels = {{"zone", "z"}, {"a", "b"}};
  const auto fleet = Fleet::build({spec, pod("d1", Role::kDecode)}, slots, 1);
  const Pod& p = *fleet->find_pod("p1");
  EXPECT_EQ(p.address, "[fd00::1]:81");
  EXPECT_EQ(view(p.abi.name), "p1");
  EXPECT_EQ(view(p.abi.roleset), "rs1");
  EXPECT_EQ(view(p.abi.engine), "vllm");
  EXPECT_EQ(view(p.abi.address), "[fd00::1]:81");
  EXPECT_EQ(p.abi.struct_size, sizeof(pd_pod));
  EXPECT_EQ(p.abi.role, PD_ROLE_PREFILL);
  EXPECT_EQ(p.abi.slot, p.slot->number);
  EXPECT_EQ(p.abi.incarnation, p.slot->incarnation);
  ASSERT_EQ(p.abi.label_count, 2u);
  EXPECT_EQ(view(p.abi.label_keys[0]), "a");
  EXPECT_EQ(view(p.abi.label_values[0]), "b");
  EXPECT_EQ(view(p.abi.label_keys[1]), "zone");
  EXPECT_EQ(fleet->find_pod("d1")->abi.role, PD_ROLE_DECODE);
  EXPECT_EQ(fleet->find_pod("d1")->address, "10.0.0.1:8000");
}

TEST(FleetTest, UnchangedPodsKeepSlotAndSamples) {
  PodSlots slots;
  const auto first = Fleet::build({pod("p1", Role::kPrefill), pod("d1", Role::kDecode)}, slots, 1);
  EngineSample sample;
  sample.running = 4;
  first->columns().store(first->find_pod("d1")->index, sample, 9);
  auto moved = pod("p1", Role::kPrefill);
  moved.port = 9000;
  const auto second = Fleet::build({pod("a0", Role::kDecode), pod("d1", Role::kDecode), moved},
                                   slots, 2, first.get());
  const Pod& d1 = *second->find_pod("d1");
  EXPECT_EQ(d1.slot, first->find_pod("d1")->slot);
  EXPECT_EQ(second->columns().value(EngineColumn::kRunning, d1.index), 4);
  EXPECT_EQ(second->columns().sampled_at(d1.index), 9u);
  EXPECT_EQ(second->columns().sampled_at(second->find_pod("a0")->index), 0u);
  EXPECT_NE(second->find_pod("p1")->slot, first->find_pod("p1")->slot);
  EXPECT_NE(second->find_pod("p1")->prefix_key(), first->find_pod("p1")->prefix_key());
  for (const Pod& p : second->pods()) EXPECT_EQ(second->row_of_slot(p.slot->number), p.index);
}

TEST(FleetTest, ASnapshotKeepsItsPodsAlive) {
  auto slots = std::make_unique<PodSlots>();
  auto fleet = Fleet::build({pod("p1", Role::kPrefill)}, *slots, 1);
  slots.reset();
  EXPECT_EQ(view(fleet->find_pod("p1")->abi.name), "p1");
  fleet.reset();
}

}  // namespace
}  // namespace pd
