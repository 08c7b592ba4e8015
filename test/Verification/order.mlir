// RUN: layline-opt %s -split-input-file -verify-diagnostics -mlir-very-unsafe-disable-verifier-on-parsing -verify-each=0 -verify-order -allow-unregistered-dialect -o /dev/null

// All ranks of a group run the same collectives, and over the right group. The
// ops are not verified.

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "ep", "tp">>
!owes_ep = tensor<?x16xf32, #grid.layout<[_, _] owes "ep">>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
grid.mesh @mesh ["dp", "ep", "tp"] = [1, 2, 4]

func.func @paid_over_both(%p: !owes) -> !whole {
  %0 = grid.all_reduce %p over ["ep", "tp"] : !owes -> !whole
  return %0 : !whole
}

// One after the other, with a linear op between.
func.func @paid_one_by_one(%p: !owes) -> !whole {
  %0 = grid.fused "all_reduce+scale" {
    %1 = grid.all_reduce %p over ["tp"] : !owes -> !owes_ep
    %2 = decoder.scale %1 {factor = 2.0 : f64} : (!owes_ep) -> !owes_ep
    grid.yield %2 : !owes_ep
  } : !owes_ep
  %3 = grid.all_reduce %0 over ["ep"] : !owes_ep -> !whole
  return %3 : !whole
}

// A group of one rank, and roots of groups.
func.func @roots(%x: !whole) -> !whole {
  %0 = grid.broadcast %x root 0 over "dp" : !whole
  %1 = grid.broadcast %0 root 3 over "tp" : !whole
  return %1 : !whole
}

// -----

// The public fault: both reductions were skipped, one was made up for.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "ep", "tp">>
!owes_ep = tensor<?x16xf32, #grid.layout<[_, _] owes "ep">>
!n = tensor<16xf32, #grid.layout<[_]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
grid.mesh @mesh ["ep", "tp"] = [2, 4]
func.func @paid_over_one(%p: !owes, %n: !n) -> !whole {
  // expected-error @below {{leaves a sum owed: a sum owed over "ep" and "tp" is paid over "tp" alone}}
  %0 = grid.all_reduce %p over ["tp"] : !owes -> !owes_ep
  // expected-note @below {{'decoder.norm' needs it paid here}}
  %1 = decoder.norm %0, %n {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!owes_ep, !n) -> !whole
  return %1 : !whole
}

// -----

// A type that forgets the rest.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "ep", "tp">>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
grid.mesh @mesh ["ep", "tp"] = [2, 4]
func.func @forgotten(%p: !owes) -> !rows {
  // expected-error @below {{a sum owed over "ep" and "tp" is paid over "tp" alone}}
  %0 = grid.reduce_scatter %p dim 0 over "tp" : !owes -> !rows
  return %0 : !rows
}

// -----

// The rest leaves the program.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "ep", "tp">>
!owes_ep = tensor<?x16xf32, #grid.layout<[_, _] owes "ep">>
grid.mesh @mesh ["ep", "tp"] = [2, 4]
func.func @returned(%p: !owes) -> !owes_ep {
  // expected-error @below {{a sum owed over "ep" and "tp" is paid over "tp" alone}}
  %0 = grid.all_reduce %p over ["tp"] : !owes -> !owes_ep
  // expected-note @below {{'func.return' needs it paid here}}
  return %0 : !owes_ep
}

// -----

!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
grid.mesh @mesh ["tp"] = [4]
func.func @root(%x: !whole) -> !whole {
  // expected-error @below {{has the root 4, but "tp" has 4 ranks}}
  %0 = grid.broadcast %x root 4 over "tp" : !whole
  return %0 : !whole
}

// -----

!rows = tensor<?x16xf32, #grid.layout<[block "cp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
grid.mesh @mesh ["tp"] = [4]
func.func @axis(%x: !rows) -> !whole {
  // expected-error @below {{is over "cp", which is no axis of the mesh}}
  %0 = grid.all_gather %x dim 0 over "cp" : !rows -> !whole
  return %0 : !whole
}

// -----

// No mesh has no axes.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @no_mesh(%x: !rows) -> !whole {
  // expected-error @below {{is over "tp", which is no axis of the mesh}}
  %0 = grid.all_gather %x dim 0 over "tp" : !rows -> !whole
  return %0 : !whole
}

// -----

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
grid.mesh @mesh ["tp"] = [4]
func.func @axis_twice(%p: !owes) -> !whole {
  // expected-error @below {{names the axis "tp" twice}}
  %0 = grid.all_reduce %p over ["tp", "tp"] : !owes -> !whole
  return %0 : !whole
}

// -----

// Some ranks might skip it.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
grid.mesh @mesh ["tp"] = [4]
func.func @conditional(%p: !owes) -> !whole {
  %0 = "test.if"() ({
    // expected-error @below {{stands in a region of 'test.if': if some ranks skip it or repeat it, the order of collectives differs from rank to rank}}
    %1 = grid.all_reduce %p over ["tp"] : !owes -> !whole
    "test.yield"(%1) : (!whole) -> ()
  }) : () -> !whole
  return %0 : !whole
}
