//===- ProgramBuilder.h - small programs, and their checks ------*- C++ -*-===//
#ifndef LAYLINE_TEST_UNIT_EXACT_PROGRAMBUILDER_H
#define LAYLINE_TEST_UNIT_EXACT_PROGRAMBUILDER_H

#include "layline/Exact/Checker.h"
#include <catch2/catch.hpp>

namespace layline::exact::test {

inline const Expr kTokens = Expr::symbol("tokens");
constexpr int64_t kIn = 24, kOut = 36;

/// A program on one axis, or, of one rank, on one device.
class Builder {
public:
  explicit Builder(int64_t ranks = 1) {
    if (ranks > 1)
      program.axes = {{"tp", ranks}};
  }

  DimLayout split(Partition partition = Partition::block(),
                  int64_t unit = 1) const {
    DimLayout layout;
    if (!program.axes.empty()) {
      layout.links = {makeLink(0, partition)};
      layout.unit = unit;
    }
    return layout;
  }
  DimLayout padded(int64_t ranks) const {
    DimLayout layout = split();
    layout.pad = ceilDiv(kTokens, ranks);
    return layout;
  }

  ValueId value(std::vector<Expr> shape, std::vector<DimLayout> dims = {},
                bool owes = false) {
    Value result;
    result.shape = std::move(shape);
    result.dims = std::move(dims);
    if (owes && !program.axes.empty())
      result.owes = {0};
    return program.addValue(std::move(result));
  }
  ValueId op(OpKind kind, std::vector<ValueId> operands, ValueId result,
             Attributes attrs = {}) {
    program.addOp(kind, std::move(operands), {result}, std::move(attrs)).place =
        kindName(kind);
    return result;
  }
  /// A collective, slice or padding of dimension `dim`.
  ValueId move(OpKind kind, ValueId operand, ValueId result, unsigned dim = 0) {
    Attributes attrs;
    attrs.dim = dim;
    attrs.axes = {0};
    return op(kind, {operand}, result, attrs);
  }
  ValueId input(const std::string &name, int64_t width,
                std::vector<DimLayout> dims = {}) {
    Attributes attrs;
    attrs.input = name;
    return op(OpKind::Input, {}, value({kTokens, width}, std::move(dims)),
              attrs);
  }
  ValueId weight(const std::string &key, std::vector<int64_t> shape,
                 std::vector<DimLayout> dims = {}) {
    Attributes attrs;
    attrs.weight.key = key;
    attrs.weight.shape = shape;
    return op(OpKind::Weight, {},
              value({shape.begin(), shape.end()}, std::move(dims)), attrs);
  }
  ValueId norm(ValueId x, ValueId w) {
    Attributes attrs;
    attrs.function = "layer";
    attrs.eps = 1e-5;
    return op(OpKind::Norm, {x, w}, program.addValue(program.values[x]), attrs);
  }
  Program finish(std::vector<ValueId> outputs) {
    program.outputs = std::move(outputs);
    return std::move(program);
  }

  Program program;
};

inline std::vector<Mismatch> check(Program reference, Program planned) {
  Checker checker(std::move(reference));
  checker.addProgram(std::move(planned), "planned");
  return checker.check();
}

inline void requireEqual(Program reference, Program planned) {
  for (const Mismatch &mismatch :
       check(std::move(reference), std::move(planned)))
    FAIL_CHECK(mismatch.text);
}

inline void requireDifferent(Program reference, Program planned) {
  CHECK(check(std::move(reference), std::move(planned)).size() == 1);
}

} // namespace layline::exact::test

#endif // LAYLINE_TEST_UNIT_EXACT_PROGRAMBUILDER_H
