// RUN: layline-opt %s -split-input-file -verify-diagnostics -verify-equivalence

// What must not become of layers whose norms stand between sums and adds. Each
// program has legal layouts and pays every sum: it computes something else.

// Gemma-4: each branch has a norm of its own before the add. One reduction of
// both addends, with the norms behind it, norms the sum twice.

#rms = #decoder.norm_kind<rms>
!x = tensor<?x16xf32>
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!wn = tensor<16xf32, #grid.layout<[_]>>
!w = tensor<16x32xf32, #grid.layout<[_, block "tp"]>>
!columns = tensor<?x32xf32, #grid.layout<[_, block "tp"]>>

// expected-note @below {{imported here}}
func.func private @reference(%a: tensor<?x32xf32>, %b: tensor<?x32xf32>) -> !x attributes {decoder.reference} {
  %n1 = decoder.weight {key = "n1", stored_shape = array<i64: 16>} : () -> tensor<16xf32>
  %n2 = decoder.weight {key = "n2", stored_shape = array<i64: 16>} : () -> tensor<16xf32>
  %w1 = decoder.weight {key = "w1", stored_shape = array<i64: 16, 32>} : () -> tensor<16x32xf32>
  %w2 = decoder.weight {key = "w2", stored_shape = array<i64: 16, 32>} : () -> tensor<16x32xf32>
  %0 = decoder.linear %a, %w1 : (tensor<?x32xf32>, tensor<16x32xf32>) -> !x
  %1 = decoder.norm %0, %n1 {kind = #rms, eps = 1.0e-6 : f64} : (!x, tensor<16xf32>) -> !x
  %2 = decoder.linear %b, %w2 : (tensor<?x32xf32>, tensor<16x32xf32>) -> !x
  %3 = decoder.norm %2, %n2 {kind = #rms, eps = 1.0e-6 : f64} : (!x, tensor<16xf32>) -> !x
  %4 = decoder.add %1, %3 : (!x, !x) -> !x
  return %4 : !x
}

// The right program: each sum by itself, norms and add by rows.
func.func @each_branch(%a: !columns, %b: !columns) -> !whole {
  %n1 = decoder.weight {key = "n1", stored_shape = array<i64: 16>} : () -> !wn
  %n2 = decoder.weight {key = "n2", stored_shape = array<i64: 16>} : () -> !wn
  %w1 = decoder.weight {key = "w1", stored_shape = array<i64: 16, 32>} : () -> !w
  %w2 = decoder.weight {key = "w2", stored_shape = array<i64: 16, 32>} : () -> !w
  %p = decoder.linear %a, %w1 : (!columns, !w) -> !owes
  %0 = grid.reduce_scatter %p dim 0 over "tp" : !owes -> !rows
  %1 = decoder.norm %0, %n1 {kind = #rms, eps = 1.0e-6 : f64} : (!rows, !wn) -> !rows
  %q = decoder.linear %b, %w2 : (!columns, !w) -> !owes
  %2 = grid.reduce_scatter %q dim 0 over "tp" : !owes -> !rows
  %3 = decoder.norm %2, %n2 {kind = #rms, eps = 1.0e-6 : f64} : (!rows, !wn) -> !rows
  %4 = decoder.add %1, %3 : (!rows, !rows) -> !rows
  %5 = grid.all_gather %4 dim 0 over "tp" : !rows -> !whole
  return %5 : !whole
}

// expected-error @below {{returns as result #0 another value than the imported program}}
func.func @one_reduction(%a: !columns, %b: !columns) -> !whole {
  %n1 = decoder.weight {key = "n1", stored_shape = array<i64: 16>} : () -> !wn
  %n2 = decoder.weight {key = "n2", stored_shape = array<i64: 16>} : () -> !wn
  %w1 = decoder.weight {key = "w1", stored_shape = array<i64: 16, 32>} : () -> !w
  %w2 = decoder.weight {key = "w2", stored_shape = array<i64: 16, 32>} : () -> !w
  %p = decoder.linear %a, %w1 : (!columns, !w) -> !owes
  %q = decoder.linear %b, %w2 : (!columns, !w) -> !owes
  %s = decoder.add %p, %q : (!owes, !owes) -> !owes
  %0 = grid.reduce_scatter %s dim 0 over "tp" : !owes -> !rows
  %1 = decoder.norm %0, %n1 {kind = #rms, eps = 1.0e-6 : f64} : (!rows, !wn) -> !rows
  %3 = decoder.norm %0, %n2 {kind = #rms, eps = 1.0e-6 : f64} : (!rows, !wn) -> !rows
  %4 = decoder.add %1, %3 : (!rows, !rows) -> !rows
  %5 = grid.all_gather %4 dim 0 over "tp" : !rows -> !whole
  return %5 : !whole
}

// -----

// The norm of an addend that is not summed yet is no legal layout at all.

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!wn = tensor<16xf32, #grid.layout<[_]>>
func.func @norm_of_an_addend(%p: !owes, %n: !wn) {
  // expected-error @below {{takes a value that owes a sum over "tp"; reduce it first}}
  %0 = decoder.norm %p, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!owes, !wn) -> !owes
  return
}

// -----

// MiniMax-M1: the residual is the normed row, not what went into the norm.

#rms = #decoder.norm_kind<rms>
!x = tensor<?x16xf32>
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!wn = tensor<16xf32, #grid.layout<[_]>>
!up = tensor<32x16xf32, #grid.layout<[block "tp", _]>>
!down = tensor<16x32xf32, #grid.layout<[_, block "tp"]>>
!columns = tensor<?x32xf32, #grid.layout<[_, block "tp"]>>

// expected-note @below {{imported here}}
func.func private @reference(%x: !x) -> !x attributes {decoder.reference} {
  %n = decoder.weight {key = "n", stored_shape = array<i64: 16>} : () -> tensor<16xf32>
  %up = decoder.weight {key = "up", stored_shape = array<i64: 32, 16>} : () -> tensor<32x16xf32>
  %down = decoder.weight {key = "down", stored_shape = array<i64: 16, 32>} : () -> tensor<16x32xf32>
  %y = decoder.norm %x, %n {kind = #rms, eps = 1.0e-6 : f64} : (!x, tensor<16xf32>) -> !x
  %0 = decoder.linear %y, %up : (!x, tensor<32x16xf32>) -> tensor<?x32xf32>
  %1 = decoder.activation %0 {function = #decoder.function<gelu>} : (tensor<?x32xf32>) -> tensor<?x32xf32>
  %2 = decoder.linear %1, %down : (tensor<?x32xf32>, tensor<16x32xf32>) -> !x
  %3 = decoder.scale %y {factor = 3.5566 : f64} : (!x) -> !x
  %4 = decoder.add %3, %2 : (!x, !x) -> !x
  return %4 : !x
}

func.func @normed_residual(%x: !rows) -> !whole {
  %n = decoder.weight {key = "n", stored_shape = array<i64: 16>} : () -> !wn
  %up = decoder.weight {key = "up", stored_shape = array<i64: 32, 16>} : () -> !up
  %down = decoder.weight {key = "down", stored_shape = array<i64: 16, 32>} : () -> !down
  %y = decoder.norm %x, %n {kind = #rms, eps = 1.0e-6 : f64} : (!rows, !wn) -> !rows
  %all = grid.all_gather %y dim 0 over "tp" : !rows -> !whole
  %0 = decoder.linear %all, %up : (!whole, !up) -> !columns
  %1 = decoder.activation %0 {function = #decoder.function<gelu>} : (!columns) -> !columns
  %p = decoder.linear %1, %down : (!columns, !down) -> !owes
  %2 = grid.reduce_scatter %p dim 0 over "tp" : !owes -> !rows
  %3 = decoder.scale %y {factor = 3.5566 : f64} : (!rows) -> !rows
  %4 = decoder.add %3, %2 : (!rows, !rows) -> !rows
  %5 = grid.all_gather %4 dim 0 over "tp" : !rows -> !whole
  return %5 : !whole
}

// expected-error @below {{returns as result #0 another value than the imported program}}
func.func @residual_before_the_norm(%x: !rows) -> !whole {
  %n = decoder.weight {key = "n", stored_shape = array<i64: 16>} : () -> !wn
  %up = decoder.weight {key = "up", stored_shape = array<i64: 32, 16>} : () -> !up
  %down = decoder.weight {key = "down", stored_shape = array<i64: 16, 32>} : () -> !down
  %y = decoder.norm %x, %n {kind = #rms, eps = 1.0e-6 : f64} : (!rows, !wn) -> !rows
  %all = grid.all_gather %y dim 0 over "tp" : !rows -> !whole
  %0 = decoder.linear %all, %up : (!whole, !up) -> !columns
  %1 = decoder.activation %0 {function = #decoder.function<gelu>} : (!columns) -> !columns
  %p = decoder.linear %1, %down : (!columns, !down) -> !owes
  %2 = grid.reduce_scatter %p dim 0 over "tp" : !owes -> !rows
  %3 = decoder.scale %x {factor = 3.5566 : f64} : (!rows) -> !rows
  %4 = decoder.add %3, %2 : (!rows, !rows) -> !rows
  %5 = grid.all_gather %4 dim 0 over "tp" : !rows -> !whole
  return %5 : !whole
}
