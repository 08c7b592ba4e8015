// RUN: layline-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(place-parallel{tp=4 ep=4 even=true})'

// expected-error @below {{expert parallelism over 4 ranks, but the program has no experts}}
module {
  func.func @dense(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    return %x : tensor<?x4xf32>
  }
}

// -----

// `even`: it is the experts that do not divide.
// expected-error @below {{4 ranks cannot hold equal parts of 6 experts; sizes that divide every split dimension: 1, 2, 3, 6}}
func.func @uneven(%x: tensor<?x8xf32>, %ids: tensor<?x2xi32>, %weights: tensor<?x2xf32>) -> tensor<?x8xf32> {
  %gate = decoder.weight {key = "gate.{expert}", stored_shape = array<i64: 8, 8>} : () -> tensor<6x8x8xf32>
  %up = decoder.weight {key = "up.{expert}", stored_shape = array<i64: 8, 8>} : () -> tensor<6x8x8xf32>
  %down = decoder.weight {key = "down.{expert}", stored_shape = array<i64: 8, 8>} : () -> tensor<6x8x8xf32>
  %e = decoder.experts %x, %ids, %weights, %gate, %up, %down {function = #decoder.function<silu>} : (tensor<?x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>, tensor<6x8x8xf32>, tensor<6x8x8xf32>, tensor<6x8x8xf32>) -> tensor<?x8xf32>
  return %e : tensor<?x8xf32>
}
