//===- Structure.h - what a plan says without any token ---------*- C++ -*-===//
#ifndef LAYLINE_LIB_KVVERIFICATION_STRUCTURE_H
#define LAYLINE_LIB_KVVERIFICATION_STRUCTURE_H

#include "kv/Plan.h"

#include <string>

namespace layline::kv {

/// Empty if pools, ranks, sends and responders are sound: bytes of different
/// items do not overlap in a page, every send is from and to what is resident,
/// layer to the same layer and head to the same head. Else what is wrong,
/// where, what was found and what was expected.
std::string findStructuralFault(const Plan &plan);

/// "source rank 3 (pp 0, cp 1, tp 1)".
std::string nameRank(const char *side, const Side &of, int rank);

} // namespace layline::kv

#endif // LAYLINE_LIB_KVVERIFICATION_STRUCTURE_H
