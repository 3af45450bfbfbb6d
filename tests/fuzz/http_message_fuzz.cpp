// libFuzzer target for the HTTP framing. The first input byte chooses request or answer, the second
// the size of the pieces. Besides the sanitizers it checks that splitting changes nothing and that
// an accepted request, once rewritten for an engine, is read back the same.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "host/http/head_writer.h"
#include "host/http/header_rules.h"
#include "host/http/message_parser.h"
#include "host/http/url.h"
#include "tests/unit/http/piecewise_feed.h"

namespace {

using namespace pd::http;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

std::vector<std::size_t> cuts_every(std::size_t step, std::size_t size) {
  std::vector<std::size_t> cuts;
  for (std::size_t at = step; at < size; at += step) cuts.push_back(at);
  return cuts;
}

template <typename Parser>
void check_splits(std::string_view wire, std::size_t step, bool close) {
  Parser parser;
  const Observed whole = feed_whole(parser, wire, close);
  parser.reset();
  const Observed pieces = feed_in_pieces(parser, wire, cuts_every(step, wire.size()), close);
  require(whole == pieces, "pieces give what the whole gives");
}

void check_rewritten_request(std::string wire) {
  RequestParser parser;
  const FeedResult fed = parser.feed(wire);
  if (fed.state != ParseState::kNeedBody && fed.state != ParseState::kDone) return;
  const RequestHead& head = parser.head();
  require(!(head.find("content-length") && head.find("transfer-encoding")),
          "one framing header at most");
  require(head.version == 10 || head.find("host"), "HTTP/1.1 has a Host");

  std::string rewritten;
  require(append_request_start(rewritten, head.method, head.target, "engine:8000"),
          "an accepted start line can be written");
  append_forwarded(rewritten, head);
  end_head(rewritten);
  RequestParser engine(ParserLimits{1 << 20, 1 << 20, kMaxFields, 1 << 20, 1, 1, 1});
  const FeedResult again = engine.feed(rewritten);
  require(again.state == ParseState::kDone, "the rewritten head is complete and has no body");
  require(again.consumed == rewritten.size(), "and nothing follows it");
  require(engine.head().method == head.method && engine.head().target == head.target,
          "method and target survive");
  require(engine.head().keep_alive, "no connection option leaks");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view wire(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t step = 1 + data[1] % 16;
  const bool close = (data[0] & 2) != 0;
  if ((data[0] & 1) != 0) {
    check_splits<RequestParser>(wire, step, close);
    check_rewritten_request(std::string(wire));
  } else {
    check_splits<ResponseParser>(wire, step, close);
  }
  static_cast<void>(parse_url(wire));
  return 0;
}
