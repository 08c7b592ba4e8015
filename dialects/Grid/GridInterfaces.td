//===- GridInterfaces.td - what licenses a layout or a rewrite -*- tablegen -*-===//
//
// Planning and verification never ask which op they look at: they ask these
// interfaces. An op states what it may do next to its definition, and the rules
// are written once (Factors.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_GRID_INTERFACES
#define LAYLINE_GRID_INTERFACES

include "mlir/IR/OpBase.td"

def LayoutOpInterface : OpInterface<"LayoutOpInterface"> {
  let cppNamespace = "::layline::grid";
  let description = [{
    The factor model of an op (after Shardy's sharding rules): every dimension
    of every operand and result is bound to a *factor*; dimensions bound to one
    factor have the same number of items and must be split alike. What a split
    of the factor means depends on its kind: see `FactorKind`.

    Shapes and layouts of the op are verified from the model alone.
  }];
  let methods = [
    InterfaceMethod<"Describes the factors. Must not assume that ranks are right.",
      "void", "getFactors", (ins "::layline::grid::FactorModel &":$model)>,
    InterfaceMethod<[{
        The name of the factor that tensor parallelism splits, or empty: heads,
        intermediate features, vocabulary.
      }],
      "::llvm::StringRef", "getTensorParallelFactor", (ins), "", "return {};">,
    InterfaceMethod<[{
        The name of the factor that expert parallelism splits in its place, or
        empty: whole experts in place of parts of all of them.
      }],
      "::llvm::StringRef", "getExpertParallelFactor", (ins), "", "return {};">
  ];
  let verify = "return ::layline::grid::detail::verifyLayoutOp($_op);";
}

def RowwiseOpInterface : OpInterface<"RowwiseOpInterface"> {
  let cppNamespace = "::layline::grid";
  let description = [{
    Row r of every result depends only on row r of the row-carrying operands
    (those whose dimension 0 is bound to the factor "tokens") and on parameters
    that are the same for all rows. This alone licenses
    f(concat(X_r)) = concat(f(X_r)): moving the op before an all_gather of rows.
  }];
  let methods = [
    InterfaceMethod<[{
        The op multiplies rows by a weight matrix. Such an op can be computed by
        rows, but is no epilogue of a collective kernel.
      }], "bool", "hasContraction", (ins), "", "return false;">,
    InterfaceMethod<[{
        The result is the operand's memory under another shape: nothing runs.
      }], "bool", "isView", (ins), "", "return false;">,
    InterfaceMethod<[{
        Of an op whose kernels differ by more than its name, which one it is: the
        statistic of a norm. A list of fused kernels names it so.
      }], "::llvm::StringRef", "getVariant", (ins), "", "return {};">
  ];
}

def PartialLinearOpInterface : OpInterface<"PartialLinearOpInterface"> {
  let cppNamespace = "::layline::grid";
  let description = [{
    f(sum x) = sum f(x) in some operands: those may owe a sum, and the result
    then owes it. Ops without this interface never take a value that owes.
  }];
  let methods = [
    InterfaceMethod<"The op is linear in this operand (others held fixed).",
      "bool", "isLinearIn", (ins "unsigned":$operand)>,
    InterfaceMethod<[{
        Operands that are added to the result as they are: each must owe exactly
        what the result owes. A bias is an addend that owes nothing, so it can
        not meet a partial result: it would be added once per rank.
      }], "::llvm::SmallVector<unsigned, 2>", "getAddends", (ins), "", "return {};">
  ];
}

def CommEdgeOpInterface : OpInterface<"CommEdgeOpInterface"> {
  let cppNamespace = "::layline::grid";
  let description = [{
    A collective: the ranks of a group exchange parts of one global tensor. The
    group is given by mesh axes; the global tensor is the same before and after.
  }];
  let methods = [
    InterfaceMethod<"The mesh axes of the group.",
      "::llvm::SmallVector<::mlir::StringAttr, 2>", "getGroupAxes", (ins)>,
    InterfaceMethod<"The collective's name in the launch plan.",
      "::layline::grid::CollectiveKind", "getCollectiveKind", (ins)>
  ];
}

def PositionedOpInterface : OpInterface<"PositionedOpInterface"> {
  let cppNamespace = "::layline::grid";
  let description = [{
    The op reads the global positions of rows. Each pair is (operand that holds
    positions, operand whose rows they belong to).
  }];
  let methods = [
    InterfaceMethod<"", "::llvm::SmallVector<std::pair<unsigned, unsigned>, 2>",
      "getPositionedOperands", (ins)>
  ];
}

def RowCarrierOpInterface : OpInterface<"RowCarrierOpInterface"> {
  let cppNamespace = "::layline::grid";
  let description = [{
    The op hands on rows as they are: same global rows in the operand and in the
    result (slice, gather, a cache that appends them). Positions that pass such
    an op are still the positions of the same rows.
  }];
  let methods = [
    InterfaceMethod<"The operand whose rows are handed on.",
      "::mlir::Value", "getCarriedRows", (ins)>,
    InterfaceMethod<"The result has rows of earlier steps in front.",
      "bool", "prependsHistory", (ins), "", "return false;">
  ];
}

#endif // LAYLINE_GRID_INTERFACES
