//===- KVDialect.td - caches and how they change hands -----*- tablegen -*-===//
#ifndef LAYLINE_KV_DIALECT
#define LAYLINE_KV_DIALECT

include "mlir/IR/OpBase.td"

def KV_Dialect : Dialect {
  let name = "kv";
  let summary = "KV caches on a mesh of cards, and their migration to another.";
  let description = [{
    Four maps stay apart, and none is derived from another:

    | map | says | where |
    |---|---|---|
    | compute | which rank computes a token | `compute` of `kv.pool` |
    | residency | which rank keeps a token, head and layer | `residency` of the source's `kv.pool` |
    | assignment | which of those that keep it sends it | `kv.send` |
    | destination | which rank must have it | `residency` of the target's `kv.pool` |

    A rank's number is its row-major index over (pp, dp, cp, tp). Page tables
    are not part of a program: a plan is bound to those of a request later.

    `kv.migrate` says the same as a plan in kv.json. What happens to a cache
    inside one side, layer by layer, is said by `kv.rebuild` and
    `kv.owner_broadcast`, ordered by events.
  }];
  let cppNamespace = "::layline::kv::ir";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
}

#endif // LAYLINE_KV_DIALECT
