#include "host/http/message_parser.h"

#include <string>
#include <utility>

#include "host/http/head_checks.h"

namespace pd::http {
namespace {

constexpr int kMaxInterimAnswers = 8;

std::string_view as_text(std::span<const char> data) {
  return {data.data(), data.size()};
}

// What the text of `code` has a place for.
std::string found_for(HttpErrorCode code, const ParserLimits& limits, unsigned char byte) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (code) {
    case HttpErrorCode::kHeaderTooLarge:
      return std::to_string(limits.head_bytes);
    case HttpErrorCode::kContentTooLarge:
      return std::to_string(limits.body_bytes);
    case HttpErrorCode::kTooManyChunks:
      return std::to_string(limits.chunks);
    default:
      return {'0', 'x', kHex[byte / 16], kHex[byte % 16]};
  }
}

}  // namespace

FeedResult MessageParser::feed_eof() {
  switch (state_) {
    case ParseState::kNeedHead:
      return fail(scanner_.started() || interim_seen_ ? HttpErrorCode::kTruncatedHead
                                                      : HttpErrorCode::kClosedBeforeHead);
    case ParseState::kNeedBody:
      if (body_.framing() == Framing::kUntilClose) {
        state_ = ParseState::kDone;
        return current(0);
      }
      return fail(make_http_error(
          HttpErrorCode::kTruncatedBody, sender_,
          body_.framing() == Framing::kChunked ? "no last chunk" : "Content-Length not reached"));
    case ParseState::kDone:
    case ParseState::kError:
      break;
  }
  return current(0);
}

FeedResult MessageParser::feed_body(std::span<char> data) {
  const ChunkDecoder::Outcome out = body_.read(data, limits_);
  if (out.fault) {
    fail(make_http_error(*out.fault, sender_, found_for(*out.fault, limits_, out.fault_byte)));
  } else if (out.done) {
    state_ = ParseState::kDone;
  }
  FeedResult result = current(out.consumed);
  result.payload = data.first(out.payload);
  return result;
}

FeedResult MessageParser::fail(HttpError error) {
  error_ = std::move(error);
  state_ = ParseState::kError;
  return current(0);
}

FeedResult MessageParser::fail(HttpErrorCode code) {
  return fail(make_http_error(code, sender_, found_for(code, limits_, 0)));
}

FeedResult MessageParser::current(std::size_t consumed) const {
  return {consumed, {}, state_, error_ ? &*error_ : nullptr};
}

void MessageParser::start_body(Framing framing, std::uint64_t length) {
  body_.start(framing, length);
  state_ = body_.done() ? ParseState::kDone : ParseState::kNeedBody;
}

void MessageParser::reset_message() {
  scanner_.reset();
  body_.start(Framing::kNone, 0);
  state_ = ParseState::kNeedHead;
  interim_seen_ = false;
  error_.reset();
}

FeedResult RequestParser::feed(std::span<char> data) {
  if (state_ == ParseState::kNeedHead) return feed_head(data);
  if (state_ == ParseState::kNeedBody) return feed_body(data);
  return current(0);
}

FeedResult RequestParser::feed_head(std::span<char> data) {
  const HeadScanner::Outcome scan = scanner_.scan(as_text(data), limits_.head_bytes);
  if (scan.fault) {
    if (*scan.fault == HttpErrorCode::kBadRequestLine) {
      return fail(make_http_error(*scan.fault, sender_, as_text(data).substr(0, 1)));
    }
    return fail(*scan.fault);
  }
  if (!scan.complete) return current(0);
  if (auto error = read_request_head(scan.head, limits_.fields, table_, head_)) {
    return fail(std::move(*error));
  }
  if (auto error = check_request_head(head_, limits_)) return fail(std::move(*error));
  start_body(head_.framing, head_.content_length);
  return current(scan.end);
}

void RequestParser::reset() {
  reset_message();
  head_ = {};
}

FeedResult ResponseParser::feed(std::span<char> data) {
  if (state_ == ParseState::kNeedHead) return feed_head(data);
  if (state_ == ParseState::kNeedBody) return feed_body(data);
  return current(0);
}

FeedResult ResponseParser::feed_head(std::span<char> data) {
  std::size_t consumed = 0;
  for (;;) {
    const std::string_view text = as_text(data.subspan(consumed));
    const HeadScanner::Outcome scan = scanner_.scan(text, limits_.head_bytes);
    if (scan.fault) {
      if (*scan.fault == HttpErrorCode::kBadStatusLine) {
        return fail(make_http_error(*scan.fault, sender_, text.substr(0, 1)));
      }
      return fail(*scan.fault);
    }
    if (!scan.complete) return current(consumed);
    if (auto error = read_response_head(scan.head, limits_.fields, table_, head_)) {
      return fail(std::move(*error));
    }
    if (auto error = check_response_head(head_, to_head_request_, limits_)) {
      return fail(std::move(*error));
    }
    consumed += scan.end;
    if (head_.status >= 200) {
      start_body(head_.framing, head_.content_length);
      return current(consumed);
    }
    if (++interim_answers_ > kMaxInterimAnswers) {
      return fail(make_http_error(HttpErrorCode::kTooManyInterimAnswers, sender_,
                                  std::to_string(kMaxInterimAnswers)));
    }
    interim_seen_ = true;
    scanner_.reset();
    head_ = {};
  }
}

void ResponseParser::reset(bool to_head_request) {
  reset_message();
  head_ = {};
  to_head_request_ = to_head_request;
  interim_answers_ = 0;
}

}  // namespace pd::http
