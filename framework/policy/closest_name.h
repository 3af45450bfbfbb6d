// "Did you mean": the known name that a mistyped one is closest to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pd {

/// The element of `known` with the fewest edits from `name`, when they are few enough to look like
/// a slip (a third of its length, at least 1); otherwise empty. Pure, any thread.
std::string closest_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace pd
