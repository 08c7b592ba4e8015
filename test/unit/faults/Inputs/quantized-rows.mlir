// Activations quantised row by row before each product: what is gathered is
// the narrow values and their scales.
module attributes {decoder.source = {config = "config.json", digest = "sha256:0", layers = 1 : i64, max_positions = 64 : i64, model_type = "test"}, grid.target = "cpu"} {
func.func @decoder(%ids: tensor<?xi64> {decoder.input = "input_ids"}) -> tensor<?x16xf32> {
  %table = decoder.weight {key = "embed", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %x = decoder.embedding %ids, %table : (tensor<?xi64>, tensor<16x8xf32>) -> tensor<?x8xf32>
  %g1 = decoder.weight {key = "layers.0.norm", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %n1 = decoder.norm %x, %g1 {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %q1, %s1 = decoder.quantize %n1 {format = #decoder.quant_format<fp8_e4m3>} : (tensor<?x8xf32>) -> (tensor<?x8xf8E4M3FN>, tensor<?x1xf32>)
  %y1 = decoder.dequantize %q1, %s1 : (tensor<?x8xf8E4M3FN>, tensor<?x1xf32>) -> tensor<?x8xf32>
  %wu = decoder.weight {key = "layers.0.up", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %u = decoder.linear %y1, %wu : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %f = decoder.activation %u {function = #decoder.function<gelu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %wd = decoder.weight {key = "layers.0.down", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %d = decoder.linear %f, %wd : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
  %h = decoder.add %x, %d : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %g2 = decoder.weight {key = "norm", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %n2 = decoder.norm %h, %g2 {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %q2, %s2 = decoder.quantize %n2 {format = #decoder.quant_format<fp8_e4m3>} : (tensor<?x8xf32>) -> (tensor<?x8xf8E4M3FN>, tensor<?x1xf32>)
  %y2 = decoder.dequantize %q2, %s2 : (tensor<?x8xf8E4M3FN>, tensor<?x1xf32>) -> tensor<?x8xf32>
  %logits = decoder.logits %y2, %table : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  return %logits : tensor<?x16xf32>
}
}
