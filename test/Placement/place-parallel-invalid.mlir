// RUN: layline-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(place-parallel{tp=4 even=true})'

// A program is placed once.
// expected-error @below {{has a mesh already: it has been placed}}
module {
  grid.mesh @mesh ["tp"] = [4]
}

// -----

// `even`: the sizes that would do are named.
// expected-error @below {{4 ranks cannot hold equal parts of 6 features; sizes that divide every split dimension: 1, 2, 3, 6}}
func.func @uneven(%x: tensor<?x4xf32>) -> tensor<?x6xf32> {
  %w = decoder.weight {key = "w", stored_shape = array<i64: 6, 4>} : () -> tensor<6x4xf32>
  %y = decoder.linear %x, %w : (tensor<?x4xf32>, tensor<6x4xf32>) -> tensor<?x6xf32>
  %z = decoder.activation %y {function = #decoder.function<relu>} : (tensor<?x6xf32>) -> tensor<?x6xf32>
  return %z : tensor<?x6xf32>
}

// -----

// Groups of three query heads are not torn apart evenly.
// expected-error @below {{4 ranks cannot hold equal parts of 9 heads; sizes that divide every split dimension: 1, 3, 9}}
func.func @uneven_heads(%x: tensor<?x8xf32>, %pos: tensor<?xi64>) -> tensor<?x9x4xf32> {
  %wk = decoder.weight {key = "k", stored_shape = array<i64: 12, 8>} : () -> tensor<12x8xf32>
  %wq = decoder.weight {key = "q", stored_shape = array<i64: 36, 8>} : () -> tensor<36x8xf32>
  %q0 = decoder.linear %x, %wq : (tensor<?x8xf32>, tensor<36x8xf32>) -> tensor<?x36xf32>
  %q1 = decoder.split_heads %q0 : (tensor<?x36xf32>) -> tensor<?x9x4xf32>
  %k0 = decoder.linear %x, %wk : (tensor<?x8xf32>, tensor<12x8xf32>) -> tensor<?x12xf32>
  %k1 = decoder.split_heads %k0 : (tensor<?x12xf32>) -> tensor<?x3x4xf32>
  %o = decoder.attention %q1, %k1, %k1, %pos, %pos {scale = 0.5 : f64, causal = true} : (tensor<?x9x4xf32>, tensor<?x3x4xf32>, tensor<?x3x4xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x9x4xf32>
  return %o : tensor<?x9x4xf32>
}

// -----

// Replicated KV heads are even: 4 ranks, 2 KV heads, each on two of them.
func.func @replicated(%k: tensor<?x8xf32>, %pos: tensor<?xi64>) -> tensor<?x8x4xf32> {
  %wk = decoder.weight {key = "k", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %wq = decoder.weight {key = "q", stored_shape = array<i64: 32, 8>} : () -> tensor<32x8xf32>
  %q0 = decoder.linear %k, %wq : (tensor<?x8xf32>, tensor<32x8xf32>) -> tensor<?x32xf32>
  %q1 = decoder.split_heads %q0 : (tensor<?x32xf32>) -> tensor<?x8x4xf32>
  %k0 = decoder.linear %k, %wk : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %k1 = decoder.split_heads %k0 : (tensor<?x8xf32>) -> tensor<?x2x4xf32>
  %o = decoder.attention %q1, %k1, %k1, %pos, %pos {scale = 0.5 : f64, causal = true} : (tensor<?x8x4xf32>, tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x8x4xf32>
  return %o : tensor<?x8x4xf32>
}

// -----

// A bias inside a product that becomes row-parallel: it must be an add_bias.
func.func @bias_in_row_parallel(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %b = decoder.weight {key = "b", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %w = decoder.weight {key = "w", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %v = decoder.weight {key = "v", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %y = decoder.linear %x, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %z = decoder.activation %y {function = #decoder.function<relu>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // expected-error @below {{adds operand #2, which owes no sum over "tp", to a value that does}}
  %o = decoder.linear %z, %v, %b : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %o : tensor<?x8xf32>
}

// -----

// One value as queries and as keys: blocks for one, what the blocks read for the other.
func.func @query_is_key(%x: tensor<?x8xf32>, %pos: tensor<?xi64>) -> tensor<?x4x2xf32> {
  %w = decoder.weight {key = "w", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %y = decoder.linear %x, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %h = decoder.split_heads %y : (tensor<?x8xf32>) -> tensor<?x4x2xf32>
  // expected-error @below {{in the layout #grid.layout<[_, readers(4) "tp", _]>, but another op needs it in #grid.layout<[_, block "tp", _]>}}
  %o = decoder.attention %h, %h, %h, %pos, %pos {scale = 0.5 : f64, causal = true} : (tensor<?x4x2xf32>, tensor<?x4x2xf32>, tensor<?x4x2xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x4x2xf32>
  return %o : tensor<?x4x2xf32>
}

// -----

// Features one by one are no heads.
func.func @activation_of_heads(%x: tensor<?x4x2xf32>) -> tensor<?x8xf32> {
  // expected-error @below {{cannot be split in units of 1 elements: items of 'heads' have 2}}
  %y = decoder.merge_heads %x : (tensor<?x4x2xf32>) -> tensor<?x8xf32>
  %z = decoder.activation %y {function = #decoder.function<relu>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %z : tensor<?x8xf32>
}

// -----

// One weight in two roles would be split over two dimensions ...
func.func @shared_weight(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %w = decoder.weight {key = "w", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %y = decoder.linear %x, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %z = decoder.activation %y {function = #decoder.function<relu>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // expected-error @below {{axis "tp" splits dimensions 0 and 1: that covers only the diagonal blocks of the two}}
  %o = decoder.linear %z, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  return %o : tensor<?x8xf32>
}

// -----

// ... or be whole for one op and split for the other.
func.func @whole_and_split_weight(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %w = decoder.weight {key = "w", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %v = decoder.weight {key = "v", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %r = decoder.linear %x, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %y = decoder.linear %r, %v : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %z = decoder.activation %y {function = #decoder.function<relu>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // expected-error @below {{in the layout #grid.layout<[_, block "tp"]>, but other ops use it in #grid.layout<[_, _]>}}
  %o = decoder.linear %z, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  return %o : tensor<?x8xf32>
}

// -----

// Ops of other dialects, and grid ops, have no layout rules.
func.func @no_rules(%x: tensor<?x8xf32, #grid.layout<[block "tp", _]>>) -> tensor<?x8xf32, #grid.layout<[_, _]>> {
  // expected-error @below {{has no layout rules: it cannot be placed}}
  %y = grid.all_gather %x dim 0 over "tp" : tensor<?x8xf32, #grid.layout<[block "tp", _]>> -> tensor<?x8xf32, #grid.layout<[_, _]>>
  return %y : tensor<?x8xf32, #grid.layout<[_, _]>>
}

// -----

// expected-error @below {{takes 'f32' as argument #1, expected a ranked tensor: it cannot be placed}}
func.func @scalar_argument(%x: tensor<?x8xf32>, %y: f32) {
  return
}

// -----

// expected-error @below {{has several blocks, expected one}}
func.func @blocks(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  return %x : tensor<?x8xf32>
^unreachable:
  return %x : tensor<?x8xf32>
}
