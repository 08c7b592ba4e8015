// RUN: layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=2})' | FileCheck %s

// One layer of latent attention with an indexer, and experts beside a shared
// one. Heads and features are split; what makes the latents, the indexer and the
// router stay whole on every rank.

#half = #decoder.rope_table<[1.0, 0.1], factor 1.0>

// CHECK-LABEL: @layer
func.func @layer(%x: tensor<?x16xf32>, %p: tensor<?xi64>) -> tensor<?x16xf32> {
  %kp = decoder.cache %p {layer = -1 : si64, plane = #decoder.plane<positions>} : (tensor<?xi64>) -> tensor<?xi64>
  %qaw = decoder.weight {key = "q_a", stored_shape = array<i64: 12, 16>} : () -> tensor<12x16xf32>
  // CHECK: decoder.weight {key = "q_b"{{.*}} -> tensor<24x12xf32, #grid.layout<[block "tp" x 6, _]>>
  %qbw = decoder.weight {key = "q_b", stored_shape = array<i64: 24, 12>} : () -> tensor<24x12xf32>
  // CHECK: decoder.weight {key = "kv_a"{{.*}} -> tensor<10x16xf32, #grid.layout<[_, _]>>
  %kvw = decoder.weight {key = "kv_a", stored_shape = array<i64: 10, 16>} : () -> tensor<10x16xf32>
  %qa = decoder.linear %x, %qaw : (tensor<?x16xf32>, tensor<12x16xf32>) -> tensor<?x12xf32>
  %qb = decoder.linear %qa, %qbw : (tensor<?x12xf32>, tensor<24x12xf32>) -> tensor<?x24xf32>
  %q = decoder.split_heads %qb : (tensor<?x24xf32>) -> tensor<?x4x6xf32>
  // CHECK: decoder.slice_columns {{.*}} -> tensor<?x4x2xf32, #grid.layout<[_, block "tp", _]>>
  %qn = decoder.slice_columns %q {begin = 0} : (tensor<?x4x6xf32>) -> tensor<?x4x2xf32>
  %qp = decoder.slice_columns %q {begin = 2} : (tensor<?x4x6xf32>) -> tensor<?x4x4xf32>
  %qr = decoder.rope %qp, %p {style = #decoder.rope_style<interleaved_to_half>, table = #half} : (tensor<?x4x4xf32>, tensor<?xi64>) -> tensor<?x4x4xf32>
  %kv = decoder.linear %x, %kvw : (tensor<?x16xf32>, tensor<10x16xf32>) -> tensor<?x10xf32>
  %l = decoder.slice_columns %kv {begin = 0} : (tensor<?x10xf32>) -> tensor<?x6xf32>
  %k = decoder.slice_columns %kv {begin = 6} : (tensor<?x10xf32>) -> tensor<?x4xf32>
  // CHECK: decoder.cache {{.*}} -> tensor<?x6xf32, #grid.layout<[_, _]>>
  %lc = decoder.cache %l {layer = 0 : si64, plane = #decoder.plane<latent>} : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %kc = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<rope_key>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %iqw = decoder.weight {key = "wq_b", stored_shape = array<i64: 8, 12>} : () -> tensor<8x12xf32>
  %ikw = decoder.weight {key = "wk", stored_shape = array<i64: 4, 16>} : () -> tensor<4x16xf32>
  %iww = decoder.weight {key = "weights_proj", stored_shape = array<i64: 2, 16>} : () -> tensor<2x16xf32>
  %if = decoder.linear %qa, %iqw : (tensor<?x12xf32>, tensor<8x12xf32>) -> tensor<?x8xf32>
  %iq = decoder.split_heads %if : (tensor<?x8xf32>) -> tensor<?x2x4xf32>
  %ik = decoder.linear %x, %ikw : (tensor<?x16xf32>, tensor<4x16xf32>) -> tensor<?x4xf32>
  %ic = decoder.cache %ik {layer = 0 : si64, plane = #decoder.plane<index_key>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %iw = decoder.linear %x, %iww : (tensor<?x16xf32>, tensor<2x16xf32>) -> tensor<?x2xf32>
  // CHECK: decoder.indexer {{.*}} -> (tensor<?x3xi32, #grid.layout<[_, _]>>, tensor<?x3xf32, #grid.layout<[_, _]>>)
  %s, %sc = decoder.indexer %iq, %ic, %iw, %p, %kp {top_k = 3, scale = 0.5 : f64, causal = true} : (tensor<?x2x4xf32>, tensor<?x4xf32>, tensor<?x2xf32>, tensor<?xi64>, tensor<?xi64>) -> (tensor<?x3xi32>, tensor<?x3xf32>)
  // CHECK: decoder.weight {key = "kv_b"{{.*}} -> tensor<8x6xf32, #grid.layout<[block "tp" x 2, _]>>
  %ku = decoder.weight {key = "kv_b", stored_shape = array<i64: 20, 6>, rows = array<i64: 0, 2>, period = 5} : () -> tensor<8x6xf32>
  // CHECK: decoder.weight {key = "kv_b"{{.*}} -> tensor<12x6xf32, #grid.layout<[block "tp" x 3, _]>>
  %vu = decoder.weight {key = "kv_b", stored_shape = array<i64: 20, 6>, rows = array<i64: 2, 5>, period = 5} : () -> tensor<12x6xf32>
  // CHECK: decoder.latent_attention {{.*}} -> tensor<?x4x3xf32, #grid.layout<[_, block "tp", _]>>
  %a = decoder.latent_attention %qn, %qr, %lc, %kc, %ku, %vu, %p, %kp, %s {scale = 0.5 : f64, causal = true} : (tensor<?x4x2xf32>, tensor<?x4x4xf32>, tensor<?x6xf32>, tensor<?x4xf32>, tensor<8x6xf32>, tensor<12x6xf32>, tensor<?xi64>, tensor<?xi64>, tensor<?x3xi32>) -> tensor<?x4x3xf32>
  %m = decoder.merge_heads %a : (tensor<?x4x3xf32>) -> tensor<?x12xf32>
  %ow = decoder.weight {key = "o", stored_shape = array<i64: 16, 12>} : () -> tensor<16x12xf32>
  // CHECK: decoder.linear {{.*}} owes "tp">>
  // CHECK-NEXT: grid.all_reduce
  %o = decoder.linear %m, %ow : (tensor<?x12xf32>, tensor<16x12xf32>) -> tensor<?x16xf32>
  return %o : tensor<?x16xf32>
}
