// A norm kernel that asks for 8 heads, where a rank has fewer: with heads split
// over the ranks, and with rows split and a norm over all heads behind it (as
// BitNet has one before its output projection).
#whole1 = #grid.layout<[_]>
#whole2 = #grid.layout<[_, _]>
#rms = #decoder.norm_kind<rms>
!ids = tensor<?xi64, #whole1>
!x = tensor<?x8xf32, #whole2>
!n = tensor<8xf32, #whole1>
!gain = tensor<2xf32, #whole1>
!owes = tensor<?x8xf32, #grid.layout<[_, _] owes "tp">>
!rows = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!table = tensor<16x8xf32, #grid.layout<[block "tp", _]>>
!parts = tensor<?x16xf32, #grid.layout<[_, block "tp"]>>
!w = tensor<8x8xf32, #whole2>
!out = tensor<8x8xf32, #grid.layout<[block "tp" x 2, _]>>
!in = tensor<8x8xf32, #grid.layout<[_, block "tp" x 2]>>
!q = tensor<?x8xf32, #grid.layout<[_, block "tp" x 2]>>
!heads = tensor<?x4x2xf32, #grid.layout<[_, block "tp", _]>>
!padded = tensor<?x4x2xf32, #grid.layout<[_, block "tp" pad 8, _]>>
!heads_rows = tensor<?x4x2xf32, #grid.layout<[block "tp", _, _]>>
!padded_rows = tensor<?x4x2xf32, #grid.layout<[block "tp", _ pad 8, _]>>
!logits = tensor<?x16xf32, #whole2>
module attributes {grid.target = "cpu"} {
grid.mesh @mesh ["tp"] = [4]

func.func private @reference(%ids: tensor<?xi64> {decoder.input = "input_ids"}) -> tensor<?x16xf32> attributes {decoder.reference} {
  %table = decoder.weight {key = "embed", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32>
  %w0 = decoder.weight {key = "layers.0.q", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %o0 = decoder.weight {key = "layers.0.o", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %w1 = decoder.weight {key = "layers.1.q", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %o1 = decoder.weight {key = "layers.1.o", stored_shape = array<i64: 8, 8>} : () -> tensor<8x8xf32>
  %gain = decoder.weight {key = "head_norm", stored_shape = array<i64: 2>} : () -> tensor<2xf32>
  %g = decoder.weight {key = "layers.1.sub_norm", stored_shape = array<i64: 8>} : () -> tensor<8xf32>
  %x = decoder.embedding %ids, %table : (tensor<?xi64>, tensor<16x8xf32>) -> tensor<?x8xf32>
  %q0 = decoder.linear %x, %w0 : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %s0 = decoder.split_heads %q0 : (tensor<?x8xf32>) -> tensor<?x4x2xf32>
  %n0 = decoder.norm %s0, %gain {kind = #rms, eps = 1.0e-6 : f64} : (tensor<?x4x2xf32>, tensor<2xf32>) -> tensor<?x4x2xf32>
  %m0 = decoder.merge_heads %n0 : (tensor<?x4x2xf32>) -> tensor<?x8xf32>
  %y0 = decoder.linear %m0, %o0 : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %h0 = decoder.add %x, %y0 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %q1 = decoder.linear %h0, %w1 : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %s1 = decoder.split_heads %q1 : (tensor<?x8xf32>) -> tensor<?x4x2xf32>
  %n1 = decoder.norm %s1, %gain {kind = #rms, eps = 1.0e-6 : f64} : (tensor<?x4x2xf32>, tensor<2xf32>) -> tensor<?x4x2xf32>
  %m1 = decoder.merge_heads %n1 : (tensor<?x4x2xf32>) -> tensor<?x8xf32>
  %t1 = decoder.norm %m1, %g {kind = #rms, eps = 1.0e-6 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %y1 = decoder.linear %t1, %o1 : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %h1 = decoder.add %h0, %y1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %logits = decoder.logits %h1, %table : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  return %logits : tensor<?x16xf32>
}

func.func @v0(%ids: !ids {decoder.input = "input_ids"}) -> !logits attributes {grid.boundaries = "whole", grid.reason = "by hand", grid.sites = [], grid.tokens = array<i64: 1, 8192>} {
  %table = decoder.weight {key = "embed", stored_shape = array<i64: 16, 8>} : () -> !table
  %w0 = decoder.weight {key = "layers.0.q", stored_shape = array<i64: 8, 8>} : () -> !out
  %o0 = decoder.weight {key = "layers.0.o", stored_shape = array<i64: 8, 8>} : () -> !in
  %w1 = decoder.weight {key = "layers.1.q", stored_shape = array<i64: 8, 8>} : () -> !w
  %o1 = decoder.weight {key = "layers.1.o", stored_shape = array<i64: 8, 8>} : () -> !w
  %gain = decoder.weight {key = "head_norm", stored_shape = array<i64: 2>} : () -> !gain
  %g = decoder.weight {key = "layers.1.sub_norm", stored_shape = array<i64: 8>} : () -> !n
  %e = decoder.embedding %ids, %table : (!ids, !table) -> !owes
  %x = grid.all_reduce %e over ["tp"] : !owes -> !x
  %q0 = decoder.linear %x, %w0 : (!x, !out) -> !q
  %s0 = decoder.split_heads %q0 : (!q) -> !heads
  %p0 = grid.pad %s0 dim 1 to 8 : !heads -> !padded
  %k0 = decoder.norm %p0, %gain {kind = #rms, eps = 1.0e-6 : f64} : (!padded, !gain) -> !padded
  %n0 = grid.unpad %k0 dim 1 : !padded -> !heads
  %m0 = decoder.merge_heads %n0 : (!heads) -> !q
  %a0 = decoder.linear %m0, %o0 : (!q, !in) -> !owes
  %y0 = grid.all_reduce %a0 over ["tp"] {site = "layer.0.o"} : !owes -> !x
  %h0 = decoder.add %x, %y0 : (!x, !x) -> !x
  // By rows from here on.
  %r0 = grid.slice %h0 dim 0 over "tp" : !x -> !rows
  %q1 = decoder.linear %r0, %w1 : (!rows, !w) -> !rows
  %s1 = decoder.split_heads %q1 : (!rows) -> !heads_rows
  %p1 = grid.pad %s1 dim 1 to 8 : !heads_rows -> !padded_rows
  %k1 = decoder.norm %p1, %gain {kind = #rms, eps = 1.0e-6 : f64} : (!padded_rows, !gain) -> !padded_rows
  %n1 = grid.unpad %k1 dim 1 : !padded_rows -> !heads_rows
  %m1 = decoder.merge_heads %n1 : (!heads_rows) -> !rows
  %t1 = decoder.norm %m1, %g {kind = #rms, eps = 1.0e-6 : f64} : (!rows, !n) -> !rows
  %y1 = decoder.linear %t1, %o1 : (!rows, !w) -> !rows
  %h1 = decoder.add %r0, %y1 : (!rows, !rows) -> !rows
  %t = grid.all_gather %h1 dim 0 over "tp" : !rows -> !x
  %c = decoder.logits %t, %table : (!x, !table) -> !parts
  %logits = grid.all_gather %c dim 1 over "tp" : !parts -> !logits
  return %logits : !logits
}
}
