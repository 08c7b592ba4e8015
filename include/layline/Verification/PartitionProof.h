//===- PartitionProof.h - disjoint and complete, for every count -*- C++
//-*-===//
#ifndef LAYLINE_VERIFICATION_PARTITIONPROOF_H
#define LAYLINE_VERIFICATION_PARTITIONPROOF_H

#include "layline/Support/Expr.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace layline {

/// The part of rank k of p: begin and size as expressions that may use the
/// symbol "rank.<axis>" and, if the count is not known, the symbol "tokens".
struct PartExprs {
  Expr begin;
  Expr size;
};

/// Proves that the parts of `ranks` ranks are contiguous in rank order, do not
/// overlap and cover 0..n-1, for the given n, or for all n >= 0 if `items` is
/// not given. Returns an empty string, or what is wrong, with the smallest
/// counterexample ("with 5 items, rank 2 begins at ...").
std::string provePartition(const PartExprs &part, const std::string &axis,
                           int64_t ranks, std::optional<int64_t> items);

} // namespace layline

#endif // LAYLINE_VERIFICATION_PARTITIONPROOF_H
