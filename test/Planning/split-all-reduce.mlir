// RUN: layline-opt %s -split-input-file -plan-split-all-reduce | FileCheck %s

// all_reduce = reduce_scatter ; all_gather, where some row-wise op can work on
// rows. Where none can, the sum stays and says why.

#whole = #grid.layout<[_, _]>
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #whole>
!n = tensor<16xf32, #grid.layout<[_]>>

// A norm works on rows. The site's name stays on what pays the sum.
// CHECK-LABEL: @norm
// CHECK-SAME: %[[P:[^:]*]]:
func.func @norm(%p: !owes, %n: !n) -> !whole attributes {grid.boundaries = "rows"} {
  // CHECK: %[[ROWS:.*]] = grid.reduce_scatter %[[P]] dim 0 over "tp" {site = "layer.0.o_proj"} : {{.*}} -> tensor<?x16xf32, #grid.layout<[block "tp", _]>>
  // CHECK: %[[WHOLE:.*]] = grid.all_gather %[[ROWS]] dim 0 over "tp" : {{.*}} -> tensor<?x16xf32, #grid.layout<[_, _]>>
  // CHECK: decoder.norm %[[WHOLE]]
  %0 = grid.all_reduce %p over ["tp"] {site = "layer.0.o_proj"} : !owes -> !whole
  %1 = decoder.norm %0, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  return %1 : !whole
}

// Not where boundaries stay whole ...
// CHECK-LABEL: @whole
func.func @whole(%p: !owes, %n: !n) -> !whole attributes {grid.boundaries = "whole"} {
  // CHECK: grid.all_reduce %{{.*}} over ["tp"] {site = "s"}
  %0 = grid.all_reduce %p over ["tp"] {site = "s"} : !owes -> !whole
  %1 = decoder.norm %0, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  return %1 : !whole
}

// ... nor in the placed program itself.
// CHECK-LABEL: @placed
func.func @placed(%p: !owes, %n: !n) -> !whole {
  // CHECK: grid.all_reduce %{{.*}} over ["tp"] {site = "s"}
  %0 = grid.all_reduce %p over ["tp"] {site = "s"} : !owes -> !whole
  %1 = decoder.norm %0, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  return %1 : !whole
}

// -----

// A residual add and the norm behind it; the other addend is whole and can be sliced.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
// CHECK-LABEL: @residual
func.func @residual(%p: !owes, %x: !whole) -> !whole attributes {grid.boundaries = "rows"} {
  // CHECK: grid.reduce_scatter
  // CHECK-NOT: grid.all_reduce
  %0 = grid.all_reduce %p over ["tp"] : !owes -> !whole
  %1 = decoder.add %x, %0 : (!whole, !whole) -> !whole
  return %1 : !whole
}

// -----

// The only reader is a product whose weight is split over the axis: it needs
// every row, for its columns.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!w = tensor<32x16xf32, #grid.layout<[block "tp", _]>>
!columns = tensor<?x32xf32, #grid.layout<[_, block "tp"]>>
// CHECK-LABEL: @column_parallel_reader
func.func @column_parallel_reader(%p: !owes, %w: !w) -> !columns attributes {grid.boundaries = "rows"} {
  // CHECK: grid.all_reduce %{{.*}} over ["tp"] {reason = "'decoder.linear' at layer.0.q_proj needs all rows", site = "s"}
  %0 = grid.all_reduce %p over ["tp"] {site = "s"} : !owes -> !whole
  %1 = decoder.linear %0, %w : (!whole, !w) -> !columns loc("layer.0.q_proj")
  return %1 : !columns
}

// -----

// What leaves the program is whole.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
// CHECK-LABEL: @returned
func.func @returned(%p: !owes) -> !whole attributes {grid.boundaries = "rows"} {
  // CHECK: grid.all_reduce %{{.*}} over ["tp"] {reason = "'func.return' needs all rows"}
  %0 = grid.all_reduce %p over ["tp"] : !owes -> !whole
  return %0 : !whole
}

// -----

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
// CHECK-LABEL: @unread
func.func @unread(%p: !owes) attributes {grid.boundaries = "rows"} {
  // CHECK: grid.all_reduce %{{.*}} over ["tp"] {reason = "nothing reads the sum"}
  %0 = grid.all_reduce %p over ["tp"] : !owes -> !whole
  return
}

// -----

// A router beside experts: the experts need all rows anyway, so that the router
// on rows would only add a gather of its own.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!r = tensor<8x16xf32, #grid.layout<[_, _]>>
!logits = tensor<?x8xf32, #grid.layout<[_, _]>>
!ids = tensor<?x2xi32, #grid.layout<[_, _]>>
!gates = tensor<?x2xf32, #grid.layout<[_, _]>>
!up = tensor<8x4x16xf32, #grid.layout<[_, block "tp", _]>>
!down = tensor<8x16x4xf32, #grid.layout<[_, _, block "tp"]>>
// CHECK-LABEL: @router_beside_experts
func.func @router_beside_experts(%p: !owes, %r: !r, %up: !up, %down: !down) -> !owes attributes {grid.boundaries = "rows"} {
  // CHECK: grid.all_reduce %{{.*}} over ["tp"] {reason = "'decoder.experts' needs all rows"}
  %0 = grid.all_reduce %p over ["tp"] : !owes -> !whole
  %1 = decoder.linear %0, %r : (!whole, !r) -> !logits
  %ids, %gates = decoder.router %1 {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true} : (!logits) -> (!ids, !gates)
  %2 = decoder.experts %0, %ids, %gates, %up, %up, %down {function = #decoder.function<silu>} : (!whole, !ids, !gates, !up, !up, !down) -> !owes
  return %2 : !owes
}

// -----

// Sums over more than the axis of the rows stay as they are.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "ep", "tp">>
!owes_ep = tensor<?x16xf32, #grid.layout<[_, _] owes "ep">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!n = tensor<16xf32, #grid.layout<[_]>>
// CHECK-LABEL: @two_axes
func.func @two_axes(%p: !owes, %n: !n) -> !whole attributes {grid.boundaries = "rows"} {
  // CHECK: grid.all_reduce %{{.*}} over ["ep", "tp"] {reason = "the sum is not one of rows over \22tp\22 alone"}
  %0 = grid.all_reduce %p over ["ep", "tp"] : !owes -> !whole
  %1 = decoder.norm %0, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  return %1 : !whole
}

// In whatever order the axes are named.
// CHECK-LABEL: @two_axes_reversed
func.func @two_axes_reversed(%p: !owes, %n: !n) -> !whole attributes {grid.boundaries = "rows"} {
  // CHECK: grid.all_reduce %{{.*}} over ["tp", "ep"] {reason = "the sum is not one of rows over \22tp\22 alone"}
  %0 = grid.all_reduce %p over ["tp", "ep"] : !owes -> !whole
  %1 = decoder.norm %0, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  return %1 : !whole
}

// Paid over one axis, still owed over the other: no row op may take it.
// CHECK-LABEL: @owed_on
func.func @owed_on(%p: !owes) -> !owes_ep attributes {grid.boundaries = "rows"} {
  // CHECK: grid.all_reduce %{{.*}} over ["tp"] {reason = "the sum is not one of rows over \22tp\22 alone"}
  %0 = grid.all_reduce %p over ["tp"] : !owes -> !owes_ep
  %1 = decoder.scale %0 {factor = 2.0 : f64} : (!owes_ep) -> !owes_ep
  return %1 : !owes_ep
}

// -----

// Two numbers a row, read by norms of split features: by rows there is nothing
// to compute with them. The same columns before a norm of rows are another case.
!two = tensor<?x2xf32, #grid.layout<[_, _]>>
!two_owed = tensor<?x2xf32, #grid.layout<[_, _] owes "tp">>
!one = tensor<?x1xf32, #grid.layout<[_, _]>>
!q = tensor<?x64xf32, #grid.layout<[_, block "tp" x 16]>>
!w = tensor<64xf32, #grid.layout<[block "tp" x 16]>>
!half = tensor<?x8xf32, #grid.layout<[_, _]>>
!full = tensor<?x16xf32, #grid.layout<[_, _]>>
!full_owed = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!g = tensor<8xf32, #grid.layout<[_]>>
// CHECK-LABEL: @statistics
func.func @statistics(%p: !two_owed, %q: !q, %w: !w) -> (!q, !q) attributes {grid.boundaries = "rows"} {
  // CHECK: grid.all_reduce %{{.*}} over ["tp"] {reason = "nothing is computed by rows with it", site = "s"}
  %0 = grid.all_reduce %p over ["tp"] {site = "s"} : !two_owed -> !two
  %1 = decoder.slice_columns %0 {begin = 0} : (!two) -> !one
  %2 = decoder.slice_columns %0 {begin = 1} : (!two) -> !one
  %3 = decoder.norm_by %q, %1, %w {eps = 1.0e-6 : f64, width = 64 : i64} : (!q, !one, !w) -> !q
  %4 = decoder.norm_by %q, %2, %w {eps = 1.0e-6 : f64, width = 64 : i64} : (!q, !one, !w) -> !q
  return %3, %4 : !q, !q
}

// CHECK-LABEL: @normed_columns
func.func @normed_columns(%p: !full_owed, %g: !g) -> !half attributes {grid.boundaries = "rows"} {
  // CHECK: grid.reduce_scatter
  %0 = grid.all_reduce %p over ["tp"] {site = "s"} : !full_owed -> !full
  %1 = decoder.slice_columns %0 {begin = 8} : (!full) -> !half
  %2 = decoder.norm %1, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!half, !g) -> !half
  return %2 : !half
}

// -----

// A declaration has nothing to split.
// CHECK-LABEL: func.func private @declared
func.func private @declared(tensor<?x16xf32>) attributes {grid.boundaries = "rows"}
