// RUN: layline-opt %s -split-input-file -pass-pipeline='builtin.module(place-parallel{tp=4 replicate=down_proj})' | FileCheck %s

// A chain of products whose weights every rank holds: nothing of it is split
// and nothing is summed.
// CHECK-LABEL: func.func @mlp(
func.func @mlp(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  // CHECK-NOT: grid.all_reduce
  // CHECK-NOT: block "tp"
  // CHECK: %[[G:.*]] = decoder.linear {{.*}} -> tensor<?x32xf32, #grid.layout<[_, _]>>
  // CHECK: decoder.gated_activation {{.*}} -> tensor<?x32xf32, #grid.layout<[_, _]>>
  // CHECK: %[[Y:.*]] = decoder.linear {{.*}} -> tensor<?x16xf32, #grid.layout<[_, _]>>
  // CHECK-NEXT: return %[[Y]]
  %gate = decoder.weight {key = "gate", stored_shape = array<i64: 32, 16>} : () -> tensor<32x16xf32>
  %up = decoder.weight {key = "up", stored_shape = array<i64: 32, 16>} : () -> tensor<32x16xf32>
  %down = decoder.weight {key = "down", stored_shape = array<i64: 16, 32>} : () -> tensor<16x32xf32>
  %g = decoder.linear %x, %gate : (tensor<?x16xf32>, tensor<32x16xf32>) -> tensor<?x32xf32>
  %u = decoder.linear %x, %up : (tensor<?x16xf32>, tensor<32x16xf32>) -> tensor<?x32xf32>
  %a = decoder.gated_activation %g, %u {function = #decoder.function<silu>} : (tensor<?x32xf32>, tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = decoder.linear %a, %down : (tensor<?x32xf32>, tensor<16x32xf32>) -> tensor<?x16xf32> loc("layer.0.down_proj")
  return %y : tensor<?x16xf32>
}

// -----

// The bias of the first product is part of the chain; a chain of another name
// is split as ever.
// CHECK-LABEL: func.func @two(
func.func @two(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  // CHECK: decoder.add_bias {{.*}} -> tensor<?x32xf32, #grid.layout<[_, _]>>
  // CHECK: %[[Y:.*]] = decoder.linear {{.*}} -> tensor<?x16xf32, #grid.layout<[_, _]>>
  // CHECK: decoder.linear %[[Y]], {{.*}} -> tensor<?x32xf32, #grid.layout<[_, block "tp"]>>
  // CHECK: grid.all_reduce {{.*}} {site = "layer.0.fc2"}
  %up = decoder.weight {key = "up", stored_shape = array<i64: 32, 16>} : () -> tensor<32x16xf32>
  %bias = decoder.weight {key = "bias", stored_shape = array<i64: 32>} : () -> tensor<32xf32>
  %down = decoder.weight {key = "down", stored_shape = array<i64: 16, 32>} : () -> tensor<16x32xf32>
  %up2 = decoder.weight {key = "up2", stored_shape = array<i64: 32, 16>} : () -> tensor<32x16xf32>
  %down2 = decoder.weight {key = "down2", stored_shape = array<i64: 16, 32>} : () -> tensor<16x32xf32>
  %p = decoder.linear %x, %up : (tensor<?x16xf32>, tensor<32x16xf32>) -> tensor<?x32xf32>
  %u = decoder.add_bias %p, %bias : (tensor<?x32xf32>, tensor<32xf32>) -> tensor<?x32xf32>
  %a = decoder.activation %u {function = #decoder.function<relu>} : (tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = decoder.linear %a, %down : (tensor<?x32xf32>, tensor<16x32xf32>) -> tensor<?x16xf32> loc("layer.0.down_proj")
  %u2 = decoder.linear %y, %up2 : (tensor<?x16xf32>, tensor<32x16xf32>) -> tensor<?x32xf32>
  %a2 = decoder.activation %u2 {function = #decoder.function<relu>} : (tensor<?x32xf32>) -> tensor<?x32xf32>
  %z = decoder.linear %a2, %down2 : (tensor<?x32xf32>, tensor<16x32xf32>) -> tensor<?x16xf32> loc("layer.0.fc2")
  return %z : tensor<?x16xf32>
}
