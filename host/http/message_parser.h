#pragma once
// HTTP/1.1 framing without I/O: where a message begins and ends, what its head says, and its body
// without chunk framing. The caller owns the buffers and does the reading and writing.
//
//   RequestParser parser;
//   for (;;) {                                   // buffer: [begin, end) is received, not consumed
//     const FeedResult fed = parser.feed(buffer.unconsumed());
//     if (fed.state == ParseState::kError) { answer(fed.error->status, ...); close after it; }
//     use(fed.payload);                          // before the buffer changes
//     buffer.consume(fed.consumed);              // the head must stay in place while it is used
//     if (fed.state == ParseState::kDone) break; // the rest of the buffer is the next message
//     if (fed.consumed == 0) read more behind what is there
//   }
//
// Rules that hold for both parsers:
// - While the head is incomplete nothing is consumed (interim 1xx answers excepted): call again
//   with the same bytes and more behind them. They may have moved in memory meanwhile.
// - The feed that completes the head consumes exactly the head and returns no payload; the body
//   begins with the next feed. So a caller can look at the head first, choose a buffer for the
//   body or refuse. An empty body gives kDone at once.
// - Body bytes are decoded in place: `payload` is a prefix of the span just fed, of any size down
//   to zero. An empty payload never means the end; only kDone does. What lies between the payload
//   and `consumed` is overwritten.
// - Bytes behind the end of the message are neither consumed nor touched.
// - Trailers are read, checked and dropped.
// - A fault in the body comes together with the payload in front of it.
// - After kError everything but reset() answers with the same error. The connection cannot be used
//   for another message.
// - Not thread-safe. A parser is about 4 KiB, allocates only for error texts, and is reused for the
//   next message by reset().

#include <cstddef>
#include <optional>
#include <span>

#include "host/http/body_reader.h"
#include "host/http/head.h"
#include "host/http/head_reader.h"
#include "host/http/head_scanner.h"
#include "host/http/http_error.h"
#include "host/http/parser_limits.h"

namespace pd::http {

enum class ParseState {
  kNeedHead,  // the head is incomplete
  kNeedBody,  // the head is complete, the body is not
  kDone,      // the message ended
  kError,     // it is malformed, too large or cut off
};

struct FeedResult {
  std::size_t consumed = 0;
  std::span<char> payload;
  ParseState state = ParseState::kNeedHead;
  const HttpError* error = nullptr;  // set with kError only; lives in the parser until reset()
};

// Body and error handling shared by the two parsers.
class MessageParser {
 public:
  MessageParser(const MessageParser&) = delete;
  MessageParser& operator=(const MessageParser&) = delete;

  ParseState state() const { return state_; }

  // The peer has closed its side. Ends a body that is framed by the end of the connection; in any
  // other unfinished state this is an error: kClosedBeforeHead when no byte of the message had
  // come (an idle connection: nothing to answer), else kTruncatedHead or kTruncatedBody.
  FeedResult feed_eof();

 protected:
  MessageParser(Sender sender, const ParserLimits& limits)
      : sender_(sender), limits_(limits), scanner_(sender) {}
  ~MessageParser() = default;

  FeedResult feed_body(std::span<char> data);
  FeedResult fail(HttpError error);
  FeedResult fail(HttpErrorCode code);
  FeedResult current(std::size_t consumed) const;
  void start_body(Framing framing, std::uint64_t length);
  void reset_message();

  Sender sender_;
  ParserLimits limits_;
  HeadScanner scanner_;
  FieldTable table_;
  BodyReader body_;
  ParseState state_ = ParseState::kNeedHead;
  bool interim_seen_ = false;
  std::optional<HttpError> error_;
};

// Reads requests of clients, strictly; check_request_head() lists what is refused.
class RequestParser : public MessageParser {
 public:
  explicit RequestParser(const ParserLimits& limits = kRequestLimits)
      : MessageParser(Sender::kClient, limits) {}

  FeedResult feed(std::span<char> data);

  // Valid once the state has left kNeedHead, also after an error in the checks or the body (then
  // as far as it was read; with a malformed head it may be empty).
  const RequestHead& head() const { return head_; }

  void reset();

 private:
  FeedResult feed_head(std::span<char> data);

  RequestHead head_;
};

// Reads answers of engines. Interim answers (1xx) are consumed and skipped, at most eight of them.
class ResponseParser : public MessageParser {
 public:
  explicit ResponseParser(const ParserLimits& limits = kResponseLimits)
      : MessageParser(Sender::kEngine, limits) {}

  FeedResult feed(std::span<char> data);
  const ResponseHead& head() const { return head_; }

  // `to_head_request`: the next answer belongs to a HEAD request and has no body.
  void reset(bool to_head_request = false);

 private:
  FeedResult feed_head(std::span<char> data);

  ResponseHead head_;
  bool to_head_request_ = false;
  int interim_answers_ = 0;
};

}  // namespace pd::http
