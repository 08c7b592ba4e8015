// RUN: layline-opt %s -split-input-file -plan-sink-all-gather | FileCheck %s

// Gathers of rows move below the row-wise ops that read them.

!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!n = tensor<16xf32, #grid.layout<[_]>>

// CHECK-LABEL: @norm
// CHECK-SAME: %[[X:[^:]*]]: {{.*}}, %[[N:[^:]*]]:
func.func @norm(%x: !rows, %n: !n) -> !whole {
  // CHECK-NEXT: %[[Y:.*]] = decoder.norm %[[X]], %[[N]] {{.*}} -> tensor<?x16xf32, #grid.layout<[block "tp", _]>>
  // CHECK-NEXT: %[[G:.*]] = grid.all_gather %[[Y]] dim 0 over "tp"
  // CHECK-NEXT: return %[[G]]
  %0 = grid.all_gather %x dim 0 over "tp" : !rows -> !whole
  %1 = decoder.norm %0, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  return %1 : !whole
}

// Through a chain of row-wise ops, also one with a weight that all ranks hold.
// CHECK-LABEL: @chain
func.func @chain(%x: !rows, %w: tensor<8x16xf32, #grid.layout<[_, _]>>) -> tensor<?x8xf32, #grid.layout<[_, _]>> {
  // CHECK-NOT: grid.all_gather
  // CHECK: decoder.activation {{.*}} -> tensor<?x16xf32, #grid.layout<[block "tp", _]>>
  // CHECK: decoder.scale {{.*}} -> tensor<?x16xf32, #grid.layout<[block "tp", _]>>
  // CHECK: %[[L:.*]] = decoder.linear {{.*}} -> tensor<?x8xf32, #grid.layout<[block "tp", _]>>
  // CHECK-NEXT: grid.all_gather %[[L]]
  %0 = grid.all_gather %x dim 0 over "tp" : !rows -> !whole
  %1 = decoder.activation %0 {function = #decoder.function<relu>} : (!whole) -> !whole
  %2 = decoder.scale %1 {factor = 2.0 : f64} : (!whole) -> !whole
  %3 = decoder.linear %2, %w : (!whole, tensor<8x16xf32, #grid.layout<[_, _]>>) -> tensor<?x8xf32, #grid.layout<[_, _]>>
  return %3 : tensor<?x8xf32, #grid.layout<[_, _]>>
}

// -----

// A whole addend gives its rows for free.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
// CHECK-LABEL: @slice_residual
// CHECK-SAME: %[[X:[^:]*]]: {{.*}}, %[[R:[^:]*]]:
func.func @slice_residual(%x: !rows, %residual: !whole) -> !whole {
  // CHECK: %[[S:.*]] = grid.slice %[[R]] dim 0 over "tp"
  // CHECK: %[[H:.*]] = decoder.add %[[S]], %[[X]] : {{.*}} -> tensor<?x16xf32, #grid.layout<[block "tp", _]>>
  // CHECK: grid.all_gather %[[H]]
  %0 = grid.all_gather %x dim 0 over "tp" : !rows -> !whole
  %1 = decoder.add %residual, %0 : (!whole, !whole) -> !whole
  return %1 : !whole
}

// -----

// A value that is sliced for two readers is sliced once.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
// CHECK-LABEL: @slice_once
func.func @slice_once(%x: !rows, %residual: !whole) -> !whole {
  // CHECK-COUNT-1: grid.slice
  // CHECK-NOT: grid.slice
  %0 = grid.all_gather %x dim 0 over "tp" : !rows -> !whole
  %1 = decoder.add %residual, %0 : (!whole, !whole) -> !whole
  %2 = decoder.add %residual, %1 : (!whole, !whole) -> !whole
  return %2 : !whole
}

// -----

// The residual stays by rows over two layers: only what the column-parallel
// products read is gathered, and the returned value.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!n = tensor<16xf32, #grid.layout<[_]>>
!up = tensor<32x16xf32, #grid.layout<[block "tp", _]>>
!down = tensor<16x32xf32, #grid.layout<[_, block "tp"]>>
!columns = tensor<?x32xf32, #grid.layout<[_, block "tp"]>>
// CHECK-LABEL: @two_layers
func.func @two_layers(%x: !rows, %n: !n, %up: !up, %down: !down) -> !whole {
  %r0 = grid.all_gather %x dim 0 over "tp" : !rows -> !whole
  // CHECK: %[[Y0:.*]] = decoder.norm
  // CHECK-NEXT: %[[G0:.*]] = grid.all_gather %[[Y0]]
  %y0 = decoder.norm %r0, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  // CHECK-NEXT: %[[U0:.*]] = decoder.linear %[[G0]]
  %u0 = decoder.linear %y0, %up : (!whole, !up) -> !columns
  // CHECK-NEXT: %[[P0:.*]] = decoder.linear %[[U0]]
  %p0 = decoder.linear %u0, %down : (!columns, !down) -> !owes
  // CHECK-NEXT: %[[D0:.*]] = grid.reduce_scatter %[[P0]]
  %d0 = grid.reduce_scatter %p0 dim 0 over "tp" : !owes -> !rows
  %g0 = grid.all_gather %d0 dim 0 over "tp" : !rows -> !whole
  // CHECK-NEXT: %[[R1:.*]] = decoder.add %{{.*}}, %[[D0]] : {{.*}} -> tensor<?x16xf32, #grid.layout<[block "tp", _]>>
  %r1 = decoder.add %r0, %g0 : (!whole, !whole) -> !whole
  // CHECK-NEXT: %[[Y1:.*]] = decoder.norm %[[R1]]
  // CHECK-NEXT: %[[G1:.*]] = grid.all_gather %[[Y1]]
  %y1 = decoder.norm %r1, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  // CHECK-NEXT: decoder.linear %[[G1]]
  %u1 = decoder.linear %y1, %up : (!whole, !up) -> !columns
  %p1 = decoder.linear %u1, %down : (!columns, !down) -> !owes
  // CHECK: %[[D1:.*]] = grid.reduce_scatter
  %d1 = grid.reduce_scatter %p1 dim 0 over "tp" : !owes -> !rows
  %g1 = grid.all_gather %d1 dim 0 over "tp" : !rows -> !whole
  // CHECK-NEXT: %[[R2:.*]] = decoder.add %[[R1]], %[[D1]]
  // CHECK-NEXT: %[[OUT:.*]] = grid.all_gather %[[R2]]
  %r2 = decoder.add %r1, %g1 : (!whole, !whole) -> !whole
  // CHECK-NEXT: return %[[OUT]]
  return %r2 : !whole
}

// -----

// Post-norm: the sum is normed, then added. Both on rows.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!n = tensor<16xf32, #grid.layout<[_]>>
// CHECK-LABEL: @post_norm
func.func @post_norm(%residual: !rows, %x: !rows, %n: !n) -> !whole {
  // CHECK-NEXT: %[[Y:.*]] = decoder.norm
  // CHECK-NEXT: %[[H:.*]] = decoder.add %{{.*}}, %[[Y]] : {{.*}} -> tensor<?x16xf32, #grid.layout<[block "tp", _]>>
  // CHECK-NEXT: grid.all_gather %[[H]]
  %r = grid.all_gather %residual dim 0 over "tp" : !rows -> !whole
  %0 = grid.all_gather %x dim 0 over "tp" : !rows -> !whole
  %1 = decoder.norm %0, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  %2 = decoder.add %r, %1 : (!whole, !whole) -> !whole
  return %2 : !whole
}

// -----

// A gather is made once, however many readers need all rows.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!n = tensor<16xf32, #grid.layout<[_]>>
!w = tensor<32x16xf32, #grid.layout<[block "tp", _]>>
!columns = tensor<?x32xf32, #grid.layout<[_, block "tp"]>>
// CHECK-LABEL: @gathered_once
func.func @gathered_once(%x: !rows, %n: !n, %q: !w, %k: !w) -> (!columns, !columns) {
  // CHECK: %[[Y:.*]] = decoder.norm
  // CHECK-NEXT: %[[G:.*]] = grid.all_gather %[[Y]]
  // CHECK-NEXT: decoder.linear %[[G]]
  // CHECK-NEXT: decoder.linear %[[G]]
  // CHECK-NOT: grid.all_gather
  %0 = grid.all_gather %x dim 0 over "tp" : !rows -> !whole
  %1 = decoder.norm %0, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  %2 = decoder.linear %1, %q : (!whole, !w) -> !columns
  %3 = decoder.linear %1, %k : (!whole, !w) -> !columns
  return %2, %3 : !columns, !columns
}

// -----

// A weight that is split over the axis stays where it is: only the axis' other
// ranks have the other columns.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!w = tensor<32x16xf32, #grid.layout<[block "tp", _]>>
!columns = tensor<?x32xf32, #grid.layout<[_, block "tp"]>>
// CHECK-LABEL: @split_weight
func.func @split_weight(%x: !rows, %w: !w) -> !columns {
  // CHECK-NEXT: %[[G:.*]] = grid.all_gather
  // CHECK-NEXT: decoder.linear %[[G]]
  %0 = grid.all_gather %x dim 0 over "tp" : !rows -> !whole
  %1 = decoder.linear %0, %w : (!whole, !w) -> !columns
  return %1 : !columns
}

// -----

// A router beside experts stays whole: its input is gathered for them anyway.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!n = tensor<16xf32, #grid.layout<[_]>>
!r = tensor<8x16xf32, #grid.layout<[_, _]>>
!logits = tensor<?x8xf32, #grid.layout<[_, _]>>
!ids = tensor<?x2xi32, #grid.layout<[_, _]>>
!gates = tensor<?x2xf32, #grid.layout<[_, _]>>
!up = tensor<8x4x16xf32, #grid.layout<[_, block "tp", _]>>
!down = tensor<8x16x4xf32, #grid.layout<[_, _, block "tp"]>>
// CHECK-LABEL: @router_beside_experts
func.func @router_beside_experts(%x: !rows, %n: !n, %r: !r, %up: !up, %down: !down) -> !owes {
  // CHECK: %[[Y:.*]] = decoder.norm {{.*}} -> tensor<?x16xf32, #grid.layout<[block "tp", _]>>
  // CHECK-NEXT: %[[G:.*]] = grid.all_gather %[[Y]]
  // CHECK-NEXT: %[[L:.*]] = decoder.linear %[[G]]
  // CHECK-NEXT: decoder.router %[[L]] {{.*}} : (tensor<?x8xf32, #grid.layout<[_, _]>>)
  // CHECK-NEXT: decoder.experts %[[G]]
  // CHECK-NOT: grid.all_gather
  %0 = grid.all_gather %x dim 0 over "tp" : !rows -> !whole
  %1 = decoder.norm %0, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  %2 = decoder.linear %1, %r : (!whole, !r) -> !logits
  %ids, %gates = decoder.router %2 {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true} : (!logits) -> (!ids, !gates)
  %3 = decoder.experts %1, %ids, %gates, %up, %up, %down {function = #decoder.function<silu>} : (!whole, !ids, !gates, !up, !up, !down) -> !owes
  return %3 : !owes
}

// -----

// Never across a sum: what owes is no row-wise operand, and a gather of addends
// is none of the sum.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", block "ep"]>>
!part = tensor<?x16xf32, #grid.layout<[_, block "ep"]>>
!w = tensor<16x16xf32, #grid.layout<[_, block "ep"]>>
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "ep">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
// CHECK-LABEL: @owed
func.func @owed(%x: !rows, %w: !w) -> !whole {
  // CHECK-NEXT: %[[G:.*]] = grid.all_gather
  // CHECK-NEXT: %[[P:.*]] = decoder.linear %[[G]]
  // CHECK-NEXT: %[[S:.*]] = decoder.scale %[[P]] {{.*}} -> tensor<?x16xf32, #grid.layout<[_, _] owes "ep">>
  // CHECK-NEXT: grid.all_reduce %[[S]]
  %0 = grid.all_gather %x dim 0 over "tp" : !rows -> !part
  %1 = decoder.linear %0, %w : (!part, !w) -> !owes
  %2 = decoder.scale %1 {factor = 2.0 : f64} : (!owes) -> !owes
  %3 = grid.all_reduce %2 over ["ep"] : !owes -> !whole
  return %3 : !whole
}

// -----

// Gathers of columns, and of rows dealt out in another way, stay.
!zigzag = tensor<?x16xf32, #grid.layout<[zigzag "tp", _]>>
!columns = tensor<?x16xf32, #grid.layout<[_, block "tp"]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
// CHECK-LABEL: @other_gathers
func.func @other_gathers(%z: !zigzag, %c: !columns) -> (!whole, !whole) {
  // CHECK: %[[Z:.*]] = grid.all_gather %{{.*}} dim 0
  // CHECK: %[[C:.*]] = grid.all_gather %{{.*}} dim 1
  // CHECK: decoder.scale %[[Z]]
  // CHECK: decoder.scale %[[C]]
  %0 = grid.all_gather %z dim 0 over "tp" : !zigzag -> !whole
  %1 = grid.all_gather %c dim 1 over "tp" : !columns -> !whole
  %2 = decoder.scale %0 {factor = 2.0 : f64} : (!whole) -> !whole
  %3 = decoder.scale %1 {factor = 2.0 : f64} : (!whole) -> !whole
  return %2, %3 : !whole, !whole
}

// -----

// Rows are read by rows, weights are read whole: a value that is both is
// gathered for the second.
!rows = tensor<16x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<16x16xf32, #grid.layout<[_, _]>>
// CHECK-LABEL: @rows_as_weight
func.func @rows_as_weight(%x: !rows) -> !whole {
  // CHECK-NEXT: %[[W:.*]] = decoder.activation
  // CHECK-NEXT: %[[G:.*]] = grid.all_gather %[[W]]
  // CHECK-NEXT: %[[Y:.*]] = decoder.linear %{{.*}}, %[[G]] : (tensor<16x16xf32, #grid.layout<[block "tp", _]>>, tensor<16x16xf32, #grid.layout<[_, _]>>)
  // CHECK-NEXT: grid.all_gather %[[Y]]
  %0 = grid.all_gather %x dim 0 over "tp" : !rows -> !whole
  %w = decoder.activation %0 {function = #decoder.function<gelu>} : (!whole) -> !whole
  %1 = decoder.linear %0, %w : (!whole, !whole) -> !whole
  return %1 : !whole
}

// -----

// Positions are sliced with the rows that they belong to.
!rows = tensor<?x2x4xf32, #grid.layout<[block "tp", _, _]>>
!whole = tensor<?x2x4xf32, #grid.layout<[_, _, _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
// CHECK-LABEL: @positions
func.func @positions(%x: !rows, %pos: !pos) -> !whole {
  // CHECK: %[[P:.*]] = grid.slice %{{.*}} dim 0 over "tp" : tensor<?xi64
  // CHECK: decoder.rope %{{.*}}, %[[P]]
  %0 = grid.all_gather %x dim 0 over "tp" : !rows -> !whole
  %1 = decoder.rope %0, %pos {style = #decoder.rope_style<half>, table = #decoder.rope_table<[1.0], factor 1.0>} : (!whole, !pos) -> !whole
  return %1 : !whole
}

// -----

// CHECK-LABEL: func.func private @declared
func.func private @declared(tensor<?x16xf32>)
