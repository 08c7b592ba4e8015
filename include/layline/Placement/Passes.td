//===- Passes.td - which mesh axis splits which value ------*- tablegen -*-===//
#ifndef LAYLINE_PLACEMENT_PASSES
#define LAYLINE_PLACEMENT_PASSES

include "mlir/Pass/PassBase.td"

def PlaceParallel : Pass<"place-parallel", "::mlir::ModuleOp"> {
  let summary = "Give every value a layout for tensor and context parallelism, with plain all-reduces.";
  let description = [{
    Every op names the factor that tensor parallelism splits (attention its
    heads, a gated activation its features, embedding and logits the
    vocabulary). The split is carried from there to the weights, through the
    factor models of the ops between, so a column-parallel weight is one whose
    product feeds a split factor. Where a rank then holds an addend of a sum
    (row-parallel products, the split embedding), an all_reduce follows at once.
    The result is the program that engines write by hand today.

    Parts are balanced blocks and may be uneven. Each rank holds exactly the KV
    heads that its query heads read, so replicated KV heads (fewer of them than
    ranks) and uneven ones are one rule.

    ```mlir
    %y = decoder.linear %x, %w : (tensor<?x128xf32>, tensor<64x128xf32>) -> tensor<?x64xf32> loc("layer.0.o_proj")
    ```
    becomes
    ```mlir
    %p = decoder.linear %x, %w : (tensor<?x128xf32, #grid.layout<[_, block "tp" x 16]>>,
                                  tensor<64x128xf32, #grid.layout<[_, block "tp" x 16]>>)
                              -> tensor<?x64xf32, #grid.layout<[_, _] owes "tp">>
    %y = grid.all_reduce %p over ["tp"] {site = "layer.0.o_proj"} : ...
    ```

    With `cp` the query tokens are split over a second axis, "cp": inputs are
    sliced by rows, and rows stay on their rank through everything that is
    row-wise. Where an op needs all rows of a step (a cache, which keys and
    values enter after RoPE), they are gathered into global token order first:
    once per value, at the width that is cached. Rows of earlier steps are in
    the cache of every rank and are not sent again. What the program returns is
    gathered too.

    The mesh is then ["cp", "tp"]: cards that share the heads of one part of the
    tokens have consecutive ranks.

    `replicate` names chains of products by the product that owes (see
    FeatureChains.h): all their weights stay whole, on every rank, so that they
    can run on own rows and owe nothing.

    With `ep` experts are placed by expert parallelism over the same axis: a rank
    has whole experts, a balanced block of them, in place of its part of the
    features of each. What they give owes a sum over "tp" either way, so shared
    experts, whose features are split, still join in one sum.

    `even` refuses sizes that do not divide, naming those that do: for engines
    that need equal parts on all ranks.
  }];
  let options = [
    Option<"tp", "tp", "int64_t", /*default=*/"1", "Ranks of the axis \"tp\".">,
    Option<"cp", "cp", "int64_t", /*default=*/"1", "Ranks of the axis \"cp\".">,
    Option<"cpSplit", "cp-split", "std::string", /*default=*/"\"zigzag\"",
           "How tokens are dealt out over \"cp\": zigzag, contiguous, interleave or interleave:I.">,
    Option<"ep", "ep", "int64_t", /*default=*/"1",
           "Ranks that share out whole experts: 1 or those of \"tp\".">,
    Option<"even", "even", "bool", /*default=*/"false",
           "Refuse parts of different sizes.">,
    ListOption<"replicate", "replicate", "std::string",
               "Chains whose weights every rank holds: down_proj,shared_down_proj.">,
    Option<"reference", "reference", "bool", /*default=*/"false",
           "Keep the program as imported, marked `decoder.reference`, for verify-equivalence.">
  ];
  let dependentDialects = ["::layline::grid::GridDialect"];
}

#endif // LAYLINE_PLACEMENT_PASSES
