#include "host/engines/body_splice.h"

#include <utility>

namespace pd {

void BodyEditor::set(ControlKey key, std::string_view quoted_key, std::string_view value) {
  edits_.push_back({key, quoted_key, value});
}

void BodyEditor::replace(ControlKey key, std::string_view value) {
  edits_.push_back({key, {}, value});
}

void BodyEditor::remove(ControlKey key) {
  edits_.push_back({key, {}, {}});
}

const BodyEditor::Edit* BodyEditor::edit_of(ControlKey key) const {
  if (key == ControlKey::kNone) return nullptr;
  for (auto it = edits_.rbegin(); it != edits_.rend(); ++it) {
    if (it->key == key) return &*it;
  }
  return nullptr;
}

namespace {

// Gathers neighbouring bytes of the body into one piece.
class PieceWriter {
 public:
  explicit PieceWriter(std::string_view body) : body_(body) {}

  void bytes(std::uint32_t begin, std::uint32_t end) {
    if (begin != end_) {
      flush();
      begin_ = begin;
    }
    end_ = end;
  }
  void text(std::string_view piece) {
    flush();
    pieces_.push_back(piece);
  }
  BodyPieces finish() {
    flush();
    return std::move(pieces_);
  }

 private:
  void flush() {
    if (end_ > begin_) pieces_.push_back(body_.substr(begin_, end_ - begin_));
    begin_ = end_ = 0;
  }

  std::string_view body_;
  std::uint32_t begin_ = 0;
  std::uint32_t end_ = 0;
  BodyPieces pieces_;
};

}  // namespace

BodyPieces BodyEditor::pieces() const {
  PieceWriter out(view_.body);
  out.bytes(0, view_.object_begin + 1);
  const BodyMember* before = nullptr;  // the last member that stays
  for (const BodyMember& member : view_.members) {
    const Edit* edit = edit_of(member.key);
    if (edit != nullptr && edit->value.empty()) continue;
    if (before == nullptr && &member == view_.members.data()) {
      out.bytes(view_.object_begin + 1, member.key_begin);  // blanks behind the brace
    }
    if (before != nullptr) {
      // The original comma and blanks where neighbours stay neighbours.
      if (before + 1 == &member) {
        out.bytes(before->value_end, member.key_begin);
      } else {
        out.text(",");
      }
    }
    out.bytes(member.key_begin, edit == nullptr ? member.value_end : member.value_begin);
    if (edit != nullptr) out.text(edit->value);
    before = &member;
  }
  const bool last_stays = before != nullptr && before == &view_.members.back();
  if (last_stays) out.bytes(before->value_end, view_.object_end);  // blanks in front of the brace
  bool any = before != nullptr;
  for (const Edit& edit : edits_) {
    const bool counts = edit_of(edit.key) == &edit;
    if (edit.quoted_key.empty() || !counts || view_.find(edit.key) != nullptr) continue;
    if (any) out.text(",");
    any = true;
    out.text(edit.quoted_key);
    out.text(edit.value);
  }
  out.bytes(view_.object_end, static_cast<std::uint32_t>(view_.body.size()));
  return out.finish();
}

}  // namespace pd
