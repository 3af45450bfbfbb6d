#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pd::test {

struct StreamEvent {
  std::string type;  // "message" unless an event: line says otherwise
  std::string data;
};

// Server-sent events as the HTML standard reads them: lines end with LF, CRLF or CR; a blank line
// ends an event; what stands behind the last blank line is no event.
std::vector<StreamEvent> parse_event_stream(std::string_view body);

// The data alone.
std::vector<std::string> event_data(std::string_view body);
// The data of the last event; empty without one.
std::string last_event(std::string_view body);

}  // namespace pd::test
