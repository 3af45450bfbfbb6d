#include "framework/policy/closest_name.h"

#include <algorithm>
#include <numeric>

namespace pd {
namespace {

constexpr std::size_t kLongestName = 128;  // bounds the work for names that a client made up

// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substituted});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string closest_name(std::string_view name, const std::vector<std::string>& known) {
  if (name.size() > kLongestName) return {};
  const std::string* best = nullptr;
  std::size_t best_edits = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestName) continue;
    const std::size_t needed = edits(name, candidate);
    if (needed < best_edits) {
      best = &candidate;
      best_edits = needed;
    }
  }
  return best == nullptr ? std::string() : *best;
}

}  // namespace pd
