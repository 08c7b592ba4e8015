// RUN: layline-opt %s -pass-pipeline='builtin.module(plan-variants{min-tokens=1 max-tokens=64 boundaries=whole:7,rows})' | FileCheck %s --check-prefixes=CHECK,AUTO
// RUN: layline-opt %s -pass-pipeline='builtin.module(plan-variants{min-tokens=8 max-tokens=64 boundaries=whole:7,rows})' | FileCheck %s --check-prefixes=CHECK,FROM
// RUN: layline-opt %s -pass-pipeline='builtin.module(plan-variants{min-tokens=1 max-tokens=7 boundaries=whole:7,rows})' | FileCheck %s --check-prefixes=CHECK,BELOW
// RUN: layline-opt %s -pass-pipeline='builtin.module(plan-variants{min-tokens=1 max-tokens=8 boundaries=whole:7,rows})' | FileCheck %s --check-prefixes=CHECK,EDGE
// RUN: layline-opt %s -pass-pipeline='builtin.module(plan-variants{max-tokens=64 boundaries=rows})' | FileCheck %s --check-prefixes=CHECK,ROWS
// RUN: layline-opt %s -pass-pipeline='builtin.module(plan-variants{max-tokens=64 boundaries=whole})' | FileCheck %s --check-prefixes=CHECK,WHOLE
// RUN: layline-opt %s -pass-pipeline='builtin.module(plan-variants{max-tokens=64})' | FileCheck %s --check-prefixes=CHECK,CHOSEN

// The ranges are disjoint and cover all token counts asked for, also where the
// threshold is the first count, the last, or beyond.

// The placed program stays, for comparison, but is no entry any more.
// CHECK: func.func private @decoder(
// CHECK-NOT: grid.tokens
// CHECK-NEXT: return

// AUTO: func.func @v0({{.*}}grid.boundaries = "whole", grid.reason = "boundaries=whole:7,rows was asked for", grid.tokens = array<i64: 1, 7>
// AUTO: func.func @v1({{.*}}grid.boundaries = "rows", grid.chosen, grid.reason = "boundaries=whole:7,rows was asked for", grid.tokens = array<i64: 8, 64>
// AUTO-NOT: func.func @v2

// FROM: func.func @v0({{.*}}grid.boundaries = "rows", grid.chosen, grid.reason = "boundaries=whole:7,rows was asked for", grid.tokens = array<i64: 8, 64>
// FROM-NOT: func.func @v1

// BELOW: func.func @v0({{.*}}grid.boundaries = "whole", {{.*}}grid.tokens = array<i64: 1, 7>
// BELOW-NOT: func.func @v1

// EDGE: func.func @v0({{.*}}grid.boundaries = "whole", {{.*}}grid.tokens = array<i64: 1, 7>
// EDGE: func.func @v1({{.*}}grid.boundaries = "rows", {{.*}}grid.tokens = array<i64: 8, 8>

// ROWS: func.func @v0({{.*}}grid.boundaries = "rows", grid.chosen, grid.reason = "boundaries=rows was asked for", grid.tokens = array<i64: 1, 64>
// ROWS-NOT: func.func @v1

// WHOLE: func.func @v0({{.*}}grid.boundaries = "whole", grid.reason = "boundaries=whole was asked for", grid.tokens = array<i64: 1, 64>
// WHOLE-NOT: func.func @v1

// What is chosen by cost has its prices and its choices; the placed program is
// left alone.
// CHOSEN: func.func @v0({{.*}}grid.chosen, grid.kernels, grid.prices = [{{.*}}tokens = 1 : i64{{.*}}grid.reason = "least cost of 1 choices at {{[0-9]+}} token counts, at most 0.00 % above the best", grid.tokens = array<i64: 1, 64>
// CHOSEN-NOT: func.func @v1
func.func @decoder(%x: tensor<?x16xf32, #grid.layout<[_, _]>>) -> tensor<?x16xf32, #grid.layout<[_, _]>> {
  return %x : tensor<?x16xf32, #grid.layout<[_, _]>>
}

// The imported program is no program to plan.
// CHECK: func.func private @decoder.reference
func.func private @decoder.reference(%x: tensor<?x16xf32>) -> tensor<?x16xf32> attributes {decoder.reference} {
  return %x : tensor<?x16xf32>
}
