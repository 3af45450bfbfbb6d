#pragma once
// Which header fields cross the gateway, in either direction.

#include <span>
#include <string>
#include <string_view>

#include "host/http/head.h"

namespace pd::http {

// Never cross, in either direction:
// - hop-by-hop fields: Connection and every name it lists, Keep-Alive, TE, Trailer,
//   Transfer-Encoding, Upgrade, HTTP2-Settings, Proxy-*;
// - what the head writer sets itself: Content-Length, Host, Expect, X-Request-Id;
// - names with '_' (an engine's WSGI layer cannot tell X_Auth from X-Auth) and our own X-PD-*.
// From client to engine also not Accept-Encoding, which becomes "identity" because answers are
// read on the way; repeated Authorization collapses to the first.
// From engine to client also not prefill-target-pod and target-pod, which the gateway writes.

// True when the field `name` of a message with these `fields` may go on to an engine or a client.
// Repetition is not looked at. Stateless, any thread.
bool goes_to_engine(std::string_view name, std::span<const Field> fields);
bool goes_to_client(std::string_view name, std::span<const Field> fields);

// Append "Name: value\r\n" for each field that goes on, in order; to an engine also
// "Accept-Encoding: identity". The caller writes the start line, Host, X-Request-Id, framing and
// the empty line (head_writer.h).
void append_forwarded(std::string& out, const RequestHead& head);
void append_forwarded(std::string& out, const ResponseHead& head);

}  // namespace pd::http
