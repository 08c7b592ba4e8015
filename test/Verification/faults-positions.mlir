// RUN: layline-opt %s -split-input-file -verify-diagnostics -verify-positions -verify-equivalence -o /dev/null

// Public faults about the positions and the order of rows.

// RoPE behind the gather, with local row numbers (sglang #32098).

#rope = #decoder.rope_table<[1.0], factor 1.0>
!k = tensor<?x2x4xf32>
!rows = tensor<?x2x4xf32, #grid.layout<[zigzag "cp", _, _]>>
!whole = tensor<?x2x4xf32, #grid.layout<[_, _, _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
!pos_rows = tensor<?xi64, #grid.layout<[zigzag "cp"]>>

func.func private @reference(%x: !k, %pos: tensor<?xi64> {decoder.input = "positions"}) -> !k attributes {decoder.reference} {
  %0 = decoder.rope %x, %pos {style = #decoder.rope_style<half>, table = #rope} : (!k, tensor<?xi64>) -> !k
  return %0 : !k
}

// Before the gather with the rows' own positions, or behind it with all.
func.func @before(%x: !rows, %pos: !pos {decoder.input = "positions"}) -> !whole {
  %p = grid.slice %pos dim 0 over "cp" : !pos -> !pos_rows
  %0 = decoder.rope %x, %p {style = #decoder.rope_style<half>, table = #rope} : (!rows, !pos_rows) -> !rows
  %1 = grid.all_gather %0 dim 0 over "cp" : !rows -> !whole
  return %1 : !whole
}
func.func @behind(%x: !rows, %pos: !pos {decoder.input = "positions"}) -> !whole {
  %0 = grid.all_gather %x dim 0 over "cp" : !rows -> !whole
  %1 = decoder.rope %0, %pos {style = #decoder.rope_style<half>, table = #rope} : (!whole, !pos) -> !whole
  return %1 : !whole
}

// -----

#rope = #decoder.rope_table<[1.0], factor 1.0>
!k = tensor<?x2x4xf32>
!rows = tensor<?x2x4xf32, #grid.layout<[zigzag "cp", _, _]>>
!whole = tensor<?x2x4xf32, #grid.layout<[_, _, _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
!pos_rows = tensor<?xi64, #grid.layout<[zigzag "cp"]>>
func.func private @reference(%x: !k, %pos: tensor<?xi64> {decoder.input = "positions"}) -> !k attributes {decoder.reference} {
  %0 = decoder.rope %x, %pos {style = #decoder.rope_style<half>, table = #rope} : (!k, tensor<?xi64>) -> !k
  return %0 : !k
}
func.func @local_positions(%x: !rows, %pos: !pos {decoder.input = "positions"}) -> !whole {
  %p = grid.slice %pos dim 0 over "cp" : !pos -> !pos_rows
  // expected-note @below {{they come from here}}
  %local = builtin.unrealized_conversion_cast %p : !pos_rows to !pos
  %0 = grid.all_gather %x dim 0 over "cp" : !rows -> !whole
  // expected-error @below {{reads positions (operand #1) that are not the program's input "positions", but what 'builtin.unrealized_conversion_cast' makes of them: a rank's own row numbers are no positions}}
  %1 = decoder.rope %0, %local {style = #decoder.rope_style<half>, table = #rope} : (!whole, !pos) -> !whole
  return %1 : !whole
}

// -----

// The gather is put off and its rows come in rank order (sglang #29161): a
// relabelling of zigzag rows as if they were in global order.

!kv = tensor<?x2x4xf32>
!p = tensor<?xi64>
!rows = tensor<?x2x4xf32, #grid.layout<[zigzag "cp", _, _]>>
!whole = tensor<?x2x4xf32, #grid.layout<[_, _, _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
func.func private @reference(%k: !kv) -> !kv attributes {decoder.reference} {
  %0 = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<key>} : (!kv) -> !kv
  return %0 : !kv
}
func.func @global_order(%k: !rows) -> !whole {
  %0 = grid.all_gather %k dim 0 over "cp" : !rows -> !whole
  %1 = decoder.cache %0 {layer = 0 : si64, plane = #decoder.plane<key>} : (!whole) -> !whole
  return %1 : !whole
}

// -----

!kv = tensor<?x2x4xf32>
!rows = tensor<?x2x4xf32, #grid.layout<[zigzag "cp", _, _]>>
!blocks = tensor<?x2x4xf32, #grid.layout<[block "cp", _, _]>>
!whole = tensor<?x2x4xf32, #grid.layout<[_, _, _]>>
// expected-note @below {{imported here}}
func.func private @reference(%k: !kv) -> !kv attributes {decoder.reference} {
  %0 = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<key>} : (!kv) -> !kv
  return %0 : !kv
}
// expected-error @below {{returns as result #0 another value than the imported program}}
func.func @rank_order(%k: !rows) -> !whole {
  // expected-note @below {{'builtin.unrealized_conversion_cast' is no op of the imported program, and no collective: what it does to the order of rows is not known}}
  %0 = builtin.unrealized_conversion_cast %k : !rows to !blocks
  %1 = grid.all_gather %0 dim 0 over "cp" : !blocks -> !whole
  %2 = decoder.cache %1 {layer = 0 : si64, plane = #decoder.plane<key>} : (!whole) -> !whole
  return %2 : !whole
}

// -----

// Two views of one batch (sglang #20531): the rows of a context-parallel rank
// with the positions of all.

#rope = #decoder.rope_table<[1.0], factor 1.0>
!rows = tensor<?x2x4xf32, #grid.layout<[zigzag "cp", _, _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
func.func @unfiltered_positions(%x: !rows, %pos: !pos {decoder.input = "positions"}) -> !rows {
  // expected-error @below {{takes operands that hold different parts of 'tokens': operand #0 is split as #grid.split<zigzag "cp">, operand #1 is whole}}
  %0 = decoder.rope %x, %pos {style = #decoder.rope_style<half>, table = #rope} : (!rows, !pos) -> !rows
  return %0 : !rows
}

// -----

// ... and rows that were filtered in another way.
#rope = #decoder.rope_table<[1.0], factor 1.0>
!rows = tensor<?x2x4xf32, #grid.layout<[zigzag "cp", _, _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
!pos_rows = tensor<?xi64, #grid.layout<[block "cp"]>>
func.func @otherwise_filtered(%x: !rows, %pos: !pos {decoder.input = "positions"}) -> !rows {
  %p = grid.slice %pos dim 0 over "cp" : !pos -> !pos_rows
  // expected-error @below {{operand #0 is split as #grid.split<zigzag "cp">, operand #1 is split as #grid.split<block "cp">}}
  %0 = decoder.rope %x, %p {style = #decoder.rope_style<half>, table = #rope} : (!rows, !pos_rows) -> !rows
  return %0 : !rows
}

// -----

// The queries of a rank's rows with a mask of positions of all.
!q = tensor<?x2x4xf32, #grid.layout<[zigzag "cp", _, _]>>
!kv = tensor<?x2x4xf32, #grid.layout<[_, _, _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
func.func @unfiltered_mask(%q: !q, %k: !kv, %pos: !pos {decoder.input = "positions"}) -> !q {
  // expected-error @below {{takes operands that hold different parts of 'tokens': operand #0 is split as #grid.split<zigzag "cp">, operand #3 is whole}}
  %0 = decoder.attention %q, %k, %k, %pos, %pos {scale = 0.5 : f64, causal = true} : (!q, !kv, !kv, !pos, !pos) -> !q
  return %0 : !q
}
