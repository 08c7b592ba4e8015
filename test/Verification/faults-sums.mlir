// RUN: layline-opt %s -split-input-file -verify-diagnostics -verify-sums -verify-order -o /dev/null

// Public faults about owed sums, each as it was and as it should have been.

// A sum is paid twice (sglang #20110): the MoE layer has reduced its output, the
// fused kernel of the next layer reduces it again.

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!n = tensor<16xf32, #grid.layout<[_]>>
grid.mesh @mesh ["tp"] = [8]

func.func @reduced_once(%moe: !owes, %residual: !whole, %n: !n) -> !whole {
  %0 = decoder.scale %moe {factor = 2.5 : f64} : (!owes) -> !owes
  %y = grid.fused "all_reduce+add+norm" {
    %1 = grid.all_reduce %0 over ["tp"] : !owes -> !whole
    %2 = decoder.add %residual, %1 : (!whole, !whole) -> !whole
    %3 = decoder.norm %2, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
    grid.yield %3 : !whole
  } : !whole
  return %y : !whole
}

// -----

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @reduced_twice(%moe: !owes, %residual: !whole) -> !whole {
  // expected-note @below {{the sum over "tp" is paid here}}
  %0 = grid.all_reduce %moe over ["tp"] : !owes -> !whole
  %1 = decoder.scale %0 {factor = 2.5 : f64} : (!whole) -> !whole
  %y = grid.fused "all_reduce+add" {
    // expected-error @below {{sums over "tp", but the value owes no sum over it: every rank's value would count once more}}
    %2 = grid.all_reduce %1 over ["tp"] : !whole -> !whole
    %3 = decoder.add %residual, %2 : (!whole, !whole) -> !whole
    grid.yield %3 : !whole
  } : !whole
  return %y : !whole
}

// -----

// The library's op has reduced already (vllm #41382). Its contract is its type:
// with whole weights the experts of every rank give the whole sum.

!x = tensor<?x16xf32, #grid.layout<[_, _]>>
!ids = tensor<?x2xi32, #grid.layout<[_, _]>>
!p = tensor<?x2xf32, #grid.layout<[_, _]>>
!up = tensor<4x8x16xf32, #grid.layout<[_, block "tp", _]>>
!down = tensor<4x16x8xf32, #grid.layout<[_, _, block "tp"]>>
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
grid.mesh @mesh ["tp"] = [8]
func.func @library_leaves_it_owed(%x: !x, %ids: !ids, %p: !p, %gate: !up, %up: !up, %down: !down) -> !x {
  %0 = decoder.experts %x, %ids, %p, %gate, %up, %down {function = #decoder.function<silu>} : (!x, !ids, !p, !up, !up, !down) -> !owes
  %1 = grid.all_reduce %0 over ["tp"] : !owes -> !x
  return %1 : !x
}

// -----

!x = tensor<?x16xf32, #grid.layout<[_, _]>>
!ids = tensor<?x2xi32, #grid.layout<[_, _]>>
!p = tensor<?x2xf32, #grid.layout<[_, _]>>
!up = tensor<4x8x16xf32, #grid.layout<[_, _, _]>>
!down = tensor<4x16x8xf32, #grid.layout<[_, _, _]>>
func.func @library_has_reduced(%x: !x, %ids: !ids, %p: !p, %gate: !up, %up: !up, %down: !down) -> !x {
  // expected-note @below {{the value is produced here}}
  %0 = decoder.experts %x, %ids, %p, %gate, %up, %down {function = #decoder.function<silu>} : (!x, !ids, !p, !up, !up, !down) -> !x
  // expected-error @below {{sums over "tp", but the value owes no sum over it}}
  %1 = grid.all_reduce %0 over ["tp"] : !x -> !x
  return %1 : !x
}

// -----

// ... and an op that gives a sum does not say it has paid it.
!x = tensor<?x16xf32, #grid.layout<[_, _]>>
!ids = tensor<?x2xi32, #grid.layout<[_, _]>>
!p = tensor<?x2xf32, #grid.layout<[_, _]>>
!up = tensor<4x8x16xf32, #grid.layout<[_, block "tp", _]>>
!down = tensor<4x16x8xf32, #grid.layout<[_, _, block "tp"]>>
func.func @library_says_it_has_reduced(%x: !x, %ids: !ids, %p: !p, %gate: !up, %up: !up, %down: !down) -> !x {
  // expected-error @below {{result #0 has the layout #grid.layout<[_, _]>, but its operands give #grid.layout<[_, _] owes "tp">}}
  %0 = decoder.experts %x, %ids, %p, %gate, %up, %down {function = #decoder.function<silu>} : (!x, !ids, !p, !up, !up, !down) -> !x
  return %0 : !x
}

// -----

// Shared expert counted once per rank (sglang #35535): it is whole on every rank,
// the routed experts' output owes a sum, and one add takes both.

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
grid.mesh @mesh ["tp"] = [8]
func.func @shared_after_the_sum(%routed: !owes, %shared: !whole) -> !whole {
  %0 = grid.all_reduce %routed over ["tp"] : !owes -> !whole
  %1 = decoder.add %0, %shared : (!whole, !whole) -> !whole
  return %1 : !whole
}

// Or the shared expert is dealt out as well, and one sum pays for both.
func.func @both_partial(%routed: !owes, %shared: !owes) -> !whole {
  %0 = decoder.add %routed, %shared : (!owes, !owes) -> !owes
  %1 = grid.all_reduce %0 over ["tp"] : !owes -> !whole
  return %1 : !whole
}

// -----

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @shared_before_the_sum(%routed: !owes, %shared: !whole) -> !whole {
  // expected-error @below {{adds operand #1, which owes no sum over "tp", to a value that does: it would be added once per rank; add it after the reduction}}
  %0 = decoder.add %routed, %shared : (!owes, !whole) -> !owes
  %1 = grid.all_reduce %0 over ["tp"] : !owes -> !whole
  return %1 : !whole
}

// -----

// Half of a sum (sglang #32511): owed over experts and features, reduced over one
// subgroup. Types that forget the rest are refused ...
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "ep", "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @rest_forgotten(%p: !owes) -> !whole {
  // expected-error @below {{pays a sum owed over "ep" and "tp" over "tp" alone: the rest is still owed}}
  %0 = grid.all_reduce %p over ["tp"] : !owes -> !whole
  return %0 : !whole
}

// -----

// ... and so is a program that returns it.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "ep", "tp">>
!owes_ep = tensor<?x16xf32, #grid.layout<[_, _] owes "ep">>
grid.mesh @mesh ["ep", "tp"] = [2, 4]
func.func @rest_returned(%p: !owes) -> !owes_ep {
  // expected-note @below {{the sum is owed since here}}
  %0 = grid.all_reduce %p over ["tp"] : !owes -> !owes_ep
  // expected-error @below {{returns a value that owes a sum over "ep"; reduce it first}}
  return %0 : !owes_ep
}
