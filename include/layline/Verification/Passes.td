//===- Passes.td - proofs about placed and planned programs -*- tablegen -*-===//
#ifndef LAYLINE_VERIFICATION_PASSES
#define LAYLINE_VERIFICATION_PASSES

include "mlir/Pass/PassBase.td"

def VerifyPartitions : Pass<"verify-partitions", "::mlir::ModuleOp"> {
  let summary = "Every item of every split dimension is held by exactly one rank.";
  let description = [{
    For each split that occurs in a type, and for its number of items (for rows:
    every number of tokens at once), proves from the very expressions that the
    launch plan will print that the parts are disjoint and complete, also where
    they are uneven or empty. The count and the rank are unknowns of integer
    formulas, whose negations have no solution (MLIR Presburger): the cost does
    not grow with the number of ranks. Splits that follow one another are proved
    one by one, for any number of items. A `readers` cover is compared with the
    KV heads that each rank's query heads read. A failure names the smallest
    count, an item and who holds it. Axes that split or owe are axes of the
    mesh.
  }];
}

def VerifyCoverage : Pass<"verify-coverage", "::mlir::func::FuncOp"> {
  let summary = "Every point of every op's grid is computed once, and attention sees its keys.";
  let description = [{
    The results of an op are a grid: token x head x width of attention, token x
    feature of a product. Proves for every number of tokens that each point is
    computed by exactly one rank of each group of replicas: the parts of every
    dimension are disjoint and complete, and no axis splits two dimensions, so
    parts meet in all combinations. One axis for two dimensions gives the
    diagonal blocks only; the message has a token and a head that nobody
    computes.

    For attention: each rank has exactly the KV heads that its query heads read,
    and every (query, key) pair that the mask asks for has its key at the query's
    rank. Both are proved from the layouts, not from the op's factor model.
  }];
}

def VerifyPositions : Pass<"verify-positions", "::mlir::func::FuncOp"> {
  let summary = "Whoever reads positions reads those of its own rows.";
  let description = [{
    For each (positions, rows) pair of a positioned op (RoPE, attention mask):
    the positions come from the program's input "positions" through ops that
    hand rows on (slice, gather, cache) and nothing else; both hold the same
    part of the rows (that is in the types); and both are rows of the step, or
    both cached rows followed by them.
  }];
}

def VerifySums : Pass<"verify-sums", "::mlir::func::FuncOp"> {
  let summary = "Every owed sum is paid in exactly one place.";
  let description = [{
    A value that owes a sum has exactly one reader. Each either pays it (a
    collective over the owed axes) or is linear and owes it on. Two readers
    would pay twice, none would lose it; what leaves the program owes nothing.
  }];
}

def VerifyConsumers : Pass<"verify-consumers", "::mlir::func::FuncOp"> {
  let summary = "Every reader of a rewritten value gets what it needs.";
  let description = [{
    Follows what every rank holds of each value from the program's inputs and
    weights through collectives, slices and factor models, and never reads it
    off the type of a result: it holds as well where the verifiers of the ops
    were not run. For every value that was gathered, narrowed, deferred, padded
    or is kept by rows, and each reader of it, also inside kernels:

    * what it needs of every dimension (any rows, all rows, the whole width, the
      KV heads that its heads read) and of the sum is what it gets;
    * an op whose weight splits its features over an axis needs all rows over
      that axis: its ranks would otherwise cover the diagonal blocks only;
    * a sum that is owed has one reader: none would lose it, two would each pay;
    * a value kept by rows is read: its rows are lost otherwise;
    * a result's type says what its operands give.

    `layline verify --consumers` prints the report.
  }];
}

def VerifyOrder : Pass<"verify-order", "::mlir::ModuleOp"> {
  let summary = "All ranks of a group run the same collectives in the same order.";
  let description = [{
    A function is one program for all ranks, so that its list of ops is the
    order of every rank's collectives on every communicator (the group of some
    mesh axes), if

    * no collective is conditional: it stands in the function's only block, or
      in a fused region there, not in a region or block that some ranks skip;
    * the choice between variants is one that all ranks of a group make alike:
      by the number of tokens, which ranks that work on the same tokens share;
    * what is unordered between streams is ordered by events: that is checked of
      the launch plan (`launch-verify`).

    The first is checked here, and with it that the groups are the right ones:
    the axes of a collective are axes of the mesh, named once; the root of a
    broadcast is a rank of its axis; a sum is paid over all axes that it is owed
    over before an op reads it that needs it paid. A group of one rank is no
    error.
  }];
}

def VerifyEquivalence : Pass<"verify-equivalence", "::mlir::ModuleOp"> {
  let summary = "Placed and planned programs compute what was imported.";
  let description = [{
    Collectives, slices and fused regions do not change the global tensor: that
    is what their verifiers check. Without them, a placed or planned program
    must be the imported one. Both are numbered by value: two ops get one number
    if they are the same op with the same attributes on operands of the same
    numbers. The returned values, every recorded value, and what stays in the
    caches must have the same numbers as in the reference (the function with the
    attribute `decoder.reference`), on the same inputs.

    Nothing is enumerated: this holds for all sizes and token counts.
  }];
}

def VerifyExact : Pass<"verify-exact", "::mlir::ModuleOp"> {
  let summary = "Planned programs, run on all ranks, give what the imported one gives.";
  let description = [{
    Runs the imported program on one device and the planned ones on all ranks
    over the prime field 2^61 - 1, at token counts at the edges of the splits,
    with and without a history. Linear ops are exact there, whatever the order
    of a sum; a non-linear function is a keyed hash of exactly what it may
    depend on, inside the shape of the real formula. What is returned, cached
    and recorded must be equal on all ranks, with no tolerance: a program that
    differs passes with a probability below 2^-47.

    Ops run on the data that ranks hold, by position, and not by what types say:
    programs whose verifiers fail are run as well. The message names the first
    value that differs, with its rank and row, and where it is computed in both
    programs.
  }];
}

#endif // LAYLINE_VERIFICATION_PASSES
