// RUN: split-file %s %t
// RUN: layline-opt %t/vllm-33322.mlir -pass-pipeline='builtin.module(layline-place{tp=2},layline-plan{max-tokens=64 boundaries=rows},layline-verify)' | FileCheck %t/vllm-33322.mlir
// RUN: layline-opt %t/vllm-49303.mlir -pass-pipeline='builtin.module(layline-place{tp=8},layline-plan{min-tokens=16384 max-tokens=16384},layline-verify)' | FileCheck %t/vllm-49303.mlir
// RUN: layline-opt %t/vllm-41767.mlir -pass-pipeline='builtin.module(layline-place{tp=2},layline-plan{max-tokens=64 boundaries=rows},layline-verify)' | FileCheck %t/vllm-41767.mlir
// RUN: layline-opt %t/trtllm-14781.mlir -pass-pipeline='builtin.module(layline-place{tp=2},layline-plan{max-tokens=64 boundaries=rows},layline-verify)' | FileCheck %t/trtllm-14781.mlir
// RUN: layline-opt %t/vllm-43953.mlir -pass-pipeline='builtin.module(layline-place{tp=2},layline-plan{max-tokens=64 boundaries=rows},layline-verify)' | FileCheck %t/vllm-43953.mlir

// Public bugs of other rewriters, by their number, as programs that must come
// out right: every net runs behind the plan. docs/public-bugs.md lists them all.

//--- vllm-33322.mlir
// The first norm is fed by embeddings from outside, not by a sum. The residual
// is whole there, and each rank takes its own rows of it: never rank 0's.
// CHECK-LABEL: func.func @v0
// CHECK: %[[R:.*]] = grid.slice %{{.*}} dim 0 over "tp" : {{.*}} -> tensor<?x8xf32, #grid.layout<[block "tp", _]>>
// CHECK: decoder.norm
// CHECK: grid.fused "reduce_scatter+add+norm+all_gather"
// CHECK: decoder.add %[[R]], %
func.func @decoder(%embeds: tensor<?x8xf32> {decoder.input = "embeds"}) -> tensor<?x8xf32> {
  %g = decoder.weight {key = "g", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %h = decoder.weight {key = "h", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %u = decoder.weight {key = "u", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %o = decoder.weight {key = "o", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %0 = decoder.norm %embeds, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %1 = decoder.linear %0, %u : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %2 = decoder.activation %1 {function = #decoder.function<silu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %3 = decoder.linear %2, %o : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32> loc("o")
  %4 = decoder.add %embeds, %3 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %5 = decoder.norm %4, %h {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %5 : tensor<?x8xf32>
}

//--- vllm-49303.mlir
// The same slice, copied into a pattern that quantises. Here there is one rule:
// the payload and its scales are gathered, each with the rows it belongs to.
// CHECK-LABEL: func.func @v0
// CHECK: %[[R:.*]] = grid.slice %{{.*}} dim 0 over "tp"
// CHECK: grid.reduce_scatter
// CHECK: decoder.add %[[R]], %
// CHECK: decoder.norm
// CHECK: decoder.quantize
// CHECK: grid.fused "all_gather+all_gather"
// CHECK: grid.all_gather {{.*}}f8E4M3FN
// CHECK: grid.all_gather {{.*}}tensor<?x1xf32
// CHECK: decoder.dequantize
module attributes {grid.target = "h200x8"} {
func.func @decoder(%x: tensor<?x8192xbf16> {decoder.input = "x"}) -> tensor<?x1024xbf16> {
  %g = decoder.weight {key = "g", stored_shape = array<i64: 8192>} : () -> tensor<8192xbf16>
  %u = decoder.weight {key = "u", stored_shape = array<i64: 1024, 8192>} : () -> tensor<1024x8192xbf16>
  %o = decoder.weight {key = "o", stored_shape = array<i64: 8192, 1024>} : () -> tensor<8192x1024xbf16>
  %w = decoder.weight {key = "w", stored_shape = array<i64: 1024, 8192>} : () -> tensor<1024x8192xbf16>
  %0 = decoder.linear %x, %u : (tensor<?x8192xbf16>, tensor<1024x8192xbf16>) -> tensor<?x1024xbf16>
  %1 = decoder.activation %0 {function = #decoder.function<silu>} : (tensor<?x1024xbf16>) -> tensor<?x1024xbf16>
  %2 = decoder.linear %1, %o : (tensor<?x1024xbf16>, tensor<8192x1024xbf16>) -> tensor<?x8192xbf16> loc("o")
  %3 = decoder.add %x, %2 : (tensor<?x8192xbf16>, tensor<?x8192xbf16>) -> tensor<?x8192xbf16>
  %4 = decoder.norm %3, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8192xbf16>, tensor<8192xbf16>) -> tensor<?x8192xbf16>
  %v, %s = decoder.quantize %4 {format = #decoder.quant_format<fp8_e4m3>} : (tensor<?x8192xbf16>) -> (tensor<?x8192xf8E4M3FN>, tensor<?x1xf32>)
  %5 = decoder.dequantize %v, %s : (tensor<?x8192xf8E4M3FN>, tensor<?x1xf32>) -> tensor<?x8192xbf16>
  %6 = decoder.linear %5, %w : (tensor<?x8192xbf16>, tensor<1024x8192xbf16>) -> tensor<?x1024xbf16>
  %7 = decoder.activation %6 {function = #decoder.function<silu>} : (tensor<?x1024xbf16>) -> tensor<?x1024xbf16>
  return %7 : tensor<?x1024xbf16>
}
}

//--- vllm-41767.mlir
// A sum and a norm without a residual: no residual is made up for it.
// CHECK-LABEL: func.func @v0
// CHECK: grid.fused "reduce_scatter+norm+all_gather"
// CHECK-NOT: decoder.add
// CHECK: return
func.func @decoder(%x: tensor<?x8xf32> {decoder.input = "x"}) -> tensor<?x8xf32> {
  %g = decoder.weight {key = "g", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %u = decoder.weight {key = "u", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %o = decoder.weight {key = "o", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %0 = decoder.linear %x, %u : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %1 = decoder.activation %0 {function = #decoder.function<silu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = decoder.linear %1, %o : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32> loc("o")
  %3 = decoder.norm %2, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

//--- trtllm-14781.mlir
// A reshape between the sum and the add: 40 of 80 sites were missed for it.
// CHECK-LABEL: func.func @v0
// CHECK: grid.reduce_scatter
// CHECK: decoder.split_heads
// CHECK: decoder.merge_heads
// CHECK: decoder.add
// CHECK: decoder.norm
// CHECK: grid.all_gather
// CHECK-NOT: grid.all_gather
// CHECK: return
func.func @decoder(%x: tensor<?x8xf32> {decoder.input = "x"}) -> tensor<?x8xf32> {
  %g = decoder.weight {key = "g", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %u = decoder.weight {key = "u", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %o = decoder.weight {key = "o", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %0 = decoder.linear %x, %u : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %1 = decoder.activation %0 {function = #decoder.function<silu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = decoder.linear %1, %o : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32> loc("o")
  %3 = decoder.split_heads %2 : (tensor<?x8xf32>) -> tensor<?x2x4xf32>
  %4 = decoder.merge_heads %3 : (tensor<?x2x4xf32>) -> tensor<?x8xf32>
  %5 = decoder.add %x, %4 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %6 = decoder.norm %5, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %6 : tensor<?x8xf32>
}

//--- vllm-43953.mlir
// A sum that is read twice (a copy leaves the program), and a norm of 1 + w.
// CHECK-LABEL: func.func @v0
// CHECK: grid.fused "reduce_scatter+norm+all_gather
// CHECK: return
func.func @decoder(%x: tensor<?x8xf32> {decoder.input = "x"}) -> (tensor<?x8xf32> {decoder.output = "y"}, tensor<?x8xf32> {decoder.output = "copy"}) {
  %g = decoder.weight {key = "g", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %u = decoder.weight {key = "u", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %o = decoder.weight {key = "o", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %0 = decoder.linear %x, %u : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %1 = decoder.activation %0 {function = #decoder.function<silu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = decoder.linear %1, %o : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32> loc("o")
  %3 = decoder.norm %2, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64, weight_offset = 1.0 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %4 = decoder.scale %3 {factor = 2.0 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %3, %4 : tensor<?x8xf32>, tensor<?x8xf32>
}
