#include "framework/load/page_problems.h"

namespace pd {

void PageProblems::add(std::string_view series, std::size_t line, std::string_view reason) {
  ++count_;
  if (listed_.size() == kMaxListed) return;
  PageProblem& problem = listed_.emplace_back();
  problem.line = line;
  problem.reason = reason;
  for (const char c : series.substr(0, kMaxSeriesBytes)) {
    problem.series.push_back(c >= ' ' && c <= '~' ? c : '?');
  }
}

void PageProblems::clear() {
  count_ = 0;
  listed_.clear();
}

}  // namespace pd
