#include "framework/policy/error_template.h"

#include "framework/policy/untrusted_text.h"

namespace pd {
namespace {
constexpr std::size_t kArgumentLimit = 1500;  // lists of folders or names are arguments, too
}

std::string fill_template(std::string_view literal,
                          std::initializer_list<std::string_view> arguments) {
  std::string out;
  const auto* argument = arguments.begin();
  for (std::size_t gap = literal.find("{}"); gap != std::string_view::npos;
       gap = literal.find("{}")) {
    out += literal.substr(0, gap);
    if (argument != arguments.end()) out += printable_text(*argument++, kArgumentLimit);
    literal.remove_prefix(gap + 2);
  }
  out += literal;
  return out;
}

}  // namespace pd
