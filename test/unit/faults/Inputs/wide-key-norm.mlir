// A norm over all KV heads at once (OLMo 2, MiniMax M2), where a rank has the
// head that its queries read, so that two ranks have the same: the heads are
// gathered, and every rank takes its own again.
#whole1 = #grid.layout<[_]>
#whole2 = #grid.layout<[_, _]>
#rms = #decoder.norm_kind<rms>
!pos = tensor<?xi64, #whole1>
!x = tensor<?x8xf32, #whole2>
!n = tensor<4xf32, #whole1>
!owes = tensor<?x8xf32, #grid.layout<[_, _] owes "tp">>
!table = tensor<16x8xf32, #whole2>
!out = tensor<16x8xf32, #grid.layout<[block "tp" x 2, _]>>
!in = tensor<8x16xf32, #grid.layout<[_, block "tp" x 2]>>
!kv = tensor<4x8xf32, #grid.layout<[readers(8) "tp" x 2, _]>>
!q = tensor<?x16xf32, #grid.layout<[_, block "tp" x 2]>>
!k = tensor<?x4xf32, #grid.layout<[_, readers(8) "tp" x 2]>>
!k_whole = tensor<?x4xf32, #whole2>
!qh = tensor<?x8x2xf32, #grid.layout<[_, block "tp", _]>>
!kh = tensor<?x2x2xf32, #grid.layout<[_, readers(8) "tp", _]>>
!logits = tensor<?x16xf32, #whole2>
module attributes {decoder.source = {config = "config.json", digest = "sha256:0", layers = 1 : i64, max_positions = 64 : i64, model_type = "test"}, grid.target = "cpu"} {
grid.mesh @mesh ["tp"] = [4]

func.func private @reference(%ids: tensor<?xi64> {decoder.input = "input_ids"}, %positions: tensor<?xi64> {decoder.input = "positions"}) -> tensor<?x16xf32> attributes {decoder.reference} {
  %past = decoder.cache %positions {layer = -1 : si64, plane = #decoder.plane<positions>} : (tensor<?xi64>) -> tensor<?xi64>
  %table = decoder.weight {key = "embed", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %wq = decoder.weight {key = "layers.0.q", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %wk = decoder.weight {key = "layers.0.k", stored_shape = array<i64: 4, 8>} : () -> tensor<4x8xf32>
  %wv = decoder.weight {key = "layers.0.v", stored_shape = array<i64: 4, 8>} : () -> tensor<4x8xf32>
  %g = decoder.weight {key = "layers.0.k_norm", stored_shape = array<i64: 4>} : () -> tensor<4xf32>
  %wo = decoder.weight {key = "layers.0.o", stored_shape = array<i64: 8, 16>} : () -> tensor<8x16xf32>
  %x = decoder.embedding %ids, %table : (tensor<?xi64>, tensor<16x8xf32>) -> tensor<?x8xf32>
  %q = decoder.linear %x, %wq : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  %k = decoder.linear %x, %wk : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  %v = decoder.linear %x, %wv : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  %kn = decoder.norm %k, %g {kind = #rms, eps = 1.0e-6 : f64} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %qh = decoder.split_heads %q : (tensor<?x16xf32>) -> tensor<?x8x2xf32>
  %kh = decoder.split_heads %kn : (tensor<?x4xf32>) -> tensor<?x2x2xf32>
  %vh = decoder.split_heads %v : (tensor<?x4xf32>) -> tensor<?x2x2xf32>
  %keys = decoder.cache %kh {layer = 0 : si64, plane = #decoder.plane<key>} : (tensor<?x2x2xf32>) -> tensor<?x2x2xf32>
  %values = decoder.cache %vh {layer = 0 : si64, plane = #decoder.plane<value>} : (tensor<?x2x2xf32>) -> tensor<?x2x2xf32>
  %a = decoder.attention %qh, %keys, %values, %positions, %past {scale = 0.5 : f64, causal = true} : (tensor<?x8x2xf32>, tensor<?x2x2xf32>, tensor<?x2x2xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x8x2xf32>
  %m = decoder.merge_heads %a : (tensor<?x8x2xf32>) -> tensor<?x16xf32>
  %o = decoder.linear %m, %wo : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
  %h = decoder.add %x, %o : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %logits = decoder.logits %h, %table : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  return %logits : tensor<?x16xf32>
}

func.func @v0(%ids: !pos {decoder.input = "input_ids"}, %positions: !pos {decoder.input = "positions"}) -> !logits attributes {grid.boundaries = "whole", grid.reason = "by hand", grid.sites = [], grid.tokens = array<i64: 1, 8192>} {
  %past = decoder.cache %positions {layer = -1 : si64, plane = #decoder.plane<positions>} : (!pos) -> !pos
  %table = decoder.weight {key = "embed", stored_shape = array<i64: 16, 8>} : () -> !table
  %wq = decoder.weight {key = "layers.0.q", stored_shape = array<i64: 16, 8>} : () -> !out
  %wk = decoder.weight {key = "layers.0.k", stored_shape = array<i64: 4, 8>} : () -> !kv
  %wv = decoder.weight {key = "layers.0.v", stored_shape = array<i64: 4, 8>} : () -> !kv
  %g = decoder.weight {key = "layers.0.k_norm", stored_shape = array<i64: 4>} : () -> !n
  %wo = decoder.weight {key = "layers.0.o", stored_shape = array<i64: 8, 16>} : () -> !in
  %x = decoder.embedding %ids, %table : (!pos, !table) -> !x
  %q = decoder.linear %x, %wq : (!x, !out) -> !q
  %k = decoder.linear %x, %wk : (!x, !kv) -> !k
  %v = decoder.linear %x, %wv : (!x, !kv) -> !k
  %all = grid.all_gather %k dim 1 over "tp" : !k -> !k_whole
  %normed = decoder.norm %all, %g {kind = #rms, eps = 1.0e-6 : f64} : (!k_whole, !n) -> !k_whole
  %kn = grid.slice %normed dim 1 over "tp" : !k_whole -> !k
  %qh = decoder.split_heads %q : (!q) -> !qh
  %kh = decoder.split_heads %kn : (!k) -> !kh
  %vh = decoder.split_heads %v : (!k) -> !kh
  %keys = decoder.cache %kh {layer = 0 : si64, plane = #decoder.plane<key>} : (!kh) -> !kh
  %values = decoder.cache %vh {layer = 0 : si64, plane = #decoder.plane<value>} : (!kh) -> !kh
  %a = decoder.attention %qh, %keys, %values, %positions, %past {scale = 0.5 : f64, causal = true} : (!qh, !kh, !kh, !pos, !pos) -> !qh
  %m = decoder.merge_heads %a : (!qh) -> !q
  %s = decoder.linear %m, %wo : (!q, !in) -> !owes
  %o = grid.all_reduce %s over ["tp"] {site = "layer.0.o"} : !owes -> !x
  %h = decoder.add %x, %o : (!x, !x) -> !x
  %logits = decoder.logits %h, %table : (!x, !table) -> !logits
  return %logits : !logits
}
}
