// RUN: layline-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// Parts padded to the shape that a kernel asks for. How many elements are valid
// stays in the type; whatever would mix them with the others is refused.

!q = tensor<?x64x4xf32, #grid.layout<[_, block "tp", _]>>
!padded = tensor<?x64x4xf32, #grid.layout<[_, block "tp" pad 64, _]>>
!kv = tensor<?x8x4xf32, #grid.layout<[_, readers(64) "tp", _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
!flat = tensor<?x256xf32, #grid.layout<[_, block "tp" x 4 pad 256]>>
!o = tensor<?x256xf32, #grid.layout<[_, block "tp" x 4]>>
!w = tensor<16x256xf32, #grid.layout<[_, block "tp" x 4]>>
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
grid.mesh @mesh ["tp"] = [16]

// 4 of 64 heads on a rank. The KV heads are those of the 4.
// CHECK-LABEL: @attention
func.func @attention(%q: !q, %k: !kv, %v: !kv, %pos: !pos, %w: !w) -> !owes {
  // CHECK: grid.pad %{{.*}} dim 1 to 64
  %0 = grid.pad %q dim 1 to 64 : !q -> !padded
  %1 = decoder.attention %0, %k, %v, %pos, %pos {scale = 0.5 : f64, causal = true} : (!padded, !kv, !kv, !pos, !pos) -> !padded
  %2 = decoder.merge_heads %1 : (!padded) -> !flat
  // CHECK: grid.unpad %{{.*}} dim 1
  %3 = grid.unpad %2 dim 1 : !flat -> !o
  %4 = decoder.linear %3, %w : (!o, !w) -> !owes
  return %4 : !owes
}

// What goes element by element carries the padding; so does a norm of each head,
// and a sum over ranks.
!owes_padded = tensor<?x64x4xf32, #grid.layout<[_, _ pad 128, _] owes "tp">>
!whole_padded = tensor<?x64x4xf32, #grid.layout<[_, _ pad 128, _]>>
!f16 = tensor<?x64x4xf16, #grid.layout<[_, _ pad 128, _]>>
!n = tensor<4xf16, #grid.layout<[_]>>
// CHECK-LABEL: @carried
func.func @carried(%x: !owes_padded, %n: !n) -> !f16 {
  %0 = grid.all_reduce %x over ["tp"] : !owes_padded -> !whole_padded
  %1 = decoder.cast %0 : (!whole_padded) -> !f16
  %2 = decoder.norm %1, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!f16, !n) -> !f16
  return %2 : !f16
}

// Rows may be scattered and gathered beside a padded dimension.
!rows_padded = tensor<?x64x4xf32, #grid.layout<[block "tp", _ pad 128, _]>>
// CHECK-LABEL: @rows_beside_padding
func.func @rows_beside_padding(%x: !owes_padded) -> !whole_padded {
  %0 = grid.reduce_scatter %x dim 0 over "tp" : !owes_padded -> !rows_padded
  %1 = grid.all_gather %0 dim 0 over "tp" : !rows_padded -> !whole_padded
  return %1 : !whole_padded
}

// -----

//===----------------------------------------------------------------------===//
// Pad and unpad
//===----------------------------------------------------------------------===//

!x = tensor<?x64xf32, #grid.layout<[block "tp", _]>>
grid.mesh @mesh ["tp"] = [2]
func.func @pad_rows(%x: !x) {
  // expected-error @below {{pads the rows: a row without a token has no position}}
  %0 = grid.pad %x dim 0 to 64 : !x -> !x
  return
}

// -----

// 64 heads over 2 ranks are 32 each.
!x = tensor<?x64xf32, #grid.layout<[_, block "tp"]>>
!y = tensor<?x64xf32, #grid.layout<[_, block "tp" pad 16]>>
grid.mesh @mesh ["tp"] = [2]
func.func @too_small(%x: !x) {
  // expected-error @below {{pads dimension 1 to 16 elements, but a rank holds 32 of its 64}}
  %0 = grid.pad %x dim 1 to 16 : !x -> !y
  return
}

// -----

// The largest part counts: 5 heads of 9 over 2 ranks.
!x = tensor<?x9xf32, #grid.layout<[_, block "tp"]>>
!y = tensor<?x9xf32, #grid.layout<[_, block "tp" pad 4]>>
grid.mesh @mesh ["tp"] = [2]
func.func @largest_part(%x: !x) {
  // expected-error @below {{pads dimension 1 to 4 elements, but a rank holds 5 of its 9}}
  %0 = grid.pad %x dim 1 to 4 : !x -> !y
  return
}

// -----

!x = tensor<?x64xf32, #grid.layout<[_, block "tp" x 4]>>
func.func @cut(%x: !x) {
  // expected-error @below {{pads dimension 1 to 66 elements, which cut items of 4}}
  %0 = grid.pad %x dim 1 to 66 : !x -> !x
  return
}

// -----

!x = tensor<?x64xf32, #grid.layout<[_, _]>>
func.func @nothing(%x: !x) {
  // expected-error @below {{pads dimension 1 to 0 elements, expected at least 1}}
  %0 = grid.pad %x dim 1 to 0 : !x -> !x
  return
}

// -----

!x = tensor<?x64xf32, #grid.layout<[_, _ pad 128]>>
func.func @pad_twice(%x: !x) {
  // expected-error @below {{works on dimension 1, whose parts are padded to 128 elements; take the padding off first}}
  %0 = grid.pad %x dim 1 to 256 : !x -> !x
  return
}

// -----

!x = tensor<?x64xf32, #grid.layout<[_, _]>>
!y = tensor<?x64xf32, #grid.layout<[_, _ pad 128]>>
func.func @result(%x: !x) {
  // expected-error @below {{gives the layout #grid.layout<[_, _ pad 128]>, expected #grid.layout<[_, _ pad 96]>}}
  %0 = grid.pad %x dim 1 to 96 : !x -> !y
  return
}

// -----

!x = tensor<?x64xf32, #grid.layout<[_, _]>>
func.func @unpad_nothing(%x: !x) {
  // expected-error @below {{takes the padding off dimension 1, which has none}}
  %0 = grid.unpad %x dim 1 : !x -> !x
  return
}

// -----

!x = tensor<?x64xf32, #grid.layout<[_, _ pad 128]>>
func.func @unpad_dimension(%x: !x) {
  // expected-error @below {{works on dimension 2, but the tensor has 2}}
  %0 = grid.unpad %x dim 2 : !x -> !x
  return
}

// -----

!x = tensor<?x64xf32, #grid.layout<[_, _ pad 128]>>
func.func @unpad_result(%x: !x) {
  // expected-error @below {{gives the layout #grid.layout<[_, _ pad 128]>, expected #grid.layout<[_, _]>}}
  %0 = grid.unpad %x dim 1 : !x -> !x
  return
}

// -----

//===----------------------------------------------------------------------===//
// What needs the elements themselves
//===----------------------------------------------------------------------===//

// The public fault: 2880 columns padded to 3072, and a norm over all of them.
!x = tensor<?x2880xf32, #grid.layout<[_, _ pad 3072]>>
!n = tensor<2880xf32, #grid.layout<[_]>>
func.func @norm(%x: !x, %n: !n) {
  // expected-error @below {{needs dimension 1 (width) of operand #0, whose parts are padded to 3072 elements that have no meaning; take the padding off first}}
  %0 = decoder.norm %x, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!x, !n) -> !x
  return
}

// -----

// Padded weights do not make it a sum of nothing either.
!x = tensor<?x64xf32, #grid.layout<[_, _ pad 128]>>
!w = tensor<16x64xf32, #grid.layout<[_, _ pad 128]>>
func.func @sum(%x: !x, %w: !w) {
  // expected-error @below {{sums over dimension 1 (in) of operand #0, whose parts are padded to 128 elements}}
  %0 = decoder.linear %x, %w : (!x, !w) -> tensor<?x16xf32, #grid.layout<[_, _]>>
  return
}

// -----

// Padded KV heads would be read by no query head.
!q = tensor<?x6x4xf32, #grid.layout<[_, block "tp" pad 8, _]>>
!kv = tensor<?x2x4xf32, #grid.layout<[_, readers(6) "tp" pad 8, _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
func.func @kv_heads(%q: !q, %k: !kv, %v: !kv, %pos: !pos) {
  // expected-error @below {{needs dimension 1 (KV heads) of operand #1, whose parts are padded to 8 elements}}
  %0 = decoder.attention %q, %k, %v, %pos, %pos {scale = 0.5 : f64, causal = true} : (!q, !kv, !kv, !pos, !pos) -> !q
  return
}

// -----

// Heads of padded width have other scalar products.
!q = tensor<?x6x4xf32, #grid.layout<[_, _, _ pad 8]>>
!kv = tensor<?x2x4xf32, #grid.layout<[_, _, _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
func.func @head_width(%q: !q, %k: !kv, %v: !kv, %pos: !pos) {
  // expected-error @below {{needs dimension 2 (width) of operand #0, whose parts are padded to 8 elements}}
  %0 = decoder.attention %q, %k, %v, %pos, %pos {scale = 0.5 : f64, causal = true} : (!q, !kv, !kv, !pos, !pos) -> !q
  return
}

// -----

// The scale of a row would be that of an element without meaning.
!x = tensor<?x64xf32, #grid.layout<[_, _ pad 128]>>
!v = tensor<?x64xf8E4M3FN, #grid.layout<[_, _ pad 128]>>
!s = tensor<?x1xf32, #grid.layout<[_, _]>>
func.func @quantize(%x: !x) {
  // expected-error @below {{needs dimension 1 (width) of operand #0, whose parts are padded}}
  %v, %s = decoder.quantize %x {format = #decoder.quant_format<fp8_e4m3>} : (!x) -> (!v, !s)
  return
}

// -----

!x = tensor<?x64xf32, #grid.layout<[_, _ pad 128]>>
!y = tensor<?x64xf32, #grid.layout<[_, _]>>
func.func @half_padded(%x: !x, %y: !y) {
  // expected-error @below {{takes operands that hold 'features' with padding and without: operand #0 is padded to 128, operand #1 to 0}}
  %0 = decoder.add %x, %y : (!x, !y) -> !x
  return
}

// -----

// The result's padding follows from the operands'.
!x = tensor<?x64xf32, #grid.layout<[_, _ pad 128]>>
!y = tensor<?x64xf32, #grid.layout<[_, _]>>
func.func @lost(%x: !x) {
  // expected-error @below {{result #0 has the layout #grid.layout<[_, _]>, but its operands give #grid.layout<[_, _ pad 128]>}}
  %0 = decoder.scale %x {factor = 2.0 : f64} : (!x) -> !y
  return
}

// -----

// Items of 3 elements do not end at 64.
!x = tensor<?x48xf32, #grid.layout<[_, _ pad 64]>>
!y = tensor<?x16x3xf32, #grid.layout<[_, _, _]>>
func.func @items(%x: !x) {
  // expected-error @below {{operand #0 is padded to 64 elements in dimension 1, which cut items of 3 (heads)}}
  %0 = decoder.split_heads %x : (!x) -> !y
  return
}

// -----

//===----------------------------------------------------------------------===//
// Collectives over a padded dimension
//===----------------------------------------------------------------------===//

!x = tensor<?x64xf32, #grid.layout<[_, block "tp" pad 64]>>
!y = tensor<?x64xf32, #grid.layout<[_, _]>>
func.func @gather(%x: !x) {
  // expected-error @below {{works on dimension 1, whose parts are padded to 64 elements; take the padding off first}}
  %0 = grid.all_gather %x dim 1 over "tp" : !x -> !y
  return
}

// -----

!x = tensor<?x64xf32, #grid.layout<[_, _ pad 128] owes "tp">>
!y = tensor<?x64xf32, #grid.layout<[_, block "tp" pad 64]>>
func.func @scatter(%x: !x) {
  // expected-error @below {{works on dimension 1, whose parts are padded to 128 elements}}
  %0 = grid.reduce_scatter %x dim 1 over "tp" : !x -> !y
  return
}

// -----

!x = tensor<?x64xf32, #grid.layout<[_, _ pad 128]>>
!y = tensor<?x64xf32, #grid.layout<[_, block "tp" pad 64]>>
func.func @slice(%x: !x) {
  // expected-error @below {{works on dimension 1, whose parts are padded to 128 elements}}
  %0 = grid.slice %x dim 1 over "tp" : !x -> !y
  return
}
