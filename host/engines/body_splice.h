// A request body as pieces: runs of the client's bytes, untouched, and what a hand-off puts between
// them. Sent as one gathered write; nothing is re-serialised.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/request/request_view.h"

namespace pd {

// Pieces point into the client's body, into static text and into the strings given to the editor;
// all must outlive the pieces.
using BodyPieces = std::vector<std::string_view>;

inline std::size_t size_of(const BodyPieces& pieces) {
  std::size_t size = 0;
  for (const auto piece : pieces) size += piece.size();
  return size;
}

// Collects edits of top-level members, then makes the pieces. For each key the last edit counts.
class BodyEditor {
 public:
  explicit BodyEditor(const RequestView& view) : view_(view) {}

  // The member becomes `"key": value`: in its place if the body has it, else at the end.
  void set(ControlKey key, std::string_view quoted_key, std::string_view value);

  // The same, but only if the body has the member.
  void replace(ControlKey key, std::string_view value);

  // The member goes, with its comma.
  void remove(ControlKey key);

  BodyPieces pieces() const;

 private:
  struct Edit {
    ControlKey key;
    std::string_view quoted_key;  // empty: never appended
    std::string_view value;       // empty: removed
  };

  const Edit* edit_of(ControlKey key) const;

  const RequestView& view_;
  std::vector<Edit> edits_;
};

}  // namespace pd
