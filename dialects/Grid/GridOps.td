//===- GridOps.td - the mesh, collectives, fused regions ---*- tablegen -*-===//
#ifndef LAYLINE_GRID_OPS
#define LAYLINE_GRID_OPS

include "GridAttrs.td"
include "GridInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Grid_Op<string mnemonic, list<Trait> traits = []>
    : Op<Grid_Dialect, mnemonic, traits>;

def Grid_MeshOp : Grid_Op<"mesh", [Symbol]> {
  let summary = "The named axes of the cards and their sizes.";
  let description = [{
    A module has one mesh. A rank's number is its row-major index over the axes
    in the order given.

    Example:

    ```mlir
    grid.mesh @mesh ["tp"] = [8]
    ```

    Constraints:
    * a module has at most one mesh.
    * as many sizes as axes; sizes are at least 1.
    * axis names are not empty and differ.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axes, DenseI64ArrayAttr:$sizes);
  let assemblyFormat = "$sym_name $axes `=` $sizes attr-dict";
  let extraClassDeclaration = [{
    /// The number of ranks along `axis`, or none if the mesh has no such axis.
    std::optional<int64_t> getAxisSize(::llvm::StringRef axis);
  }];
  let hasVerifier = 1;
}

// A collective over one value, or rows and what goes with them: the global
// tensors stay the same.
class Grid_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : Grid_Op<mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<CommEdgeOpInterface>,
        DeclareOpInterfaceMethods<RowCarrierOpInterface>], traits)> {
  let hasVerifier = 1;
}

def Grid_AllReduceOp : Grid_CollectiveOp<"all_reduce"> {
  let summary = "Pays an owed sum; every rank holds the result.";
  let description = [{
    ```
      rank 0: p0        rank 0: p0+p1
      rank 1: p1   ->   rank 1: p0+p1
    ```

    `site` names the place in the model where the plain tensor-parallel program
    reduces; it stays on whatever pays the sum after a rewrite.

    Example:

    ```mlir
    %1 = grid.all_reduce %0 over ["tp"] {site = "layer.0.o_proj"}
       : tensor<?x64xf32, #grid.layout<[_, _] owes "tp">> -> tensor<?x64xf32, #grid.layout<[_, _]>>
    ```

    Constraints:
    * operand and result have layouts and are otherwise the same tensor type.
    * the operand owes a sum over each of the axes: what is not owed is not paid.
    * the result's layout is the operand's without these owed axes.
  }];
  let arguments = (ins AnyRankedTensor:$input, StrArrayAttr:$axes, OptionalAttr<StrAttr>:$site,
                       OptionalAttr<StrAttr>:$reason);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `over` $axes attr-dict `:` type($input) `->` type($result)";
}

def Grid_ReduceScatterOp : Grid_CollectiveOp<"reduce_scatter"> {
  let summary = "Pays an owed sum; each rank keeps its part of one dimension.";
  let description = [{
    ```
      rank 0: a0 b0        rank 0: a0+a1
      rank 1: a1 b1   ->   rank 1: b0+b1
    ```

    Example:

    ```mlir
    %1 = grid.reduce_scatter %0 dim 0 over "tp"
       : tensor<?x64xf32, #grid.layout<[_, _] owes "tp">> -> tensor<?x64xf32, #grid.layout<[block "tp", _]>>
    ```

    Constraints:
    * operand and result have layouts and are otherwise the same tensor type.
    * the operand owes a sum over the axis, and holds dimension `dim` whole.
    * the result splits `dim` over the axis by a partition, owes no sum over it,
      and is otherwise laid out as the operand.
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, StrAttr:$axis, OptionalAttr<StrAttr>:$site);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `dim` $dim `over` $axis attr-dict `:` type($input) `->` type($result)";
}

def Grid_AllGatherOp : Grid_CollectiveOp<"all_gather"> {
  let summary = "Every rank gets all parts of a split dimension.";
  let description = [{
    ```
      rank 0: a        rank 0: a b
      rank 1: b   ->   rank 1: a b
    ```

    Parts are put where they belong in the global tensor, whatever the split
    (block, zigzag, cyclic): the result is in global order.

    Example:

    ```mlir
    %1 = grid.all_gather %0 dim 0 over "tp"
       : tensor<?x64xf32, #grid.layout<[block "tp", _]>> -> tensor<?x64xf32, #grid.layout<[_, _]>>
    ```

    Constraints:
    * operand and result have layouts and are otherwise the same tensor type.
    * the operand splits dimension `dim` over the axis; the result holds it
      whole and is otherwise laid out as the operand.
    * the operand owes no sum (gathering addends is not a sum).
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, StrAttr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `dim` $dim `over` $axis attr-dict `:` type($input) `->` type($result)";
}

def Grid_BroadcastOp : Grid_CollectiveOp<"broadcast", [AllTypesMatch<["input", "result"]>]> {
  let summary = "Every rank gets the copy of one rank.";
  let description = [{
    Both sides hold the same global tensor in the same layout; after the op the
    copies along the axis are the root's, bit for bit.

    Example:

    ```mlir
    %1 = grid.broadcast %0 root 0 over "tp" : tensor<?x8xi32, #grid.layout<[_, _]>>
    ```

    Constraints:
    * the value has a layout that neither splits nor owes over the axis.
    * the root is not negative.
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$root, StrAttr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `root` $root `over` $axis attr-dict `:` type($result)";
}

def Grid_DispatchOp : Grid_CollectiveOp<"dispatch"> {
  let summary = "Sends each row to the ranks that have one of its experts.";
  let description = [{
    ```
      rank 0 (experts 0, 1): a -> 0 3        rank 0: a . c
      rank 1 (experts 2, 3): b -> 2 3   ->   rank 1: a b c
                             c -> 1 2
    ```

    A sparse all_gather of rows, of their experts' numbers and of the weights of
    these: the global tensors stay the same, but of each a rank gets only the
    rows that chose one of its experts. `experts` of them are split by `block`
    over the axis. Rows that a rank does not get are holes (`.` above): nobody
    may read them.

    Example:

    ```mlir
    %rx, %ri, %rw = grid.dispatch %x, %ids, %weights to 8 over "tp"
       : (tensor<?x64xf32, #grid.layout<[block "tp", _]>>, tensor<?x2xi32, #grid.layout<[block "tp", _]>>,
          tensor<?x2xf32, #grid.layout<[block "tp", _]>>)
      -> (tensor<?x64xf32, #grid.layout<[routed(8) "tp", _]>>, tensor<?x2xi32, #grid.layout<[routed(8) "tp", _]>>,
          tensor<?x2xf32, #grid.layout<[routed(8) "tp", _]>>)
    ```

    Constraints:
    * each operand and its result have layouts and are otherwise the same tensor
      type; ids and weights have the same shape, and as many rows as the input.
    * the operands split their rows alike, last over the axis, by a partition,
      and owe nothing over it.
    * the results' rows are `routed` over the axis to so many experts in place of
      that split; they are otherwise laid out as the operands.
    * whatever reads a result takes routed rows (see `FactorModel::routing`).
  }];
  let arguments = (ins AnyRankedTensor:$input, RankedTensorOf<[I64, I32]>:$ids,
                       RankedTensorOf<[AnyFloat]>:$weights, I64Attr:$experts, StrAttr:$axis);
  let results = (outs AnyRankedTensor:$routed, RankedTensorOf<[I64, I32]>:$routed_ids,
                      RankedTensorOf<[AnyFloat]>:$routed_weights);
  let assemblyFormat = "operands `to` $experts `over` $axis attr-dict `:` functional-type(operands, results)";
}

def Grid_CombineOp : Grid_CollectiveOp<"combine"> {
  let summary = "Sends what the experts made of each row back to its rank, and adds it up.";
  let description = [{
    ```
      rank 0: a0 .  c0        rank 0: a0+a1
      rank 1: a1 b1 c1   ->   rank 1: b1     c0+c1
    ```

    A sparse reduce_scatter of rows: it pays the sum over the ranks that a row
    was dispatched to. `ids` are the rows' experts as they were before the
    dispatch: by them a rank knows whom its rows come back from.

    Example:

    ```mlir
    %y = grid.combine %e by %ids over "tp" {site = "layer.0.experts"}
       : (tensor<?x64xf32, #grid.layout<[routed(8) "tp", _] owes "tp">>, tensor<?x2xi32, #grid.layout<[block "tp", _]>>)
      -> tensor<?x64xf32, #grid.layout<[block "tp", _]>>
    ```

    Constraints:
    * operand and result have layouts and are otherwise the same tensor type.
    * the operand's rows are `routed` over the axis last, and it owes a sum over
      it.
    * the result's rows are split as those of the ids, over the axis last; it
      owes no sum over it and is otherwise laid out as the operand.
    * the operand is computed from rows that a `grid.dispatch` over the axis sent
      by these very ids.
  }];
  let arguments = (ins AnyRankedTensor:$input, RankedTensorOf<[I64, I32]>:$ids, StrAttr:$axis,
                       OptionalAttr<StrAttr>:$site);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `by` $ids `over` $axis attr-dict `:` functional-type(operands, results)";
}

def Grid_SliceOp : Grid_Op<"slice", [Pure,
    DeclareOpInterfaceMethods<RowCarrierOpInterface>,
    DeclareOpInterfaceMethods<PartialLinearOpInterface, ["isLinearIn"]>]> {
  let summary = "Each rank keeps its own part of a dimension it holds whole; nothing is sent.";
  let description = [{
    Example:

    ```mlir
    %1 = grid.slice %0 dim 0 over "tp"
       : tensor<?xi64, #grid.layout<[_]>> -> tensor<?xi64, #grid.layout<[block "tp"]>>
    ```

    Of KV heads that several ranks hold, each rank keeps those that it is the
    first to hold:

    ```mlir
    %1 = grid.slice %0 dim 1 over "tp"
       : tensor<?x64xf32, #grid.layout<[_, readers(8) "tp" x 16]>> -> tensor<?x64xf32, #grid.layout<[_, first_readers(8) "tp" x 16]>>
    ```

    Constraints:
    * operand and result have layouts and are otherwise the same tensor type.
    * the operand holds dimension `dim` whole over the axis, or by `readers` of
      it, and owes nothing over it.
    * the result splits `dim` over the axis, by `first_readers` if the operand
      is split by `readers`, and is otherwise laid out as the operand.
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, StrAttr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `dim` $dim `over` $axis attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

// A rank's part of a dimension, with or without elements behind it that mean
// nothing: the global tensor stays the same.
class Grid_PaddingOp<string mnemonic> : Grid_Op<mnemonic, [Pure,
    DeclareOpInterfaceMethods<RowCarrierOpInterface>,
    DeclareOpInterfaceMethods<PartialLinearOpInterface, ["isLinearIn"]>]> {
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
}

def Grid_PadOp : Grid_PaddingOp<"pad"> {
  let summary = "Each rank's part of a dimension, followed by elements without meaning.";
  let description = [{
    The shape that a kernel asks for: a rank with 4 of 64 heads calls an
    attention of 64. How many elements are valid is still in the type: those of
    the rank's part.

    Example:

    ```mlir
    %1 = grid.pad %0 dim 1 to 64
       : tensor<?x64x128xbf16, #grid.layout<[_, block "tp", _]>>
      -> tensor<?x64x128xbf16, #grid.layout<[_, block "tp" pad 64, _]>>
    ```

    Constraints:
    * operand and result have layouts and are otherwise the same tensor type.
    * the dimension is not that of the rows, and not padded yet.
    * the padded part is no smaller than the largest part of any rank.
    * the result is otherwise laid out as the operand.
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, I64Attr:$elements);
  let assemblyFormat = "$input `dim` $dim `to` $elements attr-dict `:` type($input) `->` type($result)";
}

def Grid_UnpadOp : Grid_PaddingOp<"unpad"> {
  let summary = "The valid elements of each rank's part.";
  let description = [{
    Takes away what `grid.pad` has put behind them. The time that a kernel spent
    on it is spent: see the work that `layline verify --consumers` counts.

    Example:

    ```mlir
    %1 = grid.unpad %0 dim 1
       : tensor<?x64x128xbf16, #grid.layout<[_, block "tp" pad 64, _]>>
      -> tensor<?x64x128xbf16, #grid.layout<[_, block "tp", _]>>
    ```

    Constraints:
    * operand and result have layouts and are otherwise the same tensor type.
    * the operand is padded in the dimension, the result is not, and it is
      otherwise laid out as the operand.
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim);
  let assemblyFormat = "$input `dim` $dim attr-dict `:` type($input) `->` type($result)";
}

def Grid_FusedOp : Grid_Op<"fused", [Pure, SingleBlockImplicitTerminator<"YieldOp">, NoRegionArguments]> {
  let summary = "Ops that one kernel runs.";
  let description = [{
    The region captures values from above. What it computes is what its ops
    compute one after another; only yielded values leave the kernel.

    Example:

    ```mlir
    %y, %r = grid.fused "reduce_scatter+add+norm+all_gather" {
      %0 = grid.reduce_scatter %p dim 0 over "tp" : ...
      %1 = decoder.add %res, %0 : ...
      %2 = decoder.norm %1, %w {eps = 1.0e-6 : f64} : ...
      %3 = grid.all_gather %2 dim 0 over "tp" : ...
      grid.yield %3, %1 : ...
    } : tensor<...>, tensor<...>
    ```

    Constraints:
    * it yields as many values as it has results, of the same types.
    * it yields at least one value and holds at least one op besides the yield.
    * fused regions do not nest.
  }];
  let arguments = (ins StrAttr:$kernel);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kernel $body attr-dict (`:` type($outputs)^)?";
  let hasVerifier = 1;
}

def Grid_YieldOp : Grid_Op<"yield", [Pure, Terminator, HasParent<"FusedOp">]> {
  let summary = "The values that leave a fused region.";
  let description = [{ See `grid.fused`. }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

#endif // LAYLINE_GRID_OPS
