// RUN: layline-opt %s -split-input-file -verify-diagnostics

// One case for each line of the verifiers of decoder ops and attributes. Wrong
// shapes of each op are at the end: a verifier looks at them before it trusts
// them.

//===----------------------------------------------------------------------===//
// Attributes of the dialect
//===----------------------------------------------------------------------===//

// expected-error @below {{has the unknown attribute 'decoder.sorce'}}
module attributes {decoder.sorce = {}} {}

// -----

// The source is of a module ...
// expected-error @below {{has the unknown attribute 'decoder.source'}}
func.func private @source_of_function() attributes {decoder.source = {}}

// -----

// ... and a dictionary.
// expected-error @below {{has the unknown attribute 'decoder.source'}}
module attributes {decoder.source = "config.json"} {}

// -----

// A whole function is the reference.
func.func @reference_op(%x: tensor<?x4xf32>) {
  // expected-error @below {{has the unknown attribute 'decoder.reference'}}
  %0 = decoder.cast %x {decoder.reference} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @record_without_name(%x: tensor<?x4xf32>) {
  // expected-error @below {{'decoder.record' is [], expected a name for each of 1 results}}
  %0 = decoder.cast %x {decoder.record = []} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @record_with_empty_name(%x: tensor<?x4xf32>) {
  // expected-error @below {{'decoder.record' is [""], expected a name for each of 1 results}}
  %0 = decoder.cast %x {decoder.record = [""]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @record_of_number(%x: tensor<?x4xf32>) {
  // expected-error @below {{'decoder.record' is [1], expected a name for each of 1 results}}
  %0 = decoder.cast %x {decoder.record = [1]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @record_no_list(%x: tensor<?x4xf32>) {
  // expected-error @below {{'decoder.record' is "x", expected a name for each of 1 results}}
  %0 = decoder.cast %x {decoder.record = "x"} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// expected-error @below {{argument #0 has 'decoder.input' = "", expected 'decoder.input' with the input's name}}
func.func private @input_without_name(tensor<?xi64> {decoder.input = ""})

// -----

// expected-error @below {{argument #1 has 'decoder.output' = "positions", expected 'decoder.input' with the input's name}}
func.func private @unknown_argument_attribute(tensor<?xi64>, tensor<?xi64> {decoder.output = "positions"})

// -----

//===----------------------------------------------------------------------===//
// RoPE table
//===----------------------------------------------------------------------===//

// expected-error @below {{a RoPE table needs at least one frequency}}
func.func private @no_frequency() attributes {t = #decoder.rope_table<[], factor 1.0>}

// -----

// expected-error @below {{RoPE frequencies and factors must be finite and not negative}}
func.func private @negative_frequency() attributes {t = #decoder.rope_table<[1.0, -0.1], factor 1.0>}

// -----

// 2^1024 and more are not finite.
// expected-error @below {{RoPE frequencies and factors must be finite and not negative}}
func.func private @infinite_frequency() attributes {t = #decoder.rope_table<[1.0e400], factor 1.0>}

// -----

// expected-error @below {{RoPE frequencies and factors must be finite and not negative}}
func.func private @negative_factor() attributes {t = #decoder.rope_table<[1.0], factor -1.0>}

// -----

// Both sets rotate the same features.
// expected-error @below {{the table has 2 frequencies and 1 for positions from 4096 on; expected as many, from a positive position on}}
func.func private @fewer_long() attributes {t = #decoder.rope_table<[1.0, 0.1], factor 1.0, above 4096 [0.5], factor 1.0>}

// -----

// With position 0 on, the first set is never used.
// expected-error @below {{the table has 1 frequencies and 1 for positions from 0 on; expected as many, from a positive position on}}
func.func private @always_long() attributes {t = #decoder.rope_table<[1.0], factor 1.0, above 0 [0.5], factor 1.0>}

// -----

// expected-error @below {{the table has 1 frequencies and 1 for positions from 64 on}}
func.func private @negative_long() attributes {t = #decoder.rope_table<[1.0], factor 1.0, above 64 [-0.5], factor 1.0>}

// -----

// expected-error @below {{the table has 1 frequencies and 1 for positions from 64 on}}
func.func private @negative_long_factor() attributes {t = #decoder.rope_table<[1.0], factor 1.0, above 64 [0.5], factor -1.0>}

// -----

//===----------------------------------------------------------------------===//
// weight
//===----------------------------------------------------------------------===//

func.func @no_key() {
  // expected-error @below {{has an empty key}}
  %0 = decoder.weight {key = "", stored_shape = array<i64: 4>} : () -> tensor<4xf32>
  return
}

// -----

// A checkpoint's shapes are known.
func.func @dynamic_weight() {
  // expected-error @below {{"n" has the type 'tensor<?xf32>', expected a static shape}}
  %0 = decoder.weight {key = "n", stored_shape = array<i64: 4>} : () -> tensor<?xf32>
  return
}

// -----

func.func @no_stored_shape() {
  // expected-error @below {{"n" has no stored shape}}
  %0 = decoder.weight {key = "n", stored_shape = array<i64>} : () -> tensor<f32>
  return
}

// -----

func.func @stack_of_nothing() {
  // expected-error @below {{"e.{expert}" is a stack without a count}}
  %0 = decoder.weight {key = "e.{expert}", stored_shape = array<i64: 4>} : () -> tensor<f32>
  return
}

// -----

func.func @other_shape() {
  // expected-error @below {{"w" has the shape [4, 8], expected [8, 4] from the stored tensor}}
  %0 = decoder.weight {key = "w", stored_shape = array<i64: 8, 4>} : () -> tensor<4x8xf32>
  return
}

// -----

// The expert comes first, then the stored tensor.
func.func @stack_without_experts() {
  // expected-error @below {{"e.{expert}" has the shape [8, 4], expected [8, 8, 4] from the stored tensor}}
  %0 = decoder.weight {key = "e.{expert}", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32>
  return
}

// -----

func.func @window_of_other_size() {
  // expected-error @below {{"qkv" has the shape [4, 4], expected [2, 4] from the stored tensor}}
  %0 = decoder.weight {key = "qkv", stored_shape = array<i64: 8, 4>, rows = array<i64: 4, 6>} : () -> tensor<4x4xf32>
  return
}

// -----

func.func @window_beyond() {
  // expected-error @below {{"qkv" takes the rows [6, 10] of 8, expected a window [begin, end) inside}}
  %0 = decoder.weight {key = "qkv", stored_shape = array<i64: 8, 4>, rows = array<i64: 6, 10>} : () -> tensor<4x4xf32>
  return
}

// -----

func.func @window_before() {
  // expected-error @below {{"qkv" takes the rows [-1, 3] of 8}}
  %0 = decoder.weight {key = "qkv", stored_shape = array<i64: 8, 4>, rows = array<i64: -1, 3>} : () -> tensor<4x4xf32>
  return
}

// -----

func.func @empty_window() {
  // expected-error @below {{"qkv" takes the rows [4, 4] of 8}}
  %0 = decoder.weight {key = "qkv", stored_shape = array<i64: 8, 4>, rows = array<i64: 4, 4>} : () -> tensor<0x4xf32>
  return
}

// -----

func.func @period_without_window() {
  // expected-error @below {{"qkv" takes a window of every 4 rows of 8, expected a window inside a period that divides the rows}}
  %0 = decoder.weight {key = "qkv", stored_shape = array<i64: 8, 4>, period = 4} : () -> tensor<8x4xf32>
  return
}

// -----

func.func @window_beyond_its_period() {
  // expected-error @below {{"qkv" takes a window of every 4 rows of 8}}
  %0 = decoder.weight {key = "qkv", stored_shape = array<i64: 8, 4>, rows = array<i64: 3, 5>, period = 4} : () -> tensor<4x4xf32>
  return
}

// -----

func.func @period_that_does_not_divide() {
  // expected-error @below {{"qkv" takes a window of every 3 rows of 8}}
  %0 = decoder.weight {key = "qkv", stored_shape = array<i64: 8, 4>, rows = array<i64: 0, 1>, period = 3} : () -> tensor<2x4xf32>
  return
}

// -----

// One window of every four rows: two of them.
func.func @periodic_window_of_other_size() {
  // expected-error @below {{"qkv" has the shape [1, 4], expected [2, 4] from the stored tensor}}
  %0 = decoder.weight {key = "qkv", stored_shape = array<i64: 8, 4>, rows = array<i64: 1, 2>, period = 4} : () -> tensor<1x4xf32>
  return
}

// -----

func.func @window_of_three() {
  // expected-error @below {{"qkv" takes the rows [0, 4, 8] of 8}}
  %0 = decoder.weight {key = "qkv", stored_shape = array<i64: 8, 4>, rows = array<i64: 0, 4, 8>} : () -> tensor<4x4xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// norm
//===----------------------------------------------------------------------===//

// A row of zeros would be divided by zero.
func.func @eps_zero(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{has eps 0.000000e+00, expected a positive number}}
  %0 = decoder.norm %x, %w {kind = #decoder.norm_kind<rms>, eps = 0.0 : f64} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @eps_nan(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{expected a positive number}}
  %0 = decoder.norm %x, %w {kind = #decoder.norm_kind<rms>, eps = 0x7FF8000000000000 : f64} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @offset_infinite(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{has a weight offset that is not finite}}
  %0 = decoder.norm %x, %w {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64, weight_offset = 0x7FF0000000000000 : f64} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// Each head's weight is on the rank that has the head.
func.func @norm_weights_of_other_heads(%x: tensor<?x8x4xf32, #grid.layout<[_, block "tp", _]>>, %w: tensor<8x4xf32, #grid.layout<[_, _]>>) {
  // expected-error @below {{'heads'}}
  %0 = decoder.norm %x, %w {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8x4xf32, #grid.layout<[_, block "tp", _]>>, tensor<8x4xf32, #grid.layout<[_, _]>>) -> tensor<?x8x4xf32, #grid.layout<[_, block "tp", _]>>
  return
}

// -----

// Heads and width, or the width: of two dimensions a weight has one.
func.func @norm_weights_per_row(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>) {
  // expected-error @below {{dimensions}}
  %0 = decoder.norm %x, %w {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @bias_of_rms(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{has a bias, which only a layer norm takes}}
  %0 = decoder.norm %x, %w, %w {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// rope
//===----------------------------------------------------------------------===//

func.func @rotates_too_much(%x: tensor<?x2x4xf32>, %p: tensor<?xi64>) {
  // expected-error @below {{rotates 6 features of a head that has 4}}
  %0 = decoder.rope %x, %p {style = #decoder.rope_style<half>, table = #decoder.rope_table<[1.0, 0.1, 0.01], factor 1.0>} : (tensor<?x2x4xf32>, tensor<?xi64>) -> tensor<?x2x4xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// cache
//===----------------------------------------------------------------------===//

func.func @stores_other_type(%k: tensor<?x2x4xf32>) {
  // expected-error @below {{stores 'tensor<?x2x4xf32>' as 'tensor<?x2x4xbf16>'}}
  %0 = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<key>} : (tensor<?x2x4xf32>) -> tensor<?x2x4xbf16>
  return
}

// -----

// How many rows are cached is not known.
func.func @stores_known_rows(%k: tensor<?x2x4xf32>) {
  // expected-error @below {{stores 'tensor<?x2x4xf32>' as 'tensor<8x2x4xf32>'}}
  %0 = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<key>} : (tensor<?x2x4xf32>) -> tensor<8x2x4xf32>
  return
}

// -----

func.func @positions_as_keys(%p: tensor<?xi64>) {
  // expected-error @below {{stores 'i64' in the plane key, expected floats}}
  %0 = decoder.cache %p {layer = 0 : si64, plane = #decoder.plane<key>} : (tensor<?xi64>) -> tensor<?xi64>
  return
}

// -----

func.func @keys_as_positions(%k: tensor<?x2x4xf32>) {
  // expected-error @below {{stores 'f32' in the plane positions, expected integers}}
  %0 = decoder.cache %k {layer = -1 : si64, plane = #decoder.plane<positions>} : (tensor<?x2x4xf32>) -> tensor<?x2x4xf32>
  return
}

// -----

func.func @keys_of_no_layer(%k: tensor<?x2x4xf32>) {
  // expected-error @below {{has the layer -1, expected 0 or more}}
  %0 = decoder.cache %k {layer = -1 : si64, plane = #decoder.plane<key>} : (tensor<?x2x4xf32>) -> tensor<?x2x4xf32>
  return
}

// -----

// One cache of positions for all layers.
func.func @positions_of_layer(%p: tensor<?xi64>) {
  // expected-error @below {{has the layer 0, expected -1 for the cache of positions}}
  %0 = decoder.cache %p {layer = 0 : si64, plane = #decoder.plane<positions>} : (tensor<?xi64>) -> tensor<?xi64>
  return
}

// -----

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

func.func @softcap_of_scores_zero(%q: tensor<?x8x4xf32>, %k: tensor<?x2x4xf32>, %p: tensor<?xi64>) {
  // expected-error @below {{has the softcap 0.000000e+00, expected a positive number}}
  %0 = decoder.attention %q, %k, %k, %p, %p {scale = 0.5 : f64, causal = true, softcap = 0.0 : f64} : (tensor<?x8x4xf32>, tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x8x4xf32>
  return
}

// -----

func.func @softcap_infinite(%x: tensor<?x4xf32>) {
  // expected-error @below {{has the softcap}}
  %0 = decoder.softcap %x {cap = 0x7FF0000000000000 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// Not linear: the sum is taken first.
func.func @softcap_of_a_partial_value(%x: tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>) {
  // expected-error @below {{owes a sum over "tp"}}
  %0 = decoder.softcap %x {cap = 30.0 : f64} : (tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>) -> tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
  return
}

// -----

func.func @uneven_groups(%q: tensor<?x8x4xf32>, %k: tensor<?x3x4xf32>, %p: tensor<?xi64>) {
  // expected-error @below {{has 8 query heads for 3 KV heads, expected a multiple}}
  %0 = decoder.attention %q, %k, %k, %p, %p {scale = 0.5 : f64, causal = true} : (tensor<?x8x4xf32>, tensor<?x3x4xf32>, tensor<?x3x4xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x8x4xf32>
  return
}

// -----

func.func @no_kv_heads(%q: tensor<?x8x4xf32>, %k: tensor<?x0x4xf32>, %p: tensor<?xi64>) {
  // expected-error @below {{has 8 query heads for 0 KV heads, expected a multiple}}
  %0 = decoder.attention %q, %k, %k, %p, %p {scale = 0.5 : f64, causal = true} : (tensor<?x8x4xf32>, tensor<?x0x4xf32>, tensor<?x0x4xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x8x4xf32>
  return
}

// -----

func.func @scale_zero(%q: tensor<?x2x4xf32>, %p: tensor<?xi64>) {
  // expected-error @below {{has the scale 0.000000e+00, expected a positive number}}
  %0 = decoder.attention %q, %q, %q, %p, %p {scale = 0.0 : f64, causal = true} : (tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x2x4xf32>
  return
}

// -----

// A query sees at least itself.
func.func @window_zero(%q: tensor<?x2x4xf32>, %p: tensor<?xi64>) {
  // expected-error @below {{has a window of 0 keys, expected at least 1}}
  %0 = decoder.attention %q, %q, %q, %p, %p {scale = 0.5 : f64, causal = true, window = 0} : (tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x2x4xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// router, scale
//===----------------------------------------------------------------------===//

func.func @top_zero(%x: tensor<?x8xf32>) {
  // expected-error @below {{takes the top 0 of 8 experts}}
  %0:2 = decoder.router %x {top_k = 0, scoring = #decoder.scoring<softmax>, renormalize = true} : (tensor<?x8xf32>) -> (tensor<?x0xi32>, tensor<?x0xf32>)
  return
}

// -----

func.func @top_nine_of_eight(%x: tensor<?x8xf32>) {
  // expected-error @below {{takes the top 9 of 8 experts}}
  %0:2 = decoder.router %x {top_k = 9, scoring = #decoder.scoring<softmax>, renormalize = true} : (tensor<?x8xf32>) -> (tensor<?x9xi32>, tensor<?x9xf32>)
  return
}

// -----

func.func @results_of_other_width(%x: tensor<?x8xf32>) {
  // expected-error @below {{takes the top 2, but its results have the width 4}}
  %0:2 = decoder.router %x {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true} : (tensor<?x8xf32>) -> (tensor<?x4xi32>, tensor<?x4xf32>)
  return
}

// -----

func.func @factor_infinite(%x: tensor<?x4xf32>) {
  // expected-error @below {{has a factor that is not finite}}
  %0 = decoder.scale %x {factor = 0xFFF0000000000000 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Shapes of each op
//===----------------------------------------------------------------------===//

func.func @embedding_of_matrix(%ids: tensor<?x4xi64>, %t: tensor<8x4xf32>) {
  // expected-error @below {{operand #0 has 2 dimensions, expected 1}}
  %0 = decoder.embedding %ids, %t : (tensor<?x4xi64>, tensor<8x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @norm_of_vector(%x: tensor<?xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{operand #0 has 1 dimensions, expected 2}}
  %0 = decoder.norm %x, %w {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?xf32>, tensor<4xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @norm_of_four_dimensions(%x: tensor<?x2x2x4xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{operand #0 has 4 dimensions, expected 2}}
  %0 = decoder.norm %x, %w {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x2x2x4xf32>, tensor<4xf32>) -> tensor<?x2x2x4xf32>
  return
}

// -----

func.func @logits_of_heads(%x: tensor<?x2x4xf32>, %w: tensor<8x4xf32>) {
  // expected-error @below {{operand #0 has 3 dimensions, expected 2}}
  %0 = decoder.logits %x, %w : (tensor<?x2x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @split_heads_to_matrix(%x: tensor<?x8xf32>) {
  // expected-error @below {{result #0 has 2 dimensions, expected 3}}
  %0 = decoder.split_heads %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @split_heads_to_scalar(%x: tensor<?x8xf32>) {
  // expected-error @below {{result #0 has 0 dimensions, expected 3}}
  %0 = decoder.split_heads %x : (tensor<?x8xf32>) -> tensor<f32>
  return
}

// -----

func.func @split_heads_of_unknown_width(%x: tensor<?x8xf32>) {
  // expected-error @below {{result #0 has a dynamic dimension 2; only the rows may be}}
  %0 = decoder.split_heads %x : (tensor<?x8xf32>) -> tensor<?x8x?xf32>
  return
}

// -----

func.func @split_heads_without_width(%x: tensor<?x8xf32>) {
  // expected-error @below {{operand #0 has 8 elements in dimension 1 (heads), expected a multiple of 0}}
  %0 = decoder.split_heads %x : (tensor<?x8xf32>) -> tensor<?x8x0xf32>
  return
}

// -----

func.func @merge_heads_of_matrix(%x: tensor<?x8xf32>) {
  // expected-error @below {{operand #0 has 2 dimensions, expected 3}}
  %0 = decoder.merge_heads %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @rope_of_matrix(%x: tensor<?x4xf32>, %p: tensor<?xi64>) {
  // expected-error @below {{operand #0 has 2 dimensions, expected 3}}
  %0 = decoder.rope %x, %p {style = #decoder.rope_style<half>, table = #decoder.rope_table<[1.0], factor 1.0>} : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  return
}

// -----

func.func @rope_of_scalar(%x: tensor<f32>, %p: tensor<?xi64>) {
  // expected-error @below {{operand #0 has 0 dimensions, expected 3}}
  %0 = decoder.rope %x, %p {style = #decoder.rope_style<half>, table = #decoder.rope_table<[1.0], factor 1.0>} : (tensor<f32>, tensor<?xi64>) -> tensor<f32>
  return
}

// -----

func.func @cache_of_scalar(%x: tensor<f32>) {
  // expected-error @below {{operand #0 has 0 dimensions, expected 1}}
  %0 = decoder.cache %x {layer = 0 : si64, plane = #decoder.plane<key>} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @attention_of_matrices(%q: tensor<?x4xf32>, %p: tensor<?xi64>) {
  // expected-error @below {{operand #0 has 2 dimensions, expected 3}}
  %0 = decoder.attention %q, %q, %q, %p, %p {scale = 0.5 : f64, causal = true} : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x4xf32>
  return
}

// -----

func.func @attention_on_scalar_keys(%q: tensor<?x2x4xf32>, %k: tensor<f32>, %p: tensor<?xi64>) {
  // expected-error @below {{operand #1 has 0 dimensions, expected 3}}
  %0 = decoder.attention %q, %k, %k, %p, %p {scale = 0.5 : f64, causal = true} : (tensor<?x2x4xf32>, tensor<f32>, tensor<f32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x2x4xf32>
  return
}

// -----

func.func @attention_of_unknown_heads(%q: tensor<?x?x4xf32>, %k: tensor<?x2x4xf32>, %p: tensor<?xi64>) {
  // expected-error @below {{operand #0 has a dynamic dimension 1; only the rows may be}}
  %0 = decoder.attention %q, %k, %k, %p, %p {scale = 0.5 : f64, causal = true} : (tensor<?x?x4xf32>, tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x?x4xf32>
  return
}

// -----

func.func @attention_widths(%q: tensor<?x2x4xf32>, %k: tensor<?x2x8xf32>, %p: tensor<?xi64>) {
  // expected-error @below {{'width' is 4 in operand #0, but 8 in operand #1}}
  %0 = decoder.attention %q, %k, %k, %p, %p {scale = 0.5 : f64, causal = true} : (tensor<?x2x4xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x2x8xf32>
  return
}

// -----

func.func @router_of_vector(%x: tensor<?xf32>) {
  // expected-error @below {{operand #0 has 1 dimensions, expected 2}}
  %0:2 = decoder.router %x {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true} : (tensor<?xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @router_to_vector(%x: tensor<?x8xf32>) {
  // expected-error @below {{result #0 has 1 dimensions, expected 2}}
  %0:2 = decoder.router %x {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true} : (tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?xf32>)
  return
}

// -----

!ids = tensor<?x2xi32>
!gates = tensor<?x2xf32>
func.func @stacks_of_other_experts(%x: tensor<?x4xf32>, %i: !ids, %g: !gates, %up: tensor<8x16x4xf32>, %down: tensor<4x4x16xf32>) {
  // expected-error @below {{'experts' is 8 in operand #3, but 4 in operand #5}}
  %0 = decoder.experts %x, %i, %g, %up, %up, %down {function = #decoder.function<silu>} : (tensor<?x4xf32>, !ids, !gates, tensor<8x16x4xf32>, tensor<8x16x4xf32>, tensor<4x4x16xf32>) -> tensor<?x4xf32>
  return
}

// -----

!ids = tensor<?x2xi32>
!gates = tensor<?x2xf32>
func.func @stacks_of_other_features(%x: tensor<?x4xf32>, %i: !ids, %g: !gates, %gate: tensor<8x16x4xf32>, %up: tensor<8x12x4xf32>, %down: tensor<8x4x16xf32>) {
  // expected-error @below {{'features' is 16 in operand #3, but 12 in operand #4}}
  %0 = decoder.experts %x, %i, %g, %gate, %up, %down {function = #decoder.function<silu>} : (tensor<?x4xf32>, !ids, !gates, tensor<8x16x4xf32>, tensor<8x12x4xf32>, tensor<8x4x16xf32>) -> tensor<?x4xf32>
  return
}

// -----

!ids = tensor<?x2xi32>
func.func @experts_of_other_choice(%x: tensor<?x4xf32>, %i: !ids, %g: tensor<?x3xf32>, %up: tensor<8x16x4xf32>, %down: tensor<8x4x16xf32>) {
  // expected-error @below {{'choice' is 2 in operand #1, but 3 in operand #2}}
  %0 = decoder.experts %x, %i, %g, %up, %up, %down {function = #decoder.function<silu>} : (tensor<?x4xf32>, !ids, tensor<?x3xf32>, tensor<8x16x4xf32>, tensor<8x16x4xf32>, tensor<8x4x16xf32>) -> tensor<?x4xf32>
  return
}

// -----

!ids = tensor<?x2xi32>
!gates = tensor<?x2xf32>
func.func @experts_not_stacked(%x: tensor<?x4xf32>, %i: !ids, %g: !gates, %up: tensor<16x4xf32>, %down: tensor<4x16xf32>) {
  // expected-error @below {{operand #3 has 2 dimensions, expected 3}}
  %0 = decoder.experts %x, %i, %g, %up, %up, %down {function = #decoder.function<silu>} : (tensor<?x4xf32>, !ids, !gates, tensor<16x4xf32>, tensor<16x4xf32>, tensor<4x16xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @add_of_other_shapes(%x: tensor<?x4xf32>, %y: tensor<?x8xf32>) {
  // expected-error @below {{'features' is 4 in operand #0, but 8 in operand #1}}
  %0 = decoder.add %x, %y : (tensor<?x4xf32>, tensor<?x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

// Nothing is broadcast.
func.func @add_of_row(%x: tensor<?x4xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{operand #1 has 1 dimensions, expected 2}}
  %0 = decoder.add %x, %y : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// A scalar has no rows.
func.func @scale_of_scalar(%x: tensor<f32>) {
  // expected-error @below {{operand #0 has 0 dimensions, expected 1}}
  %0 = decoder.scale %x {factor = 2.0 : f64} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @bias_of_matrix(%x: tensor<?x4xf32>, %b: tensor<?x4xf32>) {
  // expected-error @below {{operand #1 has 2 dimensions, expected 1}}
  %0 = decoder.add_bias %x, %b : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @rows_of_other_count(%x: tensor<8x4xf32>, %y: tensor<4x4xf32>) {
  // expected-error @below {{'tokens' is 8 in operand #0, but 4 in operand #1}}
  %0 = decoder.gated_activation %x, %y {function = #decoder.function<silu>} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @activation_of_integers(%x: tensor<?x4xi32>) {
  // expected-error @below {{operand #0 must be ranked tensor of floating-point values}}
  %0 = decoder.activation %x {function = #decoder.function<relu>} : (tensor<?x4xi32>) -> tensor<?x4xf32>
  return
}
