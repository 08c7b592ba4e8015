// RUN: layline-opt %s -plan-report-sites -remark-format=emitRemark -remarks-filter="layline.*" -remark-policy=final -verify-diagnostics
// RUN: layline-opt %s -plan-report-sites | FileCheck %s

// Every site of the plain tensor-parallel program gets a remark and an entry.

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!n = tensor<16xf32, #grid.layout<[_]>>

// Applied: what the kernel does, and what the plain program did.
// CHECK-LABEL: @applied
// CHECK-SAME: grid.sites = [{became = ["reduce_scatter", "norm", "all_gather"], id = "layer.0.o_proj", reason = "at least 8 tokens", status = "applied", was = ["all_reduce", "norm"]}]
func.func @applied(%p: !owes, %n: !n) -> !whole attributes {grid.tokens = array<i64: 8, 64>, grid.reason = "at least 8 tokens"} {
  %0 = grid.fused "reduce_scatter+norm+all_gather" {
    // expected-remark @below {{[Passed] BoundaryByRows | Category:layline | Remark="layer.0.o_proj for 8..64 tokens: reduce_scatter + norm + all_gather; at least 8 tokens}}
    %1 = grid.reduce_scatter %p dim 0 over "tp" {site = "layer.0.o_proj"} : !owes -> !rows
    %2 = decoder.norm %1, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!rows, !n) -> !rows
    %3 = grid.all_gather %2 dim 0 over "tp" : !rows -> !whole
    grid.yield %3 : !whole
  } : !whole
  return %0 : !whole
}

// Missed, with the sum's own reason where it has one.
// CHECK-LABEL: @missed
// CHECK-SAME: grid.sites = [{became = ["all_reduce"], id = "a", reason = "'decoder.linear' needs all rows", status = "missed", was = ["all_reduce"]}, {became = ["all_reduce"], id = "b", reason = "fewer than 8 tokens", status = "missed", was = ["all_reduce"]}]
func.func @missed(%p: !owes, %q: !owes) -> (!whole, !whole) attributes {grid.tokens = array<i64: 1, 7>, grid.reason = "fewer than 8 tokens"} {
  // expected-remark @below {{[Missed] BoundaryWhole | Category:layline | Remark="a for 1..7 tokens: all_reduce; 'decoder.linear' needs all rows}}
  %0 = grid.all_reduce %p over ["tp"] {site = "a", reason = "'decoder.linear' needs all rows"} : !owes -> !whole
  // expected-remark @below {{[Missed] BoundaryWhole | Category:layline | Remark="b for 1..7 tokens: all_reduce; fewer than 8 tokens}}
  %1 = grid.all_reduce %q over ["tp"] {site = "b"} : !owes -> !whole
  return %0, %1 : !whole, !whole
}

// A sum without a name is no site; a variant without sites says so.
// CHECK-LABEL: @no_site
// CHECK-SAME: grid.sites = []
func.func @no_site(%p: !owes) -> !whole attributes {grid.tokens = array<i64: 1, 7>} {
  %0 = grid.all_reduce %p over ["tp"] : !owes -> !whole
  return %0 : !whole
}

// Only variants are reported.
// CHECK-LABEL: @placed
// CHECK-NOT: grid.sites
// CHECK: return
func.func @placed(%p: !owes) -> !whole {
  %0 = grid.all_reduce %p over ["tp"] {site = "c"} : !owes -> !whole
  return %0 : !whole
}
