// A layer with what the big models do not have together: an embedding
// multiplier and residual scales (Granite), norms by 1 + w (Gemma), a window,
// biases on column- and row-parallel products.
module attributes {decoder.source = {config = "config.json", digest = "sha256:0", layers = 1 : i64, max_positions = 64 : i64, model_type = "test"}, grid.target = "cpu"} {
func.func @decoder(%ids: tensor<?xi64> {decoder.input = "input_ids"},
                   %positions: tensor<?xi64> {decoder.input = "positions"}) -> tensor<?x16xf32> {
  %past = decoder.cache %positions {layer = -1 : si64, plane = #decoder.plane<positions>} : (tensor<?xi64>) -> tensor<?xi64>
  %table = decoder.weight {key = "embed", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %e = decoder.embedding %ids, %table : (tensor<?xi64>, tensor<16x8xf32>) -> tensor<?x8xf32>
  %x = decoder.scale %e {factor = 12.0 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>

  %g1 = decoder.weight {key = "layers.0.norm", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %n1 = decoder.norm %x, %g1 {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64, weight_offset = 1.0 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %wq = decoder.weight {key = "layers.0.q", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %bq = decoder.weight {key = "layers.0.q.bias", stored_shape = array<i64: 16>} : () -> tensor<16xf32>
  %wk = decoder.weight {key = "layers.0.k", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %bk = decoder.weight {key = "layers.0.k.bias", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %wv = decoder.weight {key = "layers.0.v", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %bv = decoder.weight {key = "layers.0.v.bias", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %q = decoder.linear %n1, %wq, %bq : (tensor<?x8xf32>, tensor<16x8xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %k = decoder.linear %n1, %wk, %bk : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %v = decoder.linear %n1, %wv, %bv : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %qh = decoder.split_heads %q : (tensor<?x16xf32>) -> tensor<?x8x2xf32>
  %kh = decoder.split_heads %k : (tensor<?x8xf32>) -> tensor<?x4x2xf32>
  %vh = decoder.split_heads %v : (tensor<?x8xf32>) -> tensor<?x4x2xf32>
  %qr = decoder.rope %qh, %positions {style = #decoder.rope_style<half>, table = #decoder.rope_table<[1.0], factor 1.0>} : (tensor<?x8x2xf32>, tensor<?xi64>) -> tensor<?x8x2xf32>
  %kr = decoder.rope %kh, %positions {style = #decoder.rope_style<half>, table = #decoder.rope_table<[1.0], factor 1.0>} : (tensor<?x4x2xf32>, tensor<?xi64>) -> tensor<?x4x2xf32>
  %keys = decoder.cache %kr {layer = 0 : si64, plane = #decoder.plane<key>} : (tensor<?x4x2xf32>) -> tensor<?x4x2xf32>
  %values = decoder.cache %vh {layer = 0 : si64, plane = #decoder.plane<value>} : (tensor<?x4x2xf32>) -> tensor<?x4x2xf32>
  %a = decoder.attention %qr, %keys, %values, %positions, %past {scale = 0.5 : f64, causal = true, window = 3 : i64} : (tensor<?x8x2xf32>, tensor<?x4x2xf32>, tensor<?x4x2xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x8x2xf32>
  %m = decoder.merge_heads %a : (tensor<?x8x2xf32>) -> tensor<?x16xf32>
  %wo = decoder.weight {key = "layers.0.o", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %bo = decoder.weight {key = "layers.0.o.bias", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %o = decoder.linear %m, %wo : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
  %ob = decoder.add_bias %o, %bo : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %os = decoder.scale %ob {factor = 0.22 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %h = decoder.add %x, %os : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>

  %g2 = decoder.weight {key = "layers.0.mlp_norm", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %n2 = decoder.norm %h, %g2 {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64, weight_offset = 1.0 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %wu = decoder.weight {key = "layers.0.up", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %bu = decoder.weight {key = "layers.0.up.bias", stored_shape = array<i64: 16>} : () -> tensor<16xf32>
  %u = decoder.linear %n2, %wu, %bu : (tensor<?x8xf32>, tensor<16x8xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %f = decoder.activation %u {function = #decoder.function<gelu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %wd = decoder.weight {key = "layers.0.down", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %bd = decoder.weight {key = "layers.0.down.bias", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %d = decoder.linear %f, %wd : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
  %db = decoder.add_bias %d, %bd : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %ds = decoder.scale %db {factor = 0.22 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %h2 = decoder.add %h, %ds : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>

  %g3 = decoder.weight {key = "norm", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %n3 = decoder.norm %h2, %g3 {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64, weight_offset = 1.0 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %logits = decoder.logits %n3, %table : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  return %logits : tensor<?x16xf32>
}
}
