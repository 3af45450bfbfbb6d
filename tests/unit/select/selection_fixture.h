// A fleet, policies and a request for Router::select, each set up in a line or two.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "framework/plugin/plugin_loader.h"
#include "framework/policy/policy_set.h"
#include "framework/prefix/prefix_hash.h"
#include "framework/select/router.h"
#include "tests/unit/request/padded_body.h"
#include "tests/unit/select/hand_made_policy.h"

namespace pd::test {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One pod and everything that a choice depends on.
struct PodState {
  std::string name;
  Role role = Role::kPrefill;
  std::optional<std::string> roleset = "rs1";
  double running = kUnknown;
  double throughput = kUnknown;
  double kv_usage = kUnknown;
  double drain_rate = kUnknown;
  double prefill_time_ms = kUnknown;
  std::uint32_t prefill_requests = 0;
  std::uint32_t pending = 0;
  PodHealth health = PodHealth::kReady;
  std::optional<std::string> group_index;
  std::optional<std::string> engine = "vllm";
  std::string model = "m";
};

inline PodState prefill_pod(std::string name, std::string roleset = "rs1",
                            std::uint32_t requests = 0) {
  PodState pod;
  pod.name = std::move(name);
  pod.roleset = std::move(roleset);
  pod.prefill_requests = requests;
  return pod;
}

inline PodState decode_pod(std::string name, std::string roleset = "rs1", double running = kUnknown,
                           double throughput = kUnknown, double kv_usage = kUnknown) {
  PodState pod;
  pod.name = std::move(name);
  pod.role = Role::kDecode;
  pod.roleset = std::move(roleset);
  pod.running = running;
  pod.throughput = throughput;
  pod.kv_usage = kv_usage;
  return pod;
}

// The built-in policies, from the plugins of this build; loaded once.
inline const PolicyRegistry& built_in_policies() {
  struct Loaded {
    std::string folder;
    pd_host host{};
    PolicyRegistry registry;

    Loaded() {
      namespace fs = std::filesystem;
      std::string pattern = (fs::temp_directory_path() / "pd-select-XXXXXX").string();
      folder = fs::canonical(::mkdtemp(pattern.data())).string();
      host.struct_size = sizeof host;
      host.abi_major = PD_ABI_MAJOR;
      host.service = [](const pd_host*, const char*) -> const void* { return nullptr; };
      for (const char* name :
           {"decode_load_balancing", "decode_least_request", "decode_conductor",
            "prefill_prefix_cache", "prefill_least_request", "prefill_conductor"}) {
        const std::string file = std::string("/libpd_") + name + ".so";
        fs::copy_file(PD_BUILT_IN_PLUGINS_DIR + file, folder + file);
        fs::permissions(folder + file, fs::perms::owner_read | fs::perms::owner_write);
      }
      PluginLoaderOptions options;
      options.directories = {folder};
      options.staging = folder + "/staging";
      PluginLoader loader(options, &host);
      const auto loaded = loader.load_all(registry);
      EXPECT_EQ(loaded.plugins.size(), 6u);
      for (const auto& error : loaded.errors) ADD_FAILURE() << to_string(error);
    }
    ~Loaded() { std::filesystem::remove_all(folder); }
  };
  static const Loaded loaded;
  return loaded.registry;
}

class HeaderMap final : public HeaderSource {
 public:
  std::string_view header(std::string_view lower_case_name) const override {
    const auto found = headers.find(std::string(lower_case_name));
    return found == headers.end() ? std::string_view() : std::string_view(found->second);
  }
  std::map<std::string, std::string> headers;
};

class SelectionTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kSampledAt = 1'000'000'000;
  static constexpr std::uint64_t kNow = 2'000'000'000;

  SelectionTest() {
    policies_are_live = false;
    settings_.block_size = 4;
    choice_.prefill = "least_request";
    choice_.prefill_fallback = "least_request";
    choice_.decode = "least_request";
    choice_.decode_fallback = "load_balancing";
    auto index = PrefixIndex::create(PrefixIndexOptions{10'000, std::chrono::minutes(5), 0});
    EXPECT_TRUE(index);
    if (index) index_ = std::move(*index);
    set_prompt("hello world");
  }

  void set_body(const std::string& body, Api api = Api::kChatCompletions) {
    body_ = std::make_unique<PaddedBody>(body);
    const auto read = reader_.read(api, body_->view(), view_);
    ASSERT_TRUE(read) << read.error().message;
  }
  void set_prompt(const std::string& prompt, const std::string& model = "m") {
    set_body(R"({"model":")" + model + R"(","messages":[{"role":"user","content":")" + prompt +
             "\"}]}");
  }

  void set_fleet(const std::vector<PodState>& pods) {
    std::vector<PodSpec> specs;
    for (const auto& pod : pods) {
      PodSpec spec;
      spec.name = pod.name;
      spec.model = pod.model;
      spec.role = pod.role;
      spec.roleset = pod.roleset;
      spec.engine = pod.engine;
      spec.host = "127.0.0.1";
      spec.port = 8000;
      spec.group_index = pod.group_index;
      specs.push_back(spec);
    }
    slots_ = std::make_unique<PodSlots>();
    fleet_ = Fleet::build(specs, *slots_, ++generation_);
    for (const auto& state : pods) {
      const Pod& pod = *fleet_->find_pod(state.name);
      pod.slot->health = state.health;
      pod.slot->prefill_requests = state.prefill_requests;
      pod.slot->pending_decode = state.pending;
      EngineSample sample;
      sample.running = state.running;
      sample.throughput = state.throughput;
      sample.kv_usage = state.kv_usage;
      sample.drain_rate = state.drain_rate;
      sample.prefill_time_ms = state.prefill_time_ms;
      fleet_->columns().store(pod.index, sample, kSampledAt);
    }
  }

  // Makes, registers and chooses a policy of the test's own; it lives as long as the fixture.
  template <int N = 0>
  HandMadeDecode<N>& use_decode(typename HandMadeDecode<N>::Score score, std::uint64_t uses = 0,
                                std::uint32_t flags = 0) {
    auto policy = std::make_shared<HandMadeDecode<N>>(std::move(score), uses, flags);
    kept_.push_back(policy);
    EXPECT_TRUE(register_decode_policy(registry_, &policy->table, nullptr));
    choice_.decode = policy->policy.name;
    return *policy;
  }
  template <int N = 0>
  HandMadePrefill<N>& use_prefill(typename HandMadePrefill<N>::Score score, std::uint64_t uses = 0,
                                  std::uint32_t flags = 0) {
    auto policy = std::make_shared<HandMadePrefill<N>>(std::move(score), uses, flags);
    kept_.push_back(policy);
    EXPECT_TRUE(register_prefill_policy(registry_, &policy->table, nullptr));
    choice_.prefill = policy->policy.name;
    return *policy;
  }

  // Builds the router of the policies and settings as they are now.
  void build_router() {
    policies_are_live = false;
    auto set = PolicySet::build(registry_, choice_, InstanceLimits{2, 65536}, environment_, 3);
    if (!set) {
      for (const auto& fault : set.error()) ADD_FAILURE() << fault;
      return;
    }
    router_ = std::make_unique<Router>(*set, settings_);
    policies_are_live = true;
  }

  boost::system::result<Decision, SelectError> select(std::uint64_t seed = 1) {
    if (router_ == nullptr) build_router();
    context_ = RoutingContext();
    context_.request_id = "req-1";
    context_.path = "/v1/chat/completions";
    context_.session = "session-1";
    context_.body = &view_;
    context_.headers = &headers_;
    context_.arrival_ns = kNow - 5;
    context_.now_ns = kNow;
    context_.shuffle = shuffle_;
    context_.dry_run = dry_run_;
    context_.attempt = 1 + static_cast<std::uint32_t>(tried_.size());
    context_.tried_pods = tried_;
    context_.handed_off_by = handed_off_by_;
    context_.worker = 1;
    context_.seed_random(seed);
    return router_->select(context_, *fleet_, index_.get(), scratch_);
  }

  // "p1 d1 scores", or the error.
  std::string selected(std::uint64_t seed = 1) {
    const auto decision = select(seed);
    if (!decision) return "error: " + decision.error().message;
    return (decision->prefill == nullptr ? "-" : decision->prefill->spec.name) + " " +
           (decision->decode == nullptr ? "-" : decision->decode->spec.name) + " " +
           stage_name(decision->stages);
  }

  // What came out over many seeds, and how often.
  std::map<std::string, int> outcomes(int seeds) {
    std::map<std::string, int> counts;
    for (int seed = 0; seed < seeds; ++seed) {
      ++counts[selected(static_cast<std::uint64_t>(seed) * 7919 + 3)];
    }
    return counts;
  }

  // Enters `prompt` for this pod, as if it had done its prefill.
  void record_prefix(const std::string& pod, std::string_view prompt, std::string_view model = "m",
                     std::string_view salt = {}) {
    std::vector<std::uint64_t> hashes;
    hash_prefix(std::as_bytes(std::span(prompt.data(), prompt.size())), settings_.block_size,
                settings_.hash_seed, hashes);
    index_->record(prefix_salt(model, salt), hashes, fleet_->find_pod(pod)->prefix_key(),
                   PrefixIndex::Clock::now());
  }

  const Pod& pod(const std::string& name) const { return *fleet_->find_pod(name); }

  // Row of a pod in a stage's table; the test fails when it is no candidate.
  static std::size_t row(const CandidateTable& table, const std::string& name) {
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (table.pods[i]->spec.name == name) return i;
    }
    ADD_FAILURE() << name << " is no candidate";
    return 0;
  }
  double prefill_score(const std::string& name) const {
    return scratch_.prefill.scores[row(scratch_.prefill, name)];
  }
  double decode_score(const std::string& name) const {
    return scratch_.decode.scores[row(scratch_.decode, name)];
  }
  Drop prefill_drop(const std::string& name) const {
    return scratch_.prefill.drops[row(scratch_.prefill, name)];
  }
  Drop decode_drop(const std::string& name) const {
    return scratch_.decode.drops[row(scratch_.decode, name)];
  }
  // Why a pod was never a candidate; kNone when it is not listed.
  Drop not_candidate(const std::string& name) const {
    for (const auto& [other, drop] : scratch_.not_candidates) {
      if (other->spec.name == name) return drop;
    }
    return Drop::kNone;
  }

  std::vector<std::shared_ptr<void>> kept_;  // policies of the test's own
  PolicyRegistry registry_ = built_in_policies();
  PolicyChoice choice_;
  SelectSettings settings_;
  std::shared_ptr<HostEnvironment> environment_ = std::make_shared<HostEnvironment>();
  std::unique_ptr<PodSlots> slots_;
  std::shared_ptr<const Fleet> fleet_;
  std::uint64_t generation_ = 0;
  std::unique_ptr<PrefixIndex> index_;
  std::unique_ptr<PaddedBody> body_;
  RequestReader reader_;
  RequestView view_;
  HeaderMap headers_;
  bool shuffle_ = true;
  bool dry_run_ = false;
  std::vector<std::uint64_t> tried_;
  const Pod* handed_off_by_ = nullptr;
  RoutingContext context_;
  SelectScratch scratch_;
  std::unique_ptr<Router> router_;  // declared last: its policies go before what they use
};

}  // namespace pd::test
