// Attention kernels that ask for 8 heads, where a rank has fewer: with heads
// split over the ranks, and with rows split and a norm over all heads (as
// BitNet has one before its output projection).
#whole1 = #grid.layout<[_]>
#whole2 = #grid.layout<[_, _]>
#rms = #decoder.norm_kind<rms>
!pos = tensor<?xi64, #whole1>
!my_pos = tensor<?xi64, #grid.layout<[block "tp"]>>
!x = tensor<?x8xf32, #whole2>
!n = tensor<8xf32, #whole1>
!owes = tensor<?x8xf32, #grid.layout<[_, _] owes "tp">>
!rows = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!table = tensor<16x8xf32, #grid.layout<[block "tp", _]>>
!parts = tensor<?x16xf32, #grid.layout<[_, block "tp"]>>
!w = tensor<8x8xf32, #whole2>
!out = tensor<8x8xf32, #grid.layout<[block "tp" x 2, _]>>
!in = tensor<8x8xf32, #grid.layout<[_, block "tp" x 2]>>
!kv = tensor<4x8xf32, #grid.layout<[readers(4) "tp" x 2, _]>>
!kv_whole = tensor<4x8xf32, #whole2>
!q = tensor<?x8xf32, #grid.layout<[_, block "tp" x 2]>>
!k = tensor<?x4xf32, #grid.layout<[_, readers(4) "tp" x 2]>>
!k_whole = tensor<?x4xf32, #whole2>
!qh = tensor<?x4x2xf32, #grid.layout<[_, block "tp", _]>>
!kh = tensor<?x2x2xf32, #grid.layout<[_, readers(4) "tp", _]>>
!kh_whole = tensor<?x2x2xf32, #grid.layout<[_, _, _]>>
!padded = tensor<?x4x2xf32, #grid.layout<[_, block "tp" pad 8, _]>>
!qh_rows = tensor<?x4x2xf32, #grid.layout<[block "tp", _, _]>>
!padded_rows = tensor<?x4x2xf32, #grid.layout<[block "tp", _ pad 8, _]>>
!logits = tensor<?x16xf32, #whole2>
module attributes {grid.target = "cpu"} {
grid.mesh @mesh ["tp"] = [4]

func.func private @reference(%ids: tensor<?xi64> {decoder.input = "input_ids"}, %positions: tensor<?xi64> {decoder.input = "positions"}) -> tensor<?x16xf32> attributes {decoder.reference} {
  %past = decoder.cache %positions {layer = -1 : si64, plane = #decoder.plane<positions>} : (tensor<?xi64>) -> tensor<?xi64>
  %table = decoder.weight {key = "embed", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %wq0 = decoder.weight {key = "layers.0.q", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %wk0 = decoder.weight {key = "layers.0.k", stored_shape = array<i64: 4, 8>} : () -> tensor<4x8xf32>
  %wo0 = decoder.weight {key = "layers.0.o", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %wq1 = decoder.weight {key = "layers.1.q", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %wk1 = decoder.weight {key = "layers.1.k", stored_shape = array<i64: 4, 8>} : () -> tensor<4x8xf32>
  %wo1 = decoder.weight {key = "layers.1.o", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %g1 = decoder.weight {key = "layers.1.sub_norm", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %x = decoder.embedding %ids, %table : (tensor<?xi64>, tensor<16x8xf32>) -> tensor<?x8xf32>
  %q0 = decoder.linear %x, %wq0 : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %k0 = decoder.linear %x, %wk0 : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  %qh0 = decoder.split_heads %q0 : (tensor<?x8xf32>) -> tensor<?x4x2xf32>
  %kh0 = decoder.split_heads %k0 : (tensor<?x4xf32>) -> tensor<?x2x2xf32>
  %keys0 = decoder.cache %kh0 {layer = 0 : si64, plane = #decoder.plane<key>} : (tensor<?x2x2xf32>) -> tensor<?x2x2xf32>
  %a0 = decoder.attention %qh0, %keys0, %keys0, %positions, %past {scale = 0.5 : f64, causal = true} : (tensor<?x4x2xf32>, tensor<?x2x2xf32>, tensor<?x2x2xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x4x2xf32>
  %m0 = decoder.merge_heads %a0 : (tensor<?x4x2xf32>) -> tensor<?x8xf32>
  %o0 = decoder.linear %m0, %wo0 : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %h0 = decoder.add %x, %o0 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %q1 = decoder.linear %h0, %wq1 : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %k1 = decoder.linear %h0, %wk1 : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  %qh1 = decoder.split_heads %q1 : (tensor<?x8xf32>) -> tensor<?x4x2xf32>
  %kh1 = decoder.split_heads %k1 : (tensor<?x4xf32>) -> tensor<?x2x2xf32>
  %keys1 = decoder.cache %kh1 {layer = 1 : si64, plane = #decoder.plane<key>} : (tensor<?x2x2xf32>) -> tensor<?x2x2xf32>
  %a1 = decoder.attention %qh1, %keys1, %keys1, %positions, %past {scale = 0.5 : f64, causal = true} : (tensor<?x4x2xf32>, tensor<?x2x2xf32>, tensor<?x2x2xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x4x2xf32>
  %m1 = decoder.merge_heads %a1 : (tensor<?x4x2xf32>) -> tensor<?x8xf32>
  %n1 = decoder.norm %m1, %g1 {kind = #rms, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %o1 = decoder.linear %n1, %wo1 : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %h1 = decoder.add %h0, %o1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %logits = decoder.logits %h1, %table : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  return %logits : tensor<?x16xf32>
}

func.func @v0(%ids: !pos {decoder.input = "input_ids"}, %positions: !pos {decoder.input = "positions"}) -> !logits attributes {grid.boundaries = "whole", grid.reason = "by hand", grid.sites = [], grid.tokens = array<i64: 1, 8192>} {
  %past = decoder.cache %positions {layer = -1 : si64, plane = #decoder.plane<positions>} : (!pos) -> !pos
  %table = decoder.weight {key = "embed", stored_shape = array<i64: 16, 8>} : () -> !table
  %wq0 = decoder.weight {key = "layers.0.q", stored_shape = array<i64: 8, 8>} : () -> !out
  %wk0 = decoder.weight {key = "layers.0.k", stored_shape = array<i64: 4, 8>} : () -> !kv
  %wo0 = decoder.weight {key = "layers.0.o", stored_shape = array<i64: 8, 8>} : () -> !in
  %wq1 = decoder.weight {key = "layers.1.q", stored_shape = array<i64: 8, 8>} : () -> !w
  %wk1 = decoder.weight {key = "layers.1.k", stored_shape = array<i64: 4, 8>} : () -> !kv_whole
  %wo1 = decoder.weight {key = "layers.1.o", stored_shape = array<i64: 8, 8>} : () -> !w
  %g1 = decoder.weight {key = "layers.1.sub_norm", stored_shape = array<i64: 8>} : () -> !n
  %e = decoder.embedding %ids, %table : (!pos, !table) -> !owes
  %x = grid.all_reduce %e over ["tp"] : !owes -> !x
  %q0 = decoder.linear %x, %wq0 : (!x, !out) -> !q
  %k0 = decoder.linear %x, %wk0 : (!x, !kv) -> !k
  %qh0 = decoder.split_heads %q0 : (!q) -> !qh
  %kh0 = decoder.split_heads %k0 : (!k) -> !kh
  %keys0 = decoder.cache %kh0 {layer = 0 : si64, plane = #decoder.plane<key>} : (!kh) -> !kh
  %p0 = grid.pad %qh0 dim 1 to 8 : !qh -> !padded
  %b0 = decoder.attention %p0, %keys0, %keys0, %positions, %past {scale = 0.5 : f64, causal = true} : (!padded, !kh, !kh, !pos, !pos) -> !padded
  %a0 = grid.unpad %b0 dim 1 : !padded -> !qh
  %m0 = decoder.merge_heads %a0 : (!qh) -> !q
  %s0 = decoder.linear %m0, %wo0 : (!q, !in) -> !owes
  %o0 = grid.all_reduce %s0 over ["tp"] {site = "layer.0.o"} : !owes -> !x
  %h0 = decoder.add %x, %o0 : (!x, !x) -> !x
  // By rows from here on.
  %r0 = grid.slice %h0 dim 0 over "tp" : !x -> !rows
  %mine = grid.slice %positions dim 0 over "tp" : !pos -> !my_pos
  %q1 = decoder.linear %r0, %wq1 : (!rows, !w) -> !rows
  %k1 = decoder.linear %h0, %wk1 : (!x, !kv_whole) -> !k_whole
  %qh1 = decoder.split_heads %q1 : (!rows) -> !qh_rows
  %kh1 = decoder.split_heads %k1 : (!k_whole) -> !kh_whole
  %keys1 = decoder.cache %kh1 {layer = 1 : si64, plane = #decoder.plane<key>} : (!kh_whole) -> !kh_whole
  %p1 = grid.pad %qh1 dim 1 to 8 : !qh_rows -> !padded_rows
  %b1 = decoder.attention %p1, %keys1, %keys1, %mine, %past {scale = 0.5 : f64, causal = true} : (!padded_rows, !kh_whole, !kh_whole, !my_pos, !pos) -> !padded_rows
  %a1 = grid.unpad %b1 dim 1 : !padded_rows -> !qh_rows
  %m1 = decoder.merge_heads %a1 : (!qh_rows) -> !rows
  %n1 = decoder.norm %m1, %g1 {kind = #rms, eps = 1.0e-6 : f64} : (!rows, !n) -> !rows
  %o1 = decoder.linear %n1, %wo1 : (!rows, !w) -> !rows
  %h1 = decoder.add %r0, %o1 : (!rows, !rows) -> !rows
  %t = grid.all_gather %h1 dim 0 over "tp" : !rows -> !x
  %c = decoder.logits %t, %table : (!x, !table) -> !parts
  %logits = grid.all_gather %c dim 1 over "tp" : !parts -> !logits
  return %logits : !logits
}
}
