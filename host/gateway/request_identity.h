// Who a request is and belongs to, from its headers.
#pragma once

#include <cstdint>
#include <string>

#include "host/http/head.h"

namespace pd {

// The client's x-request-id if it is sane (1 to 128 printable characters without blanks), else a
// new one made from `random`.
std::string request_id_of(const http::RequestHead& head, std::uint64_t random);

// The session key: x-pd-session, else x-session-id; empty when there is none.
std::string session_of(const http::RequestHead& head);

}  // namespace pd
