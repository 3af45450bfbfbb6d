#include "host/http/head_reader.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <cstdint>
#include <limits>
#include <string>

namespace pd::http {
namespace {

namespace beast = boost::beast;
using BeastError = beast::http::error;

std::string_view to_std(beast::string_view text) {
  return {text.data(), text.size()};
}

// Collects what Beast finds. The body callbacks are never reached: the parser is told to skip the
// body, and it is given the head only.
template <bool kIsRequest>
class Collector final : public beast::http::basic_parser<kIsRequest> {
 public:
  Collector(FieldTable& table, std::size_t max_fields) : table_(table), max_fields_(max_fields) {
    this->header_limit(std::numeric_limits<std::uint32_t>::max());
    this->skip(true);
  }

  std::string_view method, target, reason;
  int version = 0;
  int status = 0;
  bool too_many_fields = false;

 private:
  using ErrorCode = beast::error_code;

  void on_request_impl(beast::http::verb, beast::string_view method_text,
                       beast::string_view target_text, int http_version, ErrorCode&) override {
    method = to_std(method_text);
    target = to_std(target_text);
    version = http_version;
  }

  void on_response_impl(int code, beast::string_view reason_text, int http_version,
                        ErrorCode&) override {
    status = code;
    reason = to_std(reason_text);
    version = http_version;
  }

  void on_field_impl(beast::http::field, beast::string_view name, beast::string_view value,
                     ErrorCode& ec) override {
    if (table_.size == max_fields_) {
      too_many_fields = true;
      ec = BeastError::header_limit;
      return;
    }
    table_.fields[table_.size++] = {to_std(name), to_std(value)};
  }

  void on_header_impl(ErrorCode&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {}
  std::size_t on_body_impl(beast::string_view, ErrorCode&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, ErrorCode&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view, ErrorCode&) override {
    return 0;
  }
  void on_finish_impl(ErrorCode&) override {}

  FieldTable& table_;
  std::size_t max_fields_;
};

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find("\r\n"));
}

// The line behind the last field that was read: the one Beast stumbled over.
std::string_view failing_field_line(std::string_view bytes, const FieldTable& table) {
  std::size_t from = 0;
  if (table.size > 0) {
    const std::string_view value = table.fields[table.size - 1].value;
    from = static_cast<std::size_t>(value.data() + value.size() - bytes.data());
  }
  const std::size_t line_end = bytes.find("\r\n", from);
  return line_end == std::string_view::npos ? std::string_view{}
                                            : first_line(bytes.substr(line_end + 2));
}

// True for "HTTP/d.d" with another version than the two we speak.
bool names_foreign_version(std::string_view line) {
  const std::size_t at = line.rfind("HTTP/");
  if (at == std::string_view::npos) return false;
  const std::string_view behind = line.substr(at + 5);
  const std::string_view number = behind.substr(0, behind.find(' '));
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return number.size() == 3 && digit(number[0]) && number[1] == '.' && digit(number[2]) &&
         number != "1.0" && number != "1.1";
}

HttpError start_line_error(std::string_view bytes, Sender sender, BeastError error) {
  const std::string_view line = first_line(bytes);
  if (error == BeastError::bad_version && names_foreign_version(line)) {
    return make_http_error(HttpErrorCode::kUnsupportedVersion, sender, line);
  }
  const auto code =
      sender == Sender::kClient ? HttpErrorCode::kBadRequestLine : HttpErrorCode::kBadStatusLine;
  return make_http_error(code, sender, line);
}

// Translates Beast's error on a field into ours. Values are quoted for framing fields only, so
// that no credential gets into a text.
HttpError field_error(std::string_view bytes, const FieldTable& table, Sender sender,
                      BeastError error) {
  const std::string_view line = failing_field_line(bytes, table);
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  std::string_view value =
      colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  const std::span<const Field> read(table.fields.data(), table.size);
  const bool has_length = find_field(read, "content-length").has_value();
  const bool has_encoding = find_field(read, "transfer-encoding").has_value();
  switch (error) {
    case BeastError::multiple_content_length:
      return make_http_error(HttpErrorCode::kDuplicateContentLength, sender, value);
    case BeastError::bad_content_length:
      return make_http_error(has_encoding ? HttpErrorCode::kLengthAndTransferEncoding
                                          : HttpErrorCode::kBadContentLength,
                             sender, value);
    case BeastError::bad_transfer_encoding:
      return make_http_error(has_length ? HttpErrorCode::kLengthAndTransferEncoding
                                        : HttpErrorCode::kBadTransferEncoding,
                             sender, value);
    case BeastError::bad_value:
    case BeastError::bad_line_ending:
      if (equals_ignoring_case(name, "connection") ||
          equals_ignoring_case(name, "proxy-connection")) {
        return make_http_error(HttpErrorCode::kBadConnection, sender, value);
      }
      return make_http_error(HttpErrorCode::kBadFieldValue, sender, name);
    default:
      return make_http_error(HttpErrorCode::kBadFieldName, sender, name);
  }
}

template <bool kIsRequest>
std::optional<HttpError> collect(std::string_view bytes, std::size_t max_fields, FieldTable& table,
                                 Collector<kIsRequest>& collector) {
  constexpr Sender kSender = kIsRequest ? Sender::kClient : Sender::kEngine;
  table.size = 0;
  beast::error_code ec;
  const std::size_t used = collector.put({bytes.data(), bytes.size()}, ec);
  if (collector.too_many_fields) {
    return make_http_error(HttpErrorCode::kTooManyFields, kSender, std::to_string(max_fields));
  }
  if (!ec && used == bytes.size()) return std::nullopt;
  const auto error = ec ? static_cast<BeastError>(ec.value()) : BeastError::bad_field;
  if (collector.version == 0) return start_line_error(bytes, kSender, error);
  return field_error(bytes, table, kSender, error);
}

}  // namespace

std::optional<HttpError> read_request_head(std::string_view bytes, std::size_t max_fields,
                                           FieldTable& table, RequestHead& head) {
  max_fields = std::min(max_fields, kMaxFields);
  Collector<true> collector(table, max_fields);
  if (auto error = collect(bytes, max_fields, table, collector)) return error;
  head.method = collector.method;
  head.target = collector.target;
  head.version = collector.version;
  head.fields = {table.fields.data(), table.size};
  return std::nullopt;
}

std::optional<HttpError> read_response_head(std::string_view bytes, std::size_t max_fields,
                                            FieldTable& table, ResponseHead& head) {
  max_fields = std::min(max_fields, kMaxFields);
  Collector<false> collector(table, max_fields);
  if (auto error = collect(bytes, max_fields, table, collector)) return error;
  head.status = collector.status;
  head.reason = collector.reason;
  head.version = collector.version;
  head.fields = {table.fields.data(), table.size};
  return std::nullopt;
}

}  // namespace pd::http
