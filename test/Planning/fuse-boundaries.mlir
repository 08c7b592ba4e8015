// RUN: layline-opt %s -split-input-file -plan-fuse-boundaries | FileCheck %s

// A sum and the row-wise ops behind it become one kernel.

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!n = tensor<16xf32, #grid.layout<[_]>>

// Sum, residual add, norm and the gather of what the next product reads. The
// residual leaves by rows, the normed value whole.
// CHECK-LABEL: @boundary
func.func @boundary(%p: !owes, %residual: !rows, %n: !n) -> (!rows, !whole) attributes {grid.tokens = array<i64: 1, 8>} {
  // CHECK-NEXT: %[[K:.*]]:2 = grid.fused "reduce_scatter+add+norm+all_gather" {
  // CHECK-NEXT: %[[S:.*]] = grid.reduce_scatter {{.*}} {site = "s"}
  // CHECK-NEXT: %[[H:.*]] = decoder.add %{{.*}}, %[[S]]
  // CHECK-NEXT: %[[Y:.*]] = decoder.norm %[[H]]
  // CHECK-NEXT: %[[G:.*]] = grid.all_gather %[[Y]]
  // CHECK-NEXT: grid.yield %[[H]], %[[G]]
  // CHECK: return %[[K]]#0, %[[K]]#1
  %0 = grid.reduce_scatter %p dim 0 over "tp" {site = "s"} : !owes -> !rows
  %1 = decoder.add %residual, %0 : (!rows, !rows) -> !rows
  %2 = decoder.norm %1, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!rows, !n) -> !rows
  %3 = grid.all_gather %2 dim 0 over "tp" : !rows -> !whole
  return %1, %3 : !rows, !whole
}

// The same behind an all_reduce.
// CHECK-LABEL: @whole_boundary
func.func @whole_boundary(%p: !owes, %residual: !whole, %n: !n) -> !whole attributes {grid.tokens = array<i64: 1, 8>} {
  // CHECK: %[[K:.*]] = grid.fused "all_reduce+add+norm"
  // CHECK: return %[[K]]
  %0 = grid.all_reduce %p over ["tp"] : !owes -> !whole
  %1 = decoder.add %residual, %0 : (!whole, !whole) -> !whole
  %2 = decoder.norm %1, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  return %2 : !whole
}

// Only in variants.
// CHECK-LABEL: @placed
func.func @placed(%p: !owes, %residual: !whole) -> !whole {
  // CHECK-NOT: grid.fused
  %0 = grid.all_reduce %p over ["tp"] : !owes -> !whole
  %1 = decoder.add %residual, %0 : (!whole, !whole) -> !whole
  return %1 : !whole
}

// -----

// Norm weights that are named behind the sum come before the kernel.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!n = tensor<16xf32, #grid.layout<[_]>>
// CHECK-LABEL: @weight_behind_sum
func.func @weight_behind_sum(%p: !owes) -> !rows attributes {grid.tokens = array<i64: 1, 8>} {
  // CHECK-NEXT: %[[N:.*]] = decoder.weight
  // CHECK-NEXT: grid.fused "reduce_scatter+norm"
  // CHECK: decoder.norm %{{.*}}, %[[N]]
  %0 = grid.reduce_scatter %p dim 0 over "tp" : !owes -> !rows
  %n = decoder.weight {key = "n", stored_shape = array<i64: 16>} : () -> !n
  %1 = decoder.norm %0, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!rows, !n) -> !rows
  return %1 : !rows
}

// -----

// Post-norm: norm, then add.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!n = tensor<16xf32, #grid.layout<[_]>>
// CHECK-LABEL: @post_norm
func.func @post_norm(%p: !owes, %residual: !rows, %n: !n) -> !rows attributes {grid.tokens = array<i64: 1, 8>} {
  // CHECK: grid.fused "reduce_scatter+norm+add"
  %0 = grid.reduce_scatter %p dim 0 over "tp" : !owes -> !rows
  %1 = decoder.norm %0, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!rows, !n) -> !rows
  %2 = decoder.add %residual, %1 : (!rows, !rows) -> !rows
  return %2 : !rows
}

// -----

// An op whose other operand is computed behind the sum waits for it outside:
// parallel attention and MLP, each with a sum.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
// CHECK-LABEL: @other_operand_later
func.func @other_operand_later(%attention: !owes, %mlp: !owes, %residual: !rows) -> !rows attributes {grid.tokens = array<i64: 1, 8>} {
  // CHECK-NEXT: %[[A:.*]] = grid.fused "reduce_scatter+add" {
  // CHECK: grid.yield
  // CHECK: %[[B:.*]] = grid.fused "reduce_scatter+add" {
  // CHECK: decoder.add %[[A]]
  // CHECK: return %[[B]]
  %0 = grid.reduce_scatter %attention dim 0 over "tp" : !owes -> !rows
  %1 = decoder.add %residual, %0 : (!rows, !rows) -> !rows
  %2 = grid.reduce_scatter %mlp dim 0 over "tp" : !owes -> !rows
  %3 = decoder.add %1, %2 : (!rows, !rows) -> !rows
  return %3 : !rows
}

// -----

// The addend comes from a computation behind the sum: no kernel at all.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
// CHECK-LABEL: @addend_later
func.func @addend_later(%p: !owes, %x: !rows) -> !rows attributes {grid.tokens = array<i64: 1, 8>} {
  // CHECK-NOT: grid.fused
  %0 = grid.reduce_scatter %p dim 0 over "tp" : !owes -> !rows
  %1 = decoder.scale %x {factor = 2.0 : f64} : (!rows) -> !rows
  %2 = decoder.add %0, %1 : (!rows, !rows) -> !rows
  return %2 : !rows
}

// -----

// A product is no epilogue, also on rows.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!w = tensor<16x16xf32, #grid.layout<[_, _]>>
// CHECK-LABEL: @product
func.func @product(%p: !owes, %w: !w) -> !rows attributes {grid.tokens = array<i64: 1, 8>} {
  // CHECK-NOT: grid.fused
  %0 = grid.reduce_scatter %p dim 0 over "tp" : !owes -> !rows
  %1 = decoder.linear %0, %w : (!rows, !w) -> !rows
  return %1 : !rows
}

// -----

// A sum alone is no kernel of several ops.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!w = tensor<32x16xf32, #grid.layout<[block "tp", _]>>
!columns = tensor<?x32xf32, #grid.layout<[_, block "tp"]>>
// CHECK-LABEL: @sum_alone
func.func @sum_alone(%p: !owes, %w: !w) -> !columns attributes {grid.tokens = array<i64: 1, 8>} {
  // CHECK-NEXT: %[[S:.*]] = grid.all_reduce
  // CHECK-NEXT: decoder.linear %[[S]]
  %0 = grid.all_reduce %p over ["tp"] : !owes -> !whole
  %1 = decoder.linear %0, %w : (!whole, !w) -> !columns
  return %1 : !columns
}

// -----

// A gather ends the kernel: what reads all rows comes after all ranks.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
// CHECK-LABEL: @gather_ends
func.func @gather_ends(%p: !owes) -> !whole attributes {grid.tokens = array<i64: 1, 8>} {
  // CHECK-NEXT: %[[K:.*]] = grid.fused "reduce_scatter+scale+all_gather"
  // CHECK: grid.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: decoder.scale %[[K]]
  %0 = grid.reduce_scatter %p dim 0 over "tp" : !owes -> !rows
  %1 = decoder.scale %0 {factor = 2.0 : f64} : (!rows) -> !rows
  %2 = grid.all_gather %1 dim 0 over "tp" : !rows -> !whole
  %3 = decoder.scale %2 {factor = 2.0 : f64} : (!whole) -> !whole
  return %3 : !whole
}

// -----

// CHECK-LABEL: func.func private @declared
func.func private @declared(tensor<?x16xf32>) attributes {grid.tokens = array<i64: 1, 8>}
