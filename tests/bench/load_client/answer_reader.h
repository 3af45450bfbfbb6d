// Reads one HTTP answer at a time off a kept-alive connection, strictly: what a load client must
// know to call an answer right. Own code, so that the gateway's reader is not its own judge.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tests/bench/load_client/chat_bodies.h"

namespace pd::bench {

// One per connection, reused from answer to answer.
class AnswerReader {
 public:
  enum class State { kHead, kFixed, kChunkSize, kChunkData, kTrailer, kDone, kBroken };

  // Takes bytes as they come. Bytes behind the end of the answer are a fault: nothing was asked.
  State feed(std::string_view bytes);

  State state() const { return state_; }
  int status() const { return status_; }
  bool chunked() const { return chunked_; }
  const std::string& body() const { return body_; }
  const std::string& fault() const { return fault_; }  // when kBroken

  // Ready for the next answer; keeps the buffers.
  void reset();

 private:
  bool step();
  bool read_head();
  bool read_fixed();
  bool read_chunk_size();
  bool read_chunk_data();
  bool read_trailer();
  bool broken(std::string why);

  State state_ = State::kHead;
  int status_ = 0;
  bool chunked_ = false;
  std::size_t left_ = 0;  // of the body or chunk
  std::string pending_;   // not yet taken apart, from at_ on
  std::size_t at_ = 0;
  std::string body_;
  std::string fault_;
};

// Empty when the answer is the one that pd-sim gives to this request, token by token; else what is
// wrong. REQUIRES: the reader is in kDone.
std::string answer_fault(const ChatRequest& request, const AnswerReader& answer);

}  // namespace pd::bench
