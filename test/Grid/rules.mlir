// RUN: layline-opt %s -split-input-file -verify-diagnostics

// The rules for ops on placed values (Factors.cpp). Each stands beside its
// neighbour: the program that is right.

//===----------------------------------------------------------------------===//
// 1. Only linear ops take a value that owes a sum
//===----------------------------------------------------------------------===//

!x = tensor<?x64xf32, #grid.layout<[_, block "tp"]>>
!w = tensor<16x64xf32, #grid.layout<[_, block "tp"]>>
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!n = tensor<16xf32, #grid.layout<[_]>>
func.func @norm_of_owed(%x: !x, %w: !w, %n: !n) {
  // expected-note @below {{the sum is owed since here}}
  %0 = decoder.linear %x, %w : (!x, !w) -> !owes
  // expected-error @below {{takes a value that owes a sum over "tp"; reduce it first}}
  %1 = decoder.norm %0, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!owes, !n) -> !owes
  return
}

// -----

!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!n = tensor<16xf32, #grid.layout<[_]>>
func.func @norm_of_paid(%p: !owes, %n: !n) {
  %0 = grid.all_reduce %p over ["tp"] : !owes -> !whole
  %1 = decoder.norm %0, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!whole, !n) -> !whole
  return
}

// -----

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
func.func @activation_of_owed(%p: !owes) {
  // expected-error @below {{'decoder.activation' op takes a value that owes a sum over "tp"}}
  %0 = decoder.activation %p {function = #decoder.function<gelu>} : (!owes) -> !owes
  return
}

// -----

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
func.func @gated_activation_of_owed(%g: !owes, %u: !owes) {
  // expected-error @below {{'decoder.gated_activation' op takes a value that owes a sum over "tp"}}
  %0 = decoder.gated_activation %g, %u {function = #decoder.function<silu>} : (!owes, !owes) -> !owes
  return
}

// -----

!owes = tensor<?x8xf32, #grid.layout<[_, _] owes "tp">>
!ids = tensor<?x2xi32, #grid.layout<[_, _]>>
!gates = tensor<?x2xf32, #grid.layout<[_, _]>>
func.func @router_of_owed(%p: !owes) {
  // expected-error @below {{'decoder.router' op takes a value that owes a sum over "tp"}}
  %0:2 = decoder.router %p {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true} : (!owes) -> (!ids, !gates)
  return
}

// -----

!owes = tensor<?x2x4xf32, #grid.layout<[_, _, _] owes "tp">>
!pos = tensor<?xi64, #grid.layout<[_]>>
func.func @rope_of_owed(%p: !owes, %pos: !pos) {
  // expected-error @below {{'decoder.rope' op takes a value that owes a sum over "tp"}}
  %0 = decoder.rope %p, %pos {style = #decoder.rope_style<half>, table = #decoder.rope_table<[1.0], factor 1.0>} : (!owes, !pos) -> !owes
  return
}

// -----

// Rounding is not linear.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!narrow = tensor<?x16xbf16, #grid.layout<[_, _] owes "tp">>
func.func @cast_of_owed(%p: !owes) {
  // expected-error @below {{'decoder.cast' op takes a value that owes a sum over "tp"}}
  %0 = decoder.cast %p : (!owes) -> !narrow
  return
}

// -----

// Rows that a cache keeps are read by later steps.
!owes = tensor<?x2x4xf32, #grid.layout<[_, _, _] owes "tp">>
func.func @cache_of_owed(%p: !owes) {
  // expected-error @below {{'decoder.cache' op takes a value that owes a sum over "tp"}}
  %0 = decoder.cache %p {layer = 0 : si64, plane = #decoder.plane<key>} : (!owes) -> !owes
  return
}

// -----

// Linear ops owe it on.
!whole_w = tensor<32x16xf32, #grid.layout<[_, _]>>
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!wide = tensor<?x32xf32, #grid.layout<[_, _] owes "tp">>
!heads = tensor<?x8x4xf32, #grid.layout<[_, _, _] owes "tp">>
func.func @linear_ops_of_owed(%p: !owes, %q: !owes, %w: !whole_w) -> !wide {
  %0 = decoder.add %p, %q : (!owes, !owes) -> !owes
  %1 = decoder.scale %0 {factor = 0.5 : f64} : (!owes) -> !owes
  %2 = decoder.linear %1, %w : (!owes, !whole_w) -> !wide
  %3 = decoder.split_heads %2 : (!wide) -> !heads
  %4 = decoder.merge_heads %3 : (!heads) -> !wide
  return %4 : !wide
}

// -----

// The result of a linear op owes what its operand owes: it can not be forgotten.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @forgotten(%p: !owes) {
  // expected-error @below {{result #0 has the layout #grid.layout<[_, _]>, but its operands give #grid.layout<[_, _] owes "tp">}}
  %0 = decoder.scale %p {factor = 0.5 : f64} : (!owes) -> !whole
  return
}

// -----

// A product is linear in its rows or in its weight, not in both at once.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!w = tensor<16x16xf32, #grid.layout<[_, _] owes "tp">>
func.func @weight_owes(%p: !owes, %w: !w) {
  // expected-error @below {{takes a value that owes a sum over "tp"; reduce it first}}
  %0 = decoder.linear %p, %w : (!owes, !w) -> !owes
  return
}

// -----

// Owed over an axis and split over it at once has no layout.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!w = tensor<32x16xf32, #grid.layout<[block "tp", _]>>
func.func @owed_meets_split(%p: !owes, %w: !w) {
  // expected-error @below {{splits 'out' over "tp", over which operand #0 owes a sum}}
  %0 = decoder.linear %p, %w : (!owes, !w) -> tensor<?x32xf32, #grid.layout<[_, block "tp"]>>
  return
}

// -----

// A sum over split items owes over that axis too.
!p = tensor<?x16xf32, #grid.layout<[_, block "tp"] owes "ep">>
!w = tensor<32x16xf32, #grid.layout<[_, block "tp"]>>
!both = tensor<?x32xf32, #grid.layout<[_, _] owes "ep", "tp">>
func.func @owes_over_two_axes(%p: !p, %w: !w) {
  %0 = decoder.linear %p, %w : (!p, !w) -> !both
  return
}

// -----

//===----------------------------------------------------------------------===//
// 2. Addends hold the same parts and owe the same sums
//===----------------------------------------------------------------------===//

!x = tensor<?x64xf32, #grid.layout<[_, block "tp"]>>
!w = tensor<16x64xf32, #grid.layout<[_, block "tp"]>>
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @partial_plus_whole(%x: !x, %w: !w, %residual: !whole) {
  // expected-note @below {{the sum is owed since here}}
  %0 = decoder.linear %x, %w : (!x, !w) -> !owes
  // expected-error @below {{adds operand #0, which owes no sum over "tp", to a value that does: it would be added once per rank; add it after the reduction}}
  %1 = decoder.add %residual, %0 : (!whole, !owes) -> !owes
  return
}

// -----

!owes_tp = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!owes_ep = tensor<?x16xf32, #grid.layout<[_, _] owes "ep">>
!both = tensor<?x16xf32, #grid.layout<[_, _] owes "ep", "tp">>
func.func @different_sums(%p: !owes_tp, %q: !owes_ep) {
  // expected-error @below {{adds operand #0, which owes no sum over "ep", to a value that does}}
  %0 = decoder.add %p, %q : (!owes_tp, !owes_ep) -> !both
  return
}

// -----

// A bias inside a row-parallel product would be added once per rank.
!x = tensor<?x64xf32, #grid.layout<[_, block "tp"]>>
!w = tensor<16x64xf32, #grid.layout<[_, block "tp"]>>
!b = tensor<16xf32, #grid.layout<[_]>>
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
func.func @bias_in_row_parallel(%x: !x, %w: !w, %b: !b) {
  // expected-error @below {{adds operand #2, which owes no sum over "tp", to a value that does}}
  %0 = decoder.linear %x, %w, %b : (!x, !w, !b) -> !owes
  return
}

// -----

!b = tensor<16xf32, #grid.layout<[_]>>
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
func.func @bias_meets_partial(%p: !owes, %b: !b) {
  // expected-error @below {{'decoder.add_bias' op takes a value that owes a sum over "tp"; reduce it first}}
  %0 = decoder.add_bias %p, %b : (!owes, !b) -> !owes
  return
}

// -----

// A column-parallel product adds its part of the bias.
!x = tensor<?x64xf32, #grid.layout<[_, _]>>
!w = tensor<16x64xf32, #grid.layout<[block "tp", _]>>
!b = tensor<16xf32, #grid.layout<[block "tp"]>>
!columns = tensor<?x16xf32, #grid.layout<[_, block "tp"]>>
func.func @bias_in_column_parallel(%x: !x, %w: !w, %b: !b) {
  %0 = decoder.linear %x, %w, %b : (!x, !w, !b) -> !columns
  return
}

// -----

!x = tensor<?x64xf32, #grid.layout<[_, _]>>
!w = tensor<16x64xf32, #grid.layout<[block "tp", _]>>
!b = tensor<16xf32, #grid.layout<[_]>>
!columns = tensor<?x16xf32, #grid.layout<[_, block "tp"]>>
func.func @whole_bias_in_column_parallel(%x: !x, %w: !w, %b: !b) {
  // expected-error @below {{takes operands that hold different parts of 'out': operand #1 is split as #grid.split<block "tp">, operand #2 is whole}}
  %0 = decoder.linear %x, %w, %b : (!x, !w, !b) -> !columns
  return
}

// -----

//===----------------------------------------------------------------------===//
// 3. The operands of a row op hold the same rows
//===----------------------------------------------------------------------===//

!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @residual_rows_and_whole_addend(%residual: !rows, %x: !whole) {
  // expected-error @below {{takes operands that hold different parts of 'tokens': operand #0 is split as #grid.split<block "tp">, operand #1 is whole}}
  %0 = decoder.add %residual, %x : (!rows, !whole) -> !rows
  return
}

// -----

// As many rows, other rows.
!block = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!zigzag = tensor<?x16xf32, #grid.layout<[zigzag "tp", _]>>
func.func @rows_of_another_kind(%residual: !block, %x: !zigzag) {
  // expected-error @below {{different parts of 'tokens': operand #0 is split as #grid.split<block "tp">, operand #1 is split as #grid.split<zigzag "tp">}}
  %0 = decoder.add %residual, %x : (!block, !zigzag) -> !block
  return
}

// -----

!tp = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!cp = tensor<?x16xf32, #grid.layout<[block "cp", _]>>
func.func @rows_of_another_axis(%residual: !tp, %x: !cp) {
  // expected-error @below {{different parts of 'tokens': operand #0 is split as #grid.split<block "tp">, operand #1 is split as #grid.split<block "cp">}}
  %0 = decoder.add %residual, %x : (!tp, !cp) -> !tp
  return
}

// -----

// Positions travel with the rows: local row numbers are none.
!x = tensor<?x2x4xf32, #grid.layout<[block "cp", _, _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
func.func @positions_of_all_rows(%x: !x, %pos: !pos) {
  // expected-error @below {{different parts of 'tokens': operand #0 is split as #grid.split<block "cp">, operand #1 is whole}}
  %0 = decoder.rope %x, %pos {style = #decoder.rope_style<half>, table = #decoder.rope_table<[1.0], factor 1.0>} : (!x, !pos) -> !x
  return
}

// -----

!x = tensor<?x2x4xf32, #grid.layout<[block "cp", _, _]>>
!all = tensor<?xi64, #grid.layout<[_]>>
!pos = tensor<?xi64, #grid.layout<[block "cp"]>>
func.func @positions_of_own_rows(%x: !x, %all: !all) {
  %pos = grid.slice %all dim 0 over "cp" : !all -> !pos
  %0 = decoder.rope %x, %pos {style = #decoder.rope_style<half>, table = #decoder.rope_table<[1.0], factor 1.0>} : (!x, !pos) -> !x
  return
}

// -----

//===----------------------------------------------------------------------===//
// 4. What an op needs whole is not split
//===----------------------------------------------------------------------===//

// The mean of a part of the features is not the mean.
!x = tensor<?x16xf32, #grid.layout<[_, block "tp"]>>
!n = tensor<16xf32, #grid.layout<[block "tp"]>>
func.func @norm_of_columns(%x: !x, %n: !n) {
  // expected-error @below {{needs dimension 1 (width) of operand #0 whole, but it is split over "tp"; gather it first}}
  %0 = decoder.norm %x, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!x, !n) -> !x
  return
}

// -----

// The best experts of a part are not the best.
!x = tensor<?x8xf32, #grid.layout<[_, block "tp"]>>
!ids = tensor<?x2xi32, #grid.layout<[_, _]>>
!gates = tensor<?x2xf32, #grid.layout<[_, _]>>
func.func @router_of_columns(%x: !x) {
  // expected-error @below {{needs dimension 1 (experts) of operand #0 whole}}
  %0:2 = decoder.router %x {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true} : (!x) -> (!ids, !gates)
  return
}

// -----

// Query rows may be split; the KV that they look at is there.
!q = tensor<?x2x4xf32, #grid.layout<[block "cp", _, _]>>
!kv = tensor<?x2x4xf32, #grid.layout<[_, _, _]>>
!pos = tensor<?xi64, #grid.layout<[block "cp"]>>
!kpos = tensor<?xi64, #grid.layout<[_]>>
func.func @split_queries(%q: !q, %k: !kv, %v: !kv, %pos: !pos, %kpos: !kpos) {
  %0 = decoder.attention %q, %k, %v, %pos, %kpos {scale = 0.5 : f64, causal = true} : (!q, !kv, !kv, !pos, !kpos) -> !q
  return
}

// -----

!q = tensor<?x2x4xf32, #grid.layout<[block "cp", _, _]>>
!pos = tensor<?xi64, #grid.layout<[block "cp"]>>
func.func @split_keys(%q: !q, %k: !q, %v: !q, %pos: !pos) {
  // expected-error @below {{needs dimension 0 (context) of operand #1 whole, but it is split over "cp"; gather it first}}
  %0 = decoder.attention %q, %k, %v, %pos, %pos {scale = 0.5 : f64, causal = true} : (!q, !q, !q, !pos, !pos) -> !q
  return
}

// -----

// A cache keeps all rows, in global order.
!kv = tensor<?x2x4xf32, #grid.layout<[block "cp", _, _]>>
func.func @cache_of_rows(%k: !kv) {
  // expected-error @below {{needs dimension 0 (rows) of operand #0 whole}}
  %0 = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<key>} : (!kv) -> !kv
  return
}

// -----

// Heads are not cut.
!x = tensor<?x16xf32, #grid.layout<[_, block "tp" x 2]>>
!heads = tensor<?x4x4xf32, #grid.layout<[_, block "tp", _]>>
func.func @cut_heads(%x: !x) {
  // expected-error @below {{operand #0 is split in units of 2 elements in dimension 1, which cut items of 4 (heads)}}
  %0 = decoder.split_heads %x : (!x) -> !heads
  return
}

// -----

// A part in units of heads is a part of heads.
!x = tensor<?x16xf32, #grid.layout<[_, block "tp" x 4]>>
!heads = tensor<?x4x4xf32, #grid.layout<[_, block "tp", _]>>
func.func @whole_heads(%x: !x) -> !x {
  %0 = decoder.split_heads %x : (!x) -> !heads
  %1 = decoder.merge_heads %0 : (!heads) -> !x
  return %1 : !x
}

// -----

//===----------------------------------------------------------------------===//
// 5. One axis splits one factor: p parts by p parts need p * p ranks
//===----------------------------------------------------------------------===//

!x = tensor<?x64xf32, #grid.layout<[block "tp", _]>>
!w = tensor<16x64xf32, #grid.layout<[block "tp", _]>>
func.func @diagonal_blocks(%x: !x, %w: !w) {
  // expected-error @below {{splits 'tokens' and 'out' over one axis "tp": its ranks cover only the diagonal blocks of the two}}
  %0 = decoder.linear %x, %w : (!x, !w) -> tensor<?x16xf32, #grid.layout<[block "tp", _]>>
  return
}

// -----

// Tokens and heads, the heads by way of the KV heads' readers.
!q = tensor<?x6x4xf32, #grid.layout<[block "cp", block "tp", _]>>
!kv = tensor<?x2x4xf32, #grid.layout<[_, readers(6) "tp", _]>>
!pos = tensor<?xi64, #grid.layout<[block "cp"]>>
!kpos = tensor<?xi64, #grid.layout<[_]>>
func.func @tokens_and_heads_over_two_axes(%q: !q, %k: !kv, %v: !kv, %pos: !pos, %kpos: !kpos) {
  %0 = decoder.attention %q, %k, %v, %pos, %kpos {scale = 0.5 : f64, causal = true} : (!q, !kv, !kv, !pos, !kpos) -> !q
  return
}

// -----

// The query heads are whole, the tokens split over the axis of the KV heads.
!q = tensor<?x6x4xf32, #grid.layout<[block "tp", _, _]>>
!kv = tensor<?x2x4xf32, #grid.layout<[_, readers(6) "tp", _]>>
!pos = tensor<?xi64, #grid.layout<[block "tp"]>>
!kpos = tensor<?xi64, #grid.layout<[_]>>
func.func @tokens_and_kv_heads(%q: !q, %k: !kv, %v: !kv, %pos: !pos, %kpos: !kpos) {
  // expected-error @below {{'KV heads' is split as #grid.split<readers(6) "tp"> while 'heads' is whole: a rank would not hold the KV heads that its query heads read}}
  %0 = decoder.attention %q, %k, %v, %pos, %kpos {scale = 0.5 : f64, causal = true} : (!q, !kv, !kv, !pos, !kpos) -> !q
  return
}

// -----

//===----------------------------------------------------------------------===//
// 6. A rank holds the KV heads that its query heads read
//===----------------------------------------------------------------------===//

!q = tensor<?x6x4xf32, #grid.layout<[_, block "tp", _]>>
!kv = tensor<?x2x4xf32, #grid.layout<[_, readers(6) "tp", _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
func.func @kv_heads_read(%q: !q, %k: !kv, %v: !kv, %pos: !pos) {
  %0 = decoder.attention %q, %k, %v, %pos, %pos {scale = 0.5 : f64, causal = true} : (!q, !kv, !kv, !pos, !pos) -> !q
  return
}

// -----

// All KV heads include those read.
!q = tensor<?x6x4xf32, #grid.layout<[_, block "tp", _]>>
!kv = tensor<?x2x4xf32, #grid.layout<[_, _, _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
func.func @all_kv_heads(%q: !q, %k: !kv, %v: !kv, %pos: !pos) {
  %0 = decoder.attention %q, %k, %v, %pos, %pos {scale = 0.5 : f64, causal = true} : (!q, !kv, !kv, !pos, !pos) -> !q
  return
}

// -----

// Blocks of KV heads: over 4 ranks, 2 KV heads are on ranks 0 and 1 only.
!q = tensor<?x6x4xf32, #grid.layout<[_, block "tp", _]>>
!kv = tensor<?x2x4xf32, #grid.layout<[_, block "tp", _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
func.func @block_kv_heads(%q: !q, %k: !kv, %v: !kv, %pos: !pos) {
  // expected-error @below {{'KV heads' is split as #grid.split<block "tp"> while 'heads' is split as #grid.split<block "tp">}}
  %0 = decoder.attention %q, %k, %v, %pos, %pos {scale = 0.5 : f64, causal = true} : (!q, !kv, !kv, !pos, !pos) -> !q
  return
}

// -----

// Readers, but of another number of query heads.
!q = tensor<?x6x4xf32, #grid.layout<[_, block "tp", _]>>
!kv = tensor<?x2x4xf32, #grid.layout<[_, readers(8) "tp", _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
func.func @kv_heads_of_other_queries(%q: !q, %k: !kv, %v: !kv, %pos: !pos) {
  // expected-error @below {{'KV heads' is split as #grid.split<readers(8) "tp"> while 'heads' is split as #grid.split<block "tp">}}
  %0 = decoder.attention %q, %k, %v, %pos, %pos {scale = 0.5 : f64, causal = true} : (!q, !kv, !kv, !pos, !pos) -> !q
  return
}

// -----

// Readers, but over another axis.
!q = tensor<?x6x4xf32, #grid.layout<[_, block "tp", _]>>
!kv = tensor<?x2x4xf32, #grid.layout<[_, readers(6) "cp", _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
func.func @kv_heads_over_other_axis(%q: !q, %k: !kv, %v: !kv, %pos: !pos) {
  // expected-error @below {{'KV heads' is split as #grid.split<readers(6) "cp"> while 'heads' is split as #grid.split<block "tp">}}
  %0 = decoder.attention %q, %k, %v, %pos, %pos {scale = 0.5 : f64, causal = true} : (!q, !kv, !kv, !pos, !pos) -> !q
  return
}

// -----

// `readers` describes parts of blocks of query heads, not of other parts.
!q = tensor<?x6x4xf32, #grid.layout<[_, cyclic(1) "tp", _]>>
!kv = tensor<?x2x4xf32, #grid.layout<[_, readers(6) "tp", _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
func.func @cyclic_query_heads(%q: !q, %k: !kv, %v: !kv, %pos: !pos) {
  // expected-error @below {{'KV heads' is split as #grid.split<readers(6) "tp"> while 'heads' is split as #grid.split<cyclic(1) "tp">}}
  %0 = decoder.attention %q, %k, %v, %pos, %pos {scale = 0.5 : f64, causal = true} : (!q, !kv, !kv, !pos, !pos) -> !q
  return
}

// -----

// Query heads in pairs.
!q = tensor<?x6x4xf32, #grid.layout<[_, block "tp" x 2, _]>>
!kv = tensor<?x2x4xf32, #grid.layout<[_, readers(6) "tp", _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
func.func @paired_query_heads(%q: !q, %k: !kv, %v: !kv, %pos: !pos) {
  // expected-error @below {{'KV heads' is split as #grid.split<readers(6) "tp"> while 'heads' is split as #grid.split<block "tp" x 2>}}
  %0 = decoder.attention %q, %k, %v, %pos, %pos {scale = 0.5 : f64, causal = true} : (!q, !kv, !kv, !pos, !pos) -> !q
  return
}

// -----

// A head that several ranks hold would count more than once in a sum.
!x = tensor<?x8xf32, #grid.layout<[_, readers(6) "tp" x 4]>>
!w = tensor<16x8xf32, #grid.layout<[_, readers(6) "tp" x 4]>>
func.func @readers_summed(%x: !x, %w: !w) {
  // expected-error @below {{sums over 'in', which is split as #grid.split<readers(6) "tp" x 4>: items held by several ranks would count more than once}}
  %0 = decoder.linear %x, %w : (!x, !w) -> tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Shapes, and all or nothing is placed
//===----------------------------------------------------------------------===//

func.func @rank(%x: tensor<?x4x16xf32>, %w: tensor<32x16xf32>) {
  // expected-error @below {{operand #0 has 3 dimensions, expected 2}}
  %0 = decoder.linear %x, %w : (tensor<?x4x16xf32>, tensor<32x16xf32>) -> tensor<?x32xf32>
  return
}

// -----

func.func @result_rank(%x: tensor<?x16xf32>, %w: tensor<32x16xf32>) {
  // expected-error @below {{result #0 has 1 dimensions, expected 2}}
  %0 = decoder.linear %x, %w : (tensor<?x16xf32>, tensor<32x16xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @extent(%x: tensor<?x16xf32>, %w: tensor<32x8xf32>) {
  // expected-error @below {{'in' is 16 in operand #0, but 8 in operand #1}}
  %0 = decoder.linear %x, %w : (tensor<?x16xf32>, tensor<32x8xf32>) -> tensor<?x32xf32>
  return
}

// -----

func.func @items(%x: tensor<?x18xf32>) {
  // expected-error @below {{operand #0 has 18 elements in dimension 1 (heads), expected a multiple of 4}}
  %0 = decoder.split_heads %x : (tensor<?x18xf32>) -> tensor<?x4x4xf32>
  return
}

// -----

// Only the number of rows is not known.
func.func @dynamic_features(%x: tensor<?x?xf32>) {
  // expected-error @below {{operand #0 has a dynamic dimension 1; only the rows may be}}
  %0 = decoder.scale %x {factor = 2.0 : f64} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return
}

// -----

!placed = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @half_placed(%x: !placed) {
  // expected-error @below {{mixes values with and without a layout}}
  %0 = decoder.scale %x {factor = 2.0 : f64} : (!placed) -> tensor<?x16xf32>
  return
}

// -----

// The layout of a result follows from the operands'.
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
func.func @result_layout(%x: !whole) {
  // expected-error @below {{result #0 has the layout #grid.layout<[block "tp", _]>, but its operands give #grid.layout<[_, _]>}}
  %0 = decoder.scale %x {factor = 2.0 : f64} : (!whole) -> !rows
  return
}
