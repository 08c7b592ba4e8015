//===- FormState.h - what a choice of forms has come to ------- -*- C++ -*-===//
#ifndef LAYLINE_LIB_PLANNING_FORMSTATE_H
#define LAYLINE_LIB_PLANNING_FORMSTATE_H

#include "FormIndex.h"
#include <algorithm>
#include <string>

namespace layline {

inline constexpr uint8_t kOwed = 1, kRows = 2, kWhole = 4;

// As many as a state can keep.
inline constexpr unsigned kMostLive = 63, kMostOpen = 15;

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
  ShortList<uint8_t, kMostLive> forms;
  ShortList<OpenPiece, kMostOpen> open;

  size_t hash() const {
    uint64_t h = 0xcbf29ce484222325;
    auto add = [&](uint64_t word) { h = (h ^ word) * 0x100000001b3; };
    for (uint8_t form : forms)
      add(form);
    for (const OpenPiece &piece : open)
      add(uint64_t(piece.piece) << 32 | piece.owed);
    return h ^ h >> 29;
  }
  friend bool operator==(const FormState &a, const FormState &b) {
    return a.forms.size() == b.forms.size() && a.open.size() == b.open.size() &&
           std::equal(a.forms.begin(), a.forms.end(), b.forms.begin()) &&
           std::equal(a.open.begin(), a.open.end(), b.open.begin(),
                      [](const OpenPiece &x, const OpenPiece &y) {
                        return x.piece == y.piece && x.owed == y.owed;
                      });
  }
};

/// As text, by which equal states of equal stretches are known: pieces are
/// written by their place relative to `origin`.
std::string encode(const FormState &state, const FormGraph &graph,
                   const FormIndex &index, int origin);
FormState decode(const std::string &text, size_t live, const FormIndex &index,
                 int origin);

} // namespace layline

#endif // LAYLINE_LIB_PLANNING_FORMSTATE_H
