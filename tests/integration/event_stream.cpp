#include "tests/integration/event_stream.h"

namespace pd::test {
namespace {

class EventReader {
 public:
  void line(std::string_view text) {
    if (text.empty()) return dispatch();
    const std::size_t colon = text.find(':');
    const std::string_view field = text.substr(0, colon);
    std::string_view value = colon == std::string_view::npos ? "" : text.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (field == "event") type_ = value;
    if (field == "data") {
      data_.append(value) += '\n';
      has_data_ = true;
    }
  }
  std::vector<StreamEvent> take() { return std::move(events_); }

 private:
  void dispatch() {
    if (has_data_) {
      data_.pop_back();
      events_.push_back({type_.empty() ? "message" : type_, data_});
    }
    type_.clear();
    data_.clear();
    has_data_ = false;
  }

  std::vector<StreamEvent> events_;
  std::string type_;
  std::string data_;
  bool has_data_ = false;
};

}  // namespace

std::vector<StreamEvent> parse_event_stream(std::string_view body) {
  EventReader reader;
  while (!body.empty()) {
    const std::size_t end = body.find_first_of("\r\n");
    if (end == std::string_view::npos) break;
    reader.line(body.substr(0, end));
    body.remove_prefix(end + (body.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  return reader.take();
}

std::vector<std::string> event_data(std::string_view body) {
  std::vector<std::string> all;
  for (StreamEvent& event : parse_event_stream(body)) all.push_back(std::move(event.data));
  return all;
}

std::string last_event(std::string_view body) {
  auto all = event_data(body);
  return all.empty() ? std::string() : all.back();
}

}  // namespace pd::test
