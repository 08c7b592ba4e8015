// RUN: layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=8},verify-partitions,func.func(verify-sums))' | FileCheck %s
// RUN: layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=3},verify-partitions,func.func(verify-sums))' | FileCheck %s
// RUN: layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=1})' | FileCheck %s --check-prefix=ONE

// Norms of q and k over all heads, which the ranks share out. Each rank sums the
// squares of its query heads, and of the KV heads that it is the first to hold;
// both sums are paid at once.

// ONE-NOT: grid.slice
// ONE-NOT: grid.all_reduce

// CHECK-LABEL: func.func @norms(
func.func @norms(%x: tensor<?x16xf32>, %pos: tensor<?xi64>) -> tensor<?x8x4xf32> {
  %kpos = decoder.cache %pos {layer = -1 : si64, plane = #decoder.plane<positions>} : (tensor<?xi64>) -> tensor<?xi64>
  %wq = decoder.weight {key = "q", stored_shape = array<i64: 32, 16>} : () -> tensor<32x16xf32>
  %wk = decoder.weight {key = "k", stored_shape = array<i64: 16, 16>} : () -> tensor<16x16xf32>
  // The weights of the norms are where their features are.
  // CHECK: decoder.weight {key = "q_norm", {{.*}} -> tensor<32xf32, #grid.layout<[block "tp" x 4]>>
  %nq = decoder.weight {key = "q_norm", stored_shape = array<i64: 32>} : () -> tensor<32xf32>
  // CHECK: decoder.weight {key = "k_norm", {{.*}} -> tensor<16xf32, #grid.layout<[readers(8) "tp" x 4]>>
  %nk = decoder.weight {key = "k_norm", stored_shape = array<i64: 16>} : () -> tensor<16xf32>
  // CHECK: %[[Q:.*]] = decoder.linear {{.*}} -> tensor<?x32xf32, #grid.layout<[_, block "tp" x 4]>>
  %q0 = decoder.linear %x, %wq : (tensor<?x16xf32>, tensor<32x16xf32>) -> tensor<?x32xf32>
  // CHECK: %[[K:.*]] = decoder.linear {{.*}} -> tensor<?x16xf32, #grid.layout<[_, readers(8) "tp" x 4]>>
  %k0 = decoder.linear %x, %wk : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  // CHECK: %[[SQ:.*]] = decoder.row_squares %[[Q]] : {{.*}} -> tensor<?x1xf32, #grid.layout<[_, _] owes "tp">>
  %sq = decoder.row_squares %q0 : (tensor<?x32xf32>) -> tensor<?x1xf32>
  // CHECK: %[[FIRST:.*]] = grid.slice %[[K]] dim 1 over "tp" : {{.*}} -> tensor<?x16xf32, #grid.layout<[_, first_readers(8) "tp" x 4]>>
  // CHECK: %[[SK:.*]] = decoder.row_squares %[[FIRST]] : {{.*}} -> tensor<?x1xf32, #grid.layout<[_, _] owes "tp">>
  %sk = decoder.row_squares %k0 : (tensor<?x16xf32>) -> tensor<?x1xf32>
  // CHECK: %[[BOTH:.*]] = decoder.concat_columns %[[SQ]], %[[SK]] : {{.*}} -> tensor<?x2xf32, #grid.layout<[_, _] owes "tp">>
  // CHECK-NEXT: grid.all_reduce %[[BOTH]] over ["tp"] {{.*}} -> tensor<?x2xf32, #grid.layout<[_, _]>>
  // CHECK-NOT: grid.all_reduce
  %both = decoder.concat_columns %sq, %sk : (tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x2xf32>
  %tq = decoder.slice_columns %both {begin = 0} : (tensor<?x2xf32>) -> tensor<?x1xf32>
  %tk = decoder.slice_columns %both {begin = 1} : (tensor<?x2xf32>) -> tensor<?x1xf32>
  // CHECK: decoder.norm_by %[[Q]], {{.*}}width = 32 : i64} {{.*}} -> tensor<?x32xf32, #grid.layout<[_, block "tp" x 4]>>
  %q1 = decoder.norm_by %q0, %tq, %nq {eps = 1.0e-6 : f64, width = 32 : i64} : (tensor<?x32xf32>, tensor<?x1xf32>, tensor<32xf32>) -> tensor<?x32xf32>
  // All KV heads that the rank reads are normed, not only those it counted.
  // CHECK: decoder.norm_by %[[K]], {{.*}}width = 16 : i64} {{.*}} -> tensor<?x16xf32, #grid.layout<[_, readers(8) "tp" x 4]>>
  %k1 = decoder.norm_by %k0, %tk, %nk {eps = 1.0e-6 : f64, width = 16 : i64} : (tensor<?x16xf32>, tensor<?x1xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %q2 = decoder.split_heads %q1 : (tensor<?x32xf32>) -> tensor<?x8x4xf32>
  %k2 = decoder.split_heads %k1 : (tensor<?x16xf32>) -> tensor<?x4x4xf32>
  %keys = decoder.cache %k2 {layer = 0 : si64, plane = #decoder.plane<key>} : (tensor<?x4x4xf32>) -> tensor<?x4x4xf32>
  %vals = decoder.cache %k2 {layer = 0 : si64, plane = #decoder.plane<value>} : (tensor<?x4x4xf32>) -> tensor<?x4x4xf32>
  %o = decoder.attention %q2, %keys, %vals, %pos, %kpos {scale = 0.5 : f64, causal = true} : (tensor<?x8x4xf32>, tensor<?x4x4xf32>, tensor<?x4x4xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x8x4xf32>
  return %o : tensor<?x8x4xf32>
}
