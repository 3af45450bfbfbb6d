#include "examples/pd-sim/sim_http.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace pd::sim {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           const auto lower = [](char c) {
             return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
           };
           return lower(x) == lower(y);
         });
}

bool is_token_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string_view read_request_line(std::string_view line, RequestHead& head) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return "request line is not three words";
  head.method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return "HTTP version is not 1.0 or 1.1";
  head.keep_alive = version == "HTTP/1.1";
  if (target.empty() || target[0] != '/') return "target is not an absolute path";
  if (target.find(' ') != std::string_view::npos) return "space in the target";
  const std::size_t mark = target.find('?');
  head.path = target.substr(0, mark);
  if (mark != std::string_view::npos) head.query = target.substr(mark + 1);
  return {};
}

struct Seen {
  bool host = false;
  bool length = false;
};

std::string_view read_field(std::string_view name, std::string_view value, RequestHead& head,
                            Seen& seen) {
  if (equals_ignoring_case(name, "content-length")) {
    if (seen.length) return "Content-Length twice";
    seen.length = true;
    const char* end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, head.content_length);
    if (error != std::errc{} || rest != end) return "Content-Length is not a number";
  } else if (equals_ignoring_case(name, "transfer-encoding")) {
    if (head.chunked || !equals_ignoring_case(value, "chunked")) {
      return "Transfer-Encoding is not one chunked";
    }
    head.chunked = true;
  } else if (equals_ignoring_case(name, "connection")) {
    if (equals_ignoring_case(value, "close")) head.keep_alive = false;
    if (equals_ignoring_case(value, "keep-alive")) head.keep_alive = true;
  } else if (equals_ignoring_case(name, "host")) {
    if (seen.host) return "Host twice";
    seen.host = true;
  } else if (equals_ignoring_case(name, "x-request-id")) {
    if (!head.request_id.empty()) return "X-Request-Id twice";
    head.request_id = value;
  } else if (equals_ignoring_case(name, "upgrade")) {
    head.upgrade = true;
  } else if (equals_ignoring_case(name, "expect")) {
    head.expects_continue = equals_ignoring_case(value, "100-continue");
  }
  return {};
}

}  // namespace

std::string_view parse_request_head(std::string_view text, RequestHead& head) {
  Seen seen;
  std::size_t end = text.find(kLineEnd);
  if (const auto error = read_request_line(text.substr(0, end), head); !error.empty()) return error;
  for (;;) {
    const std::size_t start = end + kLineEnd.size();
    end = text.find(kLineEnd, start);
    if (end == start || end == std::string_view::npos) break;
    const std::string_view line = text.substr(start, end - start);
    const std::size_t colon = line.find(':');
    if (colon == 0 || colon == std::string_view::npos) return "header line without a name";
    const std::string_view name = line.substr(0, colon);
    if (!std::all_of(name.begin(), name.end(), is_token_char)) return "bad header name";
    const std::string_view value = trim(line.substr(colon + 1));
    if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) {
      return "control character in a header value";
    }
    if (const auto error = read_field(name, value, head, seen); !error.empty()) return error;
  }
  if (head.chunked && seen.length) return "Content-Length beside Transfer-Encoding";
  if (!seen.host && head.keep_alive) return "no Host";
  return {};
}

ChunkedBody::Status ChunkedBody::feed(std::string_view text, std::size_t& consumed) {
  consumed = 0;
  for (;;) {
    const std::string_view rest = text.substr(consumed);
    if (place_ == Place::kData) {
      const auto take = std::min<std::uint64_t>(left_, rest.size());
      body_.append(rest.substr(0, take));
      consumed += take;
      left_ -= take;
      if (left_ > 0) return Status::kMore;
      place_ = Place::kDataEnd;
      continue;
    }
    const std::size_t end = rest.find(kLineEnd);
    if (end == std::string_view::npos) return rest.size() > 4096 ? Status::kBroken : Status::kMore;
    const std::string_view line = rest.substr(0, end);
    consumed += end + kLineEnd.size();
    if (place_ == Place::kDataEnd) {
      if (!line.empty()) return Status::kBroken;
      place_ = Place::kSize;
    } else if (place_ == Place::kSize) {
      const std::string_view digits = line.substr(0, line.find(';'));
      const char* stop = digits.data() + digits.size();
      const auto [parsed, error] = std::from_chars(digits.data(), stop, left_, 16);
      if (error != std::errc{} || parsed != stop) return Status::kBroken;
      place_ = left_ == 0 ? Place::kTrailer : Place::kData;
    } else if (line.empty()) {
      return Status::kDone;
    }
  }
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Status";
  }
}

void append_chunk(std::string& out, std::string_view payload) {
  std::array<char, 16> size{};
  const auto end = std::to_chars(size.data(), size.data() + size.size(), payload.size(), 16).ptr;
  out.append(size.data(), end);
  out.append(kLineEnd).append(payload).append(kLineEnd);
}

std::string chunk_frame(std::string_view payload) {
  std::string out;
  append_chunk(out, payload);
  return out;
}

std::optional<std::string_view> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) == name) return pair.substr(std::min(equals + 1, pair.size()));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return std::nullopt;
}

}  // namespace pd::sim
