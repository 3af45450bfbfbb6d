#pragma once
// Takes the framing off a message body, in place and one piece at a time.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "host/http/head.h"
#include "host/http/http_error.h"
#include "host/http/parser_limits.h"

namespace pd::http {

// Decodes chunked transfer coding. Chunk extensions and trailers are checked and dropped.
// Not thread-safe. Any split of the input gives the same payload, end and error.
class ChunkDecoder {
 public:
  struct Outcome {
    std::size_t consumed = 0;
    std::size_t payload = 0;  // payload bytes, moved to the front of the data
    bool done = false;        // the last chunk and the trailers were read
    std::optional<HttpErrorCode> fault;
    unsigned char fault_byte = 0;  // the byte in which a syntax fault showed
  };

  void reset() { *this = ChunkDecoder(); }
  Outcome decode(std::span<char> data, const ParserLimits& limits);

 private:
  enum class State {
    kSizeFirst,  // first digit of a chunk size
    kSize,       // further digits
    kSpace,      // white space between size and extension
    kExtension,  // behind ';'
    kSizeLf,     // LF of the size line
    kData,       // payload
    kDataCr,     // CR LF behind the payload
    kDataLf,
    kTrailerStart,  // first byte of a trailer line, or CR of the empty line
    kTrailerName,   // field name up to ':'
    kTrailerValue,  // up to CR
    kTrailerLf,     // LF of a trailer line
    kFinalLf,       // LF of the empty line
    kDone,
  };

  std::optional<HttpErrorCode> step(char c, const ParserLimits& limits);
  std::optional<HttpErrorCode> step_size(char c, const ParserLimits& limits);
  std::optional<HttpErrorCode> step_trailer(char c, const ParserLimits& limits);
  std::optional<HttpErrorCode> end_of_size_line(const ParserLimits& limits);

  State state_ = State::kSizeFirst;
  int digits_ = 0;               // of the current chunk size
  std::uint64_t remaining_ = 0;  // of the current chunk
  std::uint64_t total_ = 0;      // payload announced so far
  std::uint64_t chunks_ = 0;
  std::size_t extension_bytes_ = 0;
  std::size_t trailer_bytes_ = 0;
};

// The body of one message, whatever its framing. Not thread-safe.
class BodyReader {
 public:
  // `length` in bytes counts for Framing::kLength only.
  void start(Framing framing, std::uint64_t length);

  // As ChunkDecoder::decode; bodies that are not chunked pass through untouched. Consumes all of
  // `data` unless the body ends within it or is faulty.
  ChunkDecoder::Outcome read(std::span<char> data, const ParserLimits& limits);

  bool done() const { return done_; }
  Framing framing() const { return framing_; }

 private:
  ChunkDecoder::Outcome read_length(std::size_t available);
  ChunkDecoder::Outcome read_until_close(std::size_t available, const ParserLimits& limits);

  Framing framing_ = Framing::kNone;
  bool done_ = true;
  std::uint64_t remaining_ = 0;  // kLength
  std::uint64_t seen_ = 0;       // kUntilClose
  ChunkDecoder chunks_;
};

}  // namespace pd::http
