// Rows travel narrow: a rank quantises its rows, and what is gathered is the
// values and, by itself, the column of their scales.
#whole1 = #grid.layout<[_]>
#whole2 = #grid.layout<[_, _]>
#rows2 = #grid.layout<[block "tp", _]>
#rms = #decoder.norm_kind<rms>
!ids = tensor<?xi64, #whole1>
!x = tensor<?x8xf32, #whole2>
!n = tensor<8xf32, #whole1>
!owes = tensor<?x8xf32, #grid.layout<[_, _] owes "tp">>
!rows = tensor<?x8xf32, #rows2>
!table = tensor<16x8xf32, #grid.layout<[block "tp", _]>>
!values = tensor<?x8xf8E4M3FN, #rows2>
!scales = tensor<?x1xf32, #rows2>
!all_values = tensor<?x8xf8E4M3FN, #whole2>
!all_scales = tensor<?x1xf32, #whole2>
!parts = tensor<?x16xf32, #grid.layout<[_, block "tp"]>>
!logits = tensor<?x16xf32, #whole2>
module attributes {decoder.source = {config = "config.json", digest = "sha256:0", layers = 1 : i64, max_positions = 64 : i64, model_type = "test"}, grid.target = "cpu"} {
grid.mesh @mesh ["tp"] = [4]

func.func private @reference(%ids: tensor<?xi64> {decoder.input = "input_ids"}) -> tensor<?x16xf32> attributes {decoder.reference} {
  %table = decoder.weight {key = "embed", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %g = decoder.weight {key = "norm", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %x = decoder.embedding %ids, %table : (tensor<?xi64>, tensor<16x8xf32>) -> tensor<?x8xf32>
  %y = decoder.norm %x, %g {kind = #rms, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %v, %s = decoder.quantize %y {format = #decoder.quant_format<fp8_e4m3>} : (tensor<?x8xf32>) -> (tensor<?x8xf8E4M3FN>, tensor<?x1xf32>)
  %z = decoder.dequantize %v, %s : (tensor<?x8xf8E4M3FN>, tensor<?x1xf32>) -> tensor<?x8xf32>
  %logits = decoder.logits %z, %table : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  return %logits : tensor<?x16xf32>
}

func.func @v0(%ids: !ids {decoder.input = "input_ids"}) -> !logits attributes {grid.boundaries = "rows", grid.reason = "by hand", grid.sites = [], grid.tokens = array<i64: 1, 8192>} {
  %table = decoder.weight {key = "embed", stored_shape = array<i64: 16, 8>} : () -> !table
  %g = decoder.weight {key = "norm", stored_shape = array<i64: 8>} : () -> !n
  %e = decoder.embedding %ids, %table : (!ids, !table) -> !owes
  %all_values, %all_scales = grid.fused "reduce_scatter+norm+quantize+all_gather+all_gather" {
    %x = grid.reduce_scatter %e dim 0 over "tp" {site = "embedding"} : !owes -> !rows
    %y = decoder.norm %x, %g {kind = #rms, eps = 1.0e-6 : f64} : (!rows, !n) -> !rows
    %v, %s = decoder.quantize %y {format = #decoder.quant_format<fp8_e4m3>} : (!rows) -> (!values, !scales)
    %av = grid.all_gather %v dim 0 over "tp" : !values -> !all_values
    %as = grid.all_gather %s dim 0 over "tp" : !scales -> !all_scales
    grid.yield %av, %as : !all_values, !all_scales
  } : !all_values, !all_scales
  %z = decoder.dequantize %all_values, %all_scales : (!all_values, !all_scales) -> !x
  %p = decoder.logits %z, %table : (!x, !table) -> !parts
  %logits = grid.all_gather %p dim 1 over "tp" : !parts -> !logits
  return %logits : !logits
}
}
