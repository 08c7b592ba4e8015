// RUN: layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=2 reference=true},verify-equivalence,verify-exact)' -mlir-print-debuginfo -o %t.mlir
// RUN: sed 's/rows = array<i64: 2048, 2560>\(.*#grid.layout\)/rows = array<i64: 0, 512>\1/' %t.mlir > %t.broken.mlir
// RUN: not layline-opt %t.broken.mlir -pass-pipeline='builtin.module(verify-exact)' 2>&1 | FileCheck %s --check-prefix=EXACT
// RUN: not layline-opt %t.broken.mlir -pass-pipeline='builtin.module(verify-equivalence)' 2>&1 | FileCheck %s --check-prefix=EQUIVALENCE

// One attention block of Llama-3.2-1B at TP 2: hidden 2048, 32 query heads and 8
// KV heads of 64 features, Q, K and V in one stored tensor of 3072 rows. The
// broken program reads Q rows for K, as llama_tp2_layer1.broken.hlo does
// (slice [0:256] of the rank's columns in place of [1024:1280]). Graphs in HLO
// are not imported yet, so the fault is built here.

// Everything but K is right, and all types fit: the first value that differs is
// K, before it is rotated.
// EXACT: error: with {{[0-9]+}} tokens (past {{[0-9]+}}), rank 0: row 0, column 0 of the result of linear at layer.0.k_proj differs from the imported program
// EQUIVALENCE: gives "layer.0.attn_out", but not the value that the imported program gives it

func.func @layer(%x: tensor<?x2048xf16> {decoder.input = "x"}, %pos: tensor<?xi64> {decoder.input = "positions"}) -> tensor<?x2048xf16> {
  %kpos = decoder.cache %pos {layer = -1 : si64, plane = #decoder.plane<positions>} : (tensor<?xi64>) -> tensor<?xi64> loc("positions")
  %wq = decoder.weight {key = "qkv", stored_shape = array<i64: 3072, 2048>, rows = array<i64: 0, 2048>} : () -> tensor<2048x2048xf16> loc("layer.0.q_proj")
  %wk = decoder.weight {key = "qkv", stored_shape = array<i64: 3072, 2048>, rows = array<i64: 2048, 2560>} : () -> tensor<512x2048xf16> loc("layer.0.k_proj")
  %wv = decoder.weight {key = "qkv", stored_shape = array<i64: 3072, 2048>, rows = array<i64: 2560, 3072>} : () -> tensor<512x2048xf16> loc("layer.0.v_proj")
  %wo = decoder.weight {key = "o", stored_shape = array<i64: 2048, 2048>} : () -> tensor<2048x2048xf16> loc("layer.0.o_proj")
  %q0 = decoder.linear %x, %wq : (tensor<?x2048xf16>, tensor<2048x2048xf16>) -> tensor<?x2048xf16> loc("layer.0.q_proj")
  %k0 = decoder.linear %x, %wk : (tensor<?x2048xf16>, tensor<512x2048xf16>) -> tensor<?x512xf16> loc("layer.0.k_proj")
  %v0 = decoder.linear %x, %wv : (tensor<?x2048xf16>, tensor<512x2048xf16>) -> tensor<?x512xf16> loc("layer.0.v_proj")
  %q1 = decoder.split_heads %q0 : (tensor<?x2048xf16>) -> tensor<?x32x64xf16> loc("layer.0.q_proj")
  %k1 = decoder.split_heads %k0 : (tensor<?x512xf16>) -> tensor<?x8x64xf16> loc("layer.0.k_proj")
  %v1 = decoder.split_heads %v0 : (tensor<?x512xf16>) -> tensor<?x8x64xf16> loc("layer.0.v_proj")
  %q2 = decoder.rope %q1, %pos {style = #decoder.rope_style<half>, table = #decoder.rope_table<[1.0, 0.1], factor 1.0>} : (tensor<?x32x64xf16>, tensor<?xi64>) -> tensor<?x32x64xf16> loc("layer.0.q_rope")
  %k2 = decoder.rope %k1, %pos {style = #decoder.rope_style<half>, table = #decoder.rope_table<[1.0, 0.1], factor 1.0>} : (tensor<?x8x64xf16>, tensor<?xi64>) -> tensor<?x8x64xf16> loc("layer.0.k_rope")
  %keys = decoder.cache %k2 {layer = 0 : si64, plane = #decoder.plane<key>} : (tensor<?x8x64xf16>) -> tensor<?x8x64xf16> loc("layer.0.k_cache")
  %values = decoder.cache %v1 {layer = 0 : si64, plane = #decoder.plane<value>} : (tensor<?x8x64xf16>) -> tensor<?x8x64xf16> loc("layer.0.v_cache")
  %o = decoder.attention %q2, %keys, %values, %pos, %kpos {scale = 0.125 : f64, causal = true} : (tensor<?x32x64xf16>, tensor<?x8x64xf16>, tensor<?x8x64xf16>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x32x64xf16> loc("layer.0.attention")
  %m = decoder.merge_heads %o : (tensor<?x32x64xf16>) -> tensor<?x2048xf16> loc("layer.0.attention")
  %y = decoder.linear %m, %wo {decoder.record = ["layer.0.attn_out"]} : (tensor<?x2048xf16>, tensor<2048x2048xf16>) -> tensor<?x2048xf16> loc("layer.0.o_proj")
  return %y : tensor<?x2048xf16>
}
