// One choice of a pair of pods as the gateway makes it: body read before, prompt extracted and
// hashed, prefixes matched, both stages scored by the plugins of this build, pair chosen.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "framework/fleet/fleet.h"
#include "framework/plugin/host_services.h"
#include "framework/plugin/plugin_loader.h"
#include "framework/policy/policy_set.h"
#include "framework/prefix/prefix_hash.h"
#include "framework/prefix/prefix_index.h"
#include "framework/prefix/prefix_lookup.h"
#include "framework/select/router.h"
#include "tests/bench/allocation_count.h"

namespace pd {
namespace {

constexpr const char* kModel = "m";
constexpr std::size_t kPodsPerRoleset = 8;
constexpr std::uint64_t kNow = 1'000'000'000'000;  // ns, monotonic
constexpr std::uint64_t kSampleAge = 100'000'000;

// The plugins of this build, loaded as the gateway loads them.
struct Plugins {
  std::shared_ptr<HostEnvironment> environment = std::make_shared<HostEnvironment>();
  std::unique_ptr<HostServices> host;
  std::unique_ptr<PluginLoader> loader;
  PolicyRegistry registry;

  Plugins() {
    environment->version = "bench";
    environment->log = [](std::string_view, std::uint32_t, std::string_view) {};
    host = std::make_unique<HostServices>(environment, "plugin", RandomStream::kRouter);
    PluginLoaderOptions options;
    options.directories = {PD_BUILT_IN_PLUGINS_DIR};
    loader = std::make_unique<PluginLoader>(std::move(options), host->host());
    for (const PluginError& error : loader->load_all(registry).errors) {
      std::fprintf(stderr, "%s\n", error.message.c_str());
    }
  }
};

std::shared_ptr<const PolicySet> policy_set(const std::string& prefill, const std::string& decode) {
  static Plugins plugins;
  PolicyChoice choice;
  choice.prefill = prefill;
  choice.decode = decode;
  choice.prefill_fallback = choice.decode_fallback = "least_request";
  auto policies =
      PolicySet::build(plugins.registry, choice, InstanceLimits{}, plugins.environment, 1);
  if (policies) return std::move(*policies);
  for (const std::string& error : policies.error()) std::fprintf(stderr, "%s\n", error.c_str());
  std::exit(1);
}

PodSpec pod_spec(std::size_t i) {
  PodSpec spec;
  spec.name = fmt::format("pod-{}", i);
  spec.model = kModel;
  spec.role = i % 2 == 0 ? Role::kPrefill : Role::kDecode;
  spec.roleset = fmt::format("roleset-{}", i / kPodsPerRoleset);
  spec.engine = "vllm";
  spec.connector = "nixl";
  spec.host = fmt::format("10.0.{}.{}", i / 250, i % 250 + 1);
  spec.port = 8000;
  return spec;
}

// Loads that differ, but by too little for a fast path: every stage scores.
EngineSample sample_of(std::size_t i) {
  const auto step = static_cast<double>(i / 2 % 4);
  EngineSample sample;
  sample.running = 8 + step;
  sample.waiting = 0;
  sample.throughput = 1000 + 100 * step;
  sample.kv_usage = 0.4 + 0.1 * step;
  sample.kv_blocks = 20'000;
  sample.kv_block_tokens = 16;
  sample.prefill_time_ms = 80;
  sample.drain_rate = 2;
  return sample;
}

std::shared_ptr<const Fleet> fleet_of(std::size_t pods, PodSlots& slots) {
  std::vector<PodSpec> specs;
  for (std::size_t i = 0; i < pods; ++i) specs.push_back(pod_spec(i));
  auto fleet = Fleet::build(std::move(specs), slots, 1);
  for (const Pod& pod : fleet->pods()) {
    fleet->columns().store(pod.index, sample_of(pod.index), kNow - kSampleAge);
    pod.slot->health = PodHealth::kReady;
    pod.slot->prefill_requests = pod.index / 2 % 3;
    pod.slot->decode_requests = 8 + pod.index / 2 % 4;
  }
  return fleet;
}

// A chat body of `size` bytes; nothing in it repeats.
std::string chat_body(std::size_t size) {
  std::string body = fmt::format(R"({{"model":"{}","max_tokens":64,"messages":[)", kModel) +
                     R"({"role":"system","content":"You answer in short sentences."},)"
                     R"({"role":"user","content":")";
  for (std::size_t word = 0; body.size() + 16 < size; ++word) {
    body += fmt::format("word{} ", word * 7919);
  }
  body.resize(size - 4, '.');
  return body + R"("}]})";
}

// Everything that one choice needs, as one worker thread holds it.
struct Choice {
  PodSlots slots;
  std::shared_ptr<const Fleet> fleet;
  std::unique_ptr<PrefixIndex> index;
  SelectSettings settings;
  std::unique_ptr<Router> router;
  std::string body;
  RequestReader reader;
  RequestView view;
  RoutingContext context;
  SelectScratch scratch;

  Choice(std::size_t pods, std::size_t body_bytes, const std::string& prefill,
         const std::string& decode)
      : fleet(fleet_of(pods, slots)), index(std::move(*PrefixIndex::create({}))) {
    settings.stale_ns = 5'000'000'000;
    router = std::make_unique<Router>(policy_set(prefill, decode), settings);
    body = chat_body(body_bytes);
    body.append(kBodyPadding, '\0');
    if (!reader.read(Api::kChatCompletions, {body.data(), body_bytes}, view)) std::abort();
    context.request_id = "request-1";
    context.path = "/v1/chat/completions";
    context.body = &view;
    context.arrival_ns = context.now_ns = kNow;
    context.seed_random(1);
    record_prefixes();
  }

  // A quarter of the prefill pods holds half of the prompt, one pod three quarters of it.
  void record_prefixes() {
    std::string prompt;
    view.append_prompt(prompt);
    std::vector<std::uint64_t> hashes;
    hash_prefix(std::as_bytes(std::span(prompt)), settings.block_size, settings.hash_seed, hashes);
    const std::uint64_t salt = prefix_salt(kModel, {});
    const std::span<const std::uint64_t> all(hashes);
    for (const Pod& pod : fleet->pods()) {
      if (pod.spec.role != Role::kPrefill || pod.index % 8 != 0) continue;
      const std::size_t held = pod.index == 0 ? all.size() * 3 / 4 : all.size() / 2;
      index->record(salt, all.first(held), pod.prefix_key(), PrefixIndex::Clock::now());
    }
  }
};

void select(benchmark::State& state, const std::string& prefill, const std::string& decode,
            std::size_t body_bytes) {
  Choice choice(static_cast<std::size_t>(state.range(0)), body_bytes, prefill, decode);
  const auto choose = [&choice] {
    return choice.router->select(choice.context, *choice.fleet, choice.index.get(), choice.scratch);
  };
  for (int warm_up = 0; warm_up < 16; ++warm_up) {
    const auto decision = choose();
    if (!decision) return state.SkipWithError(decision.error().message.c_str());
    if (decision->stages != kStageScores) return state.SkipWithError("a fast path was taken");
  }
  const std::uint64_t before = bench::allocation_count();
  for (auto _ : state) benchmark::DoNotOptimize(choose());
  const auto allocations = static_cast<double>(bench::allocation_count() - before);
  state.counters["allocations"] =
      benchmark::Counter(allocations, benchmark::Counter::kAvgIterations);
}

void SelectPrefixCache2KiB(benchmark::State& state) {
  select(state, "prefix_cache", "load_balancing", 2 << 10);
}
void SelectPrefixCache128KiB(benchmark::State& state) {
  select(state, "prefix_cache", "load_balancing", 128 << 10);
}
void SelectLeastRequest(benchmark::State& state) {
  select(state, "least_request", "least_request", 2 << 10);
}
BENCHMARK(SelectPrefixCache2KiB)->Arg(16)->Arg(512)->Arg(4096);
BENCHMARK(SelectPrefixCache128KiB)->Arg(16)->Arg(512)->Arg(4096);
BENCHMARK(SelectLeastRequest)->Arg(16)->Arg(512)->Arg(4096);

}  // namespace
}  // namespace pd
