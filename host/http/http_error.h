#pragma once
// What can be wrong with an HTTP/1.1 message, as typed values with texts for people.
// Every text stands as one literal in http_error.cpp, next to its stable code and status.

#include <string>
#include <string_view>

namespace pd::http {

// Names and meaning are stable: clients, logs and metrics carry code_name().
enum class HttpErrorCode {
  kTlsOnPlainPort,
  kBadRequestLine,
  kBadStatusLine,
  kBadStatus,
  kUnsupportedVersion,
  kBadTarget,
  kTargetTooLong,
  kBareLineFeed,
  kObsoleteFolding,
  kBadFieldName,
  kBadFieldValue,
  kHeaderTooLarge,
  kTooManyFields,
  kMissingHost,
  kDuplicateHost,
  kBadHost,
  kBadContentLength,
  kDuplicateContentLength,
  kLengthAndTransferEncoding,
  kBadTransferEncoding,
  kTransferEncodingInHttp10,
  kDuplicateContentEncoding,
  kBadConnection,
  kUnknownExpectation,
  kContentTooLarge,
  kBadChunkSize,
  kBadChunkExtension,
  kBadChunkEnd,
  kTooManyChunks,
  kBadTrailer,
  kUnexpectedUpgrade,
  kTooManyInterimAnswers,
  kClosedBeforeHead,
  kTruncatedHead,
  kTruncatedBody,
};

// Who sent the faulty message. It decides the status: a client gets the 4xx or 505 of the code,
// an engine's fault is always a 502 for the client behind us.
enum class Sender { kClient, kEngine };

struct HttpError {
  HttpErrorCode code;
  int status;        // HTTP status to answer with
  std::string text;  // one line, printable ASCII: what was found, what is allowed
};

// Builds the error of `code`. `found` is put into the text where it has a place for it, cut to
// 80 characters, with every byte outside printable ASCII shown as '?'.
HttpError make_http_error(HttpErrorCode code, Sender sender, std::string_view found = {});

// The stable identifier, for example "http_missing_host". Lives forever.
std::string_view code_name(HttpErrorCode code);

}  // namespace pd::http
