//===- Passes.td - where sums are paid and rows are gathered -*- tablegen -*-===//
#ifndef LAYLINE_PLANNING_PASSES
#define LAYLINE_PLANNING_PASSES

include "mlir/Pass/PassBase.td"

def PlanVariants : Pass<"plan-variants", "::mlir::ModuleOp"> {
  let summary = "One copy of the placed program per range of token counts, each with its choices.";
  let description = [{
    `boundaries` says which form the boundaries between row-parallel products
    and norms take: `whole` keeps the all_reduces; `rows` runs by rows what can be,
    with as few and as narrow collectives as that needs; `auto` takes what costs
    least on the module's `grid.target`, by the cost model, with one variant per
    range of token counts in which the choice is the same (less than 1 % above the
    best). The ranges are disjoint and cover [min-tokens, max-tokens].

    Experts that are dealt out over the ranks get their rows in one of two ways
    (`experts`): all ranks have all rows and what they make of them owes a sum
    (`gathered`), or each row is sent to the ranks of its experts and comes back
    from there (`dispatched`: grid.dispatch and grid.combine). `auto` takes what
    costs least, or with `rows` what needs the fewest and narrowest collectives.
    `whole` gathers.

    The choices stand on the ops as `grid.choice`; plan-apply-forms applies them.

    ```mlir
    func.func @decoder(...)
    ```
    becomes, with min-tokens=1 max-tokens=8192,
    ```mlir
    func.func @v0(...) attributes {grid.tokens = array<i64: 1, 63>, grid.boundaries = "whole"}
    func.func @v1(...) attributes {grid.tokens = array<i64: 64, 8192>, grid.boundaries = "rows"}
    ```
    The placed function itself stays, for comparison.
  }];
  let options = [
    Option<"minTokens", "min-tokens", "int64_t", "1", "Fewest query tokens of a step.">,
    Option<"maxTokens", "max-tokens", "int64_t", "8192", "Most query tokens of a step.">,
    Option<"boundaries", "boundaries", "std::string", "\"auto\"", "auto, rows or whole.">,
    Option<"experts", "experts", "std::string", "\"auto\"",
           "How experts on several ranks get their rows: auto, gathered or dispatched.">,
    Option<"fuse", "fuse", "bool", "true", "auto: use fused kernels that the target has.">,
    Option<"launch", "launch", "std::string", "\"graph\"",
           "auto: how kernels are launched: graph (from a CUDA graph) or eager.">,
    Option<"calibration", "calibration", "std::string", "\"\"",
           "auto: a file of measured latencies that go before the built-in ones.">,
    Option<"kernels", "kernels", "std::string", "\"\"",
           "auto: a file that lists the fused kernels, in place of the target's.">
  ];
}

def PlanApplyForms : Pass<"plan-apply-forms", "::mlir::func::FuncOp"> {
  let summary = "Run every op in the form that was chosen, and convert values between forms.";
  let description = [{
    Takes the `grid.choice` of each op of a variant. An op chosen by rows takes
    rows of what it reads; one chosen owed takes addends, so that the sum is paid
    later and once for all; the plain program's all_reduces are replaced by the
    conversions that were chosen, each right behind what it converts.

    ```mlir
    %0 = decoder.linear %x, %w {grid.choice = {results = [{reduce_scatter = 0} ]}} : ...
    %1 = grid.all_reduce %0 over ["tp"] {site = "s"} : ...
    %2 = decoder.norm %1, %g {grid.choice = {form = "rows", kernel = 0, results = [{all_gather = 0} ]}} : ...
    ```
    becomes
    ```mlir
    %0 = decoder.linear %x, %w : ...
    %1 = grid.reduce_scatter %0 dim 0 over "tp" {grid.kernel = 0, site = "s"} : ...
    %2 = decoder.norm %1, %g {grid.kernel = 0} : ...
    %3 = grid.all_gather %2 dim 0 over "tp" {grid.kernel = 0} : ...
    ```
    A choice that the types do not allow is an error.
  }];
  let dependentDialects = ["::layline::grid::GridDialect"];
}

def PlanSplitAllReduce : Pass<"plan-split-all-reduce", "::mlir::func::FuncOp"> {
  let summary = "all_reduce becomes reduce_scatter and all_gather where row-wise ops follow.";
  let description = [{
    The rule alone, for programs written by hand: the planning pipeline decides
    by cost (plan-variants, plan-apply-forms) and does not run it.

    Fires in functions with `grid.boundaries = "rows"`, on each all_reduce of
    [tokens, ...] that some row-wise op reads. An all_reduce whose readers all
    need every row stays and says so in its attribute `reason`.

    ```mlir
    %1 = grid.all_reduce %0 over ["tp"] {site = "s"} : ...
    ```
    becomes
    ```mlir
    %1 = grid.reduce_scatter %0 dim 0 over "tp" {site = "s"} : ...
    %2 = grid.all_gather %1 dim 0 over "tp" : ...
    ```
  }];
  let dependentDialects = ["::layline::grid::GridDialect"];
}

def PlanSinkAllGather : Pass<"plan-sink-all-gather", "::mlir::func::FuncOp"> {
  let summary = "Move gathers of rows below row-wise ops.";
  let description = [{
    The rewrite alone, for programs that come with gathers: the planning pipeline
    decides by cost and does not run it.

    f(concat(X_r)) = concat(f(X_r)) for every row-wise f whose operands are
    there by rows. A whole operand gives its rows for free (grid.slice). Gathers
    that nothing reads any more disappear: so a residual that only row-wise ops
    read is never gathered, through the whole stack.

    An op moves only if one of its operands then needs no gather at all; an op
    that reads rows which others need whole anyway (a router beside experts)
    would only add a gather of its own.

    ```mlir
    %1 = grid.all_gather %0 dim 0 over "tp" : ...
    %2 = decoder.norm %1, %w : ...
    ```
    becomes
    ```mlir
    %1 = decoder.norm %0, %w : ...
    %2 = grid.all_gather %1 dim 0 over "tp" : ...
    ```
    Never across a sum between ranks: a value that owes is no row-wise operand.
  }];
  let dependentDialects = ["::layline::grid::GridDialect"];
}

def PlanFuseBoundaries : Pass<"plan-fuse-boundaries", "::mlir::func::FuncOp"> {
  let summary = "Put a sum and the row-wise ops behind it into one kernel.";
  let description = [{
    From each reduce_scatter or all_reduce on: the row-wise ops without a weight
    matrix that read it (residual add, norm), and the gathers of what they give.
    Ops join only if all their other operands are known before the sum. Fires in
    variants (functions with `grid.tokens`).

    ```mlir
    %1 = grid.reduce_scatter %0 dim 0 over "tp" : ...
    %2 = decoder.add %residual, %1 : ...
    %3 = decoder.norm %2, %w : ...
    %4 = grid.all_gather %3 dim 0 over "tp" : ...
    ```
    becomes
    ```mlir
    %4, %2 = grid.fused "reduce_scatter+add+norm+all_gather" { ... }
    ```
    A sum that no such op follows stays as it is.
  }];
  let dependentDialects = ["::layline::grid::GridDialect"];
}

def PlanReportSites : Pass<"plan-report-sites", "::mlir::func::FuncOp"> {
  let summary = "Say of every site what became of it.";
  let description = [{
    A site is a place where the plain tensor-parallel program has an
    all_reduce. Each gets a remark (category "layline": passed "BoundaryByRows"
    or missed "BoundaryWhole") and an entry in the function's `grid.sites`:
    {id, status = "applied" | "missed", was, became, reason}.
  }];
}

#endif // LAYLINE_PLANNING_PASSES
