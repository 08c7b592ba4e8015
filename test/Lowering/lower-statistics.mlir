// RUN: layline-opt %s -lower-to-launch | FileCheck %s

// The statistic of KV heads that 8 ranks read two by two: each counts the heads
// that it is the first to hold. The plan says that its reader must know them.

#whole = #grid.layout<[_, _]>
#held = #grid.layout<[_, readers(8) "tp" x 4]>
#kept = #grid.layout<[_, first_readers(8) "tp" x 4]>

// CHECK-LABEL: launch.plan @plan
// CHECK-SAME:  requires ["row_statistics"]
// CHECK:       launch.range @"kv4of8/tp" readers over "tp" extent 4 : i64 of 8
// CHECK:       launch.range @"first.kv4of8/tp" first_readers over "tp" extent 4 : i64 of 8 begin ["ceildiv", "rank.tp", 2
// CHECK:       launch.step "s2" slice (input = %[[K:.*]], output = %[[FIRST:.*]]) with {dim = 1 : i64, range = @"first.kv4of8/tp"}
// CHECK:       launch.step "s3" row_squares (input = %[[FIRST]], output = %[[ADDEND:.*]])
// CHECK:       launch.step "s4" all_reduce (input = %[[ADDEND]], output = %[[SUM:.*]])
// CHECK:       launch.step "s5" norm_by (input = %[[K]], statistics = %[[SUM]], weight = @{{.*}}, output = %{{.*}}) with {eps = 1.000000e-03 : f64, width = 16 : i64}
module attributes {
  decoder.source = {config = "c.json", digest = "d", model_type = "olmo2", layers = 1 : i64, max_positions = 128 : i64},
  grid.target = "cpu"
} {
grid.mesh @mesh ["tp"] = [8]
func.func @keys(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"}) -> (tensor<?x16xf32, #held> {decoder.output = "k"})
    attributes {grid.tokens = array<i64: 1, 64>} {
  %e = decoder.weight {key = "e", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #whole>
  %x = decoder.embedding %ids, %e : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #whole>) -> tensor<?x4xf32, #whole>
  %w = decoder.weight {key = "w", stored_shape = array<i64: 16, 4>} : () -> tensor<16x4xf32, #grid.layout<[readers(8) "tp" x 4, _]>>
  %g = decoder.weight {key = "g", stored_shape = array<i64: 16>} : () -> tensor<16xf32, #grid.layout<[readers(8) "tp" x 4]>>
  %k = decoder.linear %x, %w : (tensor<?x4xf32, #whole>, tensor<16x4xf32, #grid.layout<[readers(8) "tp" x 4, _]>>) -> tensor<?x16xf32, #held>
  %0 = grid.slice %k dim 1 over "tp" : tensor<?x16xf32, #held> -> tensor<?x16xf32, #kept>
  %1 = decoder.row_squares %0 : (tensor<?x16xf32, #kept>) -> tensor<?x1xf32, #grid.layout<[_, _] owes "tp">>
  %2 = grid.all_reduce %1 over ["tp"] : tensor<?x1xf32, #grid.layout<[_, _] owes "tp">> -> tensor<?x1xf32, #whole>
  %3 = decoder.norm_by %k, %2, %g {eps = 1.0e-3 : f64, width = 16 : i64}
     : (tensor<?x16xf32, #held>, tensor<?x1xf32, #whole>, tensor<16xf32, #grid.layout<[readers(8) "tp" x 4]>>) -> tensor<?x16xf32, #held>
  return %3 : tensor<?x16xf32, #held>
}
}
