// RUN: layline-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(plan-split-all-reduce,plan-sink-all-gather))' | FileCheck %s

// Rows that context parallelism has dealt out are dealt out once more over "tp".

#rows = #grid.layout<[zigzag "cp", _]>
#owed = #grid.layout<[zigzag "cp", _] owes "tp">
// CHECK-LABEL: func.func @layer(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<?x64xf32, #grid.layout<[zigzag "cp", _] owes "tp">>, %[[R:[a-z0-9]+]]:
func.func @layer(%partial: tensor<?x64xf32, #owed>, %residual: tensor<?x64xf32, #rows>,
                 %w: tensor<64xf32, #grid.layout<[_]>>, %up: tensor<32x64xf32, #grid.layout<[block "tp", _]>>)
    -> tensor<?x32xf32, #grid.layout<[zigzag "cp", block "tp"]>>
    attributes {grid.boundaries = "rows"} {
  // CHECK: %[[OWN:.*]] = grid.slice %[[R]] dim 0 over "tp" : {{.*}} -> tensor<?x64xf32, #grid.layout<[zigzag "cp" then block "tp", _]>>
  // CHECK: %[[S:.*]] = grid.reduce_scatter %[[P]] dim 0 over "tp" {site = "layer.0.o_proj"} : {{.*}} -> tensor<?x64xf32, #grid.layout<[zigzag "cp" then block "tp", _]>>
  // CHECK: %[[A:.*]] = decoder.add %[[OWN]], %[[S]]
  // CHECK: %[[N:.*]] = decoder.norm %[[A]]
  // CHECK: %[[G:.*]] = grid.all_gather %[[N]] dim 0 over "tp" : {{.*}} -> tensor<?x64xf32, #grid.layout<[zigzag "cp", _]>>
  // CHECK: decoder.linear %[[G]]
  %s = grid.all_reduce %partial over ["tp"] {site = "layer.0.o_proj"} : tensor<?x64xf32, #owed> -> tensor<?x64xf32, #rows>
  %a = decoder.add %residual, %s : (tensor<?x64xf32, #rows>, tensor<?x64xf32, #rows>) -> tensor<?x64xf32, #rows>
  %n = decoder.norm %a, %w {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x64xf32, #rows>, tensor<64xf32, #grid.layout<[_]>>) -> tensor<?x64xf32, #rows>
  %y = decoder.linear %n, %up : (tensor<?x64xf32, #rows>, tensor<32x64xf32, #grid.layout<[block "tp", _]>>) -> tensor<?x32xf32, #grid.layout<[zigzag "cp", block "tp"]>>
  return %y : tensor<?x32xf32, #grid.layout<[zigzag "cp", block "tp"]>>
}

// -----

// A gather over "cp" stays where keys need it: only those over "tp" move.
#part = #grid.layout<[zigzag "cp", _]>
#whole = #grid.layout<[_, _]>
// CHECK-LABEL: func.func @other_axis(
func.func @other_axis(%x: tensor<?x64xf32, #part>, %w: tensor<64xf32, #grid.layout<[_]>>) -> tensor<?x64xf32, #whole>
    attributes {grid.boundaries = "rows"} {
  // CHECK: %[[G:.*]] = grid.all_gather %{{.*}} dim 0 over "cp"
  // CHECK: decoder.norm %[[G]]
  %g = grid.all_gather %x dim 0 over "cp" : tensor<?x64xf32, #part> -> tensor<?x64xf32, #whole>
  %n = decoder.norm %g, %w {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x64xf32, #whole>, tensor<64xf32, #grid.layout<[_]>>) -> tensor<?x64xf32, #whole>
  return %n : tensor<?x64xf32, #whole>
}
