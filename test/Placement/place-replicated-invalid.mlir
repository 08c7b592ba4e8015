// RUN: layline-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(place-parallel{tp=4 replicate=down_proj})'

// The features are read outside the chain: by the caller.
// expected-error @below {{has no chain of products 'down_proj' whose weights every rank could hold}}
func.func @read_elsewhere(%x: tensor<?x16xf32>) -> (tensor<?x16xf32>, tensor<?x32xf32>) {
  %up = decoder.weight {key = "up", stored_shape = array<i64: 32, 16>} : () -> tensor<32x16xf32>
  %down = decoder.weight {key = "down", stored_shape = array<i64: 16, 32>} : () -> tensor<16x32xf32>
  %u = decoder.linear %x, %up : (tensor<?x16xf32>, tensor<32x16xf32>) -> tensor<?x32xf32>
  %a = decoder.activation %u {function = #decoder.function<relu>} : (tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = decoder.linear %a, %down : (tensor<?x32xf32>, tensor<16x32xf32>) -> tensor<?x16xf32> loc("layer.0.down_proj")
  return %y, %u : tensor<?x16xf32>, tensor<?x32xf32>
}

// -----

// A weight is used by another product too: it would be placed in two ways.
// expected-error @below {{has no chain of products 'down_proj' whose weights every rank could hold}}
func.func @tied(%x: tensor<?x16xf32>) -> (tensor<?x16xf32>, tensor<?x32xf32>) {
  %up = decoder.weight {key = "up", stored_shape = array<i64: 32, 16>} : () -> tensor<32x16xf32>
  %down = decoder.weight {key = "down", stored_shape = array<i64: 16, 32>} : () -> tensor<16x32xf32>
  %u = decoder.linear %x, %up : (tensor<?x16xf32>, tensor<32x16xf32>) -> tensor<?x32xf32>
  %a = decoder.activation %u {function = #decoder.function<relu>} : (tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = decoder.linear %a, %down : (tensor<?x32xf32>, tensor<16x32xf32>) -> tensor<?x16xf32> loc("layer.0.down_proj")
  %other = decoder.linear %y, %up : (tensor<?x16xf32>, tensor<32x16xf32>) -> tensor<?x32xf32>
  return %y, %other : tensor<?x16xf32>, tensor<?x32xf32>
}

// -----

// The features come from the caller: there is no product to keep whole.
// expected-error @below {{has no chain of products 'down_proj' whose weights every rank could hold}}
func.func @no_product(%u: tensor<?x32xf32>) -> tensor<?x16xf32> {
  %down = decoder.weight {key = "down", stored_shape = array<i64: 16, 32>} : () -> tensor<16x32xf32>
  %a = decoder.activation %u {function = #decoder.function<relu>} : (tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = decoder.linear %a, %down : (tensor<?x32xf32>, tensor<16x32xf32>) -> tensor<?x16xf32> loc("layer.0.down_proj")
  return %y : tensor<?x16xf32>
}

// -----

// There is a chain, of another name.
// expected-error @below {{has no chain of products 'down_proj' whose weights every rank could hold, expected some of fc2}}
func.func @other_name(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %up = decoder.weight {key = "up", stored_shape = array<i64: 32, 16>} : () -> tensor<32x16xf32>
  %down = decoder.weight {key = "down", stored_shape = array<i64: 16, 32>} : () -> tensor<16x32xf32>
  %u = decoder.linear %x, %up : (tensor<?x16xf32>, tensor<32x16xf32>) -> tensor<?x32xf32>
  %a = decoder.activation %u {function = #decoder.function<relu>} : (tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = decoder.linear %a, %down : (tensor<?x32xf32>, tensor<16x32xf32>) -> tensor<?x16xf32> loc("layer.0.fc2")
  return %y : tensor<?x16xf32>
}

// -----

// Attention's rows look at one another: o_proj ends no chain.
// expected-error @below {{has no chain of products 'down_proj' whose weights every rank could hold}}
func.func @attention(%q: tensor<?x4x4xf32>, %k: tensor<?x4x4xf32>, %v: tensor<?x4x4xf32>, %pos: tensor<?xi64>) -> tensor<?x16xf32> {
  %w = decoder.weight {key = "o", stored_shape = array<i64: 16, 16>} : () -> tensor<16x16xf32>
  %o = decoder.attention %q, %k, %v, %pos, %pos {scale = 0.5 : f64, causal = true} : (tensor<?x4x4xf32>, tensor<?x4x4xf32>, tensor<?x4x4xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x4x4xf32>
  %m = decoder.merge_heads %o : (tensor<?x4x4xf32>) -> tensor<?x16xf32>
  %y = decoder.linear %m, %w : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32> loc("layer.0.down_proj")
  return %y : tensor<?x16xf32>
}
