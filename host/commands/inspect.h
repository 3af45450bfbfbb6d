// pd-host plugin inspect: what a plugin file is and offers, or why it would be refused.
#pragma once

#include <string>

namespace pd {

int inspect(const std::string& file, bool json);

}  // namespace pd
