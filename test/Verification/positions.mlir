// RUN: layline-opt %s -split-input-file -verify-diagnostics -verify-positions

// Whoever reads positions reads those of its own rows. Each fault stands beside
// the program that is right.

#rope = #decoder.rope_table<[1.0], factor 1.0>
func.func @rope(%x: tensor<?x2x4xf32>, %pos: tensor<?xi64> {decoder.input = "positions"}) {
  %0 = decoder.rope %x, %pos {style = #decoder.rope_style<half>, table = #rope} : (tensor<?x2x4xf32>, tensor<?xi64>) -> tensor<?x2x4xf32>
  return
}

// -----

// Token ids have the right type and the right number of rows.
#rope = #decoder.rope_table<[1.0], factor 1.0>
// expected-note @below {{they come from here}}
func.func @ids_as_positions(%x: tensor<?x2x4xf32>, %ids: tensor<?xi64> {decoder.input = "input_ids"}) {
  // expected-error @below {{reads positions (operand #1) that are not the program's input "positions"}}
  %0 = decoder.rope %x, %ids {style = #decoder.rope_style<half>, table = #rope} : (tensor<?x2x4xf32>, tensor<?xi64>) -> tensor<?x2x4xf32>
  return
}

// -----

// An input that says nothing of itself holds no positions.
#rope = #decoder.rope_table<[1.0], factor 1.0>
// expected-note @below {{they come from here}}
func.func @unnamed(%x: tensor<?x2x4xf32>, %p: tensor<?xi64>) {
  // expected-error @below {{reads positions (operand #1) that are not the program's input "positions"}}
  %0 = decoder.rope %x, %p {style = #decoder.rope_style<half>, table = #rope} : (tensor<?x2x4xf32>, tensor<?xi64>) -> tensor<?x2x4xf32>
  return
}

// -----

// Numbers that some op computes are no positions.
#rope = #decoder.rope_table<[1.0], factor 1.0>
func.func @computed(%x: tensor<?x1x4xf32>, %l: tensor<?x8xf32>, %h: tensor<?x1xf32>) {
  %ids, %w = decoder.router %l {top_k = 1, scoring = #decoder.scoring<softmax>, renormalize = true} : (tensor<?x8xf32>) -> (tensor<?x1xi64>, tensor<?x1xf32>)
  // expected-note @below {{they come from here}}
  %p = "builtin.unrealized_conversion_cast"(%ids) : (tensor<?x1xi64>) -> tensor<?xi64>
  // expected-error @below {{reads positions (operand #1) that are not the program's input "positions"}}
  %0 = decoder.rope %x, %p {style = #decoder.rope_style<half>, table = #rope} : (tensor<?x1x4xf32>, tensor<?xi64>) -> tensor<?x1x4xf32>
  return
}

// -----

// Positions of a rank's rows: slices, gathers and kernels hand them on.
#rope = #decoder.rope_table<[1.0], factor 1.0>
!pos = tensor<?xi64, #grid.layout<[_]>>
!pos_rows = tensor<?xi64, #grid.layout<[block "tp"]>>
!rows = tensor<?x2x4xf32, #grid.layout<[block "tp", _, _]>>
func.func @sliced(%x: !rows, %pos: !pos {decoder.input = "positions"}) {
  %p = grid.slice %pos dim 0 over "tp" : !pos -> !pos_rows
  %0 = decoder.rope %x, %p {style = #decoder.rope_style<half>, table = #rope} : (!rows, !pos_rows) -> !rows
  return
}

func.func @through_kernel(%x: !rows, %pos: !pos {decoder.input = "positions"}) {
  %p = grid.fused "slice+slice" {
    %a = grid.slice %pos dim 0 over "tp" : !pos -> !pos_rows
    %b = grid.all_gather %a dim 0 over "tp" : !pos_rows -> !pos
    %c = grid.slice %b dim 0 over "tp" : !pos -> !pos_rows
    grid.yield %c : !pos_rows
  } : !pos_rows
  %0 = decoder.rope %x, %p {style = #decoder.rope_style<half>, table = #rope} : (!rows, !pos_rows) -> !rows
  return
}

// -----

!q = tensor<?x2x4xf32>
!p = tensor<?xi64>
func.func @attention(%q: !q, %k: !q, %v: !q, %pos: !p {decoder.input = "positions"}) {
  %kpos = decoder.cache %pos {layer = -1 : si64, plane = #decoder.plane<positions>} : (!p) -> !p
  %keys = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<key>} : (!q) -> !q
  %vals = decoder.cache %v {layer = 0 : si64, plane = #decoder.plane<value>} : (!q) -> !q
  %0 = decoder.attention %q, %keys, %vals, %pos, %kpos {scale = 0.5 : f64, causal = true} : (!q, !q, !q, !p, !p) -> !q
  return
}

// -----

// Key positions for the queries: they begin with those of cached rows.
!q = tensor<?x2x4xf32>
!p = tensor<?xi64>
func.func @key_positions_for_queries(%q: !q, %k: !q, %v: !q, %pos: !p {decoder.input = "positions"}) {
  %kpos = decoder.cache %pos {layer = -1 : si64, plane = #decoder.plane<positions>} : (!p) -> !p
  %keys = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<key>} : (!q) -> !q
  %vals = decoder.cache %v {layer = 0 : si64, plane = #decoder.plane<value>} : (!q) -> !q
  // expected-error @below {{reads the positions of cached rows and the step's (operand #3) for operand #0, which holds the step's rows only}}
  %0 = decoder.attention %q, %keys, %vals, %kpos, %kpos {scale = 0.5 : f64, causal = true} : (!q, !q, !q, !p, !p) -> !q
  return
}

// -----

// The step's positions for cached keys.
!q = tensor<?x2x4xf32>
!p = tensor<?xi64>
func.func @step_positions_for_keys(%q: !q, %k: !q, %v: !q, %pos: !p {decoder.input = "positions"}) {
  %keys = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<key>} : (!q) -> !q
  %vals = decoder.cache %v {layer = 0 : si64, plane = #decoder.plane<value>} : (!q) -> !q
  // expected-error @below {{reads the positions of the step's rows only (operand #4) for operand #1, which holds cached rows and the step's}}
  %0 = decoder.attention %q, %keys, %vals, %pos, %pos {scale = 0.5 : f64, causal = true} : (!q, !q, !q, !p, !p) -> !q
  return
}

// -----

// Keys of the cache with values of the step.
!q = tensor<?x2x4xf32>
!p = tensor<?xi64>
func.func @step_values(%q: !q, %k: !q, %v: !q, %pos: !p {decoder.input = "positions"}) {
  %kpos = decoder.cache %pos {layer = -1 : si64, plane = #decoder.plane<positions>} : (!p) -> !p
  %keys = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<key>} : (!q) -> !q
  // expected-error @below {{(operand #4) for operand #2, which holds the step's rows only}}
  %0 = decoder.attention %q, %keys, %v, %pos, %kpos {scale = 0.5 : f64, causal = true} : (!q, !q, !q, !p, !p) -> !q
  return
}

// -----

// A step without history: keys and values of the step, with its positions.
!q = tensor<?x2x4xf32>
!p = tensor<?xi64>
func.func @no_cache(%q: !q, %k: !q, %v: !q, %pos: !p {decoder.input = "positions"}) {
  %0 = decoder.attention %q, %k, %v, %pos, %pos {scale = 0.5 : f64, causal = true} : (!q, !q, !q, !p, !p) -> !q
  return
}

// -----

// Positions that were cached twice have two histories in front of the step.
!q = tensor<?x2x4xf32>
!p = tensor<?xi64>
func.func @cached_twice(%q: !q, %k: !q, %v: !q, %pos: !p {decoder.input = "positions"}) {
  %once = decoder.cache %pos {layer = -1 : si64, plane = #decoder.plane<positions>} : (!p) -> !p
  %kpos = decoder.cache %once {layer = -1 : si64, plane = #decoder.plane<positions>} : (!p) -> !p
  %keys = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<key>} : (!q) -> !q
  %vals = decoder.cache %v {layer = 0 : si64, plane = #decoder.plane<value>} : (!q) -> !q
  // expected-error @below {{reads the positions of rows that were cached 2 times (operand #4) for operand #1, which holds cached rows and the step's}}
  %0 = decoder.attention %q, %keys, %vals, %pos, %kpos {scale = 0.5 : f64, causal = true} : (!q, !q, !q, !p, !p) -> !q
  return
}

// -----

// Heads padded for a kernel are heads of the same rows.
!q = tensor<?x6x4xf32, #grid.layout<[_, block "tp", _]>>
!padded = tensor<?x6x4xf32, #grid.layout<[_, block "tp" pad 64, _]>>
!kv_heads = tensor<?x2x4xf32, #grid.layout<[_, readers(6) "tp", _]>>
!p = tensor<?xi64, #grid.layout<[_]>>
func.func @padded_heads(%q: !q, %k: !kv_heads, %v: !kv_heads, %pos: !p {decoder.input = "positions"}) {
  %kpos = decoder.cache %pos {layer = -1 : si64, plane = #decoder.plane<positions>} : (!p) -> !p
  %keys = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<key>} : (!kv_heads) -> !kv_heads
  %vals = decoder.cache %v {layer = 0 : si64, plane = #decoder.plane<value>} : (!kv_heads) -> !kv_heads
  %0 = grid.pad %q dim 1 to 64 : !q -> !padded
  %1 = decoder.attention %0, %keys, %vals, %pos, %kpos {scale = 0.5 : f64, causal = true} : (!padded, !kv_heads, !kv_heads, !p, !p) -> !padded
  return
}
