// RUN: split-file %s %t
// RUN: layline-opt %t/reversed.mlir -verify-diagnostics -pass-pipeline='builtin.module(plan-variants{min-tokens=8 max-tokens=7})'
// RUN: layline-opt %t/no-tokens.mlir -verify-diagnostics -pass-pipeline='builtin.module(plan-variants{min-tokens=0 max-tokens=7})'
// RUN: layline-opt %t/boundaries.mlir -verify-diagnostics -pass-pipeline='builtin.module(plan-variants{boundaries=columns})'
// RUN: layline-opt %t/none.mlir -verify-diagnostics -pass-pipeline='builtin.module(plan-variants)'
// RUN: layline-opt %t/two.mlir -verify-diagnostics -pass-pipeline='builtin.module(plan-variants)'

//--- reversed.mlir
// expected-error @below {{the token range is 8:7, expected 1 <= min <= max}}
module {}

//--- no-tokens.mlir
// A step without query tokens launches nothing.
// expected-error @below {{the token range is 0:7, expected 1 <= min <= max}}
module {}

//--- boundaries.mlir
// expected-error @below {{boundaries are "columns", expected auto, rows or whole}}
module {}

//--- none.mlir
// expected-error @below {{has 0 placed programs, expected one}}
module {
  func.func private @imported(%x: tensor<?x16xf32>) attributes {decoder.reference} { return }
}

//--- two.mlir
// expected-error @below {{has 2 placed programs, expected one}}
module {
  func.func @a(%x: tensor<?x16xf32>) { return }
  func.func @b(%x: tensor<?x16xf32>) { return }
}
