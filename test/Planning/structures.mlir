// RUN: split-file %s %t
// RUN: layline-opt %t/a-pre-norm.mlir -pass-pipeline='builtin.module(layline-place{tp=2},layline-plan{max-tokens=64 boundaries=rows fuse=false},layline-verify)' | FileCheck %t/a-pre-norm.mlir
// RUN: layline-opt %t/b-post-norm.mlir -pass-pipeline='builtin.module(layline-place{tp=2},layline-plan{max-tokens=64 boundaries=rows fuse=false},layline-verify)' | FileCheck %t/b-post-norm.mlir
// RUN: layline-opt %t/c-sandwich.mlir -pass-pipeline='builtin.module(layline-place{tp=2},layline-plan{max-tokens=64 boundaries=rows fuse=false},layline-verify)' | FileCheck %t/c-sandwich.mlir
// RUN: layline-opt %t/d-two-branches.mlir -pass-pipeline='builtin.module(layline-place{tp=2},layline-plan{max-tokens=64 boundaries=rows fuse=false},layline-verify)' | FileCheck %t/d-two-branches.mlir
// RUN: layline-opt %t/e-parallel.mlir -pass-pipeline='builtin.module(layline-place{tp=2},layline-plan{max-tokens=64 boundaries=rows fuse=false},layline-verify)' | FileCheck %t/e-parallel.mlir
// RUN: layline-opt %t/e-two-norms.mlir -pass-pipeline='builtin.module(layline-place{tp=2},layline-plan{max-tokens=64 boundaries=rows fuse=false},layline-verify)' | FileCheck %t/e-two-norms.mlir
// RUN: layline-opt %t/f-scaled.mlir -pass-pipeline='builtin.module(layline-place{tp=2},layline-plan{max-tokens=64 boundaries=rows fuse=false},layline-verify)' | FileCheck %t/f-scaled.mlir
// RUN: layline-opt %t/g-residual-of-normed.mlir -pass-pipeline='builtin.module(layline-place{tp=2},layline-plan{max-tokens=64 boundaries=rows fuse=false},layline-verify)' | FileCheck %t/g-residual-of-normed.mlir

// What becomes of every branch structure by rows, and every net over it: no
// collective but those named.

//--- a-pre-norm.mlir
// The residual stays by rows; a gather per norm.
// CHECK-LABEL: func.func @v0
// CHECK: decoder.linear
// CHECK: decoder.linear
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.reduce_scatter {{.*}}site = "o"
// CHECK: decoder.add %
// CHECK: decoder.norm
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.all_gather
// CHECK: decoder.linear
// CHECK: decoder.linear
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.reduce_scatter {{.*}}site = "down"
// CHECK: decoder.add %
// CHECK: decoder.norm
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.all_gather
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: return
func.func @decoder(%x: tensor<?x8xf32> {decoder.input = "x"}) -> tensor<?x8xf32> {
  %g = decoder.weight {key = "g", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %h = decoder.weight {key = "h", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %u = decoder.weight {key = "u", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %o = decoder.weight {key = "o", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %v = decoder.weight {key = "v", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %d = decoder.weight {key = "d", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %0 = decoder.linear %x, %u : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %1 = decoder.activation %0 {function = #decoder.function<silu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = decoder.linear %1, %o : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32> loc("o")
  %3 = decoder.add %x, %2 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %4 = decoder.norm %3, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %5 = decoder.linear %4, %v : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %6 = decoder.activation %5 {function = #decoder.function<silu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %7 = decoder.linear %6, %d : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32> loc("down")
  %8 = decoder.add %3, %7 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %9 = decoder.norm %8, %h {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %9 : tensor<?x8xf32>
}

//--- b-post-norm.mlir
// OLMo-2: norm before the add; what is gathered is the residual itself.
// CHECK-LABEL: func.func @v0
// CHECK: decoder.linear
// CHECK: decoder.linear
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.reduce_scatter {{.*}}site = "o"
// CHECK: decoder.norm
// CHECK: decoder.add %
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.all_gather
// CHECK: decoder.linear
// CHECK: decoder.linear
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.all_reduce {{.*}}site = "down"
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: return
func.func @decoder(%x: tensor<?x8xf32> {decoder.input = "x"}) -> tensor<?x8xf32> {
  %g = decoder.weight {key = "g", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %u = decoder.weight {key = "u", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %o = decoder.weight {key = "o", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %v = decoder.weight {key = "v", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %d = decoder.weight {key = "d", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %0 = decoder.linear %x, %u : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %1 = decoder.activation %0 {function = #decoder.function<silu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = decoder.linear %1, %o : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32> loc("o")
  %3 = decoder.norm %2, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %4 = decoder.add %x, %3 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %5 = decoder.linear %4, %v : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %6 = decoder.activation %5 {function = #decoder.function<silu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %7 = decoder.linear %6, %d : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32> loc("down")
  return %7 : tensor<?x8xf32>
}

//--- c-sandwich.mlir
// Gemma-2: two norms around the add, both with 1 + w, all by rows.
// CHECK-LABEL: func.func @v0
// CHECK: decoder.linear
// CHECK: decoder.linear
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.reduce_scatter {{.*}}site = "o"
// CHECK: decoder.norm
// CHECK: decoder.add %
// CHECK: decoder.norm
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.all_gather
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: return
func.func @decoder(%x: tensor<?x8xf32> {decoder.input = "x"}) -> tensor<?x8xf32> {
  %g = decoder.weight {key = "g", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %h = decoder.weight {key = "h", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %u = decoder.weight {key = "u", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %o = decoder.weight {key = "o", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %0 = decoder.linear %x, %u : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %1 = decoder.activation %0 {function = #decoder.function<silu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = decoder.linear %1, %o : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32> loc("o")
  %3 = decoder.norm %2, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64, weight_offset = 1.0 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %4 = decoder.add %x, %3 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %5 = decoder.norm %4, %h {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64, weight_offset = 1.0 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %5 : tensor<?x8xf32>
}

//--- d-two-branches.mlir
// Gemma-4: each branch has a norm of its own, so each sum is paid by itself;
// a sum of the addends before the norms would be another number.
// CHECK-LABEL: func.func @v0
// CHECK: decoder.linear
// CHECK: decoder.linear
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.reduce_scatter {{.*}}site = "mlp"
// CHECK: decoder.norm
// CHECK: decoder.linear
// CHECK: decoder.linear
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.reduce_scatter {{.*}}site = "experts"
// CHECK: decoder.norm
// CHECK: decoder.add %
// CHECK: decoder.norm
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.all_gather
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: return
func.func @decoder(%x: tensor<?x8xf32> {decoder.input = "x"}) -> tensor<?x8xf32> {
  %g = decoder.weight {key = "g", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %h = decoder.weight {key = "h", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %k = decoder.weight {key = "k", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %u = decoder.weight {key = "u", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %o = decoder.weight {key = "o", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %v = decoder.weight {key = "v", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %d = decoder.weight {key = "d", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %0 = decoder.linear %x, %u : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %1 = decoder.activation %0 {function = #decoder.function<silu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = decoder.linear %1, %o : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32> loc("mlp")
  %3 = decoder.norm %2, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %4 = decoder.linear %x, %v : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %5 = decoder.activation %4 {function = #decoder.function<gelu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %6 = decoder.linear %5, %d : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32> loc("experts")
  %7 = decoder.norm %6, %h {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %8 = decoder.add %3, %7 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %9 = decoder.norm %8, %k {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %9 : tensor<?x8xf32>
}

//--- e-parallel.mlir
// Cohere, GPT-J: the addends are added on each rank and paid by one
// reduce_scatter; the bias comes after it, once.
// CHECK-LABEL: func.func @v0
// CHECK: decoder.linear
// CHECK: decoder.linear
// CHECK: decoder.linear
// CHECK: decoder.linear
// CHECK: decoder.add %
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.reduce_scatter {{.*}}site = "attn_mlp"
// CHECK: decoder.add_bias
// CHECK: decoder.add %
// CHECK: decoder.norm
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.all_gather
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: return
func.func @decoder(%x: tensor<?x8xf32> {decoder.input = "x"}) -> tensor<?x8xf32> {
  %g = decoder.weight {key = "g", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %b = decoder.weight {key = "b", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %u = decoder.weight {key = "u", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %o = decoder.weight {key = "o", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %v = decoder.weight {key = "v", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %d = decoder.weight {key = "d", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %0 = decoder.linear %x, %u : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %1 = decoder.linear %x, %v : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %2 = decoder.activation %0 {function = #decoder.function<silu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %3 = decoder.activation %1 {function = #decoder.function<silu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %4 = decoder.linear %2, %o : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32> loc("attn")
  %5 = decoder.linear %3, %d : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32> loc("mlp")
  %6 = decoder.add %4, %5 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> loc("attn_mlp")
  %7 = decoder.add_bias %6, %b : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %8 = decoder.add %x, %7 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %9 = decoder.norm %8, %g {kind = #decoder.norm_kind<layer>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %9 : tensor<?x8xf32>
}

//--- e-two-norms.mlir
// GPT-NeoX: two norms of one residual. The residual is gathered once and both
// norms are whole, which sends half of what two gathers would.
// CHECK-LABEL: func.func @v0
// CHECK: decoder.linear
// CHECK: decoder.linear
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.reduce_scatter {{.*}}site = "attn"
// CHECK: decoder.add %
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.all_gather
// CHECK: decoder.norm
// CHECK: decoder.linear
// CHECK: decoder.norm
// CHECK: decoder.linear
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.all_gather
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.all_gather
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: return
func.func @decoder(%x: tensor<?x8xf32> {decoder.input = "x"}) -> (tensor<?x16xf32> {decoder.output = "a"}, tensor<?x16xf32> {decoder.output = "b"}) {
  %g = decoder.weight {key = "g", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %h = decoder.weight {key = "h", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %u = decoder.weight {key = "u", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %o = decoder.weight {key = "o", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %v = decoder.weight {key = "v", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %w = decoder.weight {key = "w", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %0 = decoder.linear %x, %u : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %1 = decoder.activation %0 {function = #decoder.function<silu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = decoder.linear %1, %o : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32> loc("attn")
  %3 = decoder.add %x, %2 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %4 = decoder.norm %3, %g {kind = #decoder.norm_kind<layer>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %5 = decoder.linear %4, %v : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %6 = decoder.activation %5 {function = #decoder.function<silu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %7 = decoder.norm %3, %h {kind = #decoder.norm_kind<layer>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %8 = decoder.linear %7, %w : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %9 = decoder.activation %8 {function = #decoder.function<silu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  return %6, %9 : tensor<?x16xf32>, tensor<?x16xf32>
}

//--- f-scaled.mlir
// Granite: the scale commutes with the sum and stays by rows.
// CHECK-LABEL: func.func @v0
// CHECK: decoder.linear
// CHECK: decoder.linear
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.reduce_scatter {{.*}}site = "o"
// CHECK: decoder.scale
// CHECK: decoder.add %
// CHECK: decoder.norm
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.all_gather
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: return
func.func @decoder(%x: tensor<?x8xf32> {decoder.input = "x"}) -> tensor<?x8xf32> {
  %g = decoder.weight {key = "g", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %u = decoder.weight {key = "u", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %o = decoder.weight {key = "o", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %0 = decoder.linear %x, %u : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %1 = decoder.activation %0 {function = #decoder.function<silu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = decoder.linear %1, %o : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32> loc("o")
  %3 = decoder.scale %2 {factor = 0.22 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %4 = decoder.add %x, %3 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %5 = decoder.norm %4, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %5 : tensor<?x8xf32>
}

//--- g-residual-of-normed.mlir
// MiniMax: the residual that is kept by rows is the normalised row.
// CHECK-LABEL: func.func @v0
// CHECK: decoder.linear
// CHECK: decoder.linear
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.reduce_scatter {{.*}}site = "before"
// CHECK: decoder.add %
// CHECK: decoder.norm
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.all_gather
// CHECK: decoder.linear
// CHECK: decoder.linear
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.reduce_scatter {{.*}}site = "o"
// CHECK: decoder.scale
// CHECK: decoder.scale
// CHECK: decoder.add %
// CHECK: decoder.norm
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: grid.all_gather
// CHECK-NOT: grid.{{all_|reduce}}
// CHECK: return
func.func @decoder(%x: tensor<?x8xf32> {decoder.input = "x"}) -> tensor<?x8xf32> {
  %g = decoder.weight {key = "g", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %h = decoder.weight {key = "h", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %e = decoder.weight {key = "e", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %t = decoder.weight {key = "t", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %u = decoder.weight {key = "u", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %o = decoder.weight {key = "o", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %a = decoder.linear %x, %t : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %b = decoder.activation %a {function = #decoder.function<silu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %c = decoder.linear %b, %e : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32> loc("before")
  %d = decoder.add %x, %c : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %y = decoder.norm %d, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %0 = decoder.linear %y, %u : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %1 = decoder.activation %0 {function = #decoder.function<silu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = decoder.linear %1, %o : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32> loc("o")
  %3 = decoder.scale %2 {factor = 1.0 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %4 = decoder.scale %y {factor = 3.5566 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %5 = decoder.add %4, %3 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %6 = decoder.norm %5, %h {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %6 : tensor<?x8xf32>
}
