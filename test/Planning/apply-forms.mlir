// RUN: layline-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(plan-apply-forms),func.func(plan-fuse-boundaries))' -verify-each | FileCheck %s

// What has been chosen, op by op, is done: sums are scattered or reduced,
// rows gathered, and kernels with one number are one region.

grid.mesh @mesh ["tp"] = [2]
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!n = tensor<16xf32, #grid.layout<[_]>>
!split = tensor<?x8xf32, #grid.layout<[_, block "tp"]>>
!w = tensor<16x8xf32, #grid.layout<[_, block "tp"]>>

// One kernel: reduce_scatter, add, norm, all_gather. The residual leaves by rows.
// CHECK-LABEL: func.func @fused
// CHECK: %[[R:.*]] = grid.slice %{{.*}} dim 0 over "tp"
// CHECK: %[[P:.*]] = decoder.linear
// CHECK: %[[F:.*]]:2 = grid.fused "reduce_scatter+add+norm+all_gather" {
// CHECK:   %[[S:.*]] = grid.reduce_scatter %[[P]] dim 0 over "tp" {site = "s"}
// CHECK:   %[[A:.*]] = decoder.add %[[R]], %[[S]]
// CHECK:   %[[N:.*]] = decoder.norm %[[A]]
// CHECK:   grid.all_gather %[[N]] dim 0 over "tp"
// CHECK: }
// CHECK-NOT: grid.choice
// CHECK-NOT: grid.kernel
// CHECK: grid.all_gather %[[F]]#0 dim 0
// CHECK: return
func.func @fused(%x: !split, %w: !w, %r: !whole, %g: !n) -> (!whole, !whole) attributes {grid.tokens = array<i64: 1, 8>, grid.chosen, grid.kernels} {
  %0 = decoder.linear %x, %w {grid.choice = {results = [{reduce_scatter = 0 : i64}]}} : (!split, !w) -> !owes
  %1 = grid.all_reduce %0 over ["tp"] {site = "s"} : !owes -> !whole
  %2 = decoder.add %r, %1 {grid.choice = {form = "rows", kernel = 0 : i64, results = [{all_gather = -1 : i64}]}} : (!whole, !whole) -> !whole
  %3 = decoder.norm %2, %g {grid.choice = {form = "rows", kernel = 0 : i64, results = [{all_gather = 0 : i64}]}, kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  return %2, %3 : !whole, !whole
}

// The addends of two products are added and paid once; the site is both.
// CHECK-LABEL: func.func @owed
// CHECK: %[[A:.*]] = decoder.linear
// CHECK: %[[B:.*]] = decoder.linear
// CHECK: %[[S:.*]] = decoder.add %[[A]], %[[B]] : {{.*}} -> tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
// CHECK: grid.all_reduce %[[S]] over ["tp"] {site = "a+b"}
// CHECK-NOT: grid.all_reduce
// CHECK: return
func.func @owed(%x: !split, %y: !split, %w: !w) -> !whole attributes {grid.tokens = array<i64: 1, 8>, grid.chosen, grid.kernels} {
  %0 = decoder.linear %x, %w : (!split, !w) -> !owes
  %1 = grid.all_reduce %0 over ["tp"] {site = "a"} : !owes -> !whole
  %2 = decoder.linear %y, %w : (!split, !w) -> !owes
  %3 = grid.all_reduce %2 over ["tp"] {site = "b"} : !owes -> !whole
  %4 = decoder.add %1, %3 {grid.choice = {form = "owed", results = [{all_reduce = -1 : i64}]}} : (!whole, !whole) -> !whole
  return %4 : !whole
}

// Two gathers in one launch: what reads the first is moved behind the second.
// CHECK-LABEL: func.func @group
// CHECK: %[[N:.*]] = decoder.norm
// CHECK: %[[M:.*]] = decoder.norm
// CHECK: %[[G:.*]]:2 = grid.fused "all_gather+all_gather"
// CHECK: decoder.scale %[[G]]#0
// CHECK: return
func.func @group(%x: !split, %w: !w, %g: !n) -> (!whole, !whole) attributes {grid.tokens = array<i64: 1, 8>, grid.chosen, grid.kernels} {
  %0 = decoder.linear %x, %w {grid.choice = {results = [{reduce_scatter = -1 : i64}]}} : (!split, !w) -> !owes
  %1 = grid.all_reduce %0 over ["tp"] {site = "s"} : !owes -> !whole
  %2 = decoder.norm %1, %g {grid.choice = {form = "rows", results = [{all_gather = 3 : i64}]}, kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  %3 = decoder.scale %2 {factor = 2.0 : f64} : (!whole) -> !whole
  %4 = decoder.norm %1, %g {grid.choice = {form = "rows", results = [{all_gather = 3 : i64}]}, kind = #decoder.norm_kind<layer>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  return %3, %4 : !whole, !whole
}

// Nothing chosen: the program as it was placed, also what is not a variant.
// CHECK-LABEL: func.func @plain
// CHECK: grid.all_reduce %{{.*}} over ["tp"] {site = "s"}
func.func @plain(%x: !split, %w: !w) -> !whole {
  %0 = decoder.linear %x, %w : (!split, !w) -> !owes
  %1 = grid.all_reduce %0 over ["tp"] {site = "s"} : !owes -> !whole
  return %1 : !whole
}

// Rows of a value that was reduced are rows of the sum, not of the addends.
// CHECK-LABEL: func.func @rows_of_sum
// CHECK: %[[O:.*]] = decoder.scale %{{.*}} owes "tp">>
// CHECK: %[[W:.*]] = grid.all_reduce %[[O]]
// CHECK: grid.slice %[[W]] dim 0 over "tp" : tensor<?x16xf32, #grid.layout<[_, _]>> -> tensor<?x16xf32, #grid.layout<[block "tp", _]>>
// CHECK: return
func.func @rows_of_sum(%x: !split, %w: !w, %g: !n) -> (!whole, !whole) attributes {grid.tokens = array<i64: 1, 8>, grid.chosen, grid.kernels} {
  %0 = decoder.linear %x, %w : (!split, !w) -> !owes
  %1 = grid.all_reduce %0 over ["tp"] {site = "s"} : !owes -> !whole
  %2 = decoder.scale %1 {grid.choice = {form = "owed", results = [{all_reduce = -1 : i64}]}, factor = 2.0 : f64} : (!whole) -> !whole
  %3 = decoder.norm %2, %g {grid.choice = {form = "rows", results = [{all_gather = -1 : i64}]}, kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  return %2, %3 : !whole, !whole
}
