#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "examples/pd-sim/sim_fleet.h"
#include "examples/pd-sim/sim_options.h"

namespace {

using pd::sim::SimOptions;
using pd::sim::TimeModel;

void add_duration(CLI::App& app, TimeModel& model, const std::string& flag,
                  const std::string& help) {
  std::string term = flag.substr(2);
  for (char& c : term) c = c == '-' ? '_' : c;
  app.add_option_function<std::string>(
      flag,
      [&model, term, flag](const std::string& text) {
        if (!model.set(term, text)) {
          throw CLI::ValidationError(flag,
                                     "'" + text + "' is not a duration like 250us, 5ms or 1s");
        }
      },
      help);
}

void add_time_model(CLI::App& app, SimOptions& options) {
  TimeModel& model = options.model;
  add_duration(app, model, "--prefill-base", "Prefill time of any prompt (2ms)");
  add_duration(app, model, "--prefill-per-token", "Prefill time per uncached token (20us)");
  add_duration(app, model, "--decode-base", "Time of a decode step (5ms)");
  add_duration(app, model, "--decode-per-running", "More per running request (50us)");
  add_duration(app, model, "--kv-transfer-per-token", "KV transfer time per token (1us)");
  add_duration(app, model, "--lease", "How long unread hand-offs keep their blocks (30s)");
  app.add_option("--max-running", model.max_running, "Requests at work side by side per pod (256)")
      ->check(CLI::PositiveNumber);
  app.add_option("--kv-blocks", options.kv_blocks, "KV blocks per pod (65536)")
      ->check(CLI::Range(2U, 1U << 26));
  app.add_option("--block-size", options.block_size, "Tokens per KV block (16)")
      ->check(CLI::Range(1U, 4096U));
}

bool write_ports_file(const std::string& path, const std::string& json) {
  const std::string draft = path + ".new";
  {
    std::ofstream file(draft, std::ios::trunc);
    file << json << '\n';
    if (!file.flush()) return false;
  }
  return std::rename(draft.c_str(), path.c_str()) == 0;
}

int serve(const SimOptions& options) {
  pd::sim::SimFleet fleet(options);
  if (const std::string error = fleet.listen(); !error.empty()) {
    std::cerr << "pd-sim: pod " << error << '\n';
    return 1;
  }
  for (const auto& pod : fleet.pods()) {
    std::cout << pod->spec().name << ' ' << to_string(pod->spec().role) << ' ' << options.host
              << ':' << pod->port() << '\n';
  }
  std::cout.flush();
  if (!options.ports_file.empty() && !write_ports_file(options.ports_file, fleet.ports_json())) {
    std::cerr << "pd-sim: cannot write the ports file " << options.ports_file << '\n';
    return 1;
  }
  fleet.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  SimOptions options;
  std::vector<std::string> pods;
  bool zero_latency = false;
  CLI::App app{"Simulated inference engines, many pods in one process"};
  app.add_option(
         "--pod", pods,
         "name=N,role=prefill|decode|combined,port=P[,model=sim][,engine=vllm]; port 0: the "
         "kernel picks. May be given many times")
      ->required();
  app.add_option("--host", options.host, "IP address to listen on (127.0.0.1)");
  app.add_option("--threads", options.threads, "Threads; a pod stays on one (1)")
      ->check(CLI::Range(1U, 64U));
  app.add_option("--ports-file", options.ports_file, "Where to write {\"name\":port,...}");
  add_time_model(app, options);
  app.add_flag("--zero-latency", zero_latency, "Every latency of the time model is 0");
  app.add_flag("--null-remote-host", options.null_remote_host,
               "Hand-offs carry remote_host null: the router fills it in");
  app.add_option("--record", options.recorded_requests,
                 "Requests per pod kept for GET /sim/state?bodies=1 (16)");
  CLI11_PARSE(app, argc, argv);
  if (zero_latency) options.model.remove_latency();
  for (const std::string& text : pods) {
    const auto spec = pd::sim::parse_pod_spec(text);
    if (!spec) {
      std::cerr << "pd-sim: --pod " << text << ": " << spec.error() << '\n';
      return 2;
    }
    options.pods.push_back(*spec);
  }
  return serve(options);
}
