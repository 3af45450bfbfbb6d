#include "host/http/head_scanner.h"

#include "host/http/head.h"

namespace pd::http {
namespace {

constexpr char kTlsHandshakeRecord = '\x16';
constexpr std::size_t kCrLf = 2;

HeadScanner::Outcome fault(HttpErrorCode code) {
  HeadScanner::Outcome outcome;
  outcome.fault = code;
  return outcome;
}

}  // namespace

HeadScanner::Outcome HeadScanner::scan(std::string_view data, std::size_t limit) {
  const std::string_view text = data.substr(0, limit);
  if (text.size() < scanned_) reset();
  while (scanned_ < text.size()) {
    if (scanned_ == begin_) {
      if (const auto code = check_first_byte(text[begin_])) return fault(*code);
    }
    const std::size_t line_feed = text.find('\n', scanned_);
    if (line_feed == std::string_view::npos) {
      scanned_ = text.size();
      break;
    }
    const std::string_view line = text.substr(line_start_, line_feed - line_start_);
    const std::size_t next = line_feed + 1;
    if (line.empty() || line.back() != '\r') return fault(HttpErrorCode::kBareLineFeed);
    if (line.front() == ' ' || line.front() == '\t') return fault(HttpErrorCode::kObsoleteFolding);
    scanned_ = line_start_ = next;
    if (line.size() > 1) continue;
    if (next == kCrLf && sender_ == Sender::kClient) {
      begin_ = kCrLf;
      continue;
    }
    return {true, text.substr(begin_, next - begin_), next, std::nullopt};
  }
  if (data.size() >= limit) return fault(HttpErrorCode::kHeaderTooLarge);
  return {};
}

std::optional<HttpErrorCode> HeadScanner::check_first_byte(char c) const {
  if (sender_ == Sender::kEngine) {
    return c == 'H' ? std::nullopt : std::optional(HttpErrorCode::kBadStatusLine);
  }
  if (c == kTlsHandshakeRecord) return HttpErrorCode::kTlsOnPlainPort;
  const bool maybe_empty_line = begin_ == 0 && c == '\r';
  return is_token_byte(c) || maybe_empty_line ? std::nullopt
                                              : std::optional(HttpErrorCode::kBadRequestLine);
}

}  // namespace pd::http
