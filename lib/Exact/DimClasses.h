//===- DimClasses.h - dimensions that are the same --------------*- C++ -*-===//
#ifndef LAYLINE_LIB_EXACT_DIMCLASSES_H
#define LAYLINE_LIB_EXACT_DIMCLASSES_H

#include "OpDims.h"
#include <deque>
#include <map>
#include <unordered_map>

namespace layline::exact {

/// The dimensions of the values of all programs, joined where they are the
/// same. A dimension is a node; the root of its class stands for it.
class DimClasses {
public:
  /// Elements of `flat` are pairs of elements of the other two, says an op.
  struct Flat {
    unsigned flat, outer, inner;
    size_t program, op;
  };
  struct Readers {
    unsigned heads, kvHeads;
  };
  struct Window {
    unsigned whole, part;
    int64_t begin;
  };
  struct Rotation {
    unsigned node;
    const RopeTable *rope;
  };

  explicit DimClasses(const std::vector<const Program *> &programs);

  unsigned nodes() const { return static_cast<unsigned>(parents.size()); }
  unsigned node(size_t program, ValueId value, unsigned dim) const {
    return firstNode[program][value] + dim;
  }
  unsigned find(unsigned node);
  const Expr &extent(unsigned node) const { return *extents[node]; }

  struct Reordering {
    unsigned from, to;
    const RopeTable *rope;
  };

  /// What is known besides; one entry per place that says so.
  std::vector<Flat> flats;
  std::vector<Readers> readers;
  std::vector<Window> windows;
  std::vector<Rotation> rotations;
  std::vector<Reordering> reorderings;
  std::vector<unsigned> choices;
  std::vector<unsigned> vocabularies; ///< tables that ids look rows up in
  /// Classes of which two places say different things.
  std::vector<unsigned> contradictions;
  /// By program and op: why it cannot run, or empty.
  std::vector<std::vector<std::string>> faults;

private:
  /// A dimension that no value has.
  unsigned addNode(int64_t extent);
  void unite(unsigned a, unsigned b) { parents[find(a)] = find(b); }
  /// Joins a node with all others of this key and extent.
  void joinAs(const Digest &key, unsigned node);
  void joinValue(const Hasher &key, size_t program, ValueId value);
  std::string joinOp(size_t program, size_t index);
  void joinWeight(size_t program, const Op &op);
  void joinProgram(size_t program);
  void joinFactors();
  void contradict(const Flat &flat, const Flat &other);

  const std::vector<const Program *> &programs;
  std::vector<std::vector<unsigned>> firstNode; ///< by program and value
  std::vector<const Expr *> extents;
  std::deque<Expr> ownExtents; ///< of dimensions that no value has
  std::vector<unsigned> parents;
  std::unordered_map<Digest, unsigned, DigestHash> known;
};

} // namespace layline::exact

#endif // LAYLINE_LIB_EXACT_DIMCLASSES_H
