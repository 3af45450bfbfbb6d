#include "host/commands/serve.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/async.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "framework/config/config_loader.h"
#include "framework/config/cpu_budget.h"
#include "framework/policy/untrusted_text.h"
#include "host/admin/admin_pages.h"
#include "host/admin/admin_server.h"
#include "host/commands/policy_setup.h"
#include "host/gateway/gateway.h"
#include "host/gateway/gateway_error.h"
#include "host/scrape/scraper.h"

namespace pd {
namespace {

// Lines wait in a ring and are written by a thread of spdlog's; when it is full the oldest go,
// since logging must never stop traffic.
void start_logging(const LogSettings& settings) {
  constexpr std::size_t kLines = 8192;
  spdlog::init_thread_pool(kLines, 1);
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto logger = std::make_shared<spdlog::async_logger>(
      "pd", sink, spdlog::thread_pool(), spdlog::async_overflow_policy::overrun_oldest);
  logger->set_pattern(settings.format == LogFormat::kJson
                          ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","event":%v})"
                          : "%Y-%m-%d %H:%M:%S.%e %l %v");
  logger->set_level(static_cast<spdlog::level::level_enum>(settings.level));
  logger->flush_on(spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
  spdlog::flush_every(std::chrono::seconds(1));
}

// One line, quoted where the log is JSON: the event of a line is an object or a string.
class Log {
 public:
  explicit Log(LogFormat format) : json_(format == LogFormat::kJson) {}

  void debug(const std::string& text) const { spdlog::debug("{}", shown(text)); }
  void info(const std::string& text) const { spdlog::info("{}", shown(text)); }
  void warn(const std::string& text) const { spdlog::warn("{}", shown(text)); }
  void error(const std::string& text) const { spdlog::error("{}", shown(text)); }

 private:
  std::string shown(const std::string& text) const { return json_ ? json_quoted(text) : text; }

  bool json_;
};

void log_of_plugin(const Log& log, std::string_view source, std::uint32_t severity,
                   std::string_view message) {
  const std::string text = fmt::format("{}: {}", source, printable_text(message));
  switch (severity) {
    case PD_LOG_DEBUG:
      return log.debug(text);
    case PD_LOG_WARNING:
      return log.warn(text);
    case PD_LOG_ERROR:
      return log.error(text);
    case PD_LOG_HOST_MISBEHAVING:
      return log.error("the host broke the contract: " + text);
    case PD_LOG_PLUGIN_MISBEHAVING:
      return log.error("plugin misbehaving: " + text);
    default:
      return log.info(text);
  }
}

// Signals arrive as readable bytes here, and nowhere else: all threads that start later block them.
class Signals {
 public:
  Signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    fd_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~Signals() { ::close(fd_); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Waits for a signal.
  void wait() const {
    pollfd poll{fd_, POLLIN, 0};
    while (::poll(&poll, 1, -1) <= 0 || !take()) {
    }
  }

  // True when one has come since the last look.
  bool take() const {
    signalfd_siginfo info;
    return ::read(fd_, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info));
  }

 private:
  int fd_ = -1;
};

// Every stream needs two descriptors: take all that the hard limit allows, and say when it is
// short.
void raise_descriptor_limit(const LimitSettings& limits, const Log& log) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t needed = limits.connections + 2ULL * limits.concurrent_requests;
  if (limit.rlim_max < needed) {
    log.warn(
        fmt::format("the limit of open files is {}, but limits.connections and "
                    "limits.concurrent_requests can need {}; raise it (ulimit -n)",
                    limit.rlim_max, needed));
  }
}

void write_ports_file(const std::string& path, const std::string& gateway,
                      const std::string& admin) {
  const std::string part = path + ".part";
  std::ofstream(part) << fmt::format("{{\"gateway\":\"{}\",\"admin\":\"{}\"}}\n", gateway, admin);
  std::rename(part.c_str(), path.c_str());
}

// Everything that serves, in the order in which it depends on each other.
class Host {
 public:
  Host(LoadedSettings loaded, const Log& log) : loaded_(std::move(loaded)), log_(log) {}

  // Builds everything; an exit code when it cannot.
  std::optional<int> open() {
    const Settings& settings = loaded_.settings;
    threads_ = worker_threads(settings);
    if (threads_.over_budget) {
      log_.warn(fmt::format("server.threads = {} is more than this process may use ({})",
                            threads_.count, threads_.origin));
    }
    if (!open_policies()) return kExitPlugins;
    fleet_ = Fleet::build(pod_specs(settings), slots_, 1);
    routing_.publish(std::make_shared<const RoutingState>(RoutingState{
        fleet_, std::make_shared<const Router>(setup_.policies, select_settings(settings))}));
    if (!open_prefix_index()) return kExitConfiguration;
    return open_ports();
  }

  void start(const std::string& ports_file) {
    scraper_->start();
    gateway_->start();
    admin_->start();
    if (!ports_file.empty()) write_ports_file(ports_file, gateway_->address(), admin_->address());
    log_.info(fmt::format("serving on {}, admin on {}, {} worker threads ({}), policies {}",
                          gateway_->address(), admin_->address(), threads_.count, threads_.origin,
                          setup_.policies->label()));
  }

  int stop(const Signals& signals) {
    const auto drain = loaded_.settings.timeouts.drain;
    log_.info(fmt::format("stopping: no new requests, {} in progress, cut after {} ms",
                          environment_->requests_in_progress.load(), drain.count()));
    const std::uint32_t cut = gateway_->stop(drain, [&] { return signals.take(); });
    scraper_->stop();
    admin_->stop();
    request_log_->stop();
    if (cut > 0) log_.warn(fmt::format("stopped; {} requests were cut", cut));
    if (cut == 0) log_.info("stopped; every request was answered");
    return cut == 0 ? kExitOk : kExitCut;
  }

 private:
  bool open_policies() {
    auto environment = std::make_shared<HostEnvironment>();
    environment->version = PD_VERSION;
    environment->log = [log = log_](std::string_view source, std::uint32_t severity,
                                    std::string_view message) {
      log_of_plugin(log, source, severity, message);
    };
    auto setup = set_up_policies(loaded_.settings, loaded_.file, threads_.count, environment);
    if (!setup) {
      for (const std::string& error : setup.error()) log_.error(error);
      return false;
    }
    setup_ = std::move(*setup);
    for (const std::string& warning : setup_.warnings) log_.warn(warning);
    return true;
  }

  bool open_prefix_index() {
    const PrefixIndexSettings& settings = loaded_.settings.prefix_index;
    auto index = PrefixIndex::create({settings.capacity, settings.ttl, 0});
    if (!index) {
      log_.error(fmt::format("prefix_index.capacity: {}", index.error().message));
      return false;
    }
    index_ = std::move(*index);
    recorder_ = std::make_unique<PrefixRecorder>(threads_.count);
    decisions_ = std::make_unique<DecisionStore>(loaded_.settings.decisions.keep,
                                                 loaded_.settings.decisions.memory);
    request_log_ = std::make_unique<RequestLog>(
        threads_.count, *decisions_, loaded_.settings.log.format == LogFormat::kJson, [this] {
          const auto now = PrefixIndex::Clock::now();
          recorder_->drain(*index_, now);
          index_->sweep(now);
        });
    return true;
  }

  std::optional<int> open_ports() {
    const Settings& settings = loaded_.settings;
    environment_.reset(
        new GatewayEnvironment{settings, routing_, *index_, *recorder_, *request_log_, metrics_});
    metrics_.set_sources({&routing_, index_.get(), recorder_.get(), request_log_.get(),
                          &environment_->requests_in_progress, &environment_->connections_open});
    pages_ = std::make_unique<AdminPages>(*environment_, *decisions_, *setup_.registry);
    auto gateway = Gateway::open(*environment_, settings.server.listen, threads_.count);
    if (!gateway) return refuse(gateway.error());
    gateway_ = std::move(*gateway);
    auto admin = AdminServer::open(settings.server.admin, [this](const AdminRequest& request) {
      return pages_->answer(request);
    });
    if (!admin) return refuse(admin.error());
    admin_ = std::move(*admin);
    scraper_ = std::make_unique<Scraper>(fleet_, settings.fleet, settings.timeouts,
                                         setup_.environment->wanted_series, metrics_);
    return std::nullopt;
  }

  int refuse(const std::string& error) const {
    log_.error(error);
    return kExitListen;
  }

  const LoadedSettings loaded_;
  const Log log_;
  WorkerThreads threads_;
  PodSlots slots_;
  PolicySetup setup_;
  std::shared_ptr<const Fleet> fleet_;
  RoutingStatePublisher routing_;
  std::unique_ptr<PrefixIndex> index_;
  std::unique_ptr<PrefixRecorder> recorder_;
  HostMetrics metrics_;
  std::unique_ptr<DecisionStore> decisions_;
  std::unique_ptr<RequestLog> request_log_;
  std::unique_ptr<GatewayEnvironment> environment_;
  std::unique_ptr<AdminPages> pages_;
  std::unique_ptr<Gateway> gateway_;
  std::unique_ptr<AdminServer> admin_;
  std::unique_ptr<Scraper> scraper_;
};

int run(const ServeOptions& options, LoadedSettings loaded) {
  const Signals signals;  // before any thread starts
  start_logging(loaded.settings.log);
  const Log log(loaded.settings.log.format);
  for (const std::string& notice : loaded.notices) log.info(notice);
  raise_descriptor_limit(loaded.settings.limits, log);
  Host host(std::move(loaded), log);
  if (const auto code = host.open()) return *code;
  host.start(options.ports_file);
  signals.wait();
  return host.stop(signals);
}

}  // namespace

int serve(const ServeOptions& options) {
  auto loaded = load_settings(options.config, process_environment());
  if (!loaded) {
    for (const ConfigError& error : loaded.error()) {
      fmt::print(stderr, "{}\n", to_string(error));
    }
    return kExitConfiguration;
  }
  const int code = run(options, std::move(*loaded));
  spdlog::shutdown();
  return code;
}

}  // namespace pd
