//===- KVOps.td - pools, migrations, layers ----------------*- tablegen -*-===//
#ifndef LAYLINE_KV_OPS
#define LAYLINE_KV_OPS

include "KVAttrs.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class KV_Op<string mnemonic, list<Trait> traits = []>
    : Op<KV_Dialect, mnemonic, traits>;

def KV_PoolOp : KV_Op<"pool", [Symbol]> {
  let summary = "The cache of one side: its mesh, planes, pages, and who keeps what.";
  let description = [{
    A rank has one buffer of each kind for each layer that it keeps. `capacity`
    is what a buffer has room for, in token slots: not the length of a request.
    It does not depend on cp, and neither does the number of buffers: ranks
    that compute a part of the tokens still keep all of them, unless `residency`
    says otherwise.

    Example:

    ```mlir
    kv.pool @prefill mesh [1, 1, 4, 1] page 64 capacity 65536
      buffers [#kv.buffer<"k" table "kv" page 65536>, #kv.buffer<"v" table "kv" page 65536>]
      planes [#kv.plane<"k" "bf16" 4 x 256 layers 0 to 47 in "k" token_major>,
              #kv.plane<"v" "bf16" 4 x 256 layers 0 to 47 in "v" token_major>]
      compute <zigzag "cp">
      residency <tokens whole, heads split "tp", layers all>
    ```

    Constraints:
    * the mesh has four axes, pp, dp, cp and tp, of at least one rank.
    * pages have at least one token, and capacity is in whole pages.
    * buffers and planes have names of their own; a plane is in a buffer.
    * axes of maps are axes of the mesh; groups of neighbours divide them.
    * heads of a plane are divided evenly, or each is on equally many ranks.
    * planes of a page lie inside it and do not overlap.
    * there is a list of layers for each stage, or for each owner.
    * planes that share a buffer have the same layers.
    * every layer of every plane is kept by some rank.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$mesh,
                       I64Attr:$page_tokens, OptionalAttr<I64Attr>:$capacity,
                       TypedArrayAttrBase<KV_BufferAttr, "buffers">:$buffers,
                       TypedArrayAttrBase<KV_PlaneAttr, "planes">:$planes,
                       OptionalAttr<KV_DealAttr>:$compute, KV_ResidencyAttr:$residency,
                       OptionalAttr<StrAttr>:$spec);
  let assemblyFormat = [{
    $sym_name `mesh` $mesh `page` $page_tokens (`capacity` $capacity^)?
    `buffers` $buffers `planes` $planes (`compute` $compute^)?
    `residency` $residency attr-dict
  }];
  let extraClassDeclaration = [{
    int64_t getAxisSize(::llvm::StringRef axis);
    /// The plane of this name, or null.
    PlaneAttr lookupPlane(::llvm::StringRef name);
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Migration
//===----------------------------------------------------------------------===//

def KV_Packing : KV_Enum<"PackingKind", "Where small blocks are put together", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Source", 1, "source">,
  I32EnumAttrCase<"Target", 2, "target">, I32EnumAttrCase<"Both", 3, "both">]>;
def KV_Batching : KV_Enum<"BatchKind", "What goes to the engine in one call", [
  I32EnumAttrCase<"Layer", 0, "layer">, I32EnumAttrCase<"All", 1, "all">]>;
def KV_Grain : KV_Enum<"GrainKind", "What a descriptor is made of", [
  I32EnumAttrCase<"Token", 0, "token">, I32EnumAttrCase<"Page", 1, "page">,
  I32EnumAttrCase<"Free", 2, "free">]>;

def KV_MigrateOp : KV_Op<"migrate", [Symbol, SingleBlock, NoTerminator, NoRegionArguments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The cache of a request goes from one pool to another.";
  let description = [{
    Its transfers are the send assignment; its `kv.ready` ops say whom each
    target rank waits for. Every item that a target rank keeps must arrive:
    `--verify-kv-migrations` proves that each does, once, for every number of
    tokens, chunk, prefix and page table. `rounds_to_pages` sends the slots
    behind the last token, too, up to the end of its page; `prefix_unit` is what
    the number of tokens that the target has already is a multiple of.

    Example:

    ```mlir
    kv.migrate @handover from @prefill to @decode profile "optimised" max_descriptors 2048 slot_bytes 0 {
      kv.transfer 0 to 0 {
        kv.send ["k"] layers <0 to 47> heads 0 x 1 tokens <contiguous 0 of 4 x 64>
        kv.send ["v"] layers <0 to 47> heads 0 x 1 tokens <contiguous 0 of 4 x 64>
      }
      kv.ready 0 after [0, 1, 2, 3]
    }
    ```

    Constraints:
    * a prefix that the target has is a multiple of at least one token.
    * both pools are there, and have planes of the same names, in that order,
      element types, heads, bytes and layers.
    * a latent row has no heads to be cut by: both sides keep it whole.
    * a plane that a target rank keeps is sent to it, if any other is: main rows
      without their index keys are of no use.
    * each target rank has one `kv.ready`, which counts every rank that has a
      transfer to it, also an empty one, once.
    * `readiness`, `keys` by source rank, what `kv.ready` says of reports,
      `kv.lifetime` and, if there are `lanes`, `kv.slot` are what the transfers
      need; what is not stated follows from them.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$source, FlatSymbolRefAttr:$target,
                       StrAttr:$profile, I64Attr:$max_descriptors, I64Attr:$slot_bytes,
                       UnitAttr:$rounds_to_pages, DefaultValuedAttr<I64Attr, "1">:$prefix_unit,
                       OptionalAttr<StrAttr>:$model,
                       OptionalAttr<KV_ReadinessAttr>:$readiness,
                       OptionalAttr<StrArrayAttr>:$keys, OptionalAttr<I64Attr>:$lanes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `from` $source `to` $target `profile` $profile
    `max_descriptors` $max_descriptors `slot_bytes` $slot_bytes
    (`rounds_to_pages` $rounds_to_pages^)? (`prefix_unit` $prefix_unit^)?
    (`readiness` $readiness^)? (`keys` $keys^)? (`lanes` $lanes^)? $body attr-dict
  }];
}

def KV_TransferOp : KV_Op<"transfer", [SingleBlock, NoTerminator, NoRegionArguments, HasParent<"MigrateOp">]> {
  let summary = "What one rank sends to another, together.";
  let description = [{
    With every chunk, for its tokens; or, `with_last_chunk`, once, for the whole
    request. A transfer without sends is one of a rank that has nothing to send
    and answers all the same. `packing` puts small blocks together in a scratch
    buffer of the source, of the target, or both.

    Example:

    ```mlir
    kv.transfer 2 to 0 packing target {
      kv.send ["k"] layers <0 to 47> heads 0 x 1 tokens <whole>
    }
    kv.transfer 3 to 0 {}
    ```

    Constraints: see `kv.send` and `kv.migrate`.
    * both are ranks of their pools.
    * a state is sent with the last chunk: before, it is not final.
  }];
  let arguments = (ins I64Attr:$source, I64Attr:$target,
                       DefaultValuedAttr<KV_Packing, "::layline::kv::ir::PackingKind::None">:$packing,
                       DefaultValuedAttr<KV_Batching, "::layline::kv::ir::BatchKind::All">:$batching,
                       UnitAttr:$with_last_chunk);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $source `to` $target (`packing` $packing^)? (`batching` $batching^)?
    (`with_last_chunk` $with_last_chunk^)? $body attr-dict
  }];
}

def KV_SendOp : KV_Op<"send", [HasParent<"TransferOp">]> {
  let summary = "Layers, heads and tokens of planes that go from rank to rank.";
  let description = [{
    Of what both ranks keep: layers by their numbers in the model, heads by
    theirs, and of the tokens the share that this rank is assigned. Several
    planes are those of one page. `grain` is what a descriptor is made of.

    Example:

    ```mlir
    kv.send ["k"] layers <0 to 47> heads 2 x 1 tokens <contiguous 0 of 4 x 64>
    kv.send ["index_key", "index_scale"] layers <0 to 60> heads 0 x 1 tokens <whole> grain page
    ```

    `as` says that the target has them under other numbers. No cache has: it is
    there so that a plan with this fault can be written down and refused.

    Constraints:
    * planes are planes of the pools, in one buffer.
    * layers and heads reside at the sender and at the target. A copy that a
      `kv.owner_broadcast` has brought does not reside.
    * a layer goes to the layer of the same number, a head to the same head.
    * an owner sends all tokens of its layers: no other rank has the rest.
    * no share is that of a past top-k.
    * whole pages are moved between equal pages, with all their heads.
  }];
  let arguments = (ins StrArrayAttr:$planes, KV_LayersAttr:$layers,
                       OptionalAttr<KV_LayersAttr>:$target_layers,
                       I64Attr:$head, I64Attr:$heads, OptionalAttr<I64Attr>:$target_head,
                       KV_TokensAttr:$tokens,
                       DefaultValuedAttr<KV_Grain, "::layline::kv::ir::GrainKind::Free">:$grain);
  let assemblyFormat = [{
    $planes `layers` $layers (`as` $target_layers^)?
    `heads` $head `x` $heads (`as` $target_head^)?
    `tokens` $tokens (`grain` $grain^)? attr-dict
  }];
}

def KV_ReadyOp : KV_Op<"ready", [HasParent<"MigrateOp">]> {
  let summary = "Whose answers a target rank waits for.";
  let description = [{
    A request is ready when each of these ranks has reported all of it: main
    rows, index, states, and what is auxiliary. A rank counts once, whatever it
    sends; `completions` of its reports are waited for, one for each of its
    transfers and the auxiliary one.

    Example:

    ```mlir
    kv.ready 1 after [0, 1]
    kv.ready 1 after [0, 1]
      reports [#kv.reports<main|auxiliary>, #kv.reports<auxiliary>] completions [2, 1]
    ```

    Constraints: see `kv.migrate`.
    * there is a set of reports and a count for each rank, or for none.
  }];
  let arguments = (ins I64Attr:$target, DenseI64ArrayAttr:$sources,
                       OptionalAttr<TypedArrayAttrBase<KV_ReportsAttr, "sets of reports">>:$reports,
                       OptionalAttr<DenseI64ArrayAttr>:$completions);
  let assemblyFormat = [{
    $target `after` $sources (`reports` $reports^)? (`completions` $completions^)? attr-dict
  }];
  let hasVerifier = 1;
}

def KV_LifetimeOp : KV_Op<"lifetime", [HasParent<"MigrateOp">]> {
  let summary = "From when until when buffers of a kind are pinned.";
  let description = [{
    Pages of a table, the scratch buffer of a broadcast, or relay slots, which
    have no name. Of a request that has failed they are pinned until
    `after_failure`: until every writer is quiet.

    Example:

    ```mlir
    kv.lifetime source_pages "kv" from taken until arrived after_failure quiet reuse any_request
    kv.lifetime target_slots "" from taken until consumed after_failure quiet reuse next_round
    ```

    Constraints: see `kv.migrate`.
    * whatever a transfer, a broadcast or a round uses has a lifetime, which
      covers its use.
  }];
  let arguments = (ins KV_StoreKind:$store, StrAttr:$name, KV_MomentKind:$from,
                       KV_MomentKind:$until, KV_MomentKind:$after_failure, KV_ReuseKind:$reuse);
  let assemblyFormat = [{
    $store $name `from` $from `until` $until `after_failure` $after_failure
    `reuse` $reuse attr-dict
  }];
}

def KV_SlotOp : KV_Op<"slot", [HasParent<"MigrateOp">]> {
  let summary = "Memory that packed blocks of one pair go through.";
  let description = [{
    At the source or at the target, for transfers by their numbers. A round of
    them has at most so many bytes and descriptors; rounds of one lane go one
    after the other.

    Example: `kv.slot source 0 to 1 lane 0 bytes 33554432 max_descriptors 2048 transfers [1]`

    Constraints: see `kv.migrate`.
    * a slot has one target, and holds the largest block of its transfers.
    * a transfer has a slot at each end where it packs, in one lane.
  }];
  let arguments = (ins KV_SlotPlace:$at, I64Attr:$source, I64Attr:$target, I64Attr:$lane,
                       I64Attr:$bytes, I64Attr:$max_descriptors, DenseI64ArrayAttr:$transfers);
  let assemblyFormat = [{
    $at $source `to` $target `lane` $lane `bytes` $bytes
    `max_descriptors` $max_descriptors `transfers` $transfers attr-dict
  }];
}

//===----------------------------------------------------------------------===//
// Inside a side
//===----------------------------------------------------------------------===//

def KV_WriteForm : KV_Enum<"WriteForm", "How gathered rows are written", [
  I32EnumAttrCase<"Rows", 0, "rows">,
  I32EnumAttrCase<"QuantisedPages", 1, "quantised_pages">]>;

class KV_PoolUserOp<string mnemonic, list<Trait> traits = []>
    : KV_Op<mnemonic, traits # [DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def KV_RebuildOp : KV_PoolUserOp<"rebuild"> {
  let summary = "Rows of the current chunk that cp ranks have computed, in all their caches.";
  let description = [{
    As a layer runs, each rank computes its part of the chunk's tokens; the op
    gathers them over cp into global token order and writes them at every rank
    that keeps them. Earlier chunks are there already. Latent rows, keys and
    values are written as rows. Index keys are gathered first and then quantised
    into their planar pages: quantised parts could not be put together, since a
    token is not contiguous in a page.

    Example:

    ```mlir
    %0 = kv.rebuild @prefill ["k", "v"] layer 3 from <zigzag "cp"> as rows
    %1 = kv.rebuild @prefill ["index_key", "index_scale"] layer 3 from <cyclic "cp"> as quantised_pages
    ```

    Constraints:
    * `from` is the pool's compute split, which it states, over cp.
    * the pool keeps all tokens of what is rebuilt on each rank.
    * the planes have the layer; those of one page are written together.
    * index planes are written as quantised pages, others as rows.
  }];
  let arguments = (ins FlatSymbolRefAttr:$pool, StrArrayAttr:$planes, I64Attr:$layer,
                       KV_DealAttr:$from, KV_WriteForm:$form, Variadic<KV_EventType>:$after);
  let results = (outs KV_EventType:$done);
  let assemblyFormat = "$pool $planes `layer` $layer `from` $from `as` $form (`after` $after^)? attr-dict";
}

def KV_ScratchOp : KV_PoolUserOp<"scratch"> {
  let summary = "A buffer for one layer of some planes.";
  let description = [{
    As large as the pool's buffers of one layer. What is in it is a copy for
    now: it does not reside there.

    Example: `%0 = kv.scratch @prefill ["latent"]`

    Constraints:
    * the planes are planes of the pool.
  }];
  let arguments = (ins FlatSymbolRefAttr:$pool, StrArrayAttr:$planes);
  let results = (outs KV_ScratchType:$buffer);
  let assemblyFormat = "$pool $planes attr-dict";
}

def KV_OwnerBroadcastOp : KV_PoolUserOp<"owner_broadcast"> {
  let summary = "The owner of a layer sends its cache to all cp ranks.";
  let description = [{
    Where cp ranks own layers, each layer's cache is brought to the others just
    before its attention: index planes first, since the indexer needs only
    those, and the main rows behind them on a second stream, while the indexer
    runs.

    Example:

    ```mlir
    %i = kv.owner_broadcast @prefill ["index_key", "index_scale"] layer 9 owner 1 into %small stream 0
    %m = kv.owner_broadcast @prefill ["latent"] layer 9 owner 1 into %large stream 1 after %i
    %a = kv.attend @prefill layer 9 from %small, %large after %i, %m
    ```

    Constraints:
    * the pool's layers have owners, and `owner` is the cp rank that owns this.
    * planes are those of the scratch buffer, have the layer, and are index
      planes or main planes, not both.
    * main planes of a layer with an index wait for its broadcast, on another
      stream.
    * all that has used the scratch buffer before has completed.
  }];
  let arguments = (ins FlatSymbolRefAttr:$pool, StrArrayAttr:$planes, I64Attr:$layer, I64Attr:$owner,
                       KV_ScratchType:$into, I64Attr:$stream, Variadic<KV_EventType>:$after);
  let results = (outs KV_EventType:$done);
  let assemblyFormat = [{
    $pool $planes `layer` $layer `owner` $owner `into` $into `stream` $stream
    (`after` $after^)? attr-dict
  }];
}

def KV_AttendOp : KV_PoolUserOp<"attend", [AttrSizedOperandSegments]> {
  let summary = "Attention of a layer reads its cache.";
  let description = [{
    Reads the rank's own buffers, or copies in scratch buffers.

    Example: `%a = kv.attend @prefill layer 9 from %small, %large after %i, %m`

    Constraints:
    * of a layer with an owner, all planes are read from scratch buffers that
      hold this layer, and the broadcasts of all of them have arrived.
  }];
  let arguments = (ins FlatSymbolRefAttr:$pool, I64Attr:$layer, Variadic<KV_ScratchType>:$from,
                       Variadic<KV_EventType>:$after);
  let results = (outs KV_EventType:$done);
  let assemblyFormat = "$pool `layer` $layer (`from` $from^)? (`after` $after^)? attr-dict";
}

def KV_PostOp : KV_PoolUserOp<"post"> {
  let summary = "Starts a migration that reads a scratch buffer.";
  let description = [{
    The event is the completion of all its transfers at their targets: until
    then the buffer is a source.

    Example: `%e = kv.post @handover from %packed after %m`

    Constraints:
    * the symbol is a `kv.migrate`.
    * all that has written the buffer has completed.
  }];
  let arguments = (ins FlatSymbolRefAttr:$migration, KV_ScratchType:$from, Variadic<KV_EventType>:$after);
  let results = (outs KV_EventType:$done);
  let assemblyFormat = "$migration `from` $from (`after` $after^)? attr-dict";
}

def KV_ReleaseOp : KV_Op<"release"> {
  let summary = "A scratch buffer is free for other uses.";
  let description = [{
    Example: `kv.release %small after %a`

    Constraints:
    * all that has used the buffer has completed.
    * nothing uses it behind this op.
  }];
  let arguments = (ins KV_ScratchType:$buffer, Variadic<KV_EventType>:$after);
  let assemblyFormat = "$buffer (`after` $after^)? attr-dict";
  let hasVerifier = 1;
}

#endif // LAYLINE_KV_OPS
