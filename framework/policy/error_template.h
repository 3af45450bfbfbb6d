// Error texts are whole literals with gaps; this fills the gaps.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace pd {

/// `literal` with each {} replaced by the next argument, made printable and bounded.
/// Pure, any thread. A gap without an argument stays empty; arguments without a gap are dropped.
std::string fill_template(std::string_view literal,
                          std::initializer_list<std::string_view> arguments);

}  // namespace pd
