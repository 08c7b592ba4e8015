//===- Proofs.h - the proofs that were made, for a person -------*- C++ -*-===//
#ifndef LAYLINE_DRIVER_PROOFS_H
#define LAYLINE_DRIVER_PROOFS_H

#include <string>
#include <vector>

namespace layline {

/// One proof about a program or a plan.
struct ProofRecord {
  std::string name;   ///< "positions"
  std::string method; ///< how it is made
  std::string covers; ///< what it is about, in numbers
  bool holds = false;
  double milliseconds = 0;
};

/// "sha256:..." of all that the records say but the times: equal for equal
/// compilations. A plan carries it.
std::string getProofDigest(const std::vector<ProofRecord> &proofs);

/// proof.json: the digest, and a line for each proof.
std::string printProofs(const std::vector<ProofRecord> &proofs);

} // namespace layline

#endif // LAYLINE_DRIVER_PROOFS_H
