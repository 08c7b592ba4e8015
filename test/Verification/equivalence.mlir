// RUN: layline-opt %s -split-input-file -verify-diagnostics -verify-equivalence

// A planned program is the imported one but for collectives. Each fault is one
// hand-made change of a right program.

//===----------------------------------------------------------------------===//
// The right programs: plain, by rows, fused
//===----------------------------------------------------------------------===//

#rms = #decoder.norm_kind<rms>
!x = tensor<?x16xf32>
!n = tensor<16xf32>
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!wn = tensor<16xf32, #grid.layout<[_]>>
!up = tensor<32x16xf32, #grid.layout<[block "tp", _]>>
!down = tensor<16x32xf32, #grid.layout<[_, block "tp"]>>
!columns = tensor<?x32xf32, #grid.layout<[_, block "tp"]>>

func.func private @reference(%x: !x) -> !x attributes {decoder.reference} {
  %n = decoder.weight {key = "n", stored_shape = array<i64: 16>} : () -> !n
  %up = decoder.weight {key = "up", stored_shape = array<i64: 32, 16>} : () -> tensor<32x16xf32>
  %down = decoder.weight {key = "down", stored_shape = array<i64: 16, 32>} : () -> tensor<16x32xf32>
  %0 = decoder.linear %x, %up : (!x, tensor<32x16xf32>) -> tensor<?x32xf32>
  %1 = decoder.activation %0 {function = #decoder.function<gelu>} : (tensor<?x32xf32>) -> tensor<?x32xf32>
  %2 = decoder.linear %1, %down : (tensor<?x32xf32>, tensor<16x32xf32>) -> !x
  %3 = decoder.add %x, %2 : (!x, !x) -> !x
  %4 = decoder.norm %3, %n {kind = #rms, eps = 1.0e-6 : f64, decoder.record = ["y"]} : (!x, !n) -> !x
  return %4 : !x
}

// An all_reduce; the weights in another order.
func.func @placed(%x: !whole) -> !whole {
  %down = decoder.weight {key = "down", stored_shape = array<i64: 16, 32>} : () -> !down
  %up = decoder.weight {key = "up", stored_shape = array<i64: 32, 16>} : () -> !up
  %n = decoder.weight {key = "n", stored_shape = array<i64: 16>} : () -> !wn
  %0 = decoder.linear %x, %up : (!whole, !up) -> !columns
  %1 = decoder.activation %0 {function = #decoder.function<gelu>} : (!columns) -> !columns
  %p = decoder.linear %1, %down : (!columns, !down) -> !owes
  %2 = grid.all_reduce %p over ["tp"] {site = "s"} : !owes -> !whole
  %3 = decoder.add %x, %2 : (!whole, !whole) -> !whole
  %4 = decoder.norm %3, %n {kind = #rms, eps = 1.0e-6 : f64, decoder.record = ["y"]} : (!whole, !wn) -> !whole
  return %4 : !whole
}

// By rows, in one kernel; the addends the other way round.
func.func @fused(%x: !whole) -> !whole {
  %n = decoder.weight {key = "n", stored_shape = array<i64: 16>} : () -> !wn
  %up = decoder.weight {key = "up", stored_shape = array<i64: 32, 16>} : () -> !up
  %down = decoder.weight {key = "down", stored_shape = array<i64: 16, 32>} : () -> !down
  %r = grid.slice %x dim 0 over "tp" : !whole -> !rows
  %0 = decoder.linear %x, %up : (!whole, !up) -> !columns
  %1 = decoder.activation %0 {function = #decoder.function<gelu>} : (!columns) -> !columns
  %p = decoder.linear %1, %down : (!columns, !down) -> !owes
  %y = grid.fused "reduce_scatter+add+norm+all_gather" {
    %2 = grid.reduce_scatter %p dim 0 over "tp" {site = "s"} : !owes -> !rows
    %3 = decoder.add %2, %r : (!rows, !rows) -> !rows
    %4 = decoder.norm %3, %n {kind = #rms, eps = 1.0e-6 : f64, decoder.record = ["y"]} : (!rows, !wn) -> !rows
    %5 = grid.all_gather %4 dim 0 over "tp" : !rows -> !whole
    grid.yield %5 : !whole
  } : !whole
  return %y : !whole
}

// -----

//===----------------------------------------------------------------------===//
// Attributes and weights
//===----------------------------------------------------------------------===//

#rms = #decoder.norm_kind<rms>
!x = tensor<?x16xf32>
!n = tensor<16xf32>
func.func private @reference(%x: !x) -> !x attributes {decoder.reference} {
  %n = decoder.weight {key = "n", stored_shape = array<i64: 16>} : () -> !n
  // expected-note @below {{there it is computed by 'decoder.norm' from other operands or attributes}}
  %0 = decoder.norm %x, %n {kind = #rms, eps = 1.0e-6 : f64, decoder.record = ["y"]} : (!x, !n) -> !x
  return %0 : !x
}

func.func @eps_changed(%x: !x) -> !x {
  %n = decoder.weight {key = "n", stored_shape = array<i64: 16>} : () -> !n
  // expected-error @below {{gives "y", but not the value that the imported program gives it}}
  %0 = decoder.norm %x, %n {kind = #rms, eps = 1.0e-5 : f64, decoder.record = ["y"]} : (!x, !n) -> !x
  return %0 : !x
}

// -----

#rms = #decoder.norm_kind<rms>
!x = tensor<?x16xf32>
!n = tensor<16xf32>
// expected-note @below {{imported here}}
func.func private @reference(%x: !x) -> !x attributes {decoder.reference} {
  %n = decoder.weight {key = "layer.0.n", stored_shape = array<i64: 16>} : () -> !n
  %0 = decoder.norm %x, %n {kind = #rms, eps = 1.0e-6 : f64} : (!x, !n) -> !x
  return %0 : !x
}

// expected-error @below {{returns as result #0 another value than the imported program}}
func.func @weight_of_another_layer(%x: !x) -> !x {
  %n = decoder.weight {key = "layer.1.n", stored_shape = array<i64: 16>} : () -> !n
  %0 = decoder.norm %x, %n {kind = #rms, eps = 1.0e-6 : f64} : (!x, !n) -> !x
  return %0 : !x
}

// -----

// Q and K of one stored tensor have one shape here: only the window tells them apart.
!x = tensor<?x16xf32>
!w = tensor<16x16xf32>
// expected-note @below {{imported here}}
func.func private @reference(%x: !x) -> !x attributes {decoder.reference} {
  %k = decoder.weight {key = "qkv", stored_shape = array<i64: 48, 16>, rows = array<i64: 16, 32>} : () -> !w
  %0 = decoder.linear %x, %k : (!x, !w) -> !x
  return %0 : !x
}

// expected-error @below {{returns as result #0 another value than the imported program}}
func.func @q_rows_for_k(%x: !x) -> !x {
  %k = decoder.weight {key = "qkv", stored_shape = array<i64: 48, 16>, rows = array<i64: 0, 16>} : () -> !w
  %0 = decoder.linear %x, %k : (!x, !w) -> !x
  return %0 : !x
}

// -----

!q = tensor<?x2x4xf32>
!p = tensor<?xi64>
// expected-note @below {{imported here}}
func.func private @reference(%q: !q, %p: !p) -> !q attributes {decoder.reference} {
  %0 = decoder.attention %q, %q, %q, %p, %p {scale = 0.5 : f64, causal = true, window = 128} : (!q, !q, !q, !p, !p) -> !q
  return %0 : !q
}

// expected-error @below {{returns as result #0 another value than the imported program}}
func.func @window_changed(%q: !q, %p: !p) -> !q {
  %0 = decoder.attention %q, %q, %q, %p, %p {scale = 0.5 : f64, causal = true, window = 127} : (!q, !q, !q, !p, !p) -> !q
  return %0 : !q
}

// -----

//===----------------------------------------------------------------------===//
// Order and operands
//===----------------------------------------------------------------------===//

#rms = #decoder.norm_kind<rms>
!x = tensor<?x16xf32>
!n = tensor<16xf32>
// expected-note @below {{imported here}}
func.func private @reference(%x: !x, %a: !x) -> !x attributes {decoder.reference} {
  %n = decoder.weight {key = "n", stored_shape = array<i64: 16>} : () -> !n
  %0 = decoder.add %x, %a : (!x, !x) -> !x
  %1 = decoder.norm %0, %n {kind = #rms, eps = 1.0e-6 : f64} : (!x, !n) -> !x
  return %1 : !x
}

// expected-error @below {{returns as result #0 another value than the imported program}}
func.func @norm_before_add(%x: !x, %a: !x) -> !x {
  %n = decoder.weight {key = "n", stored_shape = array<i64: 16>} : () -> !n
  %0 = decoder.norm %a, %n {kind = #rms, eps = 1.0e-6 : f64} : (!x, !n) -> !x
  %1 = decoder.add %x, %0 : (!x, !x) -> !x
  return %1 : !x
}

// -----

#rms = #decoder.norm_kind<rms>
!x = tensor<?x16xf32>
!n = tensor<16xf32>
// expected-note @below {{imported here}}
func.func private @reference(%x: !x, %a: !x) -> !x attributes {decoder.reference} {
  %n = decoder.weight {key = "n", stored_shape = array<i64: 16>} : () -> !n
  %0 = decoder.add %x, %a : (!x, !x) -> !x
  %1 = decoder.norm %0, %n {kind = #rms, eps = 1.0e-6 : f64} : (!x, !n) -> !x
  return %1 : !x
}

// expected-error @below {{returns as result #0 another value than the imported program}}
func.func @add_dropped(%x: !x, %a: !x) -> !x {
  %n = decoder.weight {key = "n", stored_shape = array<i64: 16>} : () -> !n
  %1 = decoder.norm %a, %n {kind = #rms, eps = 1.0e-6 : f64} : (!x, !n) -> !x
  return %1 : !x
}

// -----

!x = tensor<?x16xf32>
// expected-note @below {{imported here}}
func.func private @reference(%x: !x, %a: !x, %b: !x) -> !x attributes {decoder.reference} {
  %0 = decoder.add %x, %a : (!x, !x) -> !x
  %1 = decoder.add %0, %b : (!x, !x) -> !x
  return %1 : !x
}

// expected-error @below {{returns as result #0 another value than the imported program}}
func.func @residual_of_another_layer(%x: !x, %a: !x, %b: !x) -> !x {
  %0 = decoder.add %x, %a : (!x, !x) -> !x
  %1 = decoder.add %x, %b : (!x, !x) -> !x
  return %1 : !x
}

// -----

// Sums commute, products of gate and up do not.
!x = tensor<?x16xf32>
// expected-note @below {{imported here}}
func.func private @reference(%g: !x, %u: !x) -> !x attributes {decoder.reference} {
  %0 = decoder.gated_activation %g, %u {function = #decoder.function<silu>} : (!x, !x) -> !x
  return %0 : !x
}

// expected-error @below {{returns as result #0 another value than the imported program}}
func.func @gate_and_up_swapped(%g: !x, %u: !x) -> !x {
  %0 = decoder.gated_activation %u, %g {function = #decoder.function<silu>} : (!x, !x) -> !x
  return %0 : !x
}

// -----

// Two kernels yield in the wrong order.
!x = tensor<?x16xf32, #grid.layout<[_, _]>>
!n = tensor<16xf32, #grid.layout<[_]>>
// expected-note @below {{imported here}}
func.func private @reference(%x: tensor<?x16xf32>) -> (tensor<?x16xf32>, tensor<?x16xf32>) attributes {decoder.reference} {
  %0 = decoder.scale %x {factor = 2.0 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %1 = decoder.scale %0 {factor = 2.0 : f64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  return %0, %1 : tensor<?x16xf32>, tensor<?x16xf32>
}

// expected-error @below {{returns as result #0 another value than the imported program}}
func.func @yields_swapped(%x: !x) -> (!x, !x) {
  %k:2 = grid.fused "scale+scale" {
    %0 = decoder.scale %x {factor = 2.0 : f64} : (!x) -> !x
    %1 = decoder.scale %0 {factor = 2.0 : f64} : (!x) -> !x
    grid.yield %1, %0 : !x, !x
  } : !x, !x
  return %k#0, %k#1 : !x, !x
}

// -----

// The second result of an op is not its first.
!l = tensor<?x8xf32>
!e = tensor<?x2xi32>
!g = tensor<?x2xf32>
// expected-note @below {{imported here}}
func.func private @reference(%l: !l) -> (!e, !g) attributes {decoder.reference} {
  %0:2 = decoder.router %l {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true} : (!l) -> (!e, !g)
  return %0#0, %0#1 : !e, !g
}

// expected-error @below {{returns as result #1 another value than the imported program}}
func.func @not_renormalized(%l: !l) -> (!e, !g) {
  %0:2 = decoder.router %l {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true} : (!l) -> (!e, !g)
  %1:2 = decoder.router %l {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = false} : (!l) -> (!e, !g)
  return %0#0, %1#1 : !e, !g
}

// -----

// An op in another precision.
// expected-note @below {{imported here}}
func.func private @reference(%x: tensor<?x16xf32>) -> tensor<?x16xf32> attributes {decoder.reference} {
  return %x : tensor<?x16xf32>
}

// expected-error @below {{returns as result #0 another value than the imported program}}
func.func @rounded(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %0 = decoder.cast %x : (tensor<?x16xf32>) -> tensor<?x16xbf16>
  %1 = decoder.cast %0 : (tensor<?x16xbf16>) -> tensor<?x16xf32>
  return %1 : tensor<?x16xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Recorded values and results
//===----------------------------------------------------------------------===//

!x = tensor<?x16xf32>
func.func private @reference(%x: !x) -> !x attributes {decoder.reference} {
  %0 = decoder.scale %x {factor = 2.0 : f64, decoder.record = ["layer.0.output"]} : (!x) -> !x
  return %x : !x
}

// expected-error @below {{does not compute the recorded value "layer.0.output" of the imported program}}
func.func @recorded_value_missing(%x: !x) -> !x {
  return %x : !x
}

// -----

!x = tensor<?x16xf32>
// expected-note @below {{imported here}}
func.func private @reference(%x: !x) -> (!x, !x) attributes {decoder.reference} {
  %0 = decoder.scale %x {factor = 2.0 : f64} : (!x) -> !x
  return %x, %0 : !x, !x
}

// expected-error @below {{returns as result #1 another value than the imported program}}
func.func @result_missing(%x: !x) -> !x {
  return %x : !x
}

// -----

// Each program is compared by itself: the second is wrong.
!x = tensor<?x16xf32>
// expected-note @below {{imported here}}
func.func private @reference(%x: !x) -> !x attributes {decoder.reference} {
  return %x : !x
}
func.func @right(%x: !x) -> !x {
  return %x : !x
}
// expected-error @below {{returns as result #0 another value than the imported program}}
func.func @wrong(%x: !x) -> !x {
  %0 = decoder.scale %x {factor = 1.0 : f64} : (!x) -> !x
  return %0 : !x
}

// -----

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

// Keys of layer 0 read from layer 1's cache.
!k = tensor<?x2x4xf32>
// expected-note @below {{imported here}}
func.func private @reference(%k: !k) -> !k attributes {decoder.reference} {
  %0 = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<key>} : (!k) -> !k
  return %0 : !k
}

// expected-error @below {{returns as result #0 another value than the imported program}}
func.func @kv_layer_swapped(%k: !k) -> !k {
  %0 = decoder.cache %k {layer = 1 : si64, plane = #decoder.plane<key>} : (!k) -> !k
  return %0 : !k
}

// -----

// What stays in the caches is read by later steps, even where this one returns
// the same: a cache more ...
!k = tensor<?x2x4xf32>
// expected-note @below {{imported here}}
func.func private @reference(%k: !k, %v: !k) -> !k attributes {decoder.reference} {
  %0 = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<key>} : (!k) -> !k
  return %0 : !k
}

// expected-error @below {{leaves other rows in its caches than the imported program}}
func.func @cached_twice(%k: !k, %v: !k) -> !k {
  %0 = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<key>} : (!k) -> !k
  %1 = decoder.cache %v {layer = 0 : si64, plane = #decoder.plane<key>} : (!k) -> !k
  return %0 : !k
}

// -----

// ... or a cache less.
!k = tensor<?x2x4xf32>
// expected-note @below {{imported here}}
func.func private @reference(%k: !k, %v: !k) -> !k attributes {decoder.reference} {
  %0 = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<key>} : (!k) -> !k
  %1 = decoder.cache %v {layer = 0 : si64, plane = #decoder.plane<value>} : (!k) -> !k
  return %0 : !k
}

// expected-error @below {{leaves other rows in its caches than the imported program}}
func.func @not_cached(%k: !k, %v: !k) -> !k {
  %0 = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<key>} : (!k) -> !k
  return %0 : !k
}

// -----

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

// An input in place of what the imported program computes.
!x = tensor<?x16xf32>
// expected-note @below {{imported here}}
func.func private @reference(%x: !x) -> !x attributes {decoder.reference} {
  %0 = decoder.scale %x {factor = 2.0 : f64} : (!x) -> !x
  return %0 : !x
}

// expected-error @below {{takes other inputs than the imported program}}
func.func @one_input_more(%x: !x, %scaled: !x) -> !x {
  return %scaled : !x
}

// -----

!p = tensor<?xi64>
// expected-note @below {{imported here}}
func.func private @reference(%a: !p {decoder.input = "input_ids"}, %b: !p {decoder.input = "positions"}) -> !p attributes {decoder.reference} {
  return %b : !p
}

// expected-error @below {{takes other inputs than the imported program}}
func.func @inputs_swapped(%a: !p {decoder.input = "positions"}, %b: !p {decoder.input = "input_ids"}) -> !p {
  return %b : !p
}

// -----

// expected-note @below {{imported here}}
func.func private @reference(%x: tensor<?x16xf32>) attributes {decoder.reference} {
  return
}

// expected-error @below {{takes other inputs than the imported program}}
func.func @input_of_another_type(%x: tensor<?x8xf32>) {
  return
}

// -----

//===----------------------------------------------------------------------===//
// Nothing to compare with
//===----------------------------------------------------------------------===//

// expected-error @below {{has no reference program (attribute 'decoder.reference') to compare with}}
module {
  func.func @alone(%x: tensor<?x16xf32>) {
    return
  }
}

// -----

// A declaration says nothing.
// expected-error @below {{has no reference program (attribute 'decoder.reference') to compare with}}
module {
  func.func private @declared(tensor<?x16xf32>) attributes {decoder.reference}
  func.func @alone(%x: tensor<?x16xf32>) {
    return
  }
}

// -----

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

// Padding is no part of the global tensor.
!q = tensor<?x6x4xf32>
!placed = tensor<?x6x4xf32, #grid.layout<[_, block "tp", _]>>
!padded = tensor<?x6x4xf32, #grid.layout<[_, block "tp" pad 64, _]>>
!whole = tensor<?x6x4xf32, #grid.layout<[_, _, _]>>
func.func private @reference(%x: !q) -> !q attributes {decoder.reference} {
  %0 = decoder.scale %x {factor = 2.0 : f64} : (!q) -> !q
  return %0 : !q
}
func.func @padded(%x: !placed) -> !whole {
  %0 = grid.pad %x dim 1 to 64 : !placed -> !padded
  %1 = decoder.scale %0 {factor = 2.0 : f64} : (!padded) -> !padded
  %2 = grid.unpad %1 dim 1 : !padded -> !placed
  %3 = grid.all_gather %2 dim 1 over "tp" : !placed -> !whole
  return %3 : !whole
}

// -----

// ... and hides no op.
!q = tensor<?x6x4xf32>
!placed = tensor<?x6x4xf32, #grid.layout<[_, block "tp", _]>>
!padded = tensor<?x6x4xf32, #grid.layout<[_, block "tp" pad 64, _]>>
// expected-note @below {{imported here}}
func.func private @reference(%x: !q) -> !q attributes {decoder.reference} {
  %0 = decoder.scale %x {factor = 2.0 : f64} : (!q) -> !q
  return %0 : !q
}
// expected-error @below {{returns as result #0 another value than the imported program}}
func.func @lost_behind_padding(%x: !placed) -> !placed {
  %0 = grid.pad %x dim 1 to 64 : !placed -> !padded
  %1 = grid.unpad %0 dim 1 : !padded -> !placed
  return %1 : !placed
}

// -----

// A part of the result is the same global tensor, but not what was asked for.
!x = tensor<?x16xf32>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
func.func private @reference(%x: !x) -> !x attributes {decoder.reference} {
  return %x : !x
}

func.func @returns_rows(%x: !whole) -> !rows {
  %0 = grid.slice %x dim 0 over "tp" : !whole -> !rows
  // expected-error @below {{returns result #0 in parts, as #grid.layout<[block "tp", _]>: the imported program returns all of it; gather it first}}
  return %0 : !rows
}
