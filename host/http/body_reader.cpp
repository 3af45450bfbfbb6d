#include "host/http/body_reader.h"

#include <algorithm>
#include <cstring>

namespace pd::http {
namespace {

using Code = HttpErrorCode;
using MaybeCode = std::optional<HttpErrorCode>;

constexpr int kMaxSizeDigits = 16;
constexpr std::uint64_t kMaxChunk = (std::uint64_t{1} << 63) - 1;
constexpr int kNoDigit = -1;

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return kNoDigit;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < ' ' && c != '\t') || byte == 0x7f;
}

}  // namespace

ChunkDecoder::Outcome ChunkDecoder::decode(std::span<char> data, const ParserLimits& limits) {
  Outcome out;
  while (out.consumed < data.size() && state_ != State::kDone) {
    if (state_ != State::kData) {
      const char c = data[out.consumed];
      if ((out.fault = step(c, limits))) {
        out.fault_byte = static_cast<unsigned char>(c);
        return out;
      }
      ++out.consumed;
      continue;
    }
    const std::size_t available = data.size() - out.consumed;
    const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, available));
    if (out.payload != out.consumed) {
      std::memmove(data.data() + out.payload, data.data() + out.consumed, piece);
    }
    out.payload += piece;
    out.consumed += piece;
    remaining_ -= piece;
    if (remaining_ == 0) state_ = State::kDataCr;
  }
  out.done = state_ == State::kDone;
  return out;
}

MaybeCode ChunkDecoder::step(char c, const ParserLimits& limits) {
  switch (state_) {
    case State::kSizeFirst:
    case State::kSize:
    case State::kSpace:
    case State::kExtension:
    case State::kSizeLf:
      return step_size(c, limits);
    case State::kDataCr:
      if (c != '\r') return Code::kBadChunkEnd;
      state_ = State::kDataLf;
      return std::nullopt;
    case State::kDataLf:
      if (c != '\n') return Code::kBadChunkEnd;
      state_ = State::kSizeFirst;
      return std::nullopt;
    case State::kTrailerStart:
    case State::kTrailerName:
    case State::kTrailerValue:
    case State::kTrailerLf:
    case State::kFinalLf:
      return step_trailer(c, limits);
    case State::kData:
    case State::kDone:
      break;
  }
  return std::nullopt;
}

MaybeCode ChunkDecoder::step_size(char c, const ParserLimits& limits) {
  if (state_ == State::kSizeLf) return c == '\n' ? end_of_size_line(limits) : Code::kBadChunkSize;
  if (state_ == State::kSizeFirst) {
    digits_ = 0;
    remaining_ = 0;
    if (hex_value(c) == kNoDigit) return Code::kBadChunkSize;
    state_ = State::kSize;
  }
  if (state_ == State::kSize && hex_value(c) != kNoDigit) {
    if (++digits_ > kMaxSizeDigits) return Code::kBadChunkSize;
    remaining_ = remaining_ * 16 + static_cast<std::uint64_t>(hex_value(c));
    return std::nullopt;
  }
  if (c == '\r') {
    state_ = State::kSizeLf;
    return std::nullopt;
  }
  if (++extension_bytes_ > limits.chunk_extension_bytes) return Code::kBadChunkExtension;
  if (state_ == State::kExtension) {
    return is_control(c) ? MaybeCode(Code::kBadChunkExtension) : std::nullopt;
  }
  if (c != ';' && c != ' ' && c != '\t') return Code::kBadChunkSize;
  state_ = c == ';' ? State::kExtension : State::kSpace;
  return std::nullopt;
}

MaybeCode ChunkDecoder::end_of_size_line(const ParserLimits& limits) {
  if (remaining_ == 0) {
    state_ = State::kTrailerStart;
    return std::nullopt;
  }
  if (remaining_ > kMaxChunk) return Code::kBadChunkSize;
  if (remaining_ > limits.body_bytes - total_) return Code::kContentTooLarge;
  if (++chunks_ > limits.chunks) return Code::kTooManyChunks;
  total_ += remaining_;
  state_ = State::kData;
  return std::nullopt;
}

MaybeCode ChunkDecoder::step_trailer(char c, const ParserLimits& limits) {
  if (++trailer_bytes_ > limits.trailer_bytes) return Code::kBadTrailer;
  const auto expect = [&](bool good, State next) {
    state_ = next;
    return good ? std::nullopt : MaybeCode(Code::kBadTrailer);
  };
  switch (state_) {
    case State::kTrailerStart:
      if (c == '\r') return expect(true, State::kFinalLf);
      return expect(is_token_byte(c), State::kTrailerName);
    case State::kTrailerName:
      if (c == ':') return expect(true, State::kTrailerValue);
      return expect(is_token_byte(c), State::kTrailerName);
    case State::kTrailerValue:
      if (c == '\r') return expect(true, State::kTrailerLf);
      return expect(!is_control(c), State::kTrailerValue);
    case State::kTrailerLf:
      return expect(c == '\n', State::kTrailerStart);
    default:
      return expect(c == '\n', State::kDone);
  }
}

void BodyReader::start(Framing framing, std::uint64_t length) {
  framing_ = framing;
  remaining_ = length;
  seen_ = 0;
  chunks_.reset();
  done_ = framing == Framing::kNone || (framing == Framing::kLength && length == 0);
}

ChunkDecoder::Outcome BodyReader::read(std::span<char> data, const ParserLimits& limits) {
  ChunkDecoder::Outcome out;
  if (done_) {
    out.done = true;
  } else if (framing_ == Framing::kChunked) {
    out = chunks_.decode(data, limits);
  } else if (framing_ == Framing::kLength) {
    out = read_length(data.size());
  } else {
    out = read_until_close(data.size(), limits);
  }
  done_ = out.done;
  return out;
}

ChunkDecoder::Outcome BodyReader::read_length(std::size_t available) {
  ChunkDecoder::Outcome out;
  out.consumed = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, available));
  out.payload = out.consumed;
  remaining_ -= out.consumed;
  out.done = remaining_ == 0;
  return out;
}

ChunkDecoder::Outcome BodyReader::read_until_close(std::size_t available,
                                                   const ParserLimits& limits) {
  ChunkDecoder::Outcome out;
  const std::uint64_t allowed = limits.body_bytes - seen_;
  if (available > allowed) out.fault = Code::kContentTooLarge;
  out.consumed = out.payload =
      static_cast<std::size_t>(std::min<std::uint64_t>(available, allowed));
  seen_ += out.consumed;
  return out;
}

}  // namespace pd::http
