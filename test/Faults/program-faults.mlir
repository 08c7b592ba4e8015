// RUN: layline-opt %s --pass-pipeline='builtin.module(layline-place{tp=2 cp=2},layline-plan{boundaries=rows})' -o %t
// RUN: layline-opt %t --verify-each=0 --mlir-print-assume-verified --test-inject-fault="kind=drop-reduce n=1" | FileCheck %s --check-prefix=REDUCE
// RUN: layline-opt %t --verify-each=0 --mlir-print-assume-verified --test-inject-fault=spec=drop-gather,2 | FileCheck %s --check-prefix=GATHER
// RUN: layline-opt %t --test-inject-fault=spec=gathered-in-rank-order,0 | FileCheck %s --check-prefix=ORDER
// RUN: layline-opt %t --test-inject-fault=spec=local-position,0 | FileCheck %s --check-prefix=LOCAL
// RUN: layline-opt %t --test-inject-fault=spec=neighbour-weight-slice,1 | FileCheck %s --check-prefix=NEIGHBOUR
// RUN: layline-opt %t --test-inject-fault=spec=fused-qkv-slice,0 | FileCheck %s --check-prefix=QKV
// RUN: layline-opt %t --test-inject-fault=spec=deferred-sum-unpaid,1 | FileCheck %s --check-prefix=UNPAID
// RUN: layline-opt %t --verify-each=0 --mlir-print-assume-verified --test-inject-fault=spec=residual-on-every-rank,0 | FileCheck %s --check-prefix=RESIDUAL
// RUN: layline-opt %t --test-inject-fault=spec=norm-before-residual-add,1 | FileCheck %s --check-prefix=BRANCH
// RUN: layline-opt %t --test-inject-fault=spec=prefix-offset-lost,0 | FileCheck %s --check-prefix=PREFIX
// RUN: layline-opt %t --test-inject-fault=spec=window-added,0 | FileCheck %s --check-prefix=WINDOW
// RUN: layline-opt %t --verify-each=0 --mlir-print-assume-verified --test-inject-fault=spec=wrong-group,0 | FileCheck %s --check-prefix=GROUP

// What no op can say is a cast; the types still hold, so the default
// verification between passes finds nothing.

// The addends reach the add; the types say so.
// REDUCE: grid.fused "reduce_scatter+add+norm+all_gather"
// REDUCE-NOT: reduce_scatter %
// REDUCE: decoder.add %{{.*}}#0, %{{[0-9]+}} {{.*}}owes "tp"

// Rows of one rank of "tp" are yielded in place of all.
// GATHER: grid.fused "reduce_scatter+add+norm+all_gather"
// GATHER: %[[N:.*]] = decoder.norm
// GATHER-NEXT: grid.yield %[[N]]
// GATHER-NEXT: } : tensor<?x4xf32, #grid.layout<[zigzag "cp" then block "tp", _]>>

// ORDER: func.func @v0
// ORDER: %[[K:.*]] = decoder.rope
// ORDER-NEXT: %[[B:.*]] = builtin.unrealized_conversion_cast %[[K]] : tensor<?x2x2xf32, #grid.layout<[zigzag "cp", readers(2) "tp", _]>> to tensor<?x2x2xf32, #grid.layout<[block "cp", readers(2) "tp", _]>>
// ORDER-NEXT: grid.all_gather %[[B]] dim 0 over "cp"

// LOCAL: func.func @v0(%{{.*}}, %[[P:.*]]: tensor<?xi64, #grid.layout<[_]>>
// LOCAL: %[[L:.*]] = builtin.unrealized_conversion_cast %[[P]] : tensor<?xi64, #grid.layout<[_]>> to tensor<?xi64, #grid.layout<[zigzag "cp"]>>
// LOCAL: decoder.rope %{{.*}}, %[[L]]

// NEIGHBOUR: func.func @v0
// NEIGHBOUR: %[[W:.*]] = decoder.weight {key = "qkv", rows = array<i64: 0, 4>{{.*}} -> tensor<4x4xf32, #grid.layout<[owner(1, 0) "tp" x 2, _]>>
// NEIGHBOUR-NEXT: builtin.unrealized_conversion_cast %[[W]] {{.*}} to tensor<4x4xf32, #grid.layout<[block "tp" x 2, _]>>

// QKV: func.func @v0
// QKV: key = "qkv", rows = array<i64: 0, 4>
// QKV: key = "qkv", rows = array<i64: 0, 4>

// UNPAID: grid.fused "reduce_scatter+add+norm+all_gather"
// UNPAID-NEXT: %[[S:.*]] = builtin.unrealized_conversion_cast %{{.*}} owes "tp">> to
// UNPAID-NEXT: grid.slice %[[S]] dim 0 over "tp"

// RESIDUAL: grid.fused "reduce_scatter+add+norm+all_gather"
// RESIDUAL-NEXT: %[[R:.*]] = grid.all_gather %{{.*}}#0 dim 0 over "tp"
// RESIDUAL-NEXT: %[[SUM:.*]] = decoder.add %[[R]], %{{[0-9]+}} {{.*}}owes "tp"
// RESIDUAL-NEXT: %[[ALL:.*]] = grid.reduce_scatter %[[SUM]]
// RESIDUAL-NEXT: decoder.norm %[[ALL]]

// BRANCH: grid.fused "reduce_scatter+add+norm+all_gather"
// BRANCH-NEXT: %[[Y:.*]] = grid.reduce_scatter
// BRANCH-NEXT: decoder.add
// BRANCH-NEXT: decoder.norm %[[Y]]

// PREFIX: func.func @v0(%{{.*}}, %[[P:.*]]: tensor<?xi64, #grid.layout<[_]>>
// PREFIX: decoder.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[P]] {

// WINDOW: func.func @v0
// WINDOW: decoder.attention {{.*}}window = 2

// GROUP: func.func @v0
// GROUP: grid.reduce_scatter %{{.*}} dim 0 over "cp"

module attributes {decoder.source = {config = "config.json", digest = "sha256:0", layers = 1 : i64, max_positions = 64 : i64, model_type = "llama"}, grid.target = "cpu"} {
func.func @decoder(%ids: tensor<?xi64> {decoder.input = "input_ids"},
                   %positions: tensor<?xi64> {decoder.input = "positions"}) -> tensor<?x8xf32> {
  %past = decoder.cache %positions {layer = -1 : si64, plane = #decoder.plane<positions>} : (tensor<?xi64>) -> tensor<?xi64>
  %table = decoder.weight {key = "embed", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32>
  %x = decoder.embedding %ids, %table : (tensor<?xi64>, tensor<8x4xf32>) -> tensor<?x4xf32>
  %g = decoder.weight {key = "norm", stored_shape = array<i64: 4>} : () -> tensor<4xf32>
  %n = decoder.norm %x, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %w = decoder.weight {key = "qkv", rows = array<i64: 0, 4>, stored_shape = array<i64: 8, 4>} : () -> tensor<4x4xf32>
  %v = decoder.weight {key = "qkv", rows = array<i64: 4, 8>, stored_shape = array<i64: 8, 4>} : () -> tensor<4x4xf32>
  %q = decoder.linear %n, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %k = decoder.linear %n, %v : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %qh = decoder.split_heads %q : (tensor<?x4xf32>) -> tensor<?x2x2xf32>
  %kh = decoder.split_heads %k : (tensor<?x4xf32>) -> tensor<?x2x2xf32>
  %kr = decoder.rope %kh, %positions {style = #decoder.rope_style<half>, table = #decoder.rope_table<[1.0], factor 1.0>} : (tensor<?x2x2xf32>, tensor<?xi64>) -> tensor<?x2x2xf32>
  %keys = decoder.cache %kr {layer = 0 : si64, plane = #decoder.plane<key>} : (tensor<?x2x2xf32>) -> tensor<?x2x2xf32>
  %a = decoder.attention %qh, %keys, %keys, %positions, %past {scale = 0.5 : f64, causal = true} : (tensor<?x2x2xf32>, tensor<?x2x2xf32>, tensor<?x2x2xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x2x2xf32>
  %m = decoder.merge_heads %a : (tensor<?x2x2xf32>) -> tensor<?x4xf32>
  %o = decoder.weight {key = "o", stored_shape = array<i64: 4, 4>} : () -> tensor<4x4xf32>
  %y = decoder.linear %m, %o : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %h = decoder.add %x, %y : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %n2 = decoder.norm %h, %g {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %logits = decoder.logits %n2, %table : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  return %logits : tensor<?x8xf32>
}
}
