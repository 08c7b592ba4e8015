//===- GridAttrs.td - splits and layouts -------------------*- tablegen -*-===//
#ifndef LAYLINE_GRID_ATTRS
#define LAYLINE_GRID_ATTRS

include "GridDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

def Grid_PartitionKind : I32EnumAttr<"PartitionKind",
    "How the items of a dimension are dealt out to the ranks of an axis", [
      I32EnumAttrCase<"Block", 0, "block">,
      I32EnumAttrCase<"Zigzag", 1, "zigzag">,
      I32EnumAttrCase<"Cyclic", 2, "cyclic">,
      I32EnumAttrCase<"Owner", 3, "owner">,
      I32EnumAttrCase<"Readers", 4, "readers">,
      I32EnumAttrCase<"FirstReaders", 5, "first_readers">,
      I32EnumAttrCase<"Routed", 6, "routed">]> {
  let cppNamespace = "::layline::grid";
  let genSpecializedAttr = 0;
}

def Grid_SplitAttr : AttrDef<Grid_Dialect, "Split"> {
  let mnemonic = "split";
  let summary = "How one dimension is split over one mesh axis.";
  let description = [{
    The dimension consists of `n` items of `unit` elements each, dealt out to
    the `p` ranks of `axis`:

    * `block`: balanced contiguous parts. With q, r = divmod(n, p) the first r
      ranks hold q + 1 items and the others q. Any n, also n < p.
    * `zigzag`: 2p balanced contiguous segments; rank k holds segments k and
      2p-1-k (equal causal attention work).
    * `cyclic(I)`: item i belongs to rank (i / I) mod p.
    * `owner(o0, o1, ...)`: item i belongs to rank o_i.
    * `readers(h)`: the n items are KV heads, read by h query heads that are
      split by `block` over the same axis; each rank holds exactly the KV heads
      that its query heads read. Parts may overlap: this is a cover, not a
      partition, so a sum over the items must not be taken across ranks.
    * `first_readers(h)`: of the KV heads that `readers(h)` gives a rank, those
      that no lower rank has. Each KV head is held once, by the first rank that
      reads it: a partition, so a sum over the items counts each once.

    * `routed(e)`: rows after `grid.dispatch`. Of e experts, split by `block` over
      the same axis, each row has chosen some; a rank has the rows that chose one
      of its own. Which these are only the data say: there is a place for every
      row, and those that are not there are holes that nobody reads. So this is
      no partition, and never anything but dimension 0.

    With `then`, what a rank holds is dealt out again over another axis: the
    items of the second split are the first, second, ... item of the rank's part
    of the first one. The unit stands once, at the end.

    Example:

    ```mlir
    #grid.split<block "tp">            // items are elements
    #grid.split<block "tp" x 128>      // items are heads of 128 features
    #grid.split<readers(64) "tp">
    #grid.split<first_readers(64) "tp" x 128>
    #grid.split<cyclic(4) "cp">
    #grid.split<zigzag "cp" then block "tp">
    #grid.split<zigzag "cp" then routed(128) "tp">
    ```

    Constraints:
    * `unit` is at least 1.
    * the argument is at least 1 for `cyclic`, `readers`, `first_readers` and
      `routed`, absent otherwise.
    * owners are listed for `owner` only.
    * splits that follow one another are partitions by block, zigzag or cyclic
      over different axes; the last one may be `routed`.
  }];
  let parameters = (ins
    "::mlir::StringAttr":$axis,
    "PartitionKind":$kind,
    "int64_t":$unit,
    "int64_t":$argument,
    OptionalArrayRefParameter<"int64_t">:$owners,
    OptionalParameter<"::mlir::Attribute", "the split that follows, of unit 1, or null">:$next);
  let builders = [
    AttrBuilderWithInferredContext<(ins "::mlir::StringAttr":$axis), [{
      return $_get(axis.getContext(), axis, PartitionKind::Block, 1, 0, ArrayRef<int64_t>(), ::mlir::Attribute());
    }]>,
    AttrBuilderWithInferredContext<(ins "::mlir::StringAttr":$axis, "PartitionKind":$kind,
                                        "int64_t":$unit, "int64_t":$argument), [{
      return $_get(axis.getContext(), axis, kind, unit, argument, ArrayRef<int64_t>(), ::mlir::Attribute());
    }]>];
  let extraClassDeclaration = [{
    /// The same split with items of another size.
    SplitAttr withUnit(int64_t unit) const;
    /// Every item is held by exactly one rank (false for readers and routed).
    bool isPartition() const {
      return getKind() != PartitionKind::Readers && !isRouted();
    }
    /// The last split of the chain deals rows out to the ranks of their experts.
    bool isRouted() const;
    /// The items are KV heads, held by where their query heads are.
    bool hasQueryHeads() const {
      return getKind() == PartitionKind::Readers ||
             getKind() == PartitionKind::FirstReaders;
    }
    /// Of parts by `readers`, the items that a rank is the first to hold.
    SplitAttr getFirstReaders() const;
    /// A rank can cut its part out of what it holds of the dimension, split so
    /// (null: whole): `outer` dealt out over one more axis, or the first readers
    /// of it.
    bool isPartOf(SplitAttr outer) const;
    /// This split alone, without those that follow.
    SplitAttr getFirst() const;
    /// This split and all that follow, each alone, outermost first.
    ::llvm::SmallVector<SplitAttr, 2> getChain() const;
    /// The axis of the last split of the chain: what a gather gives back first.
    ::mlir::StringAttr getLastAxis() const;
    bool isOver(::mlir::StringAttr axis) const;
    /// The parts of this split dealt out again.
    SplitAttr then(SplitAttr last) const;
    /// Without the last split of the chain; null if there is no other.
    SplitAttr withoutLast() const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Grid_LayoutAttr : AttrDef<Grid_Dialect, "Layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "Where a tensor lives: a split or nothing per dimension, and the sums it owes.";
  let description = [{
    One entry per dimension of the *global* tensor: `_` (every rank holds it
    whole) or a split. `owes` names the axes over which the ranks' values are
    addends of a sum that has not been taken yet. A mesh axis that is not named
    holds copies.

    Example:

    ```mlir
    tensor<?x4096xbf16, #grid.layout<[block "tp", _]>>      // each rank its rows
    tensor<?x4096xbf16, #grid.layout<[_, _] owes "tp">>     // partial sums
    tensor<?x64x128xbf16, #grid.layout<[_, block "tp", _]>> // heads
    tensor<?x4096xbf16, #grid.layout<[zigzag "cp" then block "tp", _]>>
    tensor<?x64x128xbf16, #grid.layout<[_, block "tp" pad 64, _]>> // for a kernel
    ```

    `pad n` says that a rank's part of the dimension is followed by elements
    without meaning, up to n: the shape that a kernel asks for. The global
    tensor does not have them.

    Constraints:
    * as many entries as the tensor has dimensions.
    * an axis splits at most one dimension (a value split over rows and columns
      by one axis covers only the diagonal blocks).
    * an axis that splits a dimension owes no sum, unless it routes the rows: a
      rank then has addends of the rows that came to it.
    * only rows are routed, in units of 1.
    * owed axes are named once each, in alphabetical order.
    * a split of a static dimension of n elements needs n to be a multiple of its unit.
    * `owner`, `readers` and `first_readers` split static dimensions only; each
      KV head is read by as many query heads, at least one.
    * only floating-point values owe a sum.
    * a padded part has at least one element, and never one of the rows.
  }];
  let parameters = (ins
    OptionalArrayRefParameter<"SplitAttr", "null where held whole">:$dims,
    OptionalArrayRefParameter<"::mlir::StringAttr">:$owes,
    OptionalArrayRefParameter<"int64_t", "elements of the padded part by dimension, 0 where there is no padding; empty if nowhere">:$padding);
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<SplitAttr>":$dims, "::llvm::ArrayRef<::mlir::StringAttr>":$owes), [{
    return $_get($_ctxt, dims, owes, ArrayRef<int64_t>());
  }]>];
  let extraClassDeclaration = [{
    static LayoutAttr getWhole(::mlir::MLIRContext *context, unsigned rank);
    bool isSplit(unsigned dim) const { return static_cast<bool>(getDims()[dim]); }
    bool owesAnything() const { return !getOwes().empty(); }
    bool owesOver(::mlir::StringAttr axis) const { return ::llvm::is_contained(getOwes(), axis); }
    /// The dimension that `axis` splits, if any.
    std::optional<unsigned> getDimSplitBy(::mlir::StringAttr axis) const;
    LayoutAttr withDim(unsigned dim, SplitAttr split) const;
    /// Elements of a rank's padded part, or 0.
    int64_t getPad(unsigned dim) const {
      return getPadding().empty() ? 0 : getPadding()[dim];
    }
    LayoutAttr withPad(unsigned dim, int64_t elements) const;
    LayoutAttr withOwes(::llvm::ArrayRef<::mlir::StringAttr> axes) const;
    LayoutAttr withoutOwes(::llvm::ArrayRef<::mlir::StringAttr> axes) const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // LAYLINE_GRID_ATTRS
