// RUN: layline-opt %s -split-input-file -verify-diagnostics -mlir-very-unsafe-disable-verifier-on-parsing -verify-each=0 -verify-consumers -allow-unregistered-dialect -o /dev/null

// Every reader of a rewritten value gets what it needs. The ops are not
// verified: the net stands alone. Right programs first; each fault is one change
// of a right one.

//===----------------------------------------------------------------------===//
// Must not fire
//===----------------------------------------------------------------------===//

#rms = #decoder.norm_kind<rms>
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!n = tensor<16xf32, #grid.layout<[_]>>
!up = tensor<32x16xf32, #grid.layout<[block "tp", _]>>
!down = tensor<16x32xf32, #grid.layout<[_, block "tp"]>>
!columns = tensor<?x32xf32, #grid.layout<[_, block "tp"]>>
!a = tensor<8x16xf32, #grid.layout<[_, _]>>
!latent_rows = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!latent = tensor<?x8xf32, #grid.layout<[_, _]>>

func.func @boundary(%x: !whole, %n: !n, %up: !up, %down: !down) -> !whole {
  %r = grid.slice %x dim 0 over "tp" : !whole -> !rows
  %0 = decoder.linear %x, %up : (!whole, !up) -> !columns
  %p = decoder.linear %0, %down : (!columns, !down) -> !owes
  %h, %g = grid.fused "reduce_scatter+add+norm+all_gather" {
    %1 = grid.reduce_scatter %p dim 0 over "tp" : !owes -> !rows
    %2 = decoder.add %r, %1 : (!rows, !rows) -> !rows
    %3 = decoder.norm %2, %n {kind = #rms, eps = 1.0e-6 : f64} : (!rows, !n) -> !rows
    %4 = grid.all_gather %3 dim 0 over "tp" : !rows -> !whole
    grid.yield %2, %4 : !rows, !whole
  } : !rows, !whole
  %5 = decoder.linear %g, %up : (!whole, !up) -> !columns
  %q = decoder.linear %5, %down : (!columns, !down) -> !owes
  %6 = grid.reduce_scatter %q dim 0 over "tp" : !owes -> !rows
  %7 = decoder.add %h, %6 : (!rows, !rows) -> !rows
  %8 = grid.all_gather %7 dim 0 over "tp" : !rows -> !whole
  return %8 : !whole
}

// The main branch takes the narrower latent, another one the hidden: both are
// gathered.
func.func @two_branches(%h: !rows, %a: !a, %up: !up) -> (!latent, !columns) {
  %0 = decoder.linear %h, %a : (!rows, !a) -> !latent_rows
  %1 = grid.all_gather %0 dim 0 over "tp" : !latent_rows -> !latent
  %2 = grid.all_gather %h dim 0 over "tp" : !rows -> !whole
  %3 = decoder.linear %2, %up : (!whole, !up) -> !columns
  return %1, %3 : !latent, !columns
}

// ... or the other branch is worked out on the rows, and its result gathered.
func.func @branch_by_rows(%h: !rows, %a: !a, %b: !a) -> (!latent, !latent) {
  %0 = decoder.linear %h, %a : (!rows, !a) -> !latent_rows
  %1 = decoder.linear %h, %b : (!rows, !a) -> !latent_rows
  %2 = grid.all_gather %0 dim 0 over "tp" : !latent_rows -> !latent
  %3 = grid.all_gather %1 dim 0 over "tp" : !latent_rows -> !latent
  return %2, %3 : !latent, !latent
}

// A sum may be owed on, and paid in part.
!owes2 = tensor<?x16xf32, #grid.layout<[_, _] owes "ep", "tp">>
!owes_ep = tensor<?x16xf32, #grid.layout<[_, _] owes "ep">>
func.func @owed_on(%p: !owes2) -> !whole {
  %0 = decoder.scale %p {factor = 2.0 : f64} : (!owes2) -> !owes2
  %1 = grid.all_reduce %0 over ["tp"] : !owes2 -> !owes_ep
  %2 = decoder.scale %1 {factor = 2.0 : f64} : (!owes_ep) -> !owes_ep
  %3 = grid.all_reduce %2 over ["ep"] : !owes_ep -> !whole
  return %3 : !whole
}

// Rows over one axis and heads over another cover the grid of both.
!cp_rows = tensor<?x16xf32, #grid.layout<[zigzag "cp", _]>>
!cp_columns = tensor<?x32xf32, #grid.layout<[zigzag "cp", block "tp"]>>
func.func @two_axes(%x: !cp_rows, %up: !up) -> !cp_columns {
  %0 = decoder.linear %x, %up : (!cp_rows, !up) -> !cp_columns
  return %0 : !cp_columns
}

// Rows dealt out again, and gathered one axis after the other.
!both = tensor<?x16xf32, #grid.layout<[zigzag "cp" then block "tp", _]>>
func.func @nested(%x: !cp_rows) -> !whole {
  %0 = grid.slice %x dim 0 over "tp" : !cp_rows -> !both
  %1 = decoder.scale %0 {factor = 2.0 : f64} : (!both) -> !both
  %2 = grid.all_gather %1 dim 0 over "tp" : !both -> !cp_rows
  %3 = grid.all_gather %2 dim 0 over "cp" : !cp_rows -> !whole
  return %3 : !whole
}

// Query heads padded for a kernel; KV heads follow the valid ones.
!q = tensor<?x6x4xf32, #grid.layout<[_, block "tp", _]>>
!padded = tensor<?x6x4xf32, #grid.layout<[_, block "tp" pad 64, _]>>
!kv = tensor<?x2x4xf32, #grid.layout<[_, readers(6) "tp", _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
func.func @padded_heads(%q: !q, %k: !kv, %v: !kv, %pos: !pos) -> !q {
  %0 = grid.pad %q dim 1 to 64 : !q -> !padded
  %1 = decoder.attention %0, %k, %v, %pos, %pos {scale = 0.5 : f64, causal = true} : (!padded, !kv, !kv, !pos, !pos) -> !padded
  %2 = grid.unpad %1 dim 1 : !padded -> !q
  return %2 : !q
}

// A program that has not been placed.
func.func @not_placed(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %0 = decoder.scale %x {factor = 2.0 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  return %0 : tensor<?x16xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

// The hidden is kept by rows for the latent's sake; the branch that needs the
// original hidden reads what is left of it.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!up = tensor<32x16xf32, #grid.layout<[block "tp", _]>>
!columns = tensor<?x32xf32, #grid.layout<[_, block "tp"]>>
!a = tensor<8x16xf32, #grid.layout<[_, _]>>
!latent_rows = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!latent = tensor<?x8xf32, #grid.layout<[_, _]>>
func.func @hidden_is_dropped(%x: !whole, %a: !a, %up: !up) -> (!latent, !columns) {
  // expected-note @below {{since here}}
  %h = grid.slice %x dim 0 over "tp" : !whole -> !rows
  %0 = decoder.linear %h, %a : (!rows, !a) -> !latent_rows
  %1 = grid.all_gather %0 dim 0 over "tp" : !latent_rows -> !latent
  // expected-error @below {{'decoder.linear' needs all rows of %0 (operand #0), because "tp" splits its out, but gets the rows that "tp" splits: narrowed at 'grid.slice' and nothing gathers it}}
  %3 = decoder.linear %h, %up : (!rows, !up) -> !columns
  return %1, %3 : !latent, !columns
}

// -----

// Gathered for one reader and not for the other.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!up = tensor<32x16xf32, #grid.layout<[block "tp", _]>>
!columns = tensor<?x32xf32, #grid.layout<[_, block "tp"]>>
func.func @gathered_for_another(%h: !rows, %up: !up) -> (!columns, !columns) {
  %0 = grid.all_gather %h dim 0 over "tp" : !rows -> !whole
  %1 = decoder.linear %0, %up : (!whole, !up) -> !columns
  // expected-error @below {{needs all rows of %arg0 (operand #0), because "tp" splits its out, but gets the rows that "tp" splits: it comes in so, and gathered at 'grid.all_gather', but not for this reader}}
  %2 = decoder.linear %h, %up : (!rows, !up) -> !columns
  return %1, %2 : !columns, !columns
}

// -----

// A reader that needs every row whatever its weights: keys are cached whole.
!rows = tensor<?x2x4xf32, #grid.layout<[block "tp", _, _]>>
!whole = tensor<?x2x4xf32, #grid.layout<[_, _, _]>>
func.func @cache(%k: !rows) -> !whole {
  // expected-error @below {{'decoder.cache' needs all rows of %arg0 (operand #0), but gets the rows that "tp" splits}}
  %0 = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<key>} : (!rows) -> !whole
  return %0 : !whole
}

// -----

// Residual by rows, whole addend.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @whole_addend(%x: !whole, %y: !whole) -> !whole {
  // expected-note @below {{since here}}
  %r = grid.slice %x dim 0 over "tp" : !whole -> !rows
  // expected-error @below {{'decoder.add' needs the same rows of %0 (operand #0) as of operand #1, but gets rows by block "tp" of one and all rows of the other}}
  %0 = decoder.add %r, %y : (!rows, !whole) -> !whole
  return %0 : !whole
}

// -----

// Rows dealt out in two ways.
!block = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!zigzag = tensor<?x16xf32, #grid.layout<[zigzag "tp", _]>>
func.func @other_rows(%x: !block, %y: !zigzag) -> !block {
  // expected-error @below {{'decoder.add' needs the same rows of %arg1 (operand #1) as of operand #0, but gets rows by zigzag "tp" of one and rows by block "tp" of the other}}
  %0 = decoder.add %x, %y : (!block, !zigzag) -> !block
  return %0 : !block
}

// -----

// Nothing reads it.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @never_read(%x: !whole) -> !whole {
  // expected-error @below {{%0, given by 'grid.slice', has no reader: its rows are lost}}
  %r = grid.slice %x dim 0 over "tp" : !whole -> !rows
  return %x : !whole
}

// -----

// Returned as if whole.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @returned_as_whole(%x: !whole) -> !whole {
  // expected-note @below {{since here}}
  %r = grid.slice %x dim 0 over "tp" : !whole -> !rows
  // expected-error @below {{'func.return' returns %0 (operand #0) as all rows, all columns, but gets rows by block "tp", all columns: narrowed at 'grid.slice' and nothing gathers it}}
  return %r : !rows
}

// -----

// A type that says what is not so: found where it is said, and at every reader
// that takes its word.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!up = tensor<32x16xf32, #grid.layout<[block "tp", _]>>
!columns = tensor<?x32xf32, #grid.layout<[_, block "tp"]>>
func.func @relabelled(%h: !rows, %up: !up) -> !columns {
  // expected-error @below {{'decoder.scale' gives %0 as all rows, all columns, but its operands give rows by block "tp", all columns}}
  %0 = decoder.scale %h {factor = 2.0 : f64} : (!rows) -> !whole
  %1 = decoder.scale %0 {factor = 2.0 : f64} : (!whole) -> !whole
  // expected-error @below {{needs all rows of %1 (operand #0), because "tp" splits its out, but gets the rows that "tp" splits}}
  %2 = decoder.linear %1, %up : (!whole, !up) -> !columns
  return %2 : !columns
}

// -----

// An op that says nothing of itself.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @unknown_reader(%h: !rows) -> !whole {
  // expected-error @below {{'builtin.unrealized_conversion_cast' reads %arg0 (operand #0), but has no factor model (or not the operands and attributes of one): what it needs of it is not known}}
  %0 = builtin.unrealized_conversion_cast %h : !rows to !whole
  return %0 : !whole
}

// -----

// Ops without what their verifiers ask for.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @malformed(%h: !rows, %p: !rows) -> !whole {
  // expected-error @below {{'grid.all_gather' reads %arg0 (operand #0), but has no factor model (or not the operands and attributes of one)}}
  %0 = "grid.all_gather"(%h) : (!rows) -> !whole
  // expected-error @below {{'decoder.attention' reads %arg1 (operand #0), but its operands are not those of its factor model}}
  %1 = "decoder.attention"(%p) : (!rows) -> !whole
  return %0 : !whole
}

// -----

// What other regions do is not known.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
func.func @region(%h: !rows) -> !rows {
  "test.loop"() ({
    // expected-error @below {{'decoder.scale' reads %arg0 (operand #0) in a region of 'test.loop': what the ranks hold there is not known}}
    %0 = decoder.scale %h {factor = 2.0 : f64} : (!rows) -> !rows
    "test.end"() : () -> ()
  }) : () -> ()
  return %h : !rows
}

// -----

//===----------------------------------------------------------------------===//
// Other dimensions
//===----------------------------------------------------------------------===//

// A norm over a part of the width.
!columns = tensor<?x16xf32, #grid.layout<[_, block "tp"]>>
!n = tensor<16xf32, #grid.layout<[_]>>
func.func @norm_of_columns(%x: !columns, %n: !n) -> !columns {
  // expected-error @below {{'decoder.norm' needs the whole width of %arg0 (operand #0), but gets the width that "tp" splits: it comes in so and nothing gathers it}}
  %0 = decoder.norm %x, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!columns, !n) -> !columns
  return %0 : !columns
}

// -----

// KV heads that are not those of the query heads.
!q = tensor<?x6x4xf32, #grid.layout<[_, block "tp", _]>>
!kv = tensor<?x2x4xf32, #grid.layout<[_, block "tp", _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
func.func @other_kv_heads(%q: !q, %k: !kv, %v: !kv, %pos: !pos) -> !q {
  // expected-error @below {{needs the KV heads of %arg1 (operand #1) that a rank's heads read, but gets those of block "tp"}}
  // expected-error @below {{needs the KV heads of %arg2 (operand #2)}}
  %0 = decoder.attention %q, %k, %v, %pos, %pos {scale = 0.5 : f64, causal = true} : (!q, !kv, !kv, !pos, !pos) -> !q
  return %0 : !q
}

// -----

// Padding in a sum.
!x = tensor<?x16xf32, #grid.layout<[_, _]>>
!padded = tensor<?x16xf32, #grid.layout<[_, _ pad 32]>>
!w = tensor<8x16xf32, #grid.layout<[_, _]>>
!y = tensor<?x8xf32, #grid.layout<[_, _]>>
func.func @padding_is_summed(%x: !x, %w: !w) -> !y {
  %0 = grid.pad %x dim 1 to 32 : !x -> !padded
  // expected-error @below {{needs the in of %0 (operand #0) without padding, but gets 32 items, of which some mean nothing}}
  %1 = decoder.linear %0, %w : (!padded, !w) -> !y
  return %1 : !y
}

// -----

//===----------------------------------------------------------------------===//
// Owed sums
//===----------------------------------------------------------------------===//

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
func.func @no_reader(%p: !owes) {
  // expected-error @below {{the sum that %0, given by 'decoder.scale', owes over "tp" has no reader: nothing pays it}}
  %0 = decoder.scale %p {factor = 2.0 : f64} : (!owes) -> !owes
  return
}

// -----

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @two_readers(%p: !owes) -> (!whole, !rows) {
  // expected-error @below {{the sum that %0, given by 'decoder.scale', owes over "tp" has 2 readers: each would pay it}}
  %0 = decoder.scale %p {factor = 2.0 : f64} : (!owes) -> !owes
  %1 = grid.all_reduce %0 over ["tp"] : !owes -> !whole
  %2 = grid.fused "reduce_scatter" {
    %3 = grid.reduce_scatter %0 dim 0 over "tp" : !owes -> !rows
    grid.yield %3 : !rows
  } : !rows
  return %1, %2 : !whole, !rows
}

// -----

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!n = tensor<16xf32, #grid.layout<[_]>>
!down = tensor<16x32xf32, #grid.layout<[_, block "tp"]>>
!columns = tensor<?x32xf32, #grid.layout<[_, block "tp"]>>
func.func @not_paid(%x: !columns, %down: !down, %n: !n) -> !whole {
  // expected-note @below {{since here}}
  %0 = decoder.linear %x, %down : (!columns, !down) -> !owes
  // expected-error @below {{'decoder.norm' needs %0 (operand #0) paid, but it owes a sum over "tp" since 'decoder.linear'}}
  %1 = decoder.norm %0, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!owes, !n) -> !whole
  return %1 : !whole
}

// -----

// Two sums, one paid.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "ep", "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @half_paid(%p: !owes) -> !whole {
  %0 = decoder.scale %p {factor = 2.0 : f64} : (!owes) -> !owes
  // expected-error @below {{'grid.all_reduce' gives %1 as all rows, all columns, but its operands give all rows, all columns, owes "ep"}}
  %1 = grid.all_reduce %0 over ["tp"] : !owes -> !whole
  // expected-error @below {{'func.return' returns %1 (operand #0), which owes a sum over "ep" that nothing pays}}
  return %1 : !whole
}
