// Experts chosen by one rank: what the router says is broadcast, so that all
// ranks run the same experts even where their logits differ in the last bit.
#whole1 = #grid.layout<[_]>
#whole2 = #grid.layout<[_, _]>
#rms = #decoder.norm_kind<rms>
!ids = tensor<?xi64, #whole1>
!x = tensor<?x8xf32, #whole2>
!n = tensor<8xf32, #whole1>
!owes = tensor<?x8xf32, #grid.layout<[_, _] owes "tp">>
!table = tensor<16x8xf32, #grid.layout<[block "tp", _]>>
!parts = tensor<?x16xf32, #grid.layout<[_, block "tp"]>>
!logits = tensor<?x16xf32, #whole2>
!wr = tensor<6x8xf32, #whole2>
!scores = tensor<?x6xf32, #whole2>
!chosen = tensor<?x2xi32, #whole2>
!weights = tensor<?x2xf32, #whole2>
!gate = tensor<6x8x8xf32, #grid.layout<[_, block "tp", _]>>
!down = tensor<6x8x8xf32, #grid.layout<[_, _, block "tp"]>>
module attributes {decoder.source = {config = "config.json", digest = "sha256:0", layers = 1 : i64, max_positions = 64 : i64, model_type = "test"}, grid.target = "cpu"} {
grid.mesh @mesh ["tp"] = [4]

func.func private @reference(%ids: tensor<?xi64> {decoder.input = "input_ids"}) -> tensor<?x16xf32> attributes {decoder.reference} {
  %table = decoder.weight {key = "embed", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %g = decoder.weight {key = "layers.0.norm", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %wr = decoder.weight {key = "layers.0.router", stored_shape = array<i64: 6, 8>} : () -> tensor<6x8xf32>
  %wg = decoder.weight {key = "layers.0.experts.{expert}.gate", stored_shape = array<i64: 8, 8>} : () -> tensor<6x8x8xf32>
  %wu = decoder.weight {key = "layers.0.experts.{expert}.up", stored_shape = array<i64: 8, 8>} : () -> tensor<6x8x8xf32>
  %wd = decoder.weight {key = "layers.0.experts.{expert}.down", stored_shape = array<i64: 8, 8>} : () -> tensor<6x8x8xf32>
  %x = decoder.embedding %ids, %table : (tensor<?xi64>, tensor<16x8xf32>) -> tensor<?x8xf32>
  %y = decoder.norm %x, %g {kind = #rms, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %s = decoder.linear %y, %wr : (tensor<?x8xf32>, tensor<6x8xf32>) -> tensor<?x6xf32>
  %chosen, %weights = decoder.router %s {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true} : (tensor<?x6xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  %m = decoder.experts %y, %chosen, %weights, %wg, %wu, %wd {function = #decoder.function<silu>} : (tensor<?x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>, tensor<6x8x8xf32>, tensor<6x8x8xf32>, tensor<6x8x8xf32>) -> tensor<?x8xf32>
  %h = decoder.add %x, %m : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %logits = decoder.logits %h, %table : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  return %logits : tensor<?x16xf32>
}

func.func @v0(%ids: !ids {decoder.input = "input_ids"}) -> !logits attributes {grid.boundaries = "whole", grid.reason = "by hand", grid.sites = [], grid.tokens = array<i64: 1, 8192>} {
  %table = decoder.weight {key = "embed", stored_shape = array<i64: 16, 8>} : () -> !table
  %g = decoder.weight {key = "layers.0.norm", stored_shape = array<i64: 8>} : () -> !n
  %wr = decoder.weight {key = "layers.0.router", stored_shape = array<i64: 6, 8>} : () -> !wr
  %wg = decoder.weight {key = "layers.0.experts.{expert}.gate", stored_shape = array<i64: 8, 8>} : () -> !gate
  %wu = decoder.weight {key = "layers.0.experts.{expert}.up", stored_shape = array<i64: 8, 8>} : () -> !gate
  %wd = decoder.weight {key = "layers.0.experts.{expert}.down", stored_shape = array<i64: 8, 8>} : () -> !down
  %e = decoder.embedding %ids, %table : (!ids, !table) -> !owes
  %x = grid.all_reduce %e over ["tp"] : !owes -> !x
  %y = decoder.norm %x, %g {kind = #rms, eps = 1.0e-6 : f64} : (!x, !n) -> !x
  %s = decoder.linear %y, %wr : (!x, !wr) -> !scores
  %c, %w = decoder.router %s {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true} : (!scores) -> (!chosen, !weights)
  %chosen = grid.broadcast %c root 0 over "tp" : !chosen
  %weights = grid.broadcast %w root 0 over "tp" : !weights
  %m = decoder.experts %y, %chosen, %weights, %wg, %wu, %wd {function = #decoder.function<silu>} : (!x, !chosen, !weights, !gate, !gate, !down) -> !owes
  %a = grid.all_reduce %m over ["tp"] {site = "layer.0.experts"} : !owes -> !x
  %h = decoder.add %x, %a : (!x, !x) -> !x
  %p = decoder.logits %h, %table : (!x, !table) -> !parts
  %logits = grid.all_gather %p dim 1 over "tp" : !parts -> !logits
  return %logits : !logits
}
}
