// RUN: layline-opt %s -pass-pipeline='builtin.module(layline-place{tp=3 ep=3},layline-plan{max-tokens=64 boundaries=rows experts=dispatched},layline-verify)' | FileCheck %s --check-prefix=SENT
// RUN: layline-opt %s -pass-pipeline='builtin.module(layline-place{tp=3 ep=3},layline-plan{max-tokens=64 boundaries=rows experts=gathered},layline-verify)' | FileCheck %s --check-prefix=ALL
// RUN: not layline-opt %s -pass-pipeline='builtin.module(layline-place{tp=3},layline-plan{boundaries=rows experts=dispatched})' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not layline-opt %s -pass-pipeline='builtin.module(layline-place{tp=3 ep=3},layline-plan{boundaries=whole experts=dispatched})' 2>&1 | FileCheck %s --check-prefix=WHOLE

// A mixture with a shared expert. Dispatched, each rank sends its own rows of
// the norm, and what comes back is added to rows of the shared expert's sum.

// NONE: error: rows are to be dispatched to experts, but no experts are dealt out over "tp" with a sum behind them
// WHOLE: error: rows are to be dispatched to experts, but boundaries are "whole": a program that stays as it was placed gathers them

// SENT-LABEL: func.func @v0
// SENT: %[[R:.*]], %[[RI:.*]], %[[RW:.*]] = grid.dispatch %{{.*}}, %[[IDS:.*]], %{{.*}} to 4 over "tp"
// SENT: %[[E:.*]] = decoder.experts %[[R]], %[[RI]], %[[RW]], {{.*}} -> tensor<?x8xf32, #grid.layout<[routed(4) "tp", _] owes "tp">>
// SENT: %[[Y:.*]] = grid.combine %[[E]] by %[[IDS]] over "tp" {site = "both"}
// SENT: grid.reduce_scatter {{.*}} {site = "both"}
// SENT: decoder.add
// SENT-NOT: grid.all_reduce

// All rows on every rank: one sum of both.
// ALL-LABEL: func.func @v0
// ALL-NOT: grid.dispatch
// ALL: %[[E:.*]] = decoder.experts {{.*}} -> tensor<?x8xf32, #grid.layout<[_, _] owes "tp">>
// ALL: %[[S:.*]] = decoder.add %[[E]], %{{.*}} owes "tp">>
// ALL: grid.reduce_scatter %[[S]] dim 0 over "tp" {site = "both"}
// ALL-NOT: grid.combine
func.func @decoder(%x: tensor<?x8xf32> {decoder.input = "x"}) -> tensor<?x8xf32> {
  %n = decoder.weight {key = "n", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %m = decoder.weight {key = "m", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %q = decoder.weight {key = "q", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %o = decoder.weight {key = "o", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %r = decoder.weight {key = "r", stored_shape = array<i64: 4, 8>} : () -> tensor<4x8xf32>
  %gate = decoder.weight {key = "gate.{expert}", stored_shape = array<i64: 6, 8>} : () -> tensor<4x6x8xf32>
  %up = decoder.weight {key = "up.{expert}", stored_shape = array<i64: 6, 8>} : () -> tensor<4x6x8xf32>
  %down = decoder.weight {key = "down.{expert}", stored_shape = array<i64: 8, 6>} : () -> tensor<4x8x6xf32>
  %s = decoder.weight {key = "s", stored_shape = array<i64: 6, 8>} : () -> tensor<6x8xf32>
  %d = decoder.weight {key = "d", stored_shape = array<i64: 8, 6>} : () -> tensor<8x6xf32>
  %0 = decoder.linear %x, %q : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %1 = decoder.activation %0 {function = #decoder.function<silu>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = decoder.linear %1, %o : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32> loc("o")
  %3 = decoder.add %x, %2 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %4 = decoder.norm %3, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %5 = decoder.linear %4, %r : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  %ids, %weights = decoder.router %5 {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true} : (tensor<?x4xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  %e = decoder.experts %4, %ids, %weights, %gate, %up, %down {function = #decoder.function<silu>} : (tensor<?x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>, tensor<4x6x8xf32>, tensor<4x6x8xf32>, tensor<4x8x6xf32>) -> tensor<?x8xf32> loc("experts")
  %6 = decoder.linear %4, %s : (tensor<?x8xf32>, tensor<6x8xf32>) -> tensor<?x6xf32>
  %7 = decoder.activation %6 {function = #decoder.function<silu>} : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %8 = decoder.linear %7, %d : (tensor<?x6xf32>, tensor<8x6xf32>) -> tensor<?x8xf32> loc("shared")
  %9 = decoder.add %e, %8 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> loc("both")
  %10 = decoder.add %3, %9 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %11 = decoder.norm %10, %m {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %11 : tensor<?x8xf32>
}
