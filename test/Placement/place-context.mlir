// RUN: layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=2 cp=4})' | FileCheck %s --check-prefixes=CHECK,ZIGZAG
// RUN: layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=2 cp=4 cp-split=contiguous})' | FileCheck %s --check-prefixes=CHECK,BLOCK
// RUN: layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=2 cp=4 cp-split=interleave})' | FileCheck %s --check-prefixes=CHECK,CYCLIC
// RUN: layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=2 cp=4 cp-split=interleave:16})' | FileCheck %s --check-prefixes=CHECK,RUNS
// RUN: layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=2 cp=1})' | FileCheck %s --check-prefix=ONE
// RUN: not layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=2 cp=0})' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=2 cp=2 cp-split=interleave:0})' 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=2 cp=2 cp-split=zigzags})' 2>&1 | FileCheck %s --check-prefix=KIND

// Query tokens are split over "cp", heads over "tp": two axes, so that the ranks
// cover the whole token x head grid and not its diagonal blocks.

// One rank splits nothing, and its mesh has no such axis.
// ONE: grid.mesh @mesh ["tp"] = [2]
// ONE-NOT: "cp"
// NONE: context parallelism over 0 ranks, expected at least 1
// KIND: expected zigzag, contiguous, interleave or interleave:I with I at least 1

// Ranks of one tensor-parallel group are neighbours.
// CHECK: grid.mesh @mesh ["cp", "tp"] = [4, 2]

// CHECK-LABEL: func.func @layer(
// CHECK-SAME: %[[IDS:.*]]: tensor<?xi64, #grid.layout<[_]>>, %[[POS:.*]]: tensor<?xi64, #grid.layout<[_]>>
func.func @layer(%ids: tensor<?xi64>, %pos: tensor<?xi64>) -> tensor<?x12xf32> {
  // Each rank takes its rows of the inputs, positions with them.
  // ZIGZAG: grid.slice %[[IDS]] dim 0 over "cp" : {{.*}} -> tensor<?xi64, #grid.layout<[zigzag "cp"]>>
  // BLOCK: grid.slice %[[IDS]] dim 0 over "cp" : {{.*}} -> tensor<?xi64, #grid.layout<[block "cp"]>>
  // CYCLIC: grid.slice %[[IDS]] dim 0 over "cp" : {{.*}} -> tensor<?xi64, #grid.layout<[cyclic(1) "cp"]>>
  // RUNS: grid.slice %[[IDS]] dim 0 over "cp" : {{.*}} -> tensor<?xi64, #grid.layout<[cyclic(16) "cp"]>>
  // CHECK: %[[ROWS:.*]] = grid.slice %[[POS]] dim 0 over "cp"
  // All positions are there: none are gathered to be cached.
  // CHECK: %[[KPOS:.*]] = decoder.cache %[[POS]]
  %kpos = decoder.cache %pos {layer = -1 : si64, plane = #decoder.plane<positions>} : (tensor<?xi64>) -> tensor<?xi64>
  %table = decoder.weight {key = "e", stored_shape = array<i64: 12, 16>} : () -> tensor<12x16xf32>
  // ZIGZAG: decoder.embedding {{.*}} -> tensor<?x16xf32, #grid.layout<[zigzag "cp", _] owes "tp">>
  %x = decoder.embedding %ids, %table : (tensor<?xi64>, tensor<12x16xf32>) -> tensor<?x16xf32>
  %wq = decoder.weight {key = "q", stored_shape = array<i64: 16, 16>} : () -> tensor<16x16xf32>
  %wk = decoder.weight {key = "k", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %q0 = decoder.linear %x, %wq : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %k0 = decoder.linear %x, %wk : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
  %q1 = decoder.split_heads %q0 : (tensor<?x16xf32>) -> tensor<?x4x4xf32>
  %k1 = decoder.split_heads %k0 : (tensor<?x8xf32>) -> tensor<?x2x4xf32>
  // A key is rotated by the rank that has its row, by the position of its row,
  // and then gathered into global order.
  // CHECK: %[[K:.*]] = decoder.rope %{{.*}}, %[[ROWS]] {
  // CHECK-NEXT: %[[ALL:.*]] = grid.all_gather %[[K]] dim 0 over "cp" : {{.*}} -> tensor<?x2x4xf32, #grid.layout<[_, readers(4) "tp", _]>>
  // CHECK-NEXT: %[[KEYS:.*]] = decoder.cache %[[ALL]]
  %k2 = decoder.rope %k1, %pos {style = #decoder.rope_style<half>, table = #decoder.rope_table<[1.0, 0.1], factor 1.0>} : (tensor<?x2x4xf32>, tensor<?xi64>) -> tensor<?x2x4xf32>
  %keys = decoder.cache %k2 {layer = 0 : si64, plane = #decoder.plane<key>} : (tensor<?x2x4xf32>) -> tensor<?x2x4xf32>
  // A value with two readers that need it whole is gathered once.
  // CHECK: %[[V:.*]] = grid.all_gather %{{.*}} dim 0 over "cp"
  // CHECK-NEXT: decoder.cache %[[V]] {layer = 0 : si64, plane = #decoder.plane<value>}
  // CHECK-NEXT: decoder.cache %[[V]] {layer = 1 : si64, plane = #decoder.plane<value>}
  // CHECK-NOT: grid.all_gather
  %vals = decoder.cache %k1 {layer = 0 : si64, plane = #decoder.plane<value>} : (tensor<?x2x4xf32>) -> tensor<?x2x4xf32>
  %more = decoder.cache %k1 {layer = 1 : si64, plane = #decoder.plane<value>} : (tensor<?x2x4xf32>) -> tensor<?x2x4xf32>
  // Queries are the rank's own, keys all.
  // CHECK: decoder.attention %{{.*}}, %[[KEYS]], %{{.*}}, %[[ROWS]], %[[KPOS]]
  // ZIGZAG-SAME: tensor<?x4x4xf32, #grid.layout<[zigzag "cp", block "tp", _]>>,
  %o = decoder.attention %q1, %keys, %vals, %pos, %kpos {scale = 0.5 : f64, causal = true} : (tensor<?x4x4xf32>, tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x4x4xf32>
  %m = decoder.merge_heads %o : (tensor<?x4x4xf32>) -> tensor<?x16xf32>
  %wl = decoder.weight {key = "l", stored_shape = array<i64: 12, 16>} : () -> tensor<12x16xf32>
  %wo = decoder.weight {key = "o", stored_shape = array<i64: 16, 16>} : () -> tensor<16x16xf32>
  // The sum over heads is one of the ranks that hold the same rows.
  // CHECK: grid.all_reduce {{.*}} over ["tp"]
  %y = decoder.linear %m, %wo : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  // What leaves the program is whole.
  // CHECK: %[[L:.*]] = decoder.logits
  // CHECK: %[[L1:.*]] = grid.all_gather %[[L]] dim 1 over "tp"
  // CHECK: %[[L2:.*]] = grid.all_gather %[[L1]] dim 0 over "cp" : {{.*}} -> tensor<?x12xf32, #grid.layout<[_, _]>>
  // CHECK: return %[[L2]]
  %l = decoder.logits %y, %wl : (tensor<?x16xf32>, tensor<12x16xf32>) -> tensor<?x12xf32>
  return %l : tensor<?x12xf32>
}

// An input that nobody reads stays as it is.
// CHECK-LABEL: func.func @unread(
// CHECK: grid.slice
// CHECK-NOT: grid.slice
func.func @unread(%x: tensor<?x16xf32>, %unread: tensor<?xi64>) -> tensor<?x16xf32> {
  %y = decoder.scale %x {factor = 2.0 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}
