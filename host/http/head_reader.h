#pragma once
// Splits one complete message head into start line and fields. The grammar is Boost.Beast's,
// which is kept inside head_reader.cpp; what Beast tolerates and we do not is in head_checks.h.

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "host/http/head.h"
#include "host/http/http_error.h"

namespace pd::http {

// Room for the fields of one head; nothing is allocated per field.
struct FieldTable {
  std::array<Field, kMaxFields> fields;
  std::size_t size = 0;
};

// Read start line and fields of `bytes`, which is exactly one head including its empty line.
// They fill method, target and version (or status, reason and version) and `fields`; framing and
// connection are left to head_checks. More than `max_fields` (at most kMaxFields) is an error.
// Stateless, any thread. No exception, no allocation unless there is an error.
std::optional<HttpError> read_request_head(std::string_view bytes, std::size_t max_fields,
                                           FieldTable& table, RequestHead& head);
std::optional<HttpError> read_response_head(std::string_view bytes, std::size_t max_fields,
                                            FieldTable& table, ResponseHead& head);

}  // namespace pd::http
