// RUN: layline-opt %s -split-input-file -verify-diagnostics -verify-sums

// Every owed sum is paid in exactly one place.

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>

func.func @paid_whole(%p: !owes) -> !whole {
  %0 = grid.all_reduce %p over ["tp"] : !owes -> !whole
  return %0 : !whole
}

// The paid value may have any number of readers.
func.func @paid_by_rows(%p: !owes) -> (!rows, !whole) {
  %0 = grid.reduce_scatter %p dim 0 over "tp" : !owes -> !rows
  %1 = grid.all_gather %0 dim 0 over "tp" : !rows -> !whole
  return %0, %1 : !rows, !whole
}

// Owed on through linear ops, then paid.
func.func @paid_later(%p: !owes, %q: !owes) -> !whole {
  %0 = decoder.add %p, %q : (!owes, !owes) -> !owes
  %1 = decoder.scale %0 {factor = 2.0 : f64} : (!owes) -> !owes
  %2 = grid.all_reduce %1 over ["tp"] : !owes -> !whole
  return %2 : !whole
}

// A kernel may hand on what is owed.
func.func @paid_outside_kernel(%p: !owes) -> !whole {
  %0 = grid.fused "scale" {
    %1 = decoder.scale %p {factor = 2.0 : f64} : (!owes) -> !owes
    grid.yield %1 : !owes
  } : !owes
  %2 = grid.all_reduce %0 over ["tp"] : !owes -> !whole
  return %2 : !whole
}

// -----

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
func.func @never_paid(%p: !owes) {
  // expected-error @below {{the sum owed over "tp" here is never paid}}
  %0 = decoder.scale %p {factor = 2.0 : f64} : (!owes) -> !owes
  return
}

// -----

// What comes in owing is paid too.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
// expected-error @below {{the sum owed over "tp" here is never paid}}
func.func @argument_never_paid(%p: !owes) {
  return
}

// -----

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @paid_twice(%p: !owes) -> (!whole, !whole) {
  // expected-error @below {{the sum owed over "tp" here has 2 readers, expected one: it would be paid more than once}}
  %0 = decoder.scale %p {factor = 2.0 : f64} : (!owes) -> !owes
  // expected-note @below {{read here}}
  %1 = grid.all_reduce %0 over ["tp"] : !owes -> !whole
  // expected-note @below {{read here}}
  %2 = grid.all_reduce %0 over ["tp"] : !owes -> !whole
  return %1, %2 : !whole, !whole
}

// -----

// Paid and owed on.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @paid_and_owed_on(%p: !owes, %q: !owes) -> (!whole, !whole) {
  // expected-error @below {{the sum owed over "tp" here has 2 readers, expected one}}
  %0 = decoder.scale %p {factor = 2.0 : f64} : (!owes) -> !owes
  // expected-note @below {{read here}}
  %1 = grid.all_reduce %0 over ["tp"] : !owes -> !whole
  // expected-note @below {{read here}}
  %2 = decoder.add %0, %q : (!owes, !owes) -> !owes
  %3 = grid.all_reduce %2 over ["tp"] : !owes -> !whole
  return %1, %3 : !whole, !whole
}

// -----

// Paid inside a kernel and outside of it.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
// expected-error @below {{the sum owed over "tp" here has 2 readers, expected one}}
func.func @paid_in_kernel_and_outside(%p: !owes) -> (!whole, !whole) {
  %0 = grid.fused "all_reduce" {
    // expected-note @below {{read here}}
    %1 = grid.all_reduce %p over ["tp"] : !owes -> !whole
    grid.yield %1 : !whole
  } : !whole
  // expected-note @below {{read here}}
  %2 = grid.all_reduce %p over ["tp"] : !owes -> !whole
  return %0, %2 : !whole, !whole
}

// -----

// A value that leaves the program owes nothing.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
func.func @returned(%p: !owes) -> !owes {
  // expected-note @below {{the sum is owed since here}}
  %0 = decoder.scale %p {factor = 2.0 : f64} : (!owes) -> !owes
  // expected-error @below {{returns a value that owes a sum over "tp"; reduce it first}}
  return %0 : !owes
}

// -----

// Paid over one axis, forgotten over the other.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "ep", "tp">>
!owes_ep = tensor<?x16xf32, #grid.layout<[_, _] owes "ep">>
func.func @half_paid(%p: !owes) {
  // expected-error @below {{the sum owed over "ep" here is never paid}}
  %0 = grid.all_reduce %p over ["tp"] : !owes -> !owes_ep
  return
}

// -----

// Yielded and never paid.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
func.func @yielded(%p: !owes) {
  // expected-error @below {{the sum owed over "tp" here is never paid}}
  %0 = grid.fused "scale" {
    %1 = decoder.scale %p {factor = 2.0 : f64} : (!owes) -> !owes
    grid.yield %1 : !owes
  } : !owes
  return
}

// -----

// What comes back from experts is added up once.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
func.func @combined_twice(%x: !x, %ids: !ids, %w: !w, %g: !gate, %u: !gate, %d: !down) {
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  // expected-error @below {{the sum owed over "tp" here has 2 readers, expected one: it would be paid more than once}}
  %e = decoder.experts %rx, %ri, %rw, %g, %u, %d {function = #decoder.function<silu>} : (!rx, !ri, !rw, !gate, !gate, !down) -> !ro
  // expected-note @below {{read here}}
  %y = grid.combine %e by %ids over "tp" : (!ro, !ids) -> !x
  // expected-note @below {{read here}}
  %z = grid.combine %e by %ids over "tp" : (!ro, !ids) -> !x
  return
}
