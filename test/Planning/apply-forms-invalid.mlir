// RUN: layline-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(func.func(plan-apply-forms),func.func(plan-fuse-boundaries))'

// A choice that was edited by hand and does not hold together is refused.

grid.mesh @mesh ["tp"] = [2]
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!n = tensor<16xf32, #grid.layout<[_]>>
!split = tensor<?x8xf32, #grid.layout<[_, block "tp"]>>
!w = tensor<16x8xf32, #grid.layout<[_, block "tp"]>>
// A reader that takes the sum whole, which nothing reduces.
func.func @f(%x: !split, %w: !w, %g: !n) -> !whole attributes {grid.chosen} {
  %0 = decoder.linear %x, %w {grid.choice = {results = [{reduce_scatter = -1 : i64}]}} : (!split, !w) -> !owes
  %1 = grid.all_reduce %0 over ["tp"] {site = "s"} : !owes -> !whole
  // expected-error @below {{takes operand #0 whole, but it is not there in that form and nothing converts it}}
  %2 = decoder.norm %1, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  return %2 : !whole
}

// -----

grid.mesh @mesh ["tp"] = [2]
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!n = tensor<16xf32, #grid.layout<[_]>>
!split = tensor<?x8xf32, #grid.layout<[_, block "tp"]>>
!w = tensor<16x8xf32, #grid.layout<[_, block "tp"]>>
// Never a norm on addends: it is not linear.
func.func @f(%x: !split, %w: !w, %g: !n) -> !whole attributes {grid.chosen} {
  %0 = decoder.linear %x, %w : (!split, !w) -> !owes
  %1 = grid.all_reduce %0 over ["tp"] {site = "s"} : !owes -> !whole
  // expected-error @below {{is to run on values that owe a sum, but is not linear in any operand}}
  %2 = decoder.norm %1, %g {grid.choice = {form = "owed"}, kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  return %2 : !whole
}

// -----

grid.mesh @mesh ["tp"] = [2]
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!split = tensor<?x8xf32, #grid.layout<[_, block "tp"]>>
!w = tensor<16x8xf32, #grid.layout<[_, block "tp"]>>
// A sum is paid once.
func.func @f(%x: !split, %w: !w) -> !whole attributes {grid.chosen} {
  // expected-error @below {{has result #0 reduced, but it owes no sum}}
  %0 = decoder.linear %x, %w {grid.choice = {results = [{reduce_scatter = -1 : i64, all_reduce = -1 : i64}]}} : (!split, !w) -> !owes
  %1 = grid.all_reduce %0 over ["tp"] {site = "s"} : !owes -> !whole
  return %1 : !whole
}

// -----

!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @f(%x: !whole) -> !whole attributes {grid.chosen} {
  // expected-error @below {{has 'grid.choice' = {form = "columns"}, expected {form = "rows" | "owed"}}
  %0 = decoder.scale %x {grid.choice = {form = "columns"}, factor = 2.0 : f64} : (!whole) -> !whole
  return %0 : !whole
}

// -----

grid.mesh @mesh ["tp"] = [2]
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!n = tensor<16xf32, #grid.layout<[_]>>
!split = tensor<?x8xf32, #grid.layout<[_, block "tp"]>>
!w = tensor<16x8xf32, #grid.layout<[_, block "tp"]>>
// One launch cannot gather what waits for its other gather.
func.func @f(%x: !split, %w: !w, %g: !n) -> !whole attributes {grid.tokens = array<i64: 1, 8>, grid.chosen, grid.kernels} {
  %0 = decoder.linear %x, %w {grid.choice = {results = [{reduce_scatter = -1 : i64}]}} : (!split, !w) -> !owes
  %1 = grid.all_reduce %0 over ["tp"] {site = "s"} : !owes -> !whole
  // expected-error @below {{is to be one kernel with others that wait for it through other ops}}
  %2 = decoder.norm %1, %g {grid.choice = {form = "rows", results = [{all_gather = 1 : i64}]}, kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  %3 = decoder.scale %2 {factor = 2.0 : f64} : (!whole) -> !whole
  %4 = decoder.norm %3, %g {grid.choice = {form = "rows", results = [{all_gather = 1 : i64}]}, kind = #decoder.norm_kind<layer>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  return %4 : !whole
}
