//===- Passes.td - proofs about caches ---------------------*- tablegen -*-===//
#ifndef LAYLINE_KVVERIFICATION_PASSES
#define LAYLINE_KVVERIFICATION_PASSES

include "mlir/Pass/PassBase.td"

def VerifyKVMigrations : Pass<"verify-kv-migrations", "::mlir::ModuleOp"> {
  let summary = "Every byte that a target keeps is written once, for every request.";
  let description = [{
    The verifier of `kv.migrate` looks at ranks, layers and heads. This pass
    looks at tokens: for every number of tokens, chunk, prefix, room and page
    table, each item (plane, layer, head, token) that a target rank keeps is
    written by exactly one send (profile sglang-compat: by at least one, always
    with the same bytes). A failure names the request, the item, who writes it
    and who could:

    ```
    error: 'kv.migrate' op target rank 0, plane 'k', layer 0, head 0, token 8 of
    9, chunk [0, 9), room 0: never written; it resides at source ranks 0, 1, 2,
    3, one sender is expected
    ```

    Tokens are dealt out by rules, each of which is proved to be a partition for
    every count. What is left to try is the parts of all rules of one target's
    senders; a combination that is wrong must have no token at all (MLIR
    Presburger). A page number is a name: slots are what must be different. The
    cost does not depend on the number of tokens.

    Each proof is a remark of the category "kv".
  }];
}

#endif // LAYLINE_KVVERIFICATION_PASSES
