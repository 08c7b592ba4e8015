//===- Tally.h - how often each net caught each kind of fault ---*- C++ -*-===//
#ifndef LAYLINE_TEST_UNIT_FAULTS_TALLY_H
#define LAYLINE_TEST_UNIT_FAULTS_TALLY_H

#include "Nets.h"
#include "test/lib/Faults/Faults.h"
#include <iosfwd>
#include <vector>

namespace layline::test {

/// A fault that was planted, for messages.
struct Planted {
  const FaultKind *kind;
  unsigned place;
  std::string program;
};

class Tally {
public:
  Tally();
  void add(const Planted &fault, const Answers &answers);

  /// A table in Markdown: a row for each kind, "caught/asked" for each net.
  void print(std::ostream &os) const;
  /// Faults that no net caught.
  const std::vector<std::string> &uncaught() const { return missed; }
  /// Faults of a value that the exact check was asked for and accepts.
  const std::vector<std::string> &unseenByExact() const { return unseen; }
  /// Kinds that the static nets did not always catch, "name (missed of
  /// planted)"; those of casts, which any of them may refuse, among them if
  /// their nets do.
  std::vector<std::string> missedStatically() const;
  unsigned planted() const;

private:
  struct Row {
    unsigned planted = 0, caught = 0, caughtStatically = 0;
    std::array<unsigned, kNumNets> asked{}, refused{};
  };
  std::vector<Row> rows; ///< by kind
  std::vector<std::string> missed, unseen;
};

/// Compares a page with the committed one, or replaces that. False, with a
/// message, if they differ.
bool checkPage(const std::string &path, const std::string &text, bool update);

} // namespace layline::test

#endif // LAYLINE_TEST_UNIT_FAULTS_TALLY_H
