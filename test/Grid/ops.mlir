// RUN: layline-opt %s | layline-opt | FileCheck %s
// RUN: layline-opt %s -mlir-print-op-generic | layline-opt | FileCheck %s

!whole = tensor<?x64xf32, #grid.layout<[_, _]>>
!rows = tensor<?x64xf32, #grid.layout<[block "tp", _]>>
!columns = tensor<?x64xf32, #grid.layout<[_, block "tp" x 16]>>
!owes = tensor<?x64xf32, #grid.layout<[_, _] owes "tp">>
!owes_two = tensor<?x64xf32, #grid.layout<[_, _] owes "ep", "tp">>
!owes_ep = tensor<?x64xf32, #grid.layout<[_, _] owes "ep">>
!rows_owe_ep = tensor<?x64xf32, #grid.layout<[block "tp", _] owes "ep">>
!norm_weight = tensor<64xf32, #grid.layout<[_]>>

// CHECK: grid.mesh @mesh ["cp", "tp"] = [2, 4]
grid.mesh @mesh ["cp", "tp"] = [2, 4]

// An axis of one rank is an axis.
module {
  // CHECK: grid.mesh @single ["tp"] = [1]
  grid.mesh @single ["tp"] = [1]
}

// CHECK-LABEL: @all_reduce
func.func @all_reduce(%p: !owes, %q: !owes_two, %r: !owes_two) {
  // CHECK: grid.all_reduce %{{.*}} over ["tp"] {site = "layer.0.o_proj"} : {{.*}} owes "tp">> -> tensor<?x64xf32, #grid.layout<[_, _]>>
  %0 = grid.all_reduce %p over ["tp"] {site = "layer.0.o_proj"} : !owes -> !whole
  // Both axes at once.
  // CHECK: grid.all_reduce %{{.*}} over ["ep", "tp"] : {{.*}} owes "ep", "tp">> -> tensor<?x64xf32, #grid.layout<[_, _]>>
  %1 = grid.all_reduce %q over ["ep", "tp"] : !owes_two -> !whole
  // One of them: the other is still owed.
  // CHECK: grid.all_reduce %{{.*}} over ["tp"] {reason = "so"} : {{.*}} owes "ep", "tp">> -> tensor<?x64xf32, #grid.layout<[_, _] owes "ep">>
  %2 = grid.all_reduce %r over ["tp"] {reason = "so"} : !owes_two -> !owes_ep
  return
}

// CHECK-LABEL: @reduce_scatter
func.func @reduce_scatter(%p: !owes, %q: !owes, %r: !owes_two) {
  // CHECK: grid.reduce_scatter %{{.*}} dim 0 over "tp" {site = "mlp"} : {{.*}} -> tensor<?x64xf32, #grid.layout<[block "tp", _]>>
  %0 = grid.reduce_scatter %p dim 0 over "tp" {site = "mlp"} : !owes -> !rows
  // Any dimension, in units.
  // CHECK: grid.reduce_scatter %{{.*}} dim 1 over "tp" : {{.*}} -> tensor<?x64xf32, #grid.layout<[_, block "tp" x 16]>>
  %1 = grid.reduce_scatter %q dim 1 over "tp" : !owes -> !columns
  // What is owed over other axes stays owed.
  // CHECK: grid.reduce_scatter %{{.*}} dim 0 over "tp" : {{.*}} -> tensor<?x64xf32, #grid.layout<[block "tp", _] owes "ep">>
  %2 = grid.reduce_scatter %r dim 0 over "tp" : !owes_two -> !rows_owe_ep
  return
}

// CHECK-LABEL: @all_gather
func.func @all_gather(%r: !rows, %c: !columns,
                      %z: tensor<?x64xf32, #grid.layout<[zigzag "tp", block "ep"]>>) {
  // CHECK: grid.all_gather %{{.*}} dim 0 over "tp" : {{.*}} -> tensor<?x64xf32, #grid.layout<[_, _]>>
  %0 = grid.all_gather %r dim 0 over "tp" : !rows -> !whole
  // CHECK: grid.all_gather %{{.*}} dim 1 over "tp" : {{.*}} -> tensor<?x64xf32, #grid.layout<[_, _]>>
  %1 = grid.all_gather %c dim 1 over "tp" : !columns -> !whole
  // Any kind of split; other dimensions stay split.
  // CHECK: grid.all_gather %{{.*}} dim 0 over "tp" : {{.*}} -> tensor<?x64xf32, #grid.layout<[_, block "ep"]>>
  %2 = grid.all_gather %z dim 0 over "tp" : tensor<?x64xf32, #grid.layout<[zigzag "tp", block "ep"]>>
    -> tensor<?x64xf32, #grid.layout<[_, block "ep"]>>
  return
}

// CHECK-LABEL: @broadcast
func.func @broadcast(%ids: tensor<?x8xi32, #grid.layout<[_, _]>>) {
  // CHECK: grid.broadcast %{{.*}} root 3 over "tp" : tensor<?x8xi32, #grid.layout<[_, _]>>
  %0 = grid.broadcast %ids root 3 over "tp" : tensor<?x8xi32, #grid.layout<[_, _]>>
  return
}

// CHECK-LABEL: @slice
func.func @slice(%positions: tensor<?xi64, #grid.layout<[_]>>, %q: !owes_ep) {
  // CHECK: grid.slice %{{.*}} dim 0 over "tp" : {{.*}} -> tensor<?xi64, #grid.layout<[block "tp"]>>
  %0 = grid.slice %positions dim 0 over "tp"
     : tensor<?xi64, #grid.layout<[_]>> -> tensor<?xi64, #grid.layout<[block "tp"]>>
  // Over an axis that owes nothing, of a value that owes over another.
  // CHECK: grid.slice %{{.*}} dim 0 over "tp" : {{.*}} -> tensor<?x64xf32, #grid.layout<[block "tp", _] owes "ep">>
  %1 = grid.slice %q dim 0 over "tp" : !owes_ep -> !rows_owe_ep
  return
}

// CHECK-LABEL: @fused
func.func @fused(%p: !owes, %residual: !rows, %w: !norm_weight) -> (!whole, !rows) {
  // CHECK: %[[OUT:.*]]:2 = grid.fused "reduce_scatter+add+norm+all_gather" {
  %0:2 = grid.fused "reduce_scatter+add+norm+all_gather" {
    %sum = grid.reduce_scatter %p dim 0 over "tp" : !owes -> !rows
    // CHECK: %[[H:.*]] = decoder.add
    %h = decoder.add %residual, %sum : (!rows, !rows) -> !rows
    %y = decoder.norm %h, %w {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!rows, !norm_weight) -> !rows
    // CHECK: %[[Y:.*]] = grid.all_gather
    %g = grid.all_gather %y dim 0 over "tp" : !rows -> !whole
    // CHECK: grid.yield %[[Y]], %[[H]] : tensor<?x64xf32, #grid.layout<[_, _]>>, tensor<?x64xf32, #grid.layout<[block "tp", _]>>
    grid.yield %g, %h : !whole, !rows
  // CHECK: } : tensor<?x64xf32, #grid.layout<[_, _]>>, tensor<?x64xf32, #grid.layout<[block "tp", _]>>
  } : !whole, !rows
  // CHECK: return %[[OUT]]#0, %[[OUT]]#1
  return %0#0, %0#1 : !whole, !rows
}
