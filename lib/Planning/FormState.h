//===- FormState.h - what a choice of forms has come to ---------*- C++ -*-===//
#ifndef LAYLINE_LIB_PLANNING_FORMSTATE_H
#define LAYLINE_LIB_PLANNING_FORMSTATE_H

#include "FormIndex.h"
#include <algorithm>
#include <array>
#include <string>

namespace layline {

inline constexpr uint8_t kOwed = 1, kRows = 2, kWhole = 4;

// As many as a state can keep.
inline constexpr unsigned kMostLive = 64, kMostOpen = 15;

/// The forms that a value has that was made in one.
uint8_t getForms(Form made);

/// A piece that has begun, and its events that are still to come.
struct OpenPiece {
  int piece;
  uint32_t owed;
};

/// A short list that is copied as bytes. Full: the graph is too wide for it.
template <typename T, unsigned N> class ShortList {
public:
  ShortList() = default;
  // Most lists are far shorter than they could be.
  ShortList(const ShortList &other) { *this = other; }
  ShortList &operator=(const ShortList &other) {
    count = other.count;
    std::copy_n(other.items, count, items);
    return *this;
  }
  T *begin() { return items; }
  T *end() { return items + count; }
  const T *begin() const { return items; }
  const T *end() const { return items + count; }
  size_t size() const { return count; }
  bool isFull() const { return count == N; }
  T &operator[](size_t i) { return items[i]; }
  const T &operator[](size_t i) const { return items[i]; }
  void push_back(T item) { items[count++] = item; }
  void insert(T *at, T item) {
    std::copy_backward(at, end(), end() + 1);
    *at = item;
    ++count;
  }
  void erase(T *at) {
    std::copy(at + 1, end(), at);
    --count;
  }

private:
  T items[N];
  uint8_t count = 0;
};

/// Forms by live value (in the order of `live`), and open pieces by number.
struct FormState {
  ShortList<OpenPiece, kMostOpen> open;

  uint8_t getForms(size_t slot) const {
    return words[slot / kSlots] >> slot % kSlots * 4 & 15;
  }
  /// Forms are added, never taken away.
  void addForms(size_t slot, uint8_t forms) {
    words[slot / kSlots] |= uint64_t(forms) << slot % kSlots * 4;
  }
  size_t hash() const {
    uint64_t h = 0xcbf29ce484222325;
    auto add = [&](uint64_t word) { h = (h ^ word) * 0x9e3779b97f4a7c15; };
    for (uint64_t word : words)
      add(word);
    for (const OpenPiece &piece : open)
      add(uint64_t(piece.piece) << 32 | piece.owed);
    return h ^ h >> 31;
  }
  friend bool operator==(const FormState &a, const FormState &b) {
    return a.words == b.words && a.open.size() == b.open.size() &&
           std::equal(a.open.begin(), a.open.end(), b.open.begin(),
                      [](const OpenPiece &x, const OpenPiece &y) {
                        return x.piece == y.piece && x.owed == y.owed;
                      });
  }

private:
  /// Four bits a value.
  static constexpr size_t kSlots = 16;
  std::array<uint64_t, (kMostLive + kSlots - 1) / kSlots> words = {};
};

/// As text, by which equal states of equal stretches are known: pieces are
/// written by their place relative to `origin`.
std::string encode(const FormState &state, size_t live, const FormGraph &graph,
                   const FormIndex &index, int origin);
FormState decode(const std::string &text, size_t live, const FormIndex &index,
                 int origin);

} // namespace layline

#endif // LAYLINE_LIB_PLANNING_FORMSTATE_H
