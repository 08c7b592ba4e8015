// RUN: layline-opt %s -split-input-file -verify-diagnostics -mlir-very-unsafe-disable-verifier-on-parsing -verify-each=0 -verify-consumers -o /dev/null

// Public faults about who holds which rows.

// A residual by rows leaves the stage as if every rank had all of it (vllm
// #24021: sequence parallelism with pipeline stages).

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>

// It says that it leaves by rows: the next stage takes rows.
func.func @typed(%p: !owes, %r: !rows) -> !rows {
  %0 = grid.reduce_scatter %p dim 0 over "tp" : !owes -> !rows
  %1 = decoder.add %r, %0 : (!rows, !rows) -> !rows
  return %1 : !rows
}

// Or it is gathered.
func.func @gathered(%p: !owes, %r: !rows) -> !whole {
  %0 = grid.reduce_scatter %p dim 0 over "tp" : !owes -> !rows
  %1 = decoder.add %r, %0 : (!rows, !rows) -> !rows
  %2 = grid.all_gather %1 dim 0 over "tp" : !rows -> !whole
  return %2 : !whole
}

// -----

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @as_if_whole(%p: !owes, %x: !whole) -> !whole {
  // expected-note @below {{since here}}
  %r = grid.slice %x dim 0 over "tp" : !whole -> !rows
  %0 = grid.reduce_scatter %p dim 0 over "tp" : !owes -> !rows
  %1 = decoder.add %r, %0 : (!rows, !rows) -> !rows
  // expected-error @below {{returns %2 (operand #0) as all rows, all columns, but gets rows by block "tp", all columns: narrowed at 'grid.slice' and nothing gathers it}}
  return %1 : !rows
}

// -----

// The same with a type that lies.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
func.func @said_to_be_whole(%r: !rows, %x: !rows) -> !whole {
  // expected-error @below {{'decoder.add' gives %0 as all rows, all columns, but its operands give rows by block "tp", all columns}}
  %1 = decoder.add %r, %x : (!rows, !rows) -> !whole
  // expected-error @below {{returns %0 (operand #0) as all rows, all columns, but gets rows by block "tp"}}
  return %1 : !whole
}
