// RUN: layline-opt %s -split-input-file -verify-diagnostics

// What may not be done with rows that go to the ranks of their experts. The
// right programs stand in routing.mlir.

// There is somebody to send rows to.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
func.func @no_experts(%x: !x, %ids: !ids, %w: !w, %g: !gate, %u: !gate, %d: !down) {
  // expected-error @below {{sends rows to 0 experts, expected at least 1}}
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 0 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  return
}

// -----

// The global tensors stay the same.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
func.func @other_tensor(%x: !x, %ids: !ids, %w: !w, %g: !gate, %u: !gate, %d: !down) {
  // expected-error @below {{changes the global tensor from 'tensor<?x8xf32>' to 'tensor<?x8xf64>'}}
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!x, !ids, !w) -> (tensor<?x8xf64, #grid.layout<[routed(6) "tp", _]>>, !ri, !rw)
  return
}

// -----

// Each row has as many weights as ids.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
!w3 = tensor<?x3xf32, #grid.layout<[block "tp", _]>>
!rw3 = tensor<?x3xf32, #grid.layout<[routed(6) "tp", _]>>
func.func @widths(%x: !x, %ids: !ids, %w3: !w3) {
  // expected-error @below {{as many of both for each row}}
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w3 to 6 over "tp" : (!x, !ids, !w3) -> (!rx, !ri, !rw3)
  return
}

// -----

// What every rank has would be sent by all of them.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
!v = tensor<?x8xf32, #grid.layout<[_, _]>>
func.func @whole_rows(%v: !v, %ids: !ids, %w: !w) {
  // expected-error @below {{has operand #0 in the layout #grid.layout<[_, _]>, expected its rows split last over "tp", each on one rank}}
  %rx, %ri, %rw = grid.dispatch %v, %ids, %w to 6 over "tp" : (!v, !ids, !w) -> (!rx, !ri, !rw)
  return
}

// -----

// Rows, ids and weights are of the same rows.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
!z = tensor<?x2xi32, #grid.layout<[zigzag "tp", _]>>
func.func @other_rows(%x: !x, %z: !z, %w: !w) {
  // expected-error @below {{has operand #0 with rows split as #grid.split<block "tp">, but operand #1 as #grid.split<zigzag "tp">}}
  %rx, %ri, %rw = grid.dispatch %x, %z, %w to 6 over "tp" : (!x, !z, !w) -> (!rx, !ri, !rw)
  return
}

// -----

// The type says to how many experts.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
func.func @other_count(%x: !x, %ids: !ids, %w: !w, %g: !gate, %u: !gate, %d: !down) {
  // expected-error @below {{gives result #0 the layout #grid.layout<[routed(6) "tp", _]>, expected #grid.layout<[routed(5) "tp", _]>}}
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 5 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  return
}

// -----

// What all have an addend of is not sent to few.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
!o = tensor<?x8xf32, #grid.layout<[block "tp", _] owes "ep">>
func.func @owed(%o: !o, %ids: !ids, %w: !w) {
  // expected-error @below {{gives result #0 the layout #grid.layout<[routed(6) "tp", _]>, expected #grid.layout<[routed(6) "tp", _] owes "ep">}}
  %rx, %ri, %rw = grid.dispatch %o, %ids, %w to 6 over "tp" : (!o, !ids, !w) -> (!rx, !ri, !rw)
  return
}

// -----

// Nobody but experts has a use for some of the rows.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
func.func @returned(%x: !x, %ids: !ids, %w: !w, %g: !gate, %u: !gate, %d: !down) -> !rx {
  // expected-error @below {{has result #0 read by 'func.return': a rank has only the rows of its experts, which experts alone take}}
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  // expected-note @below {{read here}}
  return %rx : !rx
}

// -----

// ... a norm neither.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
!v = tensor<8xf32, #grid.layout<[_]>>
func.func @norm(%x: !x, %ids: !ids, %w: !w, %v: !v) {
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  // expected-error @below {{takes rows of operand #0 that were dispatched over "tp": a rank has only those of its experts; combine them first}}
  %n = decoder.norm %rx, %v {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!rx, !v) -> !rx
  return
}

// -----

// What experts make of the rows comes back first.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
func.func @made_for_add(%x: !x, %ids: !ids, %w: !w, %g: !gate, %u: !gate, %d: !down) {
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  // expected-error @below {{makes of dispatched rows what 'decoder.add' reads, expected 'grid.combine'}}
  %e = decoder.experts %rx, %ri, %rw, %g, %u, %d {function = #decoder.function<silu>} : (!rx, !ri, !rw, !gate, !gate, !down) -> !ro
  // expected-note @below {{read here}}
  %s = decoder.add %e, %e : (!ro, !ro) -> !ro
  return
}

// -----

// ... before it is added to anything.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
func.func @add(%e: !ro, %f: !ro) {
  // expected-error @below {{takes rows of operand #0 that were dispatched over "tp"}}
  %s = decoder.add %e, %f : (!ro, !ro) -> !ro
  return
}

// -----

// Each expert is on one rank, not a part of each on all.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
!fg = tensor<6x4x8xf32, #grid.layout<[_, block "tp", _]>>
!fd = tensor<6x8x4xf32, #grid.layout<[_, _, block "tp"]>>
func.func @features(%x: !x, %ids: !ids, %w: !w, %g: !fg, %u: !fg, %d: !fd) {
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  // expected-error @below {{splits 'tokens' and 'features' over one axis "tp": its ranks cover only the diagonal blocks of the two}}
  %e = decoder.experts %rx, %ri, %rw, %g, %u, %d {function = #decoder.function<silu>} : (!rx, !ri, !rw, !fg, !fg, !fd) -> !ro
  return
}

// -----

// ... nor all on all: each would add its part.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
!fg = tensor<6x4x8xf32, #grid.layout<[_, _, _]>>
!fd = tensor<6x8x4xf32, #grid.layout<[_, _, _]>>
func.func @whole_stack(%x: !x, %ids: !ids, %w: !w, %g: !fg, %u: !fg, %d: !fd) {
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  // expected-error @below {{takes rows that were dispatched over "tp" to the ranks of their 'experts', expected these split by block over it, found them whole}}
  %e = decoder.experts %rx, %ri, %rw, %g, %u, %d {function = #decoder.function<silu>} : (!rx, !ri, !rw, !fg, !fg, !fd) -> !ro
  return
}

// -----

// ... and by block: that is where rows were sent.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
!fg = tensor<6x4x8xf32, #grid.layout<[cyclic(1) "tp", _, _]>>
!fd = tensor<6x8x4xf32, #grid.layout<[cyclic(1) "tp", _, _]>>
func.func @cyclic_stack(%x: !x, %ids: !ids, %w: !w, %g: !fg, %u: !fg, %d: !fd) {
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  // expected-error @below {{expected these split by block over it, found them split as #grid.split<cyclic(1) "tp">}}
  %e = decoder.experts %rx, %ri, %rw, %g, %u, %d {function = #decoder.function<silu>} : (!rx, !ri, !rw, !fg, !fg, !fd) -> !ro
  return
}

// -----

// ... over the axis that rows were sent along.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
!fg = tensor<6x4x8xf32, #grid.layout<[block "ep", _, _]>>
!fd = tensor<6x8x4xf32, #grid.layout<[block "ep", _, _]>>
func.func @other_axis(%x: !x, %ids: !ids, %w: !w, %g: !fg, %u: !fg, %d: !fd) {
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  // expected-error @below {{expected these split by block over it, found them split as #grid.split<block "ep">}}
  %e = decoder.experts %rx, %ri, %rw, %g, %u, %d {function = #decoder.function<silu>} : (!rx, !ri, !rw, !fg, !fg, !fd) -> tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "ep">>
  return
}

// -----

// Rows and their ids were sent together.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
func.func @two_dispatches(%x: !x, %ids: !ids, %w: !w, %g: !gate, %u: !gate, %d: !down, %other: !ids) {
  // expected-note @below {{its rows are dispatched here}}
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  %sx, %si, %sw = grid.dispatch %x, %other, %w to 6 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  // expected-error @below {{takes rows, ids and weights that are not those of one dispatch}}
  %e = decoder.experts %rx, %si, %rw, %g, %u, %d {function = #decoder.function<silu>} : (!rx, !ri, !rw, !gate, !gate, !down) -> !ro
  return
}

// -----

// ... to as many experts as there are.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
!fg = tensor<7x4x8xf32, #grid.layout<[block "tp", _, _]>>
!fd = tensor<7x8x4xf32, #grid.layout<[block "tp", _, _]>>
func.func @other_stack(%x: !x, %ids: !ids, %w: !w, %g: !fg, %u: !fg, %d: !fd) {
  // expected-note @below {{they are dispatched here}}
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  // expected-error @below {{has 7 experts, but its rows were dispatched to 6}}
  %e = decoder.experts %rx, %ri, %rw, %g, %u, %d {function = #decoder.function<silu>} : (!rx, !ri, !rw, !fg, !fg, !fd) -> !ro
  return
}

// -----

// A sum over all ranks would add what was never computed.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
func.func @reduced(%x: !x, %ids: !ids, %w: !w, %g: !gate, %u: !gate, %d: !down) {
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  // expected-error @below {{makes of dispatched rows what 'grid.all_reduce' reads, expected 'grid.combine'}}
  %e = decoder.experts %rx, %ri, %rw, %g, %u, %d {function = #decoder.function<silu>} : (!rx, !ri, !rw, !gate, !gate, !down) -> !ro
  // expected-note @below {{read here}}
  %y = grid.all_reduce %e over ["tp"] : !ro -> !rx
  return
}

// -----

// ... wherever it comes from.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
func.func @all_reduce(%e: !ro) {
  // expected-error @below {{sums rows that were dispatched over "tp": of those that a rank does not have it would add anything; combine them}}
  %y = grid.all_reduce %e over ["tp"] : !ro -> !rx
  return
}

// -----

// ... also of a part of them.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
func.func @scattered(%x: !x, %ids: !ids, %w: !w, %g: !gate, %u: !gate, %d: !down) {
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  // expected-error @below {{makes of dispatched rows what 'grid.reduce_scatter' reads, expected 'grid.combine'}}
  %e = decoder.experts %rx, %ri, %rw, %g, %u, %d {function = #decoder.function<silu>} : (!rx, !ri, !rw, !gate, !gate, !down) -> !ro
  // expected-note @below {{read here}}
  %y = grid.reduce_scatter %e dim 0 over "tp" : !ro -> !x
  return
}

// -----

// ... again.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
func.func @reduce_scatter(%e: !ro) {
  // expected-error @below {{works on dimension 0, whose rows were dispatched over "tp": a rank has only those of its experts; combine them first}}
  %y = grid.reduce_scatter %e dim 0 over "tp" : !ro -> !x
  return
}

// -----

// Other ranks do not have what is missing.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
func.func @gathered(%x: !x, %ids: !ids, %w: !w, %g: !gate, %u: !gate, %d: !down) {
  // expected-error @below {{has result #0 read by 'grid.all_gather'}}
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  // expected-note @below {{read here}}
  %y = grid.all_gather %rx dim 0 over "tp" : !rx -> tensor<?x8xf32, #grid.layout<[_, _]>>
  return
}

// -----

// ... again.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
func.func @all_gather(%r: !rx) {
  // expected-error @below {{works on dimension 0, whose rows were dispatched over "tp"}}
  %y = grid.all_gather %r dim 0 over "tp" : !rx -> tensor<?x8xf32, #grid.layout<[_, _]>>
  return
}

// -----

// Only what was sent comes back.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
func.func @not_dispatched(%x: !x, %ids: !ids, %w: !w, %g: !gate, %u: !gate, %d: !down) {
  // expected-error @below {{combines a value in the layout #grid.layout<[block "tp", _]>, expected rows routed over "tp" that owe a sum over it}}
  %y = grid.combine %x by %ids over "tp" : (!x, !ids) -> !x
  return
}

// -----

// ... by the ids that it was sent by.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
func.func @other_ids(%x: !x, %ids: !ids, %w: !w, %g: !gate, %u: !gate, %d: !down, %other: !ids) {
  // expected-note @below {{they are dispatched here}}
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  %e = decoder.experts %rx, %ri, %rw, %g, %u, %d {function = #decoder.function<silu>} : (!rx, !ri, !rw, !gate, !gate, !down) -> !ro
  // expected-error @below {{sends rows back by other ids than they were dispatched by}}
  %y = grid.combine %e by %other over "tp" : (!ro, !ids) -> !x
  return
}

// -----

// A rank knows the ids of its own rows.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
!v = tensor<?x2xi32, #grid.layout<[_, _]>>
func.func @whole_ids(%x: !x, %ids: !ids, %w: !w, %g: !gate, %u: !gate, %d: !down, %v: !v) {
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  %e = decoder.experts %rx, %ri, %rw, %g, %u, %d {function = #decoder.function<silu>} : (!rx, !ri, !rw, !gate, !gate, !down) -> !ro
  // expected-error @below {{has ids in the layout #grid.layout<[_, _]>, expected its rows split last over "tp", each on one rank}}
  %y = grid.combine %e by %v over "tp" : (!ro, !v) -> !x
  return
}

// -----

// The sum is paid.
!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>
!v = tensor<?x8xf32, #grid.layout<[_, _]>>
func.func @still_owed(%x: !x, %ids: !ids, %w: !w, %g: !gate, %u: !gate, %d: !down) {
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  %e = decoder.experts %rx, %ri, %rw, %g, %u, %d {function = #decoder.function<silu>} : (!rx, !ri, !rw, !gate, !gate, !down) -> !ro
  // expected-error @below {{gives the layout #grid.layout<[_, _]>, expected #grid.layout<[block "tp", _]>}}
  %y = grid.combine %e by %ids over "tp" : (!ro, !ids) -> !v
  return
}

// -----

// Routed are rows.
// expected-error @below {{dimension 1 is split as #grid.split<routed(6) "tp">: only rows, dimension 0, are routed, one by one}}
!c = tensor<?x8xf32, #grid.layout<[_, routed(6) "tp"]>>

// -----

// ... one by one.
// expected-error @below {{dimension 0 is split as #grid.split<routed(6) "tp" x 2>: only rows, dimension 0, are routed, one by one}}
!c = tensor<?x8xf32, #grid.layout<[routed(6) "tp" x 2, _]>>

// -----

// ... to one expert at least.
// expected-error @below {{'routed' has the argument 0, expected at least 1}}
!c = tensor<?x8xf32, #grid.layout<[routed(0) "tp", _]>>

// -----

// What a rank has of them is no part that could be dealt out.
// expected-error @below {{'routed' is followed by 'block'}}
!c = tensor<?x8xf32, #grid.layout<[routed(6) "tp" then block "cp", _]>>

// -----

// Over another axis than they owe nothing changes.
// expected-error @below {{axis "cp" splits dimension 0 and cannot owe a sum at the same time}}
!c = tensor<?x8xf32, #grid.layout<[block "cp" then routed(6) "tp", _] owes "cp">>
