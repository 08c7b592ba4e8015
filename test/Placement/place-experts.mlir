// RUN: layline-opt %s -split-input-file -pass-pipeline='builtin.module(place-parallel{tp=3 ep=3},verify-partitions,func.func(verify-sums))' | FileCheck %s

// Each rank has whole experts, uneven blocks of them, and owes the sum over
// those of others. Features of a shared expert are still split; both join in one
// sum.
// CHECK-LABEL: func.func @shared(
func.func @shared(%x: tensor<?x8xf32>, %logits: tensor<?x4xf32>) -> tensor<?x8xf32> {
  // CHECK-DAG: decoder.weight {key = "gate.{expert}", {{.*}} tensor<4x6x8xf32, #grid.layout<[block "tp", _, _]>>
  %gate = decoder.weight {key = "gate.{expert}", stored_shape = array<i64: 6, 8>} : () -> tensor<4x6x8xf32>
  // CHECK-DAG: decoder.weight {key = "up.{expert}", {{.*}} tensor<4x6x8xf32, #grid.layout<[block "tp", _, _]>>
  %up = decoder.weight {key = "up.{expert}", stored_shape = array<i64: 6, 8>} : () -> tensor<4x6x8xf32>
  // CHECK-DAG: decoder.weight {key = "down.{expert}", {{.*}} tensor<4x8x6xf32, #grid.layout<[block "tp", _, _]>>
  %down = decoder.weight {key = "down.{expert}", stored_shape = array<i64: 8, 6>} : () -> tensor<4x8x6xf32>
  // CHECK-DAG: decoder.weight {key = "s", {{.*}} tensor<6x8xf32, #grid.layout<[block "tp", _]>>
  %s = decoder.weight {key = "s", stored_shape = array<i64: 6, 8>} : () -> tensor<6x8xf32>
  // CHECK-DAG: decoder.weight {key = "d", {{.*}} tensor<8x6xf32, #grid.layout<[_, block "tp"]>>
  %d = decoder.weight {key = "d", stored_shape = array<i64: 8, 6>} : () -> tensor<8x6xf32>
  // CHECK: decoder.router {{.*}} -> (tensor<?x2xi32, #grid.layout<[_, _]>>, tensor<?x2xf32, #grid.layout<[_, _]>>)
  %ids, %weights = decoder.router %logits {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true} : (tensor<?x4xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  // CHECK: %[[E:.*]] = decoder.experts {{.*}} -> tensor<?x8xf32, #grid.layout<[_, _] owes "tp">>
  %e = decoder.experts %x, %ids, %weights, %gate, %up, %down {function = #decoder.function<silu>} : (tensor<?x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>, tensor<4x6x8xf32>, tensor<4x6x8xf32>, tensor<4x8x6xf32>) -> tensor<?x8xf32>
  %h = decoder.linear %x, %s : (tensor<?x8xf32>, tensor<6x8xf32>) -> tensor<?x6xf32>
  %a = decoder.activation %h {function = #decoder.function<silu>} : (tensor<?x6xf32>) -> tensor<?x6xf32>
  // CHECK: %[[D:.*]] = decoder.linear {{.*}} -> tensor<?x8xf32, #grid.layout<[_, _] owes "tp">>
  %y = decoder.linear %a, %d : (tensor<?x6xf32>, tensor<8x6xf32>) -> tensor<?x8xf32>
  // CHECK: %[[S:.*]] = decoder.add %[[E]], %[[D]]
  // CHECK: grid.all_reduce %[[S]] over ["tp"]
  // CHECK-NOT: grid.all_reduce
  %sum = decoder.add %e, %y : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %sum : tensor<?x8xf32>
}

// -----

// Biases of gate and up go with their experts; that of down is added behind the
// sum, by every rank: it is held whole.
// CHECK-LABEL: func.func @biases(
func.func @biases(%x: tensor<?x8xf32>, %ids: tensor<?x2xi32>, %weights: tensor<?x2xf32>) -> tensor<?x8xf32> {
  %gate = decoder.weight {key = "gate.{expert}", stored_shape = array<i64: 6, 8>} : () -> tensor<4x6x8xf32>
  %up = decoder.weight {key = "up.{expert}", stored_shape = array<i64: 6, 8>} : () -> tensor<4x6x8xf32>
  %down = decoder.weight {key = "down.{expert}", stored_shape = array<i64: 8, 6>} : () -> tensor<4x8x6xf32>
  // CHECK: decoder.weight {key = "gb.{expert}", {{.*}} tensor<4x6xf32, #grid.layout<[block "tp", _]>>
  %gb = decoder.weight {key = "gb.{expert}", stored_shape = array<i64: 6>} : () -> tensor<4x6xf32>
  %ub = decoder.weight {key = "ub.{expert}", stored_shape = array<i64: 6>} : () -> tensor<4x6xf32>
  // CHECK: decoder.weight {key = "db.{expert}", {{.*}} tensor<4x8xf32, #grid.layout<[_, _]>>
  %db = decoder.weight {key = "db.{expert}", stored_shape = array<i64: 8>} : () -> tensor<4x8xf32>
  %e = decoder.experts %x, %ids, %weights, %gate, %up, %down, %gb, %ub {function = #decoder.function<silu>} : (tensor<?x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>, tensor<4x6x8xf32>, tensor<4x6x8xf32>, tensor<4x8x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<?x8xf32>
  // CHECK: %[[R:.*]] = grid.all_reduce
  // CHECK: decoder.add_expert_bias %[[R]]
  %y = decoder.add_expert_bias %e, %ids, %weights, %db : (tensor<?x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>, tensor<4x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
