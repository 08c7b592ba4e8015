// RUN: layline-opt %s -split-input-file -pass-pipeline='builtin.module(place-parallel{tp=4})' | FileCheck %s

// Where every weight and value lives under tensor parallelism over 4 ranks.

// A column-parallel product feeds a row-parallel one; the sum follows at once
// and is named for its place.
// CHECK: grid.mesh @mesh ["tp"] = [4]
// CHECK-LABEL: func.func @mlp(
// CHECK-SAME: %[[X:.*]]: tensor<?x16xf32, #grid.layout<[_, _]>>) -> tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @mlp(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  // CHECK-DAG: %[[GATE:.*]] = decoder.weight {key = "gate", {{.*}}-> tensor<32x16xf32, #grid.layout<[block "tp", _]>>
  // CHECK-DAG: %[[UP:.*]] = decoder.weight {key = "up", {{.*}}-> tensor<32x16xf32, #grid.layout<[block "tp", _]>>
  // CHECK-DAG: %[[DOWN:.*]] = decoder.weight {key = "down", {{.*}}-> tensor<16x32xf32, #grid.layout<[_, block "tp"]>>
  %gate = decoder.weight {key = "gate", stored_shape = array<i64: 32, 16>} : () -> tensor<32x16xf32>
  %up = decoder.weight {key = "up", stored_shape = array<i64: 32, 16>} : () -> tensor<32x16xf32>
  %down = decoder.weight {key = "down", stored_shape = array<i64: 16, 32>} : () -> tensor<16x32xf32>
  // CHECK: %[[G:.*]] = decoder.linear %[[X]], %[[GATE]] : {{.*}} -> tensor<?x32xf32, #grid.layout<[_, block "tp"]>>
  %g = decoder.linear %x, %gate : (tensor<?x16xf32>, tensor<32x16xf32>) -> tensor<?x32xf32>
  %u = decoder.linear %x, %up : (tensor<?x16xf32>, tensor<32x16xf32>) -> tensor<?x32xf32>
  // CHECK: %[[A:.*]] = decoder.gated_activation %[[G]]
  %a = decoder.gated_activation %g, %u {function = #decoder.function<silu>} : (tensor<?x32xf32>, tensor<?x32xf32>) -> tensor<?x32xf32>
  // CHECK: %[[P:.*]] = decoder.linear %[[A]], %[[DOWN]] : {{.*}} -> tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
  // CHECK-NEXT: %[[Y:.*]] = grid.all_reduce %[[P]] over ["tp"] {site = "layer.0.down_proj"}
  %y = decoder.linear %a, %down : (tensor<?x32xf32>, tensor<16x32xf32>) -> tensor<?x16xf32> loc("layer.0.down_proj")
  // CHECK-NEXT: return %[[Y]]
  return %y : tensor<?x16xf32>
}

// -----

// The bias of a column-parallel product is split with it; that of a
// row-parallel product is whole and added once, to the sum.
// CHECK-LABEL: func.func @biases(
func.func @biases(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %up = decoder.weight {key = "up", stored_shape = array<i64: 32, 16>} : () -> tensor<32x16xf32>
  // CHECK: decoder.weight {key = "up_bias", {{.*}} -> tensor<32xf32, #grid.layout<[block "tp"]>>
  %up_bias = decoder.weight {key = "up_bias", stored_shape = array<i64: 32>} : () -> tensor<32xf32>
  %down = decoder.weight {key = "down", stored_shape = array<i64: 16, 32>} : () -> tensor<16x32xf32>
  // CHECK: %[[BIAS:.*]] = decoder.weight {key = "down_bias", {{.*}} -> tensor<16xf32, #grid.layout<[_]>>
  %down_bias = decoder.weight {key = "down_bias", stored_shape = array<i64: 16>} : () -> tensor<16xf32>
  %u = decoder.linear %x, %up, %up_bias : (tensor<?x16xf32>, tensor<32x16xf32>, tensor<32xf32>) -> tensor<?x32xf32>
  %a = decoder.activation %u {function = #decoder.function<gelu>} : (tensor<?x32xf32>) -> tensor<?x32xf32>
  // CHECK: %[[SUM:.*]] = grid.all_reduce
  %p = decoder.linear %a, %down : (tensor<?x32xf32>, tensor<16x32xf32>) -> tensor<?x16xf32>
  // CHECK-NEXT: decoder.add_bias %[[SUM]], %[[BIAS]] : {{.*}} -> tensor<?x16xf32, #grid.layout<[_, _]>>
  %y = decoder.add_bias %p, %down_bias : (tensor<?x16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// -----

// Each rank looks up its part of the vocabulary and the ranks add up; each
// scores its part of the vocabulary, and what leaves the program is gathered.
// CHECK-LABEL: func.func @vocabulary(
// CHECK-SAME: -> tensor<?x33xf32, #grid.layout<[_, _]>>
func.func @vocabulary(%ids: tensor<?xi64>) -> tensor<?x33xf32> {
  // CHECK: decoder.weight {key = "table", {{.*}} -> tensor<33x16xf32, #grid.layout<[block "tp", _]>>
  %table = decoder.weight {key = "table", stored_shape = array<i64: 33, 16>} : () -> tensor<33x16xf32>
  // CHECK: decoder.weight {key = "head", {{.*}} -> tensor<33x16xf32, #grid.layout<[block "tp", _]>>
  %head = decoder.weight {key = "head", stored_shape = array<i64: 33, 16>} : () -> tensor<33x16xf32>
  // CHECK: %[[P:.*]] = decoder.embedding {{.*}} owes "tp">>
  // CHECK-NEXT: grid.all_reduce %[[P]] over ["tp"] {site = "embedding"}
  %x = decoder.embedding %ids, %table : (tensor<?xi64>, tensor<33x16xf32>) -> tensor<?x16xf32> loc("embedding")
  // CHECK: %[[L:.*]] = decoder.logits {{.*}} -> tensor<?x33xf32, #grid.layout<[_, block "tp"]>>
  // CHECK-NEXT: %[[ALL:.*]] = grid.all_gather %[[L]] dim 1 over "tp"
  %l = decoder.logits %x, %head : (tensor<?x16xf32>, tensor<33x16xf32>) -> tensor<?x33xf32>
  // CHECK-NEXT: return %[[ALL]]
  return %l : tensor<?x33xf32>
}

// -----

// A table that is looked up and scored with: one weight, one layout.
// CHECK-LABEL: func.func @tied(
func.func @tied(%ids: tensor<?xi64>) -> tensor<?x32xf32> {
  // CHECK: decoder.weight {key = "table", {{.*}} -> tensor<32x16xf32, #grid.layout<[block "tp", _]>>
  // CHECK-NOT: decoder.weight
  %table = decoder.weight {key = "table", stored_shape = array<i64: 32, 16>} : () -> tensor<32x16xf32>
  %x = decoder.embedding %ids, %table : (tensor<?xi64>, tensor<32x16xf32>) -> tensor<?x16xf32>
  %l = decoder.logits %x, %table : (tensor<?x16xf32>, tensor<32x16xf32>) -> tensor<?x32xf32>
  return %l : tensor<?x32xf32>
}

// -----

// Experts are split inside, all of them on every rank; router and shared row
// are whole.
// CHECK-LABEL: func.func @mixture(
func.func @mixture(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  // CHECK: decoder.weight {key = "router", {{.*}} -> tensor<8x16xf32, #grid.layout<[_, _]>>
  %router = decoder.weight {key = "router", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  // CHECK: decoder.weight {key = "{expert}.gate", {{.*}} -> tensor<8x12x16xf32, #grid.layout<[_, block "tp", _]>>
  %gate = decoder.weight {key = "{expert}.gate", stored_shape = array<i64: 12, 16>} : () -> tensor<8x12x16xf32>
  // CHECK: decoder.weight {key = "{expert}.up", {{.*}} -> tensor<8x12x16xf32, #grid.layout<[_, block "tp", _]>>
  %up = decoder.weight {key = "{expert}.up", stored_shape = array<i64: 12, 16>} : () -> tensor<8x12x16xf32>
  // CHECK: decoder.weight {key = "{expert}.down", {{.*}} -> tensor<8x16x12xf32, #grid.layout<[_, _, block "tp"]>>
  %down = decoder.weight {key = "{expert}.down", stored_shape = array<i64: 16, 12>} : () -> tensor<8x16x12xf32>
  %logits = decoder.linear %x, %router : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
  // CHECK: decoder.router {{.*}} -> (tensor<?x2xi32, #grid.layout<[_, _]>>, tensor<?x2xf32, #grid.layout<[_, _]>>)
  %ids, %weights = decoder.router %logits {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true}
     : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  // CHECK-NEXT: %[[P:.*]] = decoder.experts {{.*}} -> tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
  // CHECK-NEXT: grid.all_reduce %[[P]] over ["tp"] {site = "layer.0.experts"}
  %y = decoder.experts %x, %ids, %weights, %gate, %up, %down {function = #decoder.function<silu>}
     : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, tensor<8x12x16xf32>, tensor<8x12x16xf32>, tensor<8x16x12xf32>) -> tensor<?x16xf32> loc("layer.0.experts")
  return %y : tensor<?x16xf32>
}

// -----

// Windows of one stored tensor are split each by itself: a rank reads its part
// of gate and its part of up. Norm weights are whole.
// CHECK-LABEL: func.func @fused_windows(
func.func @fused_windows(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  // CHECK: decoder.weight {key = "n", {{.*}} -> tensor<16xf32, #grid.layout<[_]>>
  %n = decoder.weight {key = "n", stored_shape = array<i64: 16>} : () -> tensor<16xf32>
  // CHECK: decoder.weight {key = "gate_up", rows = array<i64: 0, 32>, {{.*}} -> tensor<32x16xf32, #grid.layout<[block "tp", _]>>
  %gate = decoder.weight {key = "gate_up", stored_shape = array<i64: 64, 16>, rows = array<i64: 0, 32>} : () -> tensor<32x16xf32>
  // CHECK: decoder.weight {key = "gate_up", rows = array<i64: 32, 64>, {{.*}} -> tensor<32x16xf32, #grid.layout<[block "tp", _]>>
  %up = decoder.weight {key = "gate_up", stored_shape = array<i64: 64, 16>, rows = array<i64: 32, 64>} : () -> tensor<32x16xf32>
  %down = decoder.weight {key = "down", stored_shape = array<i64: 16, 32>} : () -> tensor<16x32xf32>
  // CHECK: decoder.norm {{.*}} -> tensor<?x16xf32, #grid.layout<[_, _]>>
  %y = decoder.norm %x, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %g = decoder.linear %y, %gate : (tensor<?x16xf32>, tensor<32x16xf32>) -> tensor<?x32xf32>
  %u = decoder.linear %y, %up : (tensor<?x16xf32>, tensor<32x16xf32>) -> tensor<?x32xf32>
  %a = decoder.gated_activation %g, %u {function = #decoder.function<silu>} : (tensor<?x32xf32>, tensor<?x32xf32>) -> tensor<?x32xf32>
  %d = decoder.linear %a, %down : (tensor<?x32xf32>, tensor<16x32xf32>) -> tensor<?x16xf32>
  return %d : tensor<?x16xf32>
}

// -----

// A value that every rank computes is on every rank: no collective.
// CHECK-LABEL: func.func @replicated(
// CHECK-NOT: grid.all
func.func @replicated(%x: tensor<?x16xf32>) -> tensor<?x8xf32> {
  // CHECK: decoder.weight {{.*}} -> tensor<8x16xf32, #grid.layout<[_, _]>>
  %w = decoder.weight {key = "w", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %y = decoder.linear %x, %w : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// Declarations and the reference are left alone.
// CHECK-LABEL: func.func private @declared(tensor<?x8xf32>)
func.func private @declared(tensor<?x8xf32>)
// CHECK-LABEL: func.func private @imported(
// CHECK-NOT: grid.layout
func.func private @imported(%x: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {decoder.reference} {
  return %x : tensor<?x8xf32>
}
