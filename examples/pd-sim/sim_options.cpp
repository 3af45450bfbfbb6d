#include "examples/pd-sim/sim_options.h"

#include <algorithm>
#include <charconv>

namespace pd::sim {
namespace {

std::string set_field(PodSpec& spec, std::string_view key, std::string_view value) {
  if (key == "name") {
    spec.name = value;
  } else if (key == "model") {
    spec.model = value;
  } else if (key == "engine") {
    spec.engine = value;
  } else if (key == "role") {
    if (value == "prefill") {
      spec.role = PodRole::kPrefill;
    } else if (value == "decode") {
      spec.role = PodRole::kDecode;
    } else if (value == "combined") {
      spec.role = PodRole::kCombined;
    } else {
      return "role is '" + std::string(value) + "', allowed are prefill, decode and combined";
    }
  } else if (key == "port") {
    const char* end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, spec.port);
    if (error != std::errc{} || rest != end) {
      return "port is '" + std::string(value) + "', allowed is 0 (the kernel picks) to 65535";
    }
  } else {
    return "key '" + std::string(key) + "' is unknown, allowed are name, role, port, model, engine";
  }
  return {};
}

}  // namespace

std::string_view to_string(PodRole role) {
  switch (role) {
    case PodRole::kPrefill:
      return "prefill";
    case PodRole::kDecode:
      return "decode";
    case PodRole::kCombined:
      break;
  }
  return "combined";
}

boost::system::result<PodSpec, std::string> parse_pod_spec(std::string_view text) {
  PodSpec spec;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view field = text.substr(0, end);
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) {
      return "'" + std::string(field) + "' is not key=value";
    }
    auto error = set_field(spec, field.substr(0, equals), field.substr(equals + 1));
    if (!error.empty()) return error;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (spec.name.empty()) return std::string("name is missing");
  return spec;
}

}  // namespace pd::sim
