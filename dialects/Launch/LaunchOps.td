//===- LaunchOps.td - the ops of a launch plan -------------*- tablegen -*-===//
#ifndef LAYLINE_LAUNCH_OPS
#define LAYLINE_LAUNCH_OPS

include "LaunchTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

class Launch_Op<string mnemonic, list<Trait> traits = []>
    : Op<Launch_Dialect, mnemonic, traits>;

// What all variants share: a symbol of the plan.
class Launch_PlanSymbol<string mnemonic, list<Trait> traits = []>
    : Launch_Op<mnemonic, !listconcat([Symbol, HasParent<"PlanOp">], traits)>;

def Launch_PlanOp : Launch_Op<"plan", [Symbol, SymbolTable, IsolatedFromAbove,
    NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "A launch plan: one program for all ranks.";
  let description = [{
    `source` says where the program comes from: config, digest, model_type,
    layers. `features` are what a reader must know to run the plan; `proof` is
    the digest of the proofs that were made about it.

    Example:

    ```mlir
    launch.plan @plan target "h200x8" dtype bf16 mesh ["tp"] = [8]
        source {config = "config.json", layers = 2 : i64} requires ["kv_cache"] {
      ...
    }
    ```

    Constraints:
    * as many sizes as axes.
    * the dtype is a floating-point type.
    * input ids and size symbols are defined once each.
    * the variants' token ranges are disjoint, ascending, and leave no gap.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$target, TypeAttr:$dtype,
                       StrArrayAttr:$axes, DenseI64ArrayAttr:$sizes,
                       DictionaryAttr:$source, StrArrayAttr:$features,
                       OptionalAttr<StrAttr>:$proof);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `target` $target `dtype` $dtype `mesh` $axes `=` $sizes
    `source` $source `requires` $features (`proof` $proof^)? $body attr-dict
  }];
  let extraClassDeclaration = [{
    std::optional<int64_t> getAxisSize(::llvm::StringRef axis);
  }];
  let hasRegionVerifier = 1;
}

def Launch_SymbolOp : Launch_Op<"symbol", [HasParent<"PlanOp">]> {
  let summary = "A size that the run decides, and its range.";
  let description = [{
    Example:

    ```mlir
    launch.symbol "tokens" from 1 to 8192
    ```

    Constraints:
    * the range is not empty and not negative.
  }];
  let arguments = (ins StrAttr:$id, I64Attr:$min, I64Attr:$max);
  let assemblyFormat = "$id `from` $min `to` $max attr-dict";
  let hasVerifier = 1;
}

def Launch_GroupOp : Launch_PlanSymbol<"group"> {
  let summary = "The ranks that differ only along some axes: a communicator.";
  let description = [{
    Example:

    ```mlir
    launch.group @tp over ["tp"] ranks 8
    ```

    Constraints:
    * the axes are axes of the mesh, and their sizes multiply to `ranks`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axes, I64Attr:$ranks);
  let assemblyFormat = "$sym_name `over` $axes `ranks` $ranks attr-dict";
  let hasVerifier = 1;
}

def Launch_RangeOp : Launch_PlanSymbol<"range"> {
  let summary = "Who holds which part of a dimension.";
  let description = [{
    A rank's items are those of its segments one after another. `begin` and
    `size` are closed expressions in "rank.<axis>" and, if the extent is, in
    "tokens". A strided segment is runs of `block` items whose begins are
    `stride` apart: its item j is begin + (j div block) * stride + j mod block.

    With `within` the items dealt out are those that another range gives to the
    rank, counted from 0 in its order.

    Example:

    ```mlir
    launch.range @"n64/tp" block over "tp" extent 64 : i64 begin ["mul", "rank.tp", 8] size 8 : i64
    launch.range @"kv8of64/tp" readers over "tp" extent 8 : i64 of 64 begin "rank.tp" size 1 : i64
    launch.range @"cyclic1.tokens/cp" cyclic over "cp" extent "tokens" interleave 1
        begin "rank.cp" size ["ceildiv", ["sub", "tokens", "rank.cp"], 4] block 1 stride 4
    ```

    Constraints:
    * extent, begin and size are closed expressions.
    * the axis is an axis of the mesh.
    * `of` is given for `readers` and `first_readers`, as a multiple of the
      extent, and for `routed`, as the number of experts; else it is not.
    * `interleave` is given for `cyclic` only, at least 1.
    * zigzag has two segments, the others one; only those of cyclic are strided.
    * `within` names a range over another axis, defined before, and the extent
      is its size.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Launch_RangeKind:$kind, StrAttr:$axis,
                       AnyAttr:$extent, OptionalAttr<I64Attr>:$of, OptionalAttr<I64Attr>:$interleave,
                       OptionalAttr<FlatSymbolRefAttr>:$within, ArrayAttr:$segments);
  let assemblyFormat = [{
    $sym_name $kind `over` $axis `extent` $extent (`of` $of^)? (`interleave` $interleave^)?
    (`within` $within^)? custom<Segments>($segments) attr-dict
  }];
  let extraClassDeclaration = [{
    /// The segments: begin, size, and of a strided one block and stride.
    struct SegmentAttrs {
      ::mlir::Attribute begin, size;
      ::mlir::IntegerAttr block, stride;
    };
    ::llvm::SmallVector<SegmentAttrs, 2> getSegmentList();
  }];
  let hasVerifier = 1;
}

def Launch_InputOp : Launch_Op<"input", [HasParent<"PlanOp">]> {
  let summary = "A tensor that the caller binds.";
  let description = [{
    Example:

    ```mlir
    launch.input "input_ids" : tensor<?xi64>
    ```

    Constraints:
    * the type is a ranked tensor of integers.
  }];
  let arguments = (ins StrAttr:$id, TypeAttr:$type);
  let assemblyFormat = "$id `:` $type attr-dict";
  let hasVerifier = 1;
}

def Launch_CacheOp : Launch_PlanSymbol<"cache"> {
  let summary = "Rows kept from step to step.";
  let description = [{
    Dimension 0 of the type is the cached rows, the rest one row.

    Example:

    ```mlir
    launch.cache @layer.0.key layer 0 plane key : tensor<?x8x128xbf16, #grid.layout<[_, _, _]>>
    ```

    Constraints:
    * the type is a ranked tensor with a layout that holds the rows whole.
    * the positions belong to layer -1, keys and values to a layer.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, SI64Attr:$layer, Launch_Plane:$plane, TypeAttr:$type);
  let assemblyFormat = "$sym_name `layer` $layer `plane` $plane `:` $type attr-dict";
  let hasVerifier = 1;
}

def Launch_TableOp : Launch_PlanSymbol<"table"> {
  let summary = "The angles of a RoPE.";
  let description = [{
    If there are `long_inv_freq`, they are used for all rows of a step whose
    largest position is at least `above`.

    Example:

    ```mlir
    launch.table @rope.0 frequencies [1.0, 0.1] factor 1.0
    launch.table @rope.1 frequencies [1.0, 0.1] factor 1.19 above 4096 frequencies [0.5, 0.05] factor 1.19
    ```

    Constraints:
    * both sets have the same number of frequencies, at least one.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseF64ArrayAttr:$inv_freq, F64Attr:$factor,
                       OptionalAttr<I64Attr>:$above, OptionalAttr<DenseF64ArrayAttr>:$long_inv_freq,
                       OptionalAttr<F64Attr>:$long_factor);
  let assemblyFormat = [{
    $sym_name `frequencies` custom<Numbers>($inv_freq) `factor` $factor
    (`above` $above^ `frequencies` custom<Numbers>($long_inv_freq) `factor` $long_factor)? attr-dict
  }];
  let hasVerifier = 1;
}

def Launch_WeightOp : Launch_PlanSymbol<"weight"> {
  let summary = "A tensor of the checkpoint, as the ranks hold it.";
  let description = [{
    See `decoder.weight` for `key`, `stored`, `rows`, `period`, `stored_stack` and
    `transposed`; `bytes` are those of
    the rank that holds most.

    Example:

    ```mlir
    launch.weight @w3 "model.norm.weight" stored [64] bytes 128 : tensor<64xbf16, #grid.layout<[_]>>
    ```

    Constraints:
    * the type is a ranked tensor of static shape with a layout that owes nothing.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$key, DenseI64ArrayAttr:$stored_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$rows, OptionalAttr<I64Attr>:$period,
                       UnitAttr:$stored_stack, UnitAttr:$transposed,
                       I64Attr:$bytes, TypeAttr:$type);
  let assemblyFormat = [{
    $sym_name $key `stored` $stored_shape (`rows` $rows^)? (`period` $period^)?
    (`stored_stack` $stored_stack^)? (`transposed` $transposed^)? `bytes` $bytes `:` $type attr-dict
  }];
  let extraClassDeclaration = [{
    /// The key stands for one tensor per expert.
    bool isStacked() { return getKey().contains("{expert}"); }
  }];
  let hasVerifier = 1;
}

def Launch_FlagOp : Launch_PlanSymbol<"flag", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Counters by which the ranks of a group signal one another.";
  let description = [{
    Visible to the whole system; an epoch number takes the place of a reset.
    A group has an instance for every setting of the axes that it is not over:
    each has counters of its own, chosen by the rank's coordinates on the axes
    of `key`.

    Example:

    ```mlir
    launch.flag @f.tp group @tp key ["cp"]
    ```

    Constraints:
    * the group is a `launch.group`.
    * the key names the mesh axes that the group is not over, in their order:
      instances that shared a counter would take one another's signals.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$group, StrArrayAttr:$key);
  let assemblyFormat = "$sym_name `group` $group `key` $key attr-dict";
}

def Launch_KernelOp : Launch_PlanSymbol<"kernel", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A fused kernel: what must be equal on all ranks.";
  let description = [{
    Example:

    ```mlir
    launch.kernel @k0 ["reduce_scatter", "add", "norm", "all_gather"] dtype bf16 group @tp
    ```

    Constraints:
    * the ops are step kinds, and not fused ones.
    * a kernel with a collective names its group, another one none.
    * the group is a `launch.group`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$ops, TypeAttr:$dtype,
                       OptionalAttr<FlatSymbolRefAttr>:$group);
  let assemblyFormat = "$sym_name $ops `dtype` $dtype (`group` $group^)? attr-dict";
  let extraClassDeclaration = [{
    /// Its blocks wait for other ranks: all must be resident at once.
    bool isCooperative() { return static_cast<bool>(getGroupAttr()); }
  }];
  let hasVerifier = 1;
}

def Launch_StreamOp : Launch_PlanSymbol<"stream"> {
  let summary = "Steps of a stream run in the order of the list.";
  let description = [{
    Example:

    ```mlir
    launch.stream @comm
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let assemblyFormat = "$sym_name attr-dict";
}

def Launch_VariantOp : Launch_PlanSymbol<"variant", [NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "The program for a range of token counts.";
  let description = [{
    Holds arenas, buffers, steps, outputs and sites. `boundaries` names how the
    planner treated the boundaries: "whole", "rows", ...

    Example:

    ```mlir
    launch.variant @v0 tokens 1 to 63 boundaries "whole" {
      ...
    }
    ```

    Constraints:
    * the token range is not empty and begins at 1 or above.
    * steps, buffers, arenas, outputs and sites have names of their own.
    * `after` and `live` name steps of the list, and sites any step.
    * a buffer's arena is an arena of the variant.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$min_tokens, I64Attr:$max_tokens,
                       OptionalAttr<StrAttr>:$boundaries);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `tokens` $min_tokens `to` $max_tokens (`boundaries` $boundaries^)? $body attr-dict
  }];
  let hasRegionVerifier = 1;
}

def Launch_ArenaOp : Launch_Op<"arena", [HasParent<"VariantOp">]> {
  let summary = "Memory that buffers of one class of element types share.";
  let description = [{
    `bound` is the largest sum of bytes that are live at one step: no plan of
    the same lifetimes needs less.

    Example:

    ```mlir
    launch.arena "float" bytes 1024 bound 1024
    ```

    Constraints:
    * 0 <= bound <= bytes.
  }];
  let arguments = (ins StrAttr:$id, I64Attr:$bytes, I64Attr:$bound);
  let assemblyFormat = "$id `bytes` $bytes `bound` $bound attr-dict";
  let hasVerifier = 1;
}

def Launch_BufferOp : Launch_Op<"buffer", [HasParent<"VariantOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "A piece of an arena, or an input.";
  let description = [{
    `bytes` at the variant's largest token count, on the rank with most rows.
    `live` names the first and the last step of the list that touch it.

    Example:

    ```mlir
    %b0 = launch.buffer "b0" input "input_ids" : tensor<?xi64, #grid.layout<[_]>>
    %b7 = launch.buffer "b7" symmetric in "float" at 0 bytes 512 live ["s3", "s7"]
        : tensor<?x4xbf16, #grid.layout<[_, _]>>
    ```

    Constraints:
    * the type is a ranked tensor with a layout; only its dimension 0 may be dynamic.
    * an input is of class `input`, and only that.
    * an input has no place in an arena.
    * `in`, `at` and `bytes` are given together; `live` has two steps.
  }];
  let arguments = (ins StrAttr:$id, Launch_BufferClass:$kind, OptionalAttr<StrAttr>:$input,
                       OptionalAttr<StrAttr>:$arena, OptionalAttr<I64Attr>:$offset,
                       OptionalAttr<I64Attr>:$bytes, OptionalAttr<StrArrayAttr>:$live,
                       TypeAttr:$type);
  let results = (outs Launch_BufferType:$buffer);
  let assemblyFormat = [{
    $id $kind ($input^)? (`in` $arena^ `at` $offset `bytes` $bytes)? (`live` $live^)? `:` $type attr-dict
  }];
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensor() { return ::mlir::cast<::mlir::RankedTensorType>(getType()); }
    bool isInput() { return getKind() == BufferClass::Input; }
    bool hasPlace() { return getOffset().has_value(); }
  }];
  let hasVerifier = 1;
}

def Launch_StepOp : Launch_Op<"step", [ParentOneOf<["VariantOp", "StepOp"]>, NoTerminator, SingleBlock, NoRegionArguments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "One thing that a rank launches.";
  let description = [{
    Arguments are given by role. A buffer may be viewed as another shape of the
    same bytes (heads split or merged); weights, caches and tables are symbols.
    Roles that take a list repeat. Which roles and attributes a kind takes is
    the table of docs/plan-format.md.

    A fused step runs its `body`, a list of steps without streams.

    Example:

    ```mlir
    launch.step "s4" linear (input = %b5, weight = @w6, output = %b7)
        on @compute after ["s3"] waits ["e1"] signals ["e2"] names ["layer.0.attn"] origin "layer.0.o_proj"
    launch.step "s5" norm (input = %b7, weight = @w7, output = %b8) with {norm = "rms", eps = 1.0e-6}
    launch.step "s6" attention (query = %b3 as tensor<?x8x16xbf16, #grid.layout<[_, _, _]>>, ...)
    ```

    Constraints:
    * the roles are those of its kind, in that order; none is missing, and only
      lists repeat.
    * a role takes what its kind says: a buffer, a weight, a cache or a table.
    * buffers and weights hold floats or integers as the kind says.
    * a view has the elements and the owed sums of its buffer.
    * attributes are those of its kind.
    * as many names as outputs.
    * a collective, and a fused step that holds one, names a flag of its group; no
      other does.
    * only a fused step has a body, of steps that are not fused, with no stream,
      and no waits or signals.
    * symbols name what their use says.
  }];
  let arguments = (ins StrAttr:$id, Launch_StepKind:$kind, Variadic<Launch_BufferType>:$buffers,
                       ArrayAttr:$roles, ArrayAttr:$targets,
                       OptionalAttr<DictionaryAttr>:$attrs, OptionalAttr<FlatSymbolRefAttr>:$flag,
                       OptionalAttr<FlatSymbolRefAttr>:$stream, OptionalAttr<StrArrayAttr>:$after,
                       OptionalAttr<StrArrayAttr>:$waits, OptionalAttr<StrArrayAttr>:$signals,
                       OptionalAttr<StrArrayAttr>:$names, OptionalAttr<StrAttr>:$origin);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = [{
    $id $kind custom<Arguments>($buffers, $roles, $targets) (`with` $attrs^)? (`flag` $flag^)?
    (`on` $stream^)? (`after` $after^)? (`waits` $waits^)? (`signals` $signals^)?
    (`names` $names^)? (`origin` $origin^)? (`body` $body^)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// Stands in the list of a variant, not in the body of a fused step.
    bool isTopLevel();
    /// Calls `visit` for the steps of a fused step's body, or for the step.
    void forEachLeaf(::llvm::function_ref<void(StepOp)> visit);
    /// It is a collective, or a fused step that holds one.
    bool isCollective();
    /// Calls `visit` for each argument in the order of the plan: with its
    /// buffer, or with a null value and its symbol.
    void forEachArgument(::llvm::function_ref<void(const Argument &)> visit);
    /// The attribute of that name, or null.
    ::mlir::Attribute getKindAttr(::llvm::StringRef name) {
      return getAttrsAttr() ? getAttrsAttr().get(name) : ::mlir::Attribute();
    }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Launch_OutputOp : Launch_Op<"output", [HasParent<"VariantOp">]> {
  let summary = "A value that the caller gets.";
  let description = [{
    Example:

    ```mlir
    launch.output "logits" %b40
    ```

    Constraints:
    * the buffer owes no sum.
  }];
  let arguments = (ins StrAttr:$id, Launch_BufferType:$buffer);
  let assemblyFormat = "$id $buffer attr-dict";
  let hasVerifier = 1;
}

def Launch_SiteOp : Launch_Op<"site", [HasParent<"VariantOp">]> {
  let summary = "What became of a place where the plain program reduces.";
  let description = [{
    `before` and `after` are the bytes that one rank sends for it: a dictionary
    of closed expressions, {ring, switch}.

    Example:

    ```mlir
    launch.site "layer.0.o_proj" "applied" was ["all_reduce"] became ["reduce_scatter", "all_gather"]
        step "s9" reason "by rows" before {ring = 1, switch = 1} after {ring = 1, switch = 1}
    ```

    Constraints:
    * bytes are closed expressions, given before and after or not at all.
  }];
  let arguments = (ins StrAttr:$id, StrAttr:$status, StrArrayAttr:$was, OptionalAttr<StrArrayAttr>:$became,
                       OptionalAttr<StrAttr>:$step, OptionalAttr<StrAttr>:$reason,
                       OptionalAttr<DictionaryAttr>:$before, OptionalAttr<DictionaryAttr>:$after);
  let assemblyFormat = [{
    $id $status `was` $was (`became` $became^)? (`step` $step^)? (`reason` $reason^)?
    (`before` $before^)? (`after` $after^)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif // LAYLINE_LAUNCH_OPS
