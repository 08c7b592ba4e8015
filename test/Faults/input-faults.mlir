// RUN: layline-opt %S/../unit/faults/Inputs/router-broadcast.mlir --test-inject-fault=spec=wrong-root,1 | FileCheck %s --check-prefix=ROOT
// RUN: layline-opt %S/../unit/faults/Inputs/wide-key-norm.mlir --test-inject-fault=spec=replicated-head-counted-twice,0 | FileCheck %s --check-prefix=TWICE
// RUN: layline-opt %S/../unit/faults/Inputs/padded-head-norm.mlir --verify-each=0 --mlir-print-assume-verified --test-inject-fault=spec=padded-head-in-norm,1 | FileCheck %s --check-prefix=PADDED
// RUN: layline-opt %S/../unit/faults/Inputs/quantized-gather.mlir --test-inject-fault=spec=quantize-scale-of-other-row,0 | FileCheck %s --check-prefix=SCALES
// RUN: not layline-opt %S/../unit/faults/Inputs/router-broadcast.mlir --pass-pipeline='builtin.module(test-inject-fault{kind=wrong-root},verify-order)' 2>&1 | FileCheck %s --check-prefix=NO-ROOT
// RUN: not layline-opt %S/../unit/faults/Inputs/padded-head-norm.mlir --test-inject-fault=kind=padded-head-in-norm 2>&1 | FileCheck %s --check-prefix=NO-PADDING
// RUN: layline-opt %S/../unit/faults/Inputs/scales-biases-windows.mlir --pass-pipeline='builtin.module(layline-place{tp=2 cp=2},layline-plan{boundaries=rows})' -o %t
// RUN: layline-opt %t --verify-each=0 --mlir-print-assume-verified --test-inject-fault=spec=bias-on-every-rank,0 | FileCheck %s --check-prefix=BIAS
// RUN: layline-opt %t --test-inject-fault=spec=scale-lost,1 | FileCheck %s --check-prefix=LOST
// RUN: layline-opt %t --test-inject-fault=spec=scale-changed,1 | FileCheck %s --check-prefix=CHANGED
// RUN: layline-opt %t --test-inject-fault=spec=window-changed,0 | FileCheck %s --check-prefix=WINDOW
// RUN: layline-opt %t --test-inject-fault=spec=window-lost,0 | FileCheck %s --check-prefix=ALL-KEYS
// RUN: layline-opt %t --test-inject-fault=spec=norm-weight-offset-lost,0 | FileCheck %s --check-prefix=OFFSET

// Kinds that golden models have no place for, in the matrix's programs.

// ROOT: grid.broadcast %{{.*}} root 0 over "tp" : tensor<?x2xi32
// ROOT: grid.broadcast %{{.*}} root 4 over "tp" : tensor<?x2xf32
// NO-ROOT: error: 'grid.broadcast' op has the root 4, but "tp" has 4 ranks

// Ranks hold h0, h0, h1, h1: all are gathered, and the first two are taken.
// TWICE: func.func @v0
// TWICE: %[[P:.*]] = builtin.unrealized_conversion_cast %{{.*}} : tensor<?x4xf32, #grid.layout<[_, readers(8) "tp" x 2]>> to tensor<?x8xf32, #grid.layout<[_, block "tp" x 2]>>
// TWICE-NEXT: %[[A:.*]] = grid.all_gather %[[P]] dim 1 over "tp"
// TWICE-NEXT: %[[K:.*]] = builtin.unrealized_conversion_cast %[[A]] : tensor<?x8xf32, #grid.layout<[_, _]>> to tensor<?x4xf32, #grid.layout<[_, _]>>
// TWICE-NEXT: decoder.norm %[[K]]

// The second place: the norm over all heads.
// PADDED: func.func @v0
// PADDED: grid.unpad
// PADDED: %[[H:.*]] = decoder.norm {{.*}} -> tensor<?x4x2xf32, #grid.layout<[block "tp", _ pad 8, _]>>
// PADDED-NEXT: %[[M:.*]] = decoder.merge_heads %[[H]]
// PADDED-NEXT: decoder.norm %[[M]]
// NO-PADDING: error: 'decoder.linear' op sums over dimension 1 (in) of operand #0, whose parts are padded to 16 elements

// SCALES: %[[V:.*]], %[[S:.*]] = decoder.quantize {{.*}}block "tp"
// SCALES: %[[C:.*]] = builtin.unrealized_conversion_cast %[[S]] {{.*}} to tensor<?x1xf32, #grid.layout<[cyclic(1) "tp", _]>>
// SCALES-NEXT: %[[A:.*]] = grid.all_gather %[[C]]
// SCALES-NEXT: %[[B:.*]] = grid.slice %[[A]]
// SCALES-NEXT: grid.all_gather %[[B]]

// BIAS: grid.fused "reduce_scatter+add_bias+
// BIAS: %[[B:.*]] = decoder.add_bias {{.*}}owes "tp"
// BIAS-NEXT: %[[S:.*]] = grid.reduce_scatter %[[B]]
// BIAS-NEXT: decoder.scale %[[S]]

// Of the residual scales the first.
// LOST: func.func @v0
// LOST: decoder.scale {{.*}}factor = 1.200000e+01
// LOST: %[[B:.*]] = decoder.add_bias
// LOST-NEXT: decoder.add %{{.*}}, %[[B]]
// CHANGED: func.func @v0
// CHANGED: decoder.add_bias
// CHANGED-NEXT: decoder.scale %{{.*}} {factor = 4.400000e-01 : f64}

// WINDOW: func.func @v0
// WINDOW: decoder.attention {{.*}}window = 2 : i64
// ALL-KEYS: func.func @v0
// ALL-KEYS-NOT: window
// ALL-KEYS: decoder.attention {{.*}}causal = true, scale
// OFFSET: func.func @v0
// OFFSET: decoder.norm %{{[0-9]+}}, %{{[0-9]+}} {eps = {{[0-9.E-]+}} : f64, kind = #decoder.norm_kind<rms>}
