//===- OpDims.h - which dimensions of an op are the same --------*- C++ -*-===//
//
// The check's own table, written from the meaning of the ops and not from the
// factor models of the dialects, which it is there to check.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_EXACT_OPDIMS_H
#define LAYLINE_LIB_EXACT_OPDIMS_H

#include "layline/Exact/Program.h"

namespace layline::exact {

/// Dimension `dim` of operand `tensor`, or, if negative, of result -1 - tensor.
struct DimRef {
  int tensor = 0;
  unsigned dim = 0;
};

struct OpDims {
  struct Same {
    DimRef a, b;
    /// A rank holds as many of one as of the other. Not where the op itself
    /// changes what a rank holds.
    bool isLocal = true;
  };
  /// Element (o, i) of [outer, inner] is element o * |inner| + i of flat.
  struct Flat {
    DimRef flat, outer, inner;
  };
  /// The same where no value has the inner dimension: groups of `size`
  /// neighbouring elements of flat.
  struct Grouped {
    DimRef flat, groups;
    int64_t size = 0;
  };
  /// Query head h reads KV head h / (|heads| / |kvHeads|).
  struct Readers {
    DimRef heads, kvHeads;
  };
  /// Element i of `part` is element begin + i of `whole`.
  struct Window {
    DimRef whole, part;
    int64_t begin = 0;
  };
  std::vector<Same> same;
  std::vector<Flat> flats;
  std::vector<Grouped> groups;
  std::vector<Readers> readers;
  std::vector<Window> windows;
  std::vector<DimRef> choices; ///< of a router: as many as experts are taken
  std::vector<DimRef> rotated; ///< features that rope pairs up
  /// Features that rope reads as pairs (2i, 2i+1) and writes as (i, i + n).
  struct Reordered {
    DimRef from, to;
  };
  std::vector<Reordered> reordered;
  std::string fault; ///< why the op cannot run at all, or empty
};

/// Operand and result numbers of the op are within the program's values.
OpDims describeDims(const Program &program, const Op &op);

/// Empty if the op has operands and results that are values, as many as its
/// kind takes.
std::string findMalformed(const Program &program, const Op &op);

ValueId valueOf(const Op &op, DimRef ref);

/// "operand 1, dimension 0".
std::string describe(DimRef ref);

} // namespace layline::exact

#endif // LAYLINE_LIB_EXACT_OPDIMS_H
