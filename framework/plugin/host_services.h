// What a plugin may ask of this host: the pd_host of one policy instance, and the services behind
// it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "framework/load/wanted_series.h"
#include "framework/request/routing_context.h"
#include "pd/abi.h"

namespace pd {

// What all instances of a process share.
struct HostEnvironment {
  std::string version;
  std::string tokenizer = "character";
  // Writes one line of a plugin; `severity` is PD_LOG_*. Called from any thread; must not block.
  std::function<void(std::string_view source, std::uint32_t severity, std::string_view message)>
      log;
  std::shared_ptr<WantedSeriesTable> wanted_series = std::make_shared<WantedSeriesTable>();
};

// One per instance (and one for load()); the instance's pd_host lives as long as this object.
class HostServices {
 public:
  // `source` names the plugin or policy in log lines; `stream` is where its random numbers come
  // from.
  HostServices(std::shared_ptr<const HostEnvironment> environment, std::string source,
               RandomStream stream);
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  const pd_host* host() const { return &host_; }
  const HostEnvironment& environment() const { return *environment_; }
  const std::string& source() const { return source_; }
  RandomStream stream() const { return stream_; }

 private:
  std::shared_ptr<const HostEnvironment> environment_;
  std::string source_;
  RandomStream stream_;
  pd_host host_;
};

}  // namespace pd
