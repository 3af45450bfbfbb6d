#include "host/http/head_writer.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "host/http/head.h"

namespace pd::http {
namespace {

struct ReasonEntry {
  int status;
  std::string_view reason;
};

constexpr ReasonEntry kReasons[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {102, "Processing"},
    {103, "Early Hints"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {203, "Non-Authoritative Information"},
    {204, "No Content"},
    {205, "Reset Content"},
    {206, "Partial Content"},
    {300, "Multiple Choices"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {424, "Failed Dependency"},
    {425, "Too Early"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

constexpr std::string_view kLineEnd = "\r\n";

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_byte);
}

bool is_value_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return c == '\t' || (byte >= ' ' && byte != 0x7f);
}

bool is_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_value_byte);
}

bool is_target(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

void append_number(std::string& out, std::uint64_t number) {
  char digits[std::numeric_limits<std::uint64_t>::digits10 + 1];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  out.append(digits, end);
}

}  // namespace

bool append_request_start(std::string& out, std::string_view method, std::string_view target,
                          std::string_view host) {
  if (!is_token(method) || !is_target(target) || !is_value(host)) return false;
  out.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: ");
  out.append(host).append(kLineEnd);
  return true;
}

void append_response_start(std::string& out, int status) {
  out += "HTTP/1.1 ";
  append_number(out, static_cast<std::uint64_t>(status));
  out.append(" ").append(reason_phrase(status)).append(kLineEnd);
}

bool append_field(std::string& out, std::string_view name, std::string_view value) {
  if (!is_token(name) || !is_value(value)) return false;
  out.append(name).append(": ").append(value).append(kLineEnd);
  return true;
}

void append_content_length(std::string& out, std::uint64_t bytes) {
  out += "Content-Length: ";
  append_number(out, bytes);
  out += kLineEnd;
}

void append_chunked(std::string& out) {
  out += "Transfer-Encoding: chunked\r\n";
}

void append_connection_close(std::string& out) {
  out += "Connection: close\r\n";
}

void end_head(std::string& out) {
  out += kLineEnd;
}

std::string_view reason_phrase(int status) {
  const auto* entry = std::find_if(std::begin(kReasons), std::end(kReasons),
                                   [status](const ReasonEntry& e) { return e.status == status; });
  return entry == std::end(kReasons) ? "Unknown" : entry->reason;
}

std::size_t format_chunk_head(char* out, std::size_t size) {
  if (size == 0) return 0;
  char* end = std::to_chars(out, out + kMaxChunkHead, size, 16).ptr;
  end = std::copy(kLineEnd.begin(), kLineEnd.end(), end);
  return static_cast<std::size_t>(end - out);
}

}  // namespace pd::http
