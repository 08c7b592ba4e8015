// RUN: layline-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// Columns of values, and rows times a scale each.

// CHECK-LABEL: @plain
func.func @plain(%x: tensor<?x576xbf16>, %h: tensor<?x8x20xbf16>, %s: tensor<?x1xbf16>) {
  // CHECK: decoder.slice_columns %{{.*}} {begin = 512 : i64} : (tensor<?x576xbf16>) -> tensor<?x64xbf16>
  %k = decoder.slice_columns %x {begin = 512} : (tensor<?x576xbf16>) -> tensor<?x64xbf16>
  %l = decoder.slice_columns %x {begin = 0} : (tensor<?x576xbf16>) -> tensor<?x512xbf16>
  // CHECK: decoder.concat_columns %{{.*}} : (tensor<?x512xbf16>, tensor<?x64xbf16>) -> tensor<?x576xbf16>
  %y = decoder.concat_columns %l, %k : (tensor<?x512xbf16>, tensor<?x64xbf16>) -> tensor<?x576xbf16>
  // Of every head.
  // CHECK: decoder.slice_columns %{{.*}} {begin = 12 : i64} : (tensor<?x8x20xbf16>) -> tensor<?x8x8xbf16>
  %r = decoder.slice_columns %h {begin = 12} : (tensor<?x8x20xbf16>) -> tensor<?x8x8xbf16>
  %n = decoder.slice_columns %h {begin = 0} : (tensor<?x8x20xbf16>) -> tensor<?x8x12xbf16>
  // CHECK: decoder.concat_columns %{{.*}} : (tensor<?x8x12xbf16>, tensor<?x8x8xbf16>) -> tensor<?x8x20xbf16>
  %q = decoder.concat_columns %n, %r : (tensor<?x8x12xbf16>, tensor<?x8x8xbf16>) -> tensor<?x8x20xbf16>
  // CHECK: decoder.row_scale %{{.*}} : (tensor<?x576xbf16>, tensor<?x1xbf16>) -> tensor<?x576xbf16>
  %z = decoder.row_scale %x, %s : (tensor<?x576xbf16>, tensor<?x1xbf16>) -> tensor<?x576xbf16>
  // CHECK: #decoder.function<sigmoid>
  %g = decoder.activation %s {function = #decoder.function<sigmoid>} : (tensor<?x1xbf16>) -> tensor<?x1xbf16>
  return
}

// All are linear: what owes a sum may be cut, joined and scaled first.
!owes8 = tensor<?x8xf32, #grid.layout<[_, _] owes "tp">>
!owes4 = tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
!scales = tensor<?x1xf32, #grid.layout<[_, _]>>
// CHECK-LABEL: @owed
func.func @owed(%x: !owes8, %s: !scales) {
  %a = decoder.slice_columns %x {begin = 0} : (!owes8) -> !owes4
  %b = decoder.slice_columns %x {begin = 4} : (!owes8) -> !owes4
  // CHECK: decoder.concat_columns {{.*}} owes "tp"
  %c = decoder.concat_columns %b, %a : (!owes4, !owes4) -> !owes8
  // CHECK: decoder.row_scale {{.*}} owes "tp"
  %d = decoder.row_scale %c, %s : (!owes8, !scales) -> !owes8
  return
}

// Rows and heads pass through.
!rows = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!rows4 = tensor<?x4xf32, #grid.layout<[block "tp", _]>>
!rows1 = tensor<?x1xf32, #grid.layout<[block "tp", _]>>
!heads = tensor<?x6x8xf32, #grid.layout<[_, block "tp", _]>>
!heads3 = tensor<?x6x3xf32, #grid.layout<[_, block "tp", _]>>
// CHECK-LABEL: @parts
func.func @parts(%x: !rows, %h: !heads, %s: !rows1) {
  %a = decoder.slice_columns %x {begin = 2} : (!rows) -> !rows4
  %b = decoder.concat_columns %a, %a : (!rows4, !rows4) -> !rows
  %c = decoder.slice_columns %h {begin = 5} : (!heads) -> !heads3
  %d = decoder.row_scale %x, %s : (!rows, !rows1) -> !rows
  return
}

// Features of a scaled row may be dealt out.
!features = tensor<?x8xf32, #grid.layout<[_, block "tp"]>>
// CHECK-LABEL: @features
func.func @features(%x: !features, %s: !scales) {
  %d = decoder.row_scale %x, %s : (!features, !scales) -> !features
  return
}

// -----

func.func @window_behind_the_end(%x: tensor<?x8xf32>) {
  // expected-error @below {{takes the columns [5, 9) of 8, expected a window inside that is not empty}}
  %a = decoder.slice_columns %x {begin = 5} : (tensor<?x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @window_before_the_begin(%x: tensor<?x8xf32>) {
  // expected-error @below {{takes the columns [-1, 3) of 8}}
  %a = decoder.slice_columns %x {begin = -1} : (tensor<?x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @empty_window(%x: tensor<?x8xf32>) {
  // expected-error @below {{takes the columns [3, 3) of 8}}
  %a = decoder.slice_columns %x {begin = 3} : (tensor<?x8xf32>) -> tensor<?x0xf32>
  return
}

// -----

func.func @other_element(%x: tensor<?x8xf32>) {
  // expected-error @below {{takes columns of 'f32' and gives 'bf16'}}
  %a = decoder.slice_columns %x {begin = 3} : (tensor<?x8xf32>) -> tensor<?x4xbf16>
  return
}

// -----

func.func @no_columns(%x: tensor<8xf32>) {
  // expected-error @below {{has 1 dimension, expected rows and columns}}
  %a = decoder.slice_columns %x {begin = 3} : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @one_value(%x: tensor<?x8xf32>) {
  // expected-error @below {{takes 1 values, expected at least 2}}
  %a = decoder.concat_columns %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @too_many_columns(%x: tensor<?x8xf32>) {
  // expected-error @below {{takes 16 columns together and gives 12}}
  %a = decoder.concat_columns %x, %x : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x12xf32>
  return
}

// -----

// Nothing is repeated: one key for all heads is not one for each.
func.func @other_heads(%x: tensor<?x8x4xf32>, %y: tensor<?x1x4xf32>) {
  // expected-error @below {{'heads' is 8 in operand #0, but 1 in operand #1}}
  %a = decoder.concat_columns %x, %y : (tensor<?x8x4xf32>, tensor<?x1x4xf32>) -> tensor<?x8x8xf32>
  return
}

// -----

// A window is no part of a split.
!features = tensor<?x8xf32, #grid.layout<[_, block "tp"]>>
!whole = tensor<?x4xf32, #grid.layout<[_, _]>>
func.func @split_columns(%x: !features) {
  // expected-error @below {{needs dimension 1 (columns) of operand #0 whole, but it is split over "tp"}}
  %a = decoder.slice_columns %x {begin = 4} : (!features) -> !whole
  return
}

// -----

// One operand owes a sum, the other does not: it would count once per rank.
!owes = tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
!paid = tensor<?x4xf32, #grid.layout<[_, _]>>
!both = tensor<?x8xf32, #grid.layout<[_, _] owes "tp">>
func.func @owed_beside_paid(%x: !owes, %y: !paid) {
  // expected-error @below {{adds operand #1, which owes no sum over "tp", to a value that does}}
  %a = decoder.concat_columns %x, %y : (!owes, !paid) -> !both
  return
}

// -----

!rows = tensor<?x4xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x4xf32, #grid.layout<[_, _]>>
!both = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
func.func @other_rows(%x: !rows, %y: !whole) {
  // expected-error @below {{takes operands that hold different parts of 'tokens'}}
  %a = decoder.concat_columns %x, %y : (!rows, !whole) -> !both
  return
}

// -----

func.func @wide_scales(%x: tensor<?x8xf32>, %s: tensor<?x2xf32>) {
  // expected-error @below {{has 2 scales a row, expected 1}}
  %a = decoder.row_scale %x, %s : (tensor<?x8xf32>, tensor<?x2xf32>) -> tensor<?x8xf32>
  return
}

// -----

// A row is not scaled by the scale of another.
!rows = tensor<?x4xf32, #grid.layout<[block "tp", _]>>
!scales = tensor<?x1xf32, #grid.layout<[_, _]>>
func.func @scales_of_other_rows(%x: !rows, %s: !scales) {
  // expected-error @below {{takes operands that hold different parts of 'tokens'}}
  %a = decoder.row_scale %x, %s : (!rows, !scales) -> !rows
  return
}

// -----

// The product of two sums is not the sum of the products.
!value = tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
!scales = tensor<?x1xf32, #grid.layout<[_, _] owes "tp">>
func.func @owed_scales(%x: !value, %s: !scales) {
  // expected-error @below {{takes a value that owes a sum over "tp"; reduce it first}}
  %a = decoder.row_scale %x, %s : (!value, !scales) -> !value
  return
}
