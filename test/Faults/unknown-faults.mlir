// RUN: layline-opt %s --split-input-file --verify-diagnostics --test-inject-fault=spec=drop-reduce,1
// RUN: not layline-opt %s --test-inject-fault=kind=no-such-fault 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not layline-opt %s --test-inject-fault=spec=drop-reduce,one 2>&1 | FileCheck %s --check-prefix=NUMBER

// KIND: error: has no kind of fault 'no-such-fault', expected one of drop-reduce, drop-gather,
// NUMBER: error: found the place 'one', expected a number: spec=KIND,N

// expected-error @below {{has no place 1 of drop-reduce (only 1, numbered from 0)}}
module {
  grid.mesh @mesh ["tp"] = [2]
  func.func @v0(%p: tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>) -> tensor<?x4xf32, #grid.layout<[_, _]>>
      attributes {grid.tokens = array<i64: 1, 8>} {
    %0 = grid.all_reduce %p over ["tp"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">> -> tensor<?x4xf32, #grid.layout<[_, _]>>
    return %0 : tensor<?x4xf32, #grid.layout<[_, _]>>
  }
}
