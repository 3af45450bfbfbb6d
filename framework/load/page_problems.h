// What could not be used on a page of metrics: how many lines, and the first few by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pd {

struct PageProblem {
  std::string series;       // printable ASCII, shortened; empty where no name could be read
  std::size_t line = 0;     // from 1; 0: not about one line
  std::string_view reason;  // a literal, one sentence
};

// Threads: belongs to the sample that holds it.
class PageProblems {
 public:
  static constexpr std::size_t kMaxListed = 8;
  static constexpr std::size_t kMaxSeriesBytes = 96;

  // Counts a problem; lists it too if it is one of the first kMaxListed. `series` is untrusted: all
  // bytes beyond printable ASCII are shown as '?'. `reason` must be a literal.
  void add(std::string_view series, std::size_t line, std::string_view reason);

  void clear();

  // All problems, listed or not.
  std::uint64_t count() const { return count_; }

  // In the order of the page.
  const std::vector<PageProblem>& listed() const { return listed_; }

 private:
  std::uint64_t count_ = 0;
  std::vector<PageProblem> listed_;
};

}  // namespace pd
