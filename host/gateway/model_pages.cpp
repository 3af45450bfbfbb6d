#include "host/gateway/model_pages.h"

#include <fmt/format.h>

#include <charconv>

namespace pd {
namespace {

constexpr std::string_view kListPath = "/v1/models";

std::string model_object(const ModelPods& model) {
  return fmt::format(R"({{"id":{},"object":"model","created":0,"owned_by":"pd"}})",
                     json_quoted(model.name));
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* digits = text.data() + i + 1;
    const bool escape = text[i] == '%' && i + 2 < text.size() &&
                        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2;
    out.push_back(escape ? static_cast<char>(value) : text[i]);
    if (escape) i += 2;
  }
  return out;
}

}  // namespace

boost::system::result<std::string, GatewayError> model_page(const Fleet& fleet,
                                                            std::string_view path) {
  if (path == kListPath) {
    std::string list;
    for (const ModelPods& model : fleet.models()) {
      if (!list.empty()) list += ',';
      list += model_object(model);
    }
    return fmt::format(R"({{"object":"list","data":[{}]}})", list);
  }
  const std::string id = percent_decoded(path.substr(kListPath.size() + 1));
  const ModelPods* model = fleet.find_model(id);
  if (model == nullptr) return unknown_model_id(id, fleet.model_names());
  return model_object(*model);
}

}  // namespace pd
