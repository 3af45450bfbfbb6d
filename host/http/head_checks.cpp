#include "host/http/head_checks.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace pd::http {
namespace {

using Code = HttpErrorCode;
using MaybeError = std::optional<HttpError>;

constexpr std::size_t kMaxConnectionOptions = 32;
constexpr int kHttp11 = 11;

// All fields of one name: how many, and the first and last value.
struct Occurrences {
  std::size_t count = 0;
  std::string_view first;
  std::string_view last;
};

Occurrences occurrences(std::span<const Field> fields, std::string_view name) {
  Occurrences result;
  for (const Field& field : fields) {
    if (!equals_ignoring_case(field.name, name)) continue;
    if (result.count++ == 0) result.first = field.value;
    result.last = field.value;
  }
  return result;
}

std::optional<std::uint64_t> parse_decimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct ConnectionOptions {
  bool close = false;
  bool keep_alive = false;
  std::optional<std::string_view> fault;
};

ConnectionOptions read_connection(std::span<const Field> fields) {
  ConnectionOptions options;
  std::size_t count = 0;
  for (const Field& field : fields) {
    if (!equals_ignoring_case(field.name, "connection")) continue;
    std::string_view list = field.value;
    while (const auto option = next_list_element(list)) {
      if (++count > kMaxConnectionOptions) options.fault = field.value;
      if (equals_ignoring_case(*option, "close")) options.close = true;
      if (equals_ignoring_case(*option, "keep-alive")) options.keep_alive = true;
    }
  }
  return options;
}

template <typename Head>
MaybeError apply_connection(Head& head, Sender sender) {
  const ConnectionOptions options = read_connection(head.fields);
  if (options.fault) return make_http_error(Code::kBadConnection, sender, *options.fault);
  head.keep_alive = !options.close && (head.version >= kHttp11 || options.keep_alive);
  return std::nullopt;
}

MaybeError check_target(RequestHead& head, const ParserLimits& limits) {
  if (head.target.size() > limits.target_bytes) {
    return make_http_error(Code::kTargetTooLong, Sender::kClient,
                           std::to_string(head.target.size()));
  }
  const bool good_form =
      head.target.front() == '/' || (head.target == "*" && head.method == "OPTIONS");
  const bool good_bytes = std::all_of(head.target.begin(), head.target.end(),
                                      [](char c) { return c > ' ' && c <= '~' && c != '#'; });
  if (!good_form || !good_bytes) {
    return make_http_error(Code::kBadTarget, Sender::kClient, head.target);
  }
  const std::size_t mark = head.target.find('?');
  head.path = head.target.substr(0, mark);
  if (mark != std::string_view::npos) head.query = head.target.substr(mark + 1);
  return std::nullopt;
}

MaybeError check_host(const RequestHead& head) {
  const Occurrences host = occurrences(head.fields, "host");
  if (host.count > 1) return make_http_error(Code::kDuplicateHost, Sender::kClient);
  if (host.count == 0) {
    if (head.version < kHttp11) return std::nullopt;
    return make_http_error(Code::kMissingHost, Sender::kClient);
  }
  constexpr std::string_view kForbidden = " \t,/?#@\\\"<>^`{|}";
  const bool good_bytes = std::all_of(host.first.begin(), host.first.end(), [&](char c) {
    return c >= ' ' && c <= '~' && kForbidden.find(c) == std::string_view::npos;
  });
  if (!good_bytes) return make_http_error(Code::kBadHost, Sender::kClient, host.first);
  return std::nullopt;
}

MaybeError too_large(const ParserLimits& limits, Sender sender) {
  return make_http_error(Code::kContentTooLarge, sender, std::to_string(limits.body_bytes));
}

// Transfer-Encoding is present: it must be exactly one field "chunked", alone, in HTTP/1.1.
MaybeError check_transfer_encoding(const Occurrences& encoding, bool has_length, int version,
                                   Sender sender) {
  if (has_length) return make_http_error(Code::kLengthAndTransferEncoding, sender);
  if (version < kHttp11) return make_http_error(Code::kTransferEncodingInHttp10, sender);
  if (encoding.count > 1 || !equals_ignoring_case(encoding.first, "chunked")) {
    return make_http_error(Code::kBadTransferEncoding, sender, encoding.last);
  }
  return std::nullopt;
}

MaybeError check_request_framing(RequestHead& head, const ParserLimits& limits) {
  const Occurrences encoding = occurrences(head.fields, "transfer-encoding");
  const Occurrences length = occurrences(head.fields, "content-length");
  if (encoding.count > 0) {
    head.framing = Framing::kChunked;
    return check_transfer_encoding(encoding, length.count > 0, head.version, Sender::kClient);
  }
  if (length.count == 0) return std::nullopt;
  if (length.count > 1 || length.first.find(',') != std::string_view::npos) {
    return make_http_error(Code::kDuplicateContentLength, Sender::kClient, length.last);
  }
  const auto bytes = parse_decimal(length.first);
  if (!bytes) return make_http_error(Code::kBadContentLength, Sender::kClient, length.first);
  head.framing = Framing::kLength;
  head.content_length = *bytes;
  return *bytes > limits.body_bytes ? too_large(limits, Sender::kClient) : std::nullopt;
}

MaybeError check_expectation(RequestHead& head) {
  if (head.version < kHttp11) return std::nullopt;  // HTTP/1.0 does not know Expect
  const Occurrences expect = occurrences(head.fields, "expect");
  if (expect.count == 0) return std::nullopt;
  if (expect.count > 1 || !equals_ignoring_case(expect.first, "100-continue")) {
    return make_http_error(Code::kUnknownExpectation, Sender::kClient, expect.last);
  }
  head.expect_continue = true;
  return std::nullopt;
}

MaybeError check_content_encoding(RequestHead& head) {
  const Occurrences encoding = occurrences(head.fields, "content-encoding");
  if (encoding.count > 1) return make_http_error(Code::kDuplicateContentEncoding, Sender::kClient);
  head.content_encoding = encoding.first;
  return std::nullopt;
}

// Equal repetitions are one value; the grammar check has already refused differing ones.
std::optional<std::uint64_t> agreed_length(std::span<const Field> fields) {
  std::optional<std::uint64_t> agreed;
  for (const Field& field : fields) {
    if (!equals_ignoring_case(field.name, "content-length")) continue;
    std::string_view list = field.value;
    while (const auto element = next_list_element(list)) {
      const auto bytes = parse_decimal(*element);
      if (!bytes || (agreed && *agreed != *bytes)) return std::nullopt;
      agreed = bytes;
    }
  }
  return agreed;
}

bool has_no_body(int status, bool to_head_request) {
  return to_head_request || status / 100 == 1 || status == 204 || status == 304;
}

MaybeError check_response_framing(ResponseHead& head, const ParserLimits& limits) {
  const Occurrences encoding = occurrences(head.fields, "transfer-encoding");
  const Occurrences length = occurrences(head.fields, "content-length");
  if (encoding.count > 0) {
    head.framing = Framing::kChunked;
    return check_transfer_encoding(encoding, length.count > 0, head.version, Sender::kEngine);
  }
  if (length.count == 0) {
    head.framing = Framing::kUntilClose;
    head.keep_alive = false;
    return std::nullopt;
  }
  const auto bytes = agreed_length(head.fields);
  if (!bytes) return make_http_error(Code::kBadContentLength, Sender::kEngine, length.last);
  head.framing = Framing::kLength;
  head.content_length = *bytes;
  return *bytes > limits.body_bytes ? too_large(limits, Sender::kEngine) : std::nullopt;
}

}  // namespace

MaybeError check_request_head(RequestHead& head, const ParserLimits& limits) {
  if (auto error = check_target(head, limits)) return error;
  if (auto error = check_host(head)) return error;
  if (auto error = apply_connection(head, Sender::kClient)) return error;
  if (auto error = check_request_framing(head, limits)) return error;
  if (auto error = check_expectation(head)) return error;
  return check_content_encoding(head);
}

MaybeError check_response_head(ResponseHead& head, bool to_head_request,
                               const ParserLimits& limits) {
  constexpr int kFirstStatus = 100;
  constexpr int kLastStatus = 599;
  constexpr int kSwitchingProtocols = 101;
  if (head.status < kFirstStatus || head.status > kLastStatus) {
    return make_http_error(Code::kBadStatus, Sender::kEngine, std::to_string(head.status));
  }
  if (head.status == kSwitchingProtocols) {
    return make_http_error(Code::kUnexpectedUpgrade, Sender::kEngine);
  }
  if (auto error = apply_connection(head, Sender::kEngine)) return error;
  if (has_no_body(head.status, to_head_request)) return std::nullopt;
  return check_response_framing(head, limits);
}

}  // namespace pd::http
