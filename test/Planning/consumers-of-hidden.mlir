// RUN: split-file %s %t
// RUN: layline-opt %t/latents.mlir -pass-pipeline='builtin.module(layline-place{tp=8},layline-plan{min-tokens=4096 max-tokens=4096},layline-verify)' | FileCheck %t/latents.mlir
// RUN: layline-opt %t/indexer.mlir -pass-pipeline='builtin.module(layline-place{tp=8},layline-plan{min-tokens=4096 max-tokens=4096},layline-verify)' | FileCheck %t/indexer.mlir
// RUN: layline-opt %t/shared.mlir -pass-pipeline='builtin.module(layline-place{tp=8},layline-plan{min-tokens=4096 max-tokens=4096},layline-verify)' | FileCheck %t/shared.mlir
// RUN: layline-opt %t/indexer.mlir -pass-pipeline='builtin.module(layline-place{tp=8},layline-plan{max-tokens=4},layline-verify)' | FileCheck %t/indexer.mlir --check-prefix=FEW

// Which readers the normalised hidden has decides what is gathered behind it,
// with the widths of DeepSeek-V3 (7168 -> 1536 + 576) on 8 H200.

//--- latents.mlir
// Both readers have small weights that every rank holds: they run on own rows,
// and 2112 columns are gathered in place of 7168, in one launch.
// CHECK-LABEL: func.func @v0
// CHECK: grid.reduce_scatter
// CHECK-NOT: grid.all_gather
// CHECK: decoder.linear {{.*}}block "tp", _]>>, {{.*}} -> tensor<?x1536xbf16, #grid.layout<[block "tp", _]>>
// CHECK-NOT: grid.all_gather
// CHECK: decoder.linear {{.*}}block "tp", _]>>, {{.*}} -> tensor<?x576xbf16, #grid.layout<[block "tp", _]>>
// CHECK: grid.fused "all_gather+all_gather"
// CHECK-NOT: grid.all_gather {{.*}}7168
module attributes {grid.target = "h200x8"} {
func.func @decoder(%x: tensor<?x7168xbf16> {decoder.input = "x"}, %a: tensor<?x16384xbf16> {decoder.input = "a"}) -> (tensor<?x24576xbf16> {decoder.output = "q"}, tensor<?x32768xbf16> {decoder.output = "kv"}) {
  %o = decoder.weight {key = "o", stored_shape = array<i64: 7168, 2048>} : () -> tensor<7168x2048xbf16>
  %u = decoder.weight {key = "u", stored_shape = array<i64: 2048, 16384>} : () -> tensor<2048x16384xbf16>
  %g = decoder.weight {key = "g", stored_shape = array<i64: 7168>} : () -> tensor<7168xbf16>
  %qa = decoder.weight {key = "qa", stored_shape = array<i64: 1536, 7168>} : () -> tensor<1536x7168xbf16>
  %ka = decoder.weight {key = "ka", stored_shape = array<i64: 576, 7168>} : () -> tensor<576x7168xbf16>
  %qb = decoder.weight {key = "qb", stored_shape = array<i64: 24576, 1536>} : () -> tensor<24576x1536xbf16>
  %kb = decoder.weight {key = "kb", stored_shape = array<i64: 32768, 576>} : () -> tensor<32768x576xbf16>
  %0 = decoder.linear %a, %u : (tensor<?x16384xbf16>, tensor<2048x16384xbf16>) -> tensor<?x2048xbf16>
  %1 = decoder.activation %0 {function = #decoder.function<silu>} : (tensor<?x2048xbf16>) -> tensor<?x2048xbf16>
  %2 = decoder.linear %1, %o : (tensor<?x2048xbf16>, tensor<7168x2048xbf16>) -> tensor<?x7168xbf16> loc("o")
  %3 = decoder.add %x, %2 : (tensor<?x7168xbf16>, tensor<?x7168xbf16>) -> tensor<?x7168xbf16>
  %4 = decoder.norm %3, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x7168xbf16>, tensor<7168xbf16>) -> tensor<?x7168xbf16>
  %5 = decoder.linear %4, %qa : (tensor<?x7168xbf16>, tensor<1536x7168xbf16>) -> tensor<?x1536xbf16>
  %6 = decoder.linear %4, %ka : (tensor<?x7168xbf16>, tensor<576x7168xbf16>) -> tensor<?x576xbf16>
  %7 = decoder.linear %5, %qb : (tensor<?x1536xbf16>, tensor<24576x1536xbf16>) -> tensor<?x24576xbf16>
  %8 = decoder.activation %7 {function = #decoder.function<silu>} : (tensor<?x24576xbf16>) -> tensor<?x24576xbf16>
  %9 = decoder.linear %6, %kb : (tensor<?x576xbf16>, tensor<32768x576xbf16>) -> tensor<?x32768xbf16>
  %10 = decoder.activation %9 {function = #decoder.function<silu>} : (tensor<?x32768xbf16>) -> tensor<?x32768xbf16>
  return %8, %10 : tensor<?x24576xbf16>, tensor<?x32768xbf16>
}
}

//--- indexer.mlir
// The indexer's two readers (128 + 64 columns) go with them: 2304 columns.
// CHECK-LABEL: func.func @v0
// CHECK: grid.reduce_scatter
// CHECK-NOT: grid.all_gather
// CHECK: -> tensor<?x128xbf16, #grid.layout<[block "tp", _]>>
// CHECK: grid.fused "all_gather+all_gather+all_gather+all_gather"
// CHECK-NOT: grid.all_gather {{.*}}7168

// Few rows stay whole: a narrow gather saves nothing.
// FEW-LABEL: func.func @v0
// FEW: all_reduce
// FEW-NOT: grid.reduce_scatter
module attributes {grid.target = "h200x8"} {
func.func @decoder(%x: tensor<?x7168xbf16> {decoder.input = "x"}, %a: tensor<?x16384xbf16> {decoder.input = "a"}) -> (tensor<?x24576xbf16> {decoder.output = "q"}, tensor<?x32768xbf16> {decoder.output = "kv"}, tensor<?x128xbf16> {decoder.output = "k"}, tensor<?x64xbf16> {decoder.output = "w"}) {
  %o = decoder.weight {key = "o", stored_shape = array<i64: 7168, 2048>} : () -> tensor<7168x2048xbf16>
  %u = decoder.weight {key = "u", stored_shape = array<i64: 2048, 16384>} : () -> tensor<2048x16384xbf16>
  %g = decoder.weight {key = "g", stored_shape = array<i64: 7168>} : () -> tensor<7168xbf16>
  %qa = decoder.weight {key = "qa", stored_shape = array<i64: 1536, 7168>} : () -> tensor<1536x7168xbf16>
  %ka = decoder.weight {key = "ka", stored_shape = array<i64: 576, 7168>} : () -> tensor<576x7168xbf16>
  %wk = decoder.weight {key = "wk", stored_shape = array<i64: 128, 7168>} : () -> tensor<128x7168xbf16>
  %wp = decoder.weight {key = "wp", stored_shape = array<i64: 64, 7168>} : () -> tensor<64x7168xbf16>
  %qb = decoder.weight {key = "qb", stored_shape = array<i64: 24576, 1536>} : () -> tensor<24576x1536xbf16>
  %kb = decoder.weight {key = "kb", stored_shape = array<i64: 32768, 576>} : () -> tensor<32768x576xbf16>
  %0 = decoder.linear %a, %u : (tensor<?x16384xbf16>, tensor<2048x16384xbf16>) -> tensor<?x2048xbf16>
  %1 = decoder.activation %0 {function = #decoder.function<silu>} : (tensor<?x2048xbf16>) -> tensor<?x2048xbf16>
  %2 = decoder.linear %1, %o : (tensor<?x2048xbf16>, tensor<7168x2048xbf16>) -> tensor<?x7168xbf16> loc("o")
  %3 = decoder.add %x, %2 : (tensor<?x7168xbf16>, tensor<?x7168xbf16>) -> tensor<?x7168xbf16>
  %4 = decoder.norm %3, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x7168xbf16>, tensor<7168xbf16>) -> tensor<?x7168xbf16>
  %5 = decoder.linear %4, %qa : (tensor<?x7168xbf16>, tensor<1536x7168xbf16>) -> tensor<?x1536xbf16>
  %6 = decoder.linear %4, %ka : (tensor<?x7168xbf16>, tensor<576x7168xbf16>) -> tensor<?x576xbf16>
  %k = decoder.linear %4, %wk : (tensor<?x7168xbf16>, tensor<128x7168xbf16>) -> tensor<?x128xbf16>
  %w = decoder.linear %4, %wp : (tensor<?x7168xbf16>, tensor<64x7168xbf16>) -> tensor<?x64xbf16>
  %7 = decoder.linear %5, %qb : (tensor<?x1536xbf16>, tensor<24576x1536xbf16>) -> tensor<?x24576xbf16>
  %8 = decoder.activation %7 {function = #decoder.function<silu>} : (tensor<?x24576xbf16>) -> tensor<?x24576xbf16>
  %9 = decoder.linear %6, %kb : (tensor<?x576xbf16>, tensor<32768x576xbf16>) -> tensor<?x32768xbf16>
  %10 = decoder.activation %9 {function = #decoder.function<silu>} : (tensor<?x32768xbf16>) -> tensor<?x32768xbf16>
  return %8, %10, %k, %w : tensor<?x24576xbf16>, tensor<?x32768xbf16>, tensor<?x128xbf16>, tensor<?x64xbf16>
}
}

//--- shared.mlir
// A router (by rows or not), a shared expert whose weights are split, and a tap
// of the hidden: they need it whole, so it is gathered once for all of them and
// nothing else of its width is.
// CHECK-LABEL: func.func @v0
// CHECK: reduce_scatter
// CHECK-COUNT-1: grid.all_gather {{.*}} -> tensor<?x7168xbf16, #grid.layout<[_, _]>>
// CHECK-NOT: grid.all_gather {{.*}}x7168xbf16
module attributes {grid.target = "h200x8"} {
func.func @decoder(%x: tensor<?x7168xbf16> {decoder.input = "x"}, %a: tensor<?x16384xbf16> {decoder.input = "a"}) -> (tensor<?x2048xbf16> {decoder.output = "shared"}, tensor<?x8xi32> {decoder.output = "ids"}, tensor<?x8xbf16> {decoder.output = "weights"}, tensor<?x7168xbf16> {decoder.output = "tap"}) {
  %o = decoder.weight {key = "o", stored_shape = array<i64: 7168, 2048>} : () -> tensor<7168x2048xbf16>
  %u = decoder.weight {key = "u", stored_shape = array<i64: 2048, 16384>} : () -> tensor<2048x16384xbf16>
  %g = decoder.weight {key = "g", stored_shape = array<i64: 7168>} : () -> tensor<7168xbf16>
  %r = decoder.weight {key = "r", stored_shape = array<i64: 256, 7168>} : () -> tensor<256x7168xbf16>
  %s = decoder.weight {key = "s", stored_shape = array<i64: 2048, 7168>} : () -> tensor<2048x7168xbf16>
  %0 = decoder.linear %a, %u : (tensor<?x16384xbf16>, tensor<2048x16384xbf16>) -> tensor<?x2048xbf16>
  %1 = decoder.activation %0 {function = #decoder.function<silu>} : (tensor<?x2048xbf16>) -> tensor<?x2048xbf16>
  %2 = decoder.linear %1, %o : (tensor<?x2048xbf16>, tensor<7168x2048xbf16>) -> tensor<?x7168xbf16> loc("o")
  %3 = decoder.add %x, %2 : (tensor<?x7168xbf16>, tensor<?x7168xbf16>) -> tensor<?x7168xbf16>
  %4 = decoder.norm %3, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x7168xbf16>, tensor<7168xbf16>) -> tensor<?x7168xbf16>
  %5 = decoder.linear %4, %r : (tensor<?x7168xbf16>, tensor<256x7168xbf16>) -> tensor<?x256xbf16>
  %ids, %weights = decoder.router %5 {top_k = 8, scoring = #decoder.scoring<softmax>, renormalize = true} : (tensor<?x256xbf16>) -> (tensor<?x8xi32>, tensor<?x8xbf16>)
  %6 = decoder.linear %4, %s : (tensor<?x7168xbf16>, tensor<2048x7168xbf16>) -> tensor<?x2048xbf16>
  %7 = decoder.activation %6 {function = #decoder.function<silu>} : (tensor<?x2048xbf16>) -> tensor<?x2048xbf16>
  return %7, %ids, %weights, %4 : tensor<?x2048xbf16>, tensor<?x8xi32>, tensor<?x8xbf16>, tensor<?x7168xbf16>
}
}
