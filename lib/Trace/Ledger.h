//===- Ledger.h - where the time of a pass's kernels goes -------*- C++ -*-===//
#ifndef LAYLINE_LIB_TRACE_LEDGER_H
#define LAYLINE_LIB_TRACE_LEDGER_H

#include "layline/Trace/Budget.h"
#include <map>
#include <utility>

namespace layline::trace {

/// What takes the place of something, and what that figure rests on.
struct Replacement {
  Figure figure;
  FigureBasis basis = FigureBasis::Measured;
  std::string source;
};

/// A kernel of the ledger that has not been posted: whoever holds it may post
/// it, once. It cannot be copied.
class UnpostedKernel {
public:
  UnpostedKernel(UnpostedKernel &&other)
      : posting(std::exchange(other.posting, std::nullopt)) {}
  UnpostedKernel(const UnpostedKernel &) = delete;

  /// us, without waiting.
  double us() const { return static_cast<double>(posting->time) / 1000; }

private:
  friend class Ledger;
  explicit UnpostedKernel(Posting own) : posting(std::move(own)) {}
  std::optional<Posting> posting; ///< nothing once it was posted
};

/// The account of one pass. A kernel is handed out once, so its time can be in
/// one line only; what nobody takes is unchanged.
class Ledger {
public:
  /// `waits`: ns by event, of collectives that waited. `places`: names of the
  /// boundaries; all of these outlive the ledger.
  Ledger(const Mapping &mapping, size_t trace, int32_t pass,
         const std::map<size_t, int64_t> &waits,
         const std::vector<std::string> &places);

  /// Throws std::logic_error if the kernel is not of this pass or was taken
  /// before.
  UnpostedKernel take(size_t event);
  /// Its time in a line of a boundary, and what takes its place. Throws
  /// std::logic_error if it was posted before.
  void post(UnpostedKernel kernel, BudgetLine line, size_t boundary,
            const Replacement &after);
  /// What takes time in the other plan without a kernel in this one; negative
  /// if it saves some.
  void charge(BudgetLine line, size_t boundary, const Replacement &cost);

  const std::map<size_t, BudgetEntries> &getBoundaries() const {
    return boundaries;
  }
  const std::vector<Posting> &getPostings() const { return postings; }
  /// us of all events; of those that were posted, without waiting; and of
  /// waiting of all.
  double busy() const { return busyUs; }
  double posted() const { return postedUs; }
  double waiting() const { return waitingUs; }

private:
  void add(BudgetEntry &entry, const Replacement &after);

  const Mapping &mapping;
  size_t trace;
  int32_t pass;
  const std::map<size_t, int64_t> &waits;
  const std::vector<std::string> &places;
  std::map<size_t, bool> isTaken;
  std::map<size_t, BudgetEntries> boundaries;
  std::vector<Posting> postings;
  double busyUs = 0, postedUs = 0, waitingUs = 0;
};

/// Adds an entry's sums, figures and sources to another.
void addTo(BudgetEntry &sum, const BudgetEntry &entry);

} // namespace layline::trace

#endif // LAYLINE_LIB_TRACE_LEDGER_H
