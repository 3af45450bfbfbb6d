#include "host/http/http_error.h"

#include <array>
#include <cstddef>

namespace pd::http {
namespace {

struct ErrorEntry {
  HttpErrorCode code;
  std::string_view name;
  int client_status;
  std::string_view text;  // "{}" is replaced by what was found
};

using Code = HttpErrorCode;

constexpr std::array kErrors{
    ErrorEntry{Code::kTlsOnPlainPort, "http_tls_on_plain_port", 400,
               "a TLS handshake arrived on a port that speaks plain HTTP/1.1; use http:// or the "
               "TLS port"},
    ErrorEntry{Code::kBadRequestLine, "http_bad_request_line", 400,
               "the request line '{}' is not 'METHOD SP /target SP HTTP/1.1'"},
    ErrorEntry{Code::kBadStatusLine, "http_bad_status_line", 400,
               "the status line '{}' is not 'HTTP/1.1 SP NNN SP reason'"},
    ErrorEntry{Code::kBadStatus, "http_bad_status", 400,
               "the status code {} is outside 100 to 599"},
    ErrorEntry{Code::kUnsupportedVersion, "http_unsupported_version", 505,
               "the protocol version in '{}' is not supported; use HTTP/1.1 or HTTP/1.0"},
    ErrorEntry{Code::kBadTarget, "http_bad_target", 400,
               "the request target '{}' is not accepted; it must begin with '/' and hold printable "
               "ASCII without spaces and '#' (percent-encode the rest; no http://host/ form)"},
    ErrorEntry{Code::kTargetTooLong, "http_target_too_long", 414,
               "the request target is {} bytes long, more than the configured limit"},
    ErrorEntry{Code::kBareLineFeed, "http_bare_line_feed", 400,
               "a header line ends in a bare LF; lines must end in CR LF"},
    ErrorEntry{Code::kObsoleteFolding, "http_obsolete_folding", 400,
               "a header line begins with white space (obsolete line folding); write each field on "
               "one line"},
    ErrorEntry{Code::kBadFieldName, "http_bad_field_name", 400,
               "the header line '{}' does not begin with a field name directly followed by ':'"},
    ErrorEntry{Code::kBadFieldValue, "http_bad_field_value", 400,
               "the value of header '{}' holds a control byte (NUL, bare CR or another); only "
               "printable bytes, spaces and tabs are allowed"},
    ErrorEntry{Code::kHeaderTooLarge, "http_header_too_large", 431,
               "the message head is larger than the limit of {} bytes"},
    ErrorEntry{Code::kTooManyFields, "http_too_many_fields", 431,
               "the message head has more than {} header fields"},
    ErrorEntry{Code::kMissingHost, "http_missing_host", 400,
               "an HTTP/1.1 request must have a Host header; none was found"},
    ErrorEntry{Code::kDuplicateHost, "http_duplicate_host", 400,
               "the request has more than one Host header; exactly one is allowed"},
    ErrorEntry{Code::kBadHost, "http_bad_host", 400,
               "the Host header '{}' is not a host name or address with an optional port"},
    ErrorEntry{Code::kBadContentLength, "http_bad_content_length", 400,
               "Content-Length '{}' is not a plain decimal number of bytes"},
    ErrorEntry{Code::kDuplicateContentLength, "http_duplicate_content_length", 400,
               "Content-Length is given more than once ('{}'); exactly one value is allowed"},
    ErrorEntry{Code::kLengthAndTransferEncoding, "http_length_and_transfer_encoding", 400,
               "both Content-Length and Transfer-Encoding are present; only one may frame a body"},
    ErrorEntry{
        Code::kBadTransferEncoding, "http_bad_transfer_encoding", 400,
        "Transfer-Encoding '{}' is not accepted; exactly one header with the value 'chunked' "
        "is allowed"},
    ErrorEntry{Code::kTransferEncodingInHttp10, "http_transfer_encoding_in_http10", 400,
               "Transfer-Encoding does not exist in HTTP/1.0; use Content-Length or HTTP/1.1"},
    ErrorEntry{Code::kDuplicateContentEncoding, "http_duplicate_content_encoding", 400,
               "Content-Encoding is given more than once; at most one header is allowed"},
    ErrorEntry{Code::kBadConnection, "http_bad_connection", 400,
               "the Connection header '{}' is not a list of at most 32 tokens"},
    ErrorEntry{Code::kUnknownExpectation, "http_unknown_expectation", 417,
               "Expect '{}' is not supported; only '100-continue' is"},
    ErrorEntry{Code::kContentTooLarge, "http_content_too_large", 413,
               "the body is larger than the limit of {} bytes"},
    ErrorEntry{Code::kBadChunkSize, "http_bad_chunk_size", 400,
               "a chunk does not begin with a size of 1 to 16 hexadecimal digits (below 2^63) and "
               "CR LF; found byte {}"},
    ErrorEntry{Code::kBadChunkExtension, "http_bad_chunk_extension", 400,
               "a chunk extension is too long or holds a control byte; found byte {}"},
    ErrorEntry{Code::kBadChunkEnd, "http_bad_chunk_end", 400,
               "the data of a chunk is not followed by CR LF; found byte {}"},
    ErrorEntry{Code::kTooManyChunks, "http_too_many_chunks", 400,
               "the body has more than {} chunks; send larger ones"},
    ErrorEntry{Code::kBadTrailer, "http_bad_trailer", 400,
               "the trailer section after the last chunk is malformed or too long; found byte {}"},
    ErrorEntry{Code::kUnexpectedUpgrade, "http_unexpected_upgrade", 400,
               "status 101 was received although no protocol switch was asked for"},
    ErrorEntry{Code::kTooManyInterimAnswers, "http_too_many_interim_answers", 400,
               "more than {} interim 1xx answers came before the final one"},
    ErrorEntry{Code::kClosedBeforeHead, "http_closed_before_head", 400,
               "the connection was closed before the first byte of a message"},
    ErrorEntry{Code::kTruncatedHead, "http_truncated_head", 400,
               "the connection was closed inside the message head"},
    ErrorEntry{Code::kTruncatedBody, "http_truncated_body", 400,
               "the connection was closed before the end of the body ({})"},
};

constexpr bool entries_are_in_enum_order() {
  for (std::size_t i = 0; i < kErrors.size(); ++i) {
    if (static_cast<std::size_t>(kErrors[i].code) != i) return false;
  }
  return kErrors.size() == static_cast<std::size_t>(Code::kTruncatedBody) + 1;
}
static_assert(entries_are_in_enum_order());

const ErrorEntry& entry_of(HttpErrorCode code) {
  return kErrors[static_cast<std::size_t>(code)];
}

constexpr int kBadGateway = 502;
constexpr std::size_t kMaxFound = 80;

void append_printable(std::string& out, std::string_view found) {
  for (const char c : found.substr(0, kMaxFound)) out += (c >= ' ' && c <= '~') ? c : '?';
  if (found.size() > kMaxFound) out += "...";
}

}  // namespace

HttpError make_http_error(HttpErrorCode code, Sender sender, std::string_view found) {
  const ErrorEntry& entry = entry_of(code);
  HttpError error{code, sender == Sender::kClient ? entry.client_status : kBadGateway, {}};
  const std::size_t place = entry.text.find("{}");
  error.text = entry.text.substr(0, place);
  if (place != std::string_view::npos) {
    append_printable(error.text, found);
    error.text += entry.text.substr(place + 2);
  }
  return error;
}

std::string_view code_name(HttpErrorCode code) {
  return entry_of(code).name;
}

}  // namespace pd::http
