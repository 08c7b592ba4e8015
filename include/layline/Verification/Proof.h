//===- Proof.h - what a proof came to ---------------------------*- C++ -*-===//
#ifndef LAYLINE_VERIFICATION_PROOF_H
#define LAYLINE_VERIFICATION_PROOF_H

#include <chrono>
#include <cstdint>
#include <string>

namespace layline {

/// The outcome of a proof. What is not proved has a `problem`: a smallest
/// counterexample in words, to be checked by hand; or why there is no proof.
struct Proof {
  bool proved = false;
  std::string problem; ///< empty if proved
  /// How, several with " + " between them. "chain", "strided", "equal" and
  /// "resident": the rank is an unknown like the count. "periods": each rank,
  /// and as many counts as it takes until all repeats. "counted", "readers" and
  /// "owner": each rank, for the known count.
  std::string method;
  int64_t queries = 0; ///< questions to the Presburger library
  double seconds = 0;

  explicit operator bool() const { return proved; }

  static Proof good(std::string method) {
    return {true, {}, std::move(method), 0, 0};
  }
  static Proof bad(std::string problem) {
    return {false, std::move(problem), {}, 0, 0};
  }
  /// Takes in the proof of a part of the statement: its problem, if it is the
  /// first, and its cost.
  void add(const Proof &part);
};

/// Seconds since it was made.
class StopWatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};

} // namespace layline

#endif // LAYLINE_VERIFICATION_PROOF_H
