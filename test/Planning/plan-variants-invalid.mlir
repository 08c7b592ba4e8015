// RUN: split-file %s %t
// RUN: layline-opt %t/reversed.mlir -verify-diagnostics -pass-pipeline='builtin.module(plan-variants{min-tokens=8 max-tokens=7})'
// RUN: layline-opt %t/no-tokens.mlir -verify-diagnostics -pass-pipeline='builtin.module(plan-variants{min-tokens=0 max-tokens=7})'
// RUN: layline-opt %t/boundaries.mlir -verify-diagnostics -pass-pipeline='builtin.module(plan-variants{boundaries=columns})'
// RUN: layline-opt %t/rules.mlir -verify-diagnostics -pass-pipeline='builtin.module(plan-variants{boundaries=whole:7,rows:7,auto})'
// RUN: layline-opt %t/launch.mlir -verify-diagnostics -pass-pipeline='builtin.module(plan-variants{launch=hand})'
// RUN: layline-opt %t/kernels.mlir -verify-diagnostics -pass-pipeline='builtin.module(plan-variants{kernels=nowhere.json})'
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
// expected-error @below {{boundaries are "columns", expected auto, rows, whole, or rules up to token counts like whole:63,rows}}
module {}

//--- rules.mlir
// The last rule has no limit; limits ascend.
// expected-error @below {{boundaries are "whole:7,rows:7,auto", expected}}
module {}

//--- launch.mlir
// expected-error @below {{kernels are launched by "hand", expected graph or eager}}
module {}

//--- kernels.mlir
// expected-error @below {{nowhere.json}}
module {
  func.func @a(%x: tensor<?x16xf32>) { return }
}

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
