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
    they are uneven or empty:

      begin(0) = 0, size(k) >= 0, begin(k) + size(k) = begin(k+1),
      begin(p-1) + size(p-1) = n

    for all n >= 0, by integer emptiness of the negations (MLIR Presburger). A
    `readers` cover is compared with the KV heads that each rank's query heads
    read. A failure names the smallest count and rank found. Axes that split or
    owe are axes of the mesh.
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

#endif // LAYLINE_VERIFICATION_PASSES
