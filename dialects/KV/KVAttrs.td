//===- KVAttrs.td - planes, parts of tokens, residency -----*- tablegen -*-===//
#ifndef LAYLINE_KV_ATTRS
#define LAYLINE_KV_ATTRS

include "KVDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class KV_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::layline::kv::ir";
}

def KV_EventType : TypeDef<KV_Dialect, "Event"> {
  let mnemonic = "event";
  let summary = "The completion of an op on a cache.";
  let description = [{
    Ops that take events wait for them. Nothing else orders ops: not the order
    in which they stand, which is that of their start.

    Example: `!kv.event`
  }];
}

def KV_ScratchType : TypeDef<KV_Dialect, "Scratch"> {
  let mnemonic = "scratch";
  let summary = "A buffer for one layer that a rank does not keep.";
  let description = [{
    Example: `!kv.scratch`
  }];
}

def KV_TokensKind : KV_Enum<"TokensKind", "Which tokens a part has", [
  I32EnumAttrCase<"Whole", 0, "whole">,
  I32EnumAttrCase<"Contiguous", 1, "contiguous">,
  I32EnumAttrCase<"Zigzag", 2, "zigzag">,
  I32EnumAttrCase<"Cyclic", 3, "cyclic">,
  I32EnumAttrCase<"Room", 4, "room">,
  I32EnumAttrCase<"TopK", 5, "top_k">]>;

def KV_TokensAttr : AttrDef<KV_Dialect, "Tokens"> {
  let mnemonic = "tokens";
  let summary = "A part of the tokens of a request.";
  let description = [{
    Items are runs of tokens, the last one possibly shorter. Of n items,
    `i of p` is:

    * `contiguous`: balanced blocks, the first n mod p with one item more.
    * `zigzag`: of 2p balanced blocks, block i and its mirror 2p-1-i.
    * `cyclic`: item k belongs to part k mod p.
    * `room`: all, if the request's room mod p is i.
    * `whole`: all.
    * `top_k k`: the k positions that an indexer has selected once. No plan may
      ship only those: the next query selects others.

    `per_chunk` deals out each chunk by itself, not the whole request.

    Example:

    ```mlir
    #kv.tokens<whole>
    #kv.tokens<contiguous 1 of 4 x 64>            // by pages of 64
    #kv.tokens<contiguous 1 of 4 x 64 per_chunk>
    #kv.tokens<cyclic 0 of 8>
    #kv.tokens<room 2 of 4>
    ```

    Constraints:
    * the part is one of the parts; runs have at least one token.
  }];
  let parameters = (ins "TokensKind":$kind, "int64_t":$index, "int64_t":$parts,
                        "int64_t":$unit, "bool":$perChunk);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def KV_DealKind : KV_Enum<"DealKind", "How tokens are dealt out to the ranks of an axis", [
  I32EnumAttrCase<"Whole", 0, "whole">,
  I32EnumAttrCase<"Contiguous", 1, "contiguous">,
  I32EnumAttrCase<"Zigzag", 2, "zigzag">,
  I32EnumAttrCase<"Cyclic", 3, "cyclic">,
  I32EnumAttrCase<"PageStriped", 4, "page_striped">,
  I32EnumAttrCase<"PageNumber", 5, "page_number">]>;

def KV_DealAttr : AttrDef<KV_Dialect, "Deal"> {
  let mnemonic = "deal";
  let summary = "How tokens are dealt out to the ranks of an axis.";
  let description = [{
    As `#kv.tokens`, of which rank k of the axis has part k. `page_striped` is
    `cyclic` by pages of the pool. `page_number` deals out pages by the numbers
    in the page table, which all ranks of a group share: rank k of p keeps page n
    as its page n / p if n mod p is k. `by g`: over g neighbours of the axis, again
    and again (decode context parallelism inside a tp group).

    Example:

    ```mlir
    #kv.deal<whole>
    #kv.deal<zigzag "cp">
    #kv.deal<cyclic "cp" x 16>
    #kv.deal<cyclic "tp" by 4>
    #kv.deal<page_striped "cp">
    #kv.deal<page_number "cp">
    ```

    Constraints:
    * all but `whole` name an axis.
    * runs have at least one token; `page_striped` and `page_number` name none.
  }];
  let parameters = (ins "DealKind":$kind, OptionalParameter<"::mlir::StringAttr">:$axis,
                        "int64_t":$group, "int64_t":$unit);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def KV_LayersAttr : AttrDef<KV_Dialect, "Layers"> {
  let mnemonic = "layers";
  let summary = "Layers by their numbers in the model.";
  let description = [{
    Example:

    ```mlir
    #kv.layers<0 to 47>
    #kv.layers<0 to 2, 6, 10, 14>
    #kv.layers<none>
    ```

    Constraints:
    * numbers are ascending and not negative.
  }];
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$ids);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def KV_LayerRule : KV_Enum<"LayerRule", "Which layers a rank keeps", [
  I32EnumAttrCase<"All", 0, "all">,
  I32EnumAttrCase<"Stages", 1, "stages">,
  I32EnumAttrCase<"Owners", 2, "owners">]>;

def KV_ResidencyAttr : AttrDef<KV_Dialect, "Residency"> {
  let mnemonic = "residency";
  let summary = "What each rank of a mesh keeps: tokens, heads and layers.";
  let description = [{
    Tokens as a `#kv.deal` says. Heads are `split` over an axis, or all are
    `replicated` on every rank. `by g`: g neighbours have the same ones. A plane
    with fewer heads than parts has each of them in equally many parts, so one
    with a single head (a latent row, an index key) is on every rank whole.
    Layers are all, those of the rank's stage, or those that the rank owns:
    listed by pp, or by pp and cp.

    Example:

    ```mlir
    #kv.residency<tokens whole, heads split "tp", layers all>
    #kv.residency<tokens cyclic "tp" by 2, heads split "tp" by 2, layers all>
    #kv.residency<tokens whole, heads split "tp", layers stages [0 to 6 | 7 to 14]>
    #kv.residency<tokens whole, heads replicated, layers owners [0 to 7 | 8 to 14 | 15 to 22 | 23 to 29]>
    ```

    Constraints:
    * heads split over an axis are in groups of at least 1.
    * there are lists of layers for `stages` and `owners` only.
    * no layer is in two lists.
  }];
  let parameters = (ins "DealAttr":$tokens,
                        OptionalParameter<"::mlir::StringAttr", "null: replicated">:$headAxis,
                        "int64_t":$headGroup, "LayerRule":$rule,
                        OptionalArrayRefParameter<"LayersAttr">:$layers);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def KV_RowOrder : KV_Enum<"RowOrder", "Which axis is inside in a page", [
  I32EnumAttrCase<"TokenMajor", 0, "token_major">,
  I32EnumAttrCase<"HeadMajor", 1, "head_major">,
  I32EnumAttrCase<"Strides", 2, "strides">]>;

def KV_PlaneAttr : AttrDef<KV_Dialect, "Plane"> {
  let mnemonic = "plane";
  let summary = "What a pool keeps of every token, or of every request, in each layer.";
  let description = [{
    Heads are those of the model, each of so many bytes; 1 where there are
    none. `last n` keeps the last n tokens of a request only. `state` is one
    item per request.

    `in` names the buffer; a page of it has the plane's tokens from byte `at`
    on. `token_major` is NHD, heads of a token side by side; `head_major` is
    HND. Planes that begin at different bytes of one page are planar: keys of
    all tokens of the page, then their scales.

    Example:

    ```mlir
    #kv.plane<"k" "bf16" 4 x 256 layers 0 to 47 in "k" token_major>
    #kv.plane<"index_key" "fp8" 1 x 128 layers 0 to 60 in "index" token_major>
    #kv.plane<"index_scale" "f32" 1 x 4 layers 0 to 60 in "index" at 8192 token_major>
    #kv.plane<"k_window" "bf16" 8 x 256 last 4096 layers 0, 2, 4 in "k_window" token_major>
    #kv.plane<"conv" "u8" 1 x 24576 state layers 0 to 47 in "conv" token_major>
    ```

    Constraints:
    * at least one head of at least one byte.
    * a window has at least one token; a state has none.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::StringAttr":$dtype,
                        "int64_t":$heads, "int64_t":$headBytes, "bool":$isState,
                        "int64_t":$window, "LayersAttr":$layers,
                        "::mlir::StringAttr":$buffer, "int64_t":$offset,
                        "RowOrder":$order, "int64_t":$tokenStride, "int64_t":$headStride);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def KV_BufferAttr : AttrDef<KV_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "A kind of buffer: one for each layer that a rank keeps.";
  let description = [{
    Pages are numbered by a page table; buffers may share one.

    Example: `#kv.buffer<"k" table "kv" page 65536>`
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::StringAttr":$table,
                        "int64_t":$pageBytes);
  let assemblyFormat = "`<` $name `table` $table `page` $pageBytes `>`";
}

//===----------------------------------------------------------------------===//
// Completion: the words of kv.json, also those that are refused
//===----------------------------------------------------------------------===//

def KV_Reports : I32BitEnumAttr<"ReportSet", "What a responder reports", [
  I32BitEnumAttrCaseBit<"Main", 0, "main">,
  I32BitEnumAttrCaseBit<"Index", 1, "index">,
  I32BitEnumAttrCaseBit<"State", 2, "state">,
  I32BitEnumAttrCaseBit<"Auxiliary", 3, "auxiliary">]> {
  let cppNamespace = "::layline::kv::ir";
  let genSpecializedAttr = 0;
}

def KV_ReportsAttr : EnumAttr<KV_Dialect, KV_Reports, "reports"> {
  let summary = "What a responder reports of a request.";
  let description = [{
    `auxiliary` is what goes with a request beside its cache. It comes behind
    all else of its sender, and is all that one with nothing to send has.

    Example: `#kv.reports<main|index|auxiliary>`
  }];
  let assemblyFormat = "`<` $value `>`";
}

def KV_ReadyWhen : KV_Enum<"ReadyWhen", "How many completions are needed", [
  I32EnumAttrCase<"All", 0, "all">, I32EnumAttrCase<"Any", 1, "any">]>;
def KV_ReadyCounting : KV_Enum<"ReadyCounting", "What a repeated report counts", [
  I32EnumAttrCase<"Senders", 0, "sender">, I32EnumAttrCase<"Reports", 1, "report">]>;
def KV_ReadyReporting : KV_Enum<"ReadyReporting", "When a transfer is reported", [
  I32EnumAttrCase<"Arrived", 0, "arrived">, I32EnumAttrCase<"Posted", 1, "posted">]>;
def KV_ReadyNaming : KV_Enum<"ReadyNaming", "Whom a report is for", [
  I32EnumAttrCase<"Request", 0, "request">, I32EnumAttrCase<"Room", 1, "room">]>;
def KV_ReadyFailure : KV_Enum<"ReadyFailure", "How long a failure lasts", [
  I32EnumAttrCase<"Sticky", 0, "sticky">,
  I32EnumAttrCase<"UntilNextReport", 1, "until_next_report">]>;

def KV_ReadinessAttr : AttrDef<KV_Dialect, "Readiness"> {
  let mnemonic = "readiness";
  let summary = "The rules by which a target rank has a request.";
  let description = [{
    How many of the completions of all responders are needed, whether one that
    comes twice counts once, when a transfer is reported, whether a report names
    the request or its room, and how long a failure lasts.

    Example: `#kv.readiness<all by sender at arrived of request failure sticky>`

    Constraints: those of `kv.migrate`; each rule has one value that is right.
  }];
  let parameters = (ins EnumParameter<KV_ReadyWhen>:$when,
                        EnumParameter<KV_ReadyCounting>:$counting,
                        EnumParameter<KV_ReadyReporting>:$reporting,
                        EnumParameter<KV_ReadyNaming>:$naming,
                        EnumParameter<KV_ReadyFailure>:$failure);
  let assemblyFormat = "`<` $when `by` $counting `at` $reporting `of` $naming `failure` $failure `>`";
}

def KV_StoreKind : KV_Enum<"StoreKind", "A kind of buffer that a plan uses", [
  I32EnumAttrCase<"SourcePages", 0, "source_pages">,
  I32EnumAttrCase<"TargetPages", 1, "target_pages">,
  I32EnumAttrCase<"BroadcastScratch", 2, "broadcast_scratch">,
  I32EnumAttrCase<"SourceSlots", 3, "source_slots">,
  I32EnumAttrCase<"TargetSlots", 4, "target_slots">]>;
def KV_MomentKind : KV_Enum<"MomentKind", "What happens to a buffer", [
  I32EnumAttrCase<"Taken", 0, "taken">, I32EnumAttrCase<"Posted", 1, "posted">,
  I32EnumAttrCase<"Arrived", 2, "arrived">, I32EnumAttrCase<"Consumed", 3, "consumed">,
  I32EnumAttrCase<"Failed", 4, "failed">, I32EnumAttrCase<"Quiet", 5, "quiet">]>;
def KV_ReuseKind : KV_Enum<"ReuseKind", "Who may have a buffer next", [
  I32EnumAttrCase<"AnyRequest", 0, "any_request">,
  I32EnumAttrCase<"NextRound", 1, "next_round">,
  I32EnumAttrCase<"NextLayer", 2, "next_layer">]>;
def KV_SlotPlace : KV_Enum<"SlotPlace", "The end that a relay slot is at", [
  I32EnumAttrCase<"Source", 0, "source">, I32EnumAttrCase<"Target", 1, "target">]>;

#endif // LAYLINE_KV_ATTRS
