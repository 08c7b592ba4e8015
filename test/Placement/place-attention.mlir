// RUN: layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=8},verify-partitions)' | FileCheck %s
// RUN: layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=4},verify-partitions)' | FileCheck %s
// RUN: layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=2},verify-partitions)' | FileCheck %s
// RUN: layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=1},verify-partitions)' | FileCheck %s --check-prefix=ONE
// RUN: layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=3 even=true})' | FileCheck %s
// RUN: layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=9 even=true})' | FileCheck %s
// RUN: layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=4 reference=true})' | FileCheck %s --check-prefixes=REFERENCE

// 9 query heads on 3 KV heads divide over 1, 3 and 9 ranks. One rule covers all
// numbers of ranks: query heads in blocks, and the KV heads that they read,
// which ranks may share (test/unit/support has the heads of every rank).

// One rank: all is whole, and nothing is sent.
// ONE: grid.mesh @mesh ["tp"] = [1]
// ONE-NOT: block
// ONE-NOT: readers
// ONE-NOT: owes
// ONE-NOT: grid.all

// REFERENCE-LABEL: func.func private @attention.reference(
// REFERENCE-SAME: attributes {decoder.reference}
// REFERENCE-NOT: grid.layout
// REFERENCE-LABEL: func.func @attention(
// REFERENCE-SAME: grid.layout

// CHECK-LABEL: func.func @attention(
func.func @attention(%x: tensor<?x16xf32>, %pos: tensor<?xi64>) -> tensor<?x16xf32> {
  %kpos = decoder.cache %pos {layer = -1 : si64, plane = #decoder.plane<positions>} : (tensor<?xi64>) -> tensor<?xi64>
  // Weights are cut between heads of 4 features.
  // CHECK: decoder.weight {key = "q", {{.*}} -> tensor<36x16xf32, #grid.layout<[block "tp" x 4, _]>>
  %wq = decoder.weight {key = "q", stored_shape = array<i64: 36, 16>} : () -> tensor<36x16xf32>
  // CHECK: decoder.weight {key = "k", {{.*}} -> tensor<12x16xf32, #grid.layout<[readers(9) "tp" x 4, _]>>
  %wk = decoder.weight {key = "k", stored_shape = array<i64: 12, 16>} : () -> tensor<12x16xf32>
  // CHECK: decoder.weight {key = "v", {{.*}} -> tensor<12x16xf32, #grid.layout<[readers(9) "tp" x 4, _]>>
  %wv = decoder.weight {key = "v", stored_shape = array<i64: 12, 16>} : () -> tensor<12x16xf32>
  // CHECK: decoder.weight {key = "k_norm", {{.*}} -> tensor<4xf32, #grid.layout<[_]>>
  %wn = decoder.weight {key = "k_norm", stored_shape = array<i64: 4>} : () -> tensor<4xf32>
  // CHECK: decoder.weight {key = "o", {{.*}} -> tensor<16x36xf32, #grid.layout<[_, block "tp" x 4]>>
  %wo = decoder.weight {key = "o", stored_shape = array<i64: 16, 36>} : () -> tensor<16x36xf32>
  %q0 = decoder.linear %x, %wq : (tensor<?x16xf32>, tensor<36x16xf32>) -> tensor<?x36xf32>
  %k0 = decoder.linear %x, %wk : (tensor<?x16xf32>, tensor<12x16xf32>) -> tensor<?x12xf32>
  %v0 = decoder.linear %x, %wv : (tensor<?x16xf32>, tensor<12x16xf32>) -> tensor<?x12xf32>
  %q1 = decoder.split_heads %q0 : (tensor<?x36xf32>) -> tensor<?x9x4xf32>
  %k1 = decoder.split_heads %k0 : (tensor<?x12xf32>) -> tensor<?x3x4xf32>
  %v1 = decoder.split_heads %v0 : (tensor<?x12xf32>) -> tensor<?x3x4xf32>
  %k2 = decoder.norm %k1, %wn {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x3x4xf32>, tensor<4xf32>) -> tensor<?x3x4xf32>
  // CHECK: decoder.rope {{.*}} -> tensor<?x3x4xf32, #grid.layout<[_, readers(9) "tp", _]>>
  %k3 = decoder.rope %k2, %pos {style = #decoder.rope_style<half>, table = #decoder.rope_table<[1.0, 0.1], factor 1.0>} : (tensor<?x3x4xf32>, tensor<?xi64>) -> tensor<?x3x4xf32>
  // CHECK: decoder.cache {{.*}}plane<key>{{.*}} -> tensor<?x3x4xf32, #grid.layout<[_, readers(9) "tp", _]>>
  %keys = decoder.cache %k3 {layer = 0 : si64, plane = #decoder.plane<key>} : (tensor<?x3x4xf32>) -> tensor<?x3x4xf32>
  %vals = decoder.cache %v1 {layer = 0 : si64, plane = #decoder.plane<value>} : (tensor<?x3x4xf32>) -> tensor<?x3x4xf32>
  // CHECK: decoder.attention {{.*}} -> tensor<?x9x4xf32, #grid.layout<[_, block "tp", _]>>
  %o0 = decoder.attention %q1, %keys, %vals, %pos, %kpos {scale = 0.5 : f64, causal = true} : (tensor<?x9x4xf32>, tensor<?x3x4xf32>, tensor<?x3x4xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x9x4xf32>
  %o1 = decoder.merge_heads %o0 : (tensor<?x9x4xf32>) -> tensor<?x36xf32>
  // CHECK: %[[P:.*]] = decoder.linear {{.*}} -> tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
  // CHECK-NEXT: grid.all_reduce %[[P]]
  %y = decoder.linear %o1, %wo : (tensor<?x36xf32>, tensor<16x36xf32>) -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}
