#pragma once
// What a message head must satisfy beyond its grammar, before its framing may be trusted. Clients
// get the strict rules (any doubt about where the message ends is a refusal); answers of engines
// are read more tolerantly but with the same care about their end.

#include <optional>

#include "host/http/head.h"
#include "host/http/http_error.h"
#include "host/http/parser_limits.h"

namespace pd::http {

// Checks a head of which method, target, version and fields are set, and derives the rest.
// Refused: targets that are not "/..." (or "*" with OPTIONS), a missing (1.1) or repeated Host,
// repeated or listed Content-Length, any Transfer-Encoding but one "chunked", Transfer-Encoding in
// HTTP/1.0 or beside Content-Length, repeated Content-Encoding, other expectations than
// 100-continue, a body above the limit. A body is read with every method, GET included: ignoring
// one would make its bytes the next request. Stateless, any thread.
std::optional<HttpError> check_request_head(RequestHead& head, const ParserLimits& limits);

// The same for an answer. `to_head_request`: it answers a HEAD request and has no body.
// Equal repeated Content-Length values are taken as one. Statuses 1xx are checked, not skipped.
std::optional<HttpError> check_response_head(ResponseHead& head, bool to_head_request,
                                             const ParserLimits& limits);

}  // namespace pd::http
