// The form of names and addresses in pd.toml. Only the form: whether an address can be bound or
// reached shows when the host tries. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace pd {

/// No control characters (the text goes into headers, logs and paths).
bool is_plain_text(std::string_view text);

/// "ADDRESS:PORT", "[IPV6]:PORT" with a port of 0..65535, or "unix:/PATH" that fits a socket name.
bool is_listen_address(std::string_view text);

/// 1..253 of letters, digits, '.', '_' and '-'.
bool is_plain_name(std::string_view text);

/// "http://HOST:PORT" with a port of 1..65535, then anything printable that starts with '/'.
bool is_http_url(std::string_view text);

/// An is_http_url() without a path; a single final '/' is accepted.
bool is_pod_url(std::string_view text);

/// Trimmed of spaces and tabs, in lower case: names of policies are compared in this form.
std::string canonical_policy_name(std::string_view text);

/// Trimmed of spaces and tabs.
std::string_view trimmed(std::string_view text);

}  // namespace pd
