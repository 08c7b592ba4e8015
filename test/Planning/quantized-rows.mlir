// RUN: layline-opt %s -pass-pipeline='builtin.module(layline-place{tp=8},layline-plan{min-tokens=8192 max-tokens=8192},layline-verify)' | FileCheck %s
// RUN: layline-opt %s -pass-pipeline='builtin.module(layline-place{tp=8},layline-plan{max-tokens=4},layline-verify)' | FileCheck %s --check-prefix=FEW

// The norm has two readers: a router that reads the model's type, and a product
// that reads 8 bits. One kernel gives both forms of the row; the router stays on
// own rows and its choice is gathered, and so is the payload with its scales:
// the 10240 bytes of the norm itself are not.

// CHECK-LABEL: func.func @v0
// CHECK: grid.reduce_scatter {{.*}}site = "o"
// CHECK-NOT: grid.all_gather
// CHECK: %[[FORMS:.*]]:3 = grid.fused "add+norm+quantize"
// CHECK: decoder.quantize {{.*}}group_size = 128 {{.*}}block "tp", _]>>) -> (tensor<?x5120xf8E4M3FN, #grid.layout<[block "tp", _]>>, tensor<?x40xf32, #grid.layout<[block "tp", _]>>)
// CHECK-NOT: grid.all_gather
// CHECK: %[[SCORES:.*]] = decoder.linear %[[FORMS]]#0, {{.*}} -> tensor<?x64xbf16, #grid.layout<[block "tp", _]>>
// CHECK: decoder.router %[[SCORES]]
// CHECK: grid.fused "all_gather+all_gather"
// CHECK-NEXT: grid.all_gather {{.*}}8xi32
// CHECK-NEXT: grid.all_gather {{.*}}8xbf16
// CHECK: %[[ALL:.*]]:2 = grid.fused "all_gather+all_gather"
// CHECK-NEXT: grid.all_gather %[[FORMS]]#1 {{.*}}5120xf8E4M3FN
// CHECK-NEXT: grid.all_gather %[[FORMS]]#2 {{.*}}40xf32
// CHECK: %[[ROWS:.*]] = decoder.dequantize %[[ALL]]#0, %[[ALL]]#1
// CHECK: decoder.linear %[[ROWS]]
// CHECK-NOT: grid.all_gather {{.*}}5120xbf16

// Few rows stay whole: a narrow gather saves nothing.
// FEW-LABEL: func.func @v0
// FEW: all_reduce
// FEW-NOT: grid.reduce_scatter
module attributes {grid.target = "h200x8"} {
func.func @decoder(%x: tensor<?x5120xbf16> {decoder.input = "x"}, %a: tensor<?x8192xbf16> {decoder.input = "a"}) -> (tensor<?x8192xbf16> {decoder.output = "m"}, tensor<?x8xi32> {decoder.output = "ids"}, tensor<?x8xbf16> {decoder.output = "w"}) {
  %o = decoder.weight {key = "o", stored_shape = array<i64: 5120, 2048>} : () -> tensor<5120x2048xbf16>
  %u = decoder.weight {key = "u", stored_shape = array<i64: 2048, 8192>} : () -> tensor<2048x8192xbf16>
  %g = decoder.weight {key = "g", stored_shape = array<i64: 5120>} : () -> tensor<5120xbf16>
  %r = decoder.weight {key = "r", stored_shape = array<i64: 64, 5120>} : () -> tensor<64x5120xbf16>
  %v = decoder.weight {key = "v", stored_shape = array<i64: 8192, 5120>} : () -> tensor<8192x5120xbf16>
  %0 = decoder.linear %a, %u : (tensor<?x8192xbf16>, tensor<2048x8192xbf16>) -> tensor<?x2048xbf16>
  %1 = decoder.activation %0 {function = #decoder.function<silu>} : (tensor<?x2048xbf16>) -> tensor<?x2048xbf16>
  %2 = decoder.linear %1, %o : (tensor<?x2048xbf16>, tensor<5120x2048xbf16>) -> tensor<?x5120xbf16> loc("o")
  %3 = decoder.add %x, %2 : (tensor<?x5120xbf16>, tensor<?x5120xbf16>) -> tensor<?x5120xbf16>
  %4 = decoder.norm %3, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x5120xbf16>, tensor<5120xbf16>) -> tensor<?x5120xbf16>
  %5 = decoder.linear %4, %r : (tensor<?x5120xbf16>, tensor<64x5120xbf16>) -> tensor<?x64xbf16>
  %ids, %w = decoder.router %5 {top_k = 8, scoring = #decoder.scoring<softmax>, renormalize = true} : (tensor<?x64xbf16>) -> (tensor<?x8xi32>, tensor<?x8xbf16>)
  %q, %s = decoder.quantize %4 {format = #decoder.quant_format<fp8_e4m3>, group_size = 128} : (tensor<?x5120xbf16>) -> (tensor<?x5120xf8E4M3FN>, tensor<?x40xf32>)
  %6 = decoder.dequantize %q, %s : (tensor<?x5120xf8E4M3FN>, tensor<?x40xf32>) -> tensor<?x5120xbf16>
  %7 = decoder.linear %6, %v : (tensor<?x5120xbf16>, tensor<8192x5120xbf16>) -> tensor<?x8192xbf16>
  %8 = decoder.activation %7 {function = #decoder.function<silu>} : (tensor<?x8192xbf16>) -> tensor<?x8192xbf16>
  return %8, %ids, %w : tensor<?x8192xbf16>, tensor<?x8xi32>, tensor<?x8xbf16>
}
}
