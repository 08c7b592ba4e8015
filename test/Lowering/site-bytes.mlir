// RUN: layline-opt %s -lower-to-launch | FileCheck %s

// Two boundaries by rows, the residual kept by rows between them, on four ranks
// with rows of 4 floats = 16 bytes.
//
// "a" sends its reduce_scatter (T - r rows by ring, T by switch) and the gather
// of its norm (3 r, or r). The rows of "a" also reach the second gather, through
// the residual; but that gather is there because of "b", and counts for "b" only.
// The gather of %alone comes from no sum and counts for none.

#whole = #grid.layout<[_, _]>
#rows = #grid.layout<[block "tp", _]>
#owed = #grid.layout<[_, _] owes "tp">
#cols = #grid.layout<[_, block "tp"]>

// CHECK:      launch.site "a" "applied" was ["all_reduce"] step "s{{[0-9]+}}"
// CHECK-SAME:   before {ring = ["add", ["mul", "tokens", 16], ["mul", ["mul", ["size", "tokens/tp"], 16], 2]],
// CHECK-SAME:           switch = ["add", ["mul", "tokens", 16], ["mul", ["size", "tokens/tp"], 16]]}
// CHECK-SAME:   after {ring = ["add", ["sub", ["mul", "tokens", 16], ["mul", ["size", "tokens/tp"], 16]], ["mul", ["mul", ["size", "tokens/tp"], 16], 3]],
// CHECK-SAME:          switch = ["add", ["mul", "tokens", 16], ["mul", ["size", "tokens/tp"], 16]]}
// CHECK-NEXT: launch.site "b" "applied" was ["all_reduce"] step "s{{[0-9]+}}"
// CHECK-SAME:   after {ring = ["add", ["sub", ["mul", "tokens", 16], ["mul", ["size", "tokens/tp"], 16]], ["mul", ["mul", ["size", "tokens/tp"], 16], 3]],

// The sum of "c" is left to the next op that needs all rows, and there is none:
// it sends the reduce_scatter only.
// CHECK-NEXT: launch.site "c" "applied" was ["all_reduce"] step "s{{[0-9]+}}"
// CHECK-SAME:   after {ring = ["sub", ["mul", "tokens", 16], ["mul", ["size", "tokens/tp"], 16]], switch = ["mul", "tokens", 16]}

// A site that no op of the variant has is reported without a step or bytes.
// CHECK-NEXT: launch.site "gone" "missed" was ["all_reduce"]{{$}}
module attributes {decoder.source = {max_positions = 128 : i64}, grid.target = "cpu"} {
grid.mesh @mesh ["tp"] = [4]
func.func @v(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"})
    -> (tensor<?x4xf32, #whole> {decoder.output = "y"}, tensor<?x4xf32, #rows> {decoder.output = "z"}, tensor<?x4xf32, #whole> {decoder.output = "alone"})
    attributes {grid.tokens = array<i64: 1, 64>,
                grid.sites = [{id = "a", status = "applied", was = ["all_reduce"]}, {id = "b", status = "applied", was = ["all_reduce"]},
                              {id = "c", status = "applied", was = ["all_reduce"]}, {id = "gone", status = "missed", was = ["all_reduce"]}]} {
  %t = decoder.weight {key = "t", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #whole>
  %w = decoder.weight {key = "w", stored_shape = array<i64: 4, 4>} : () -> tensor<4x4xf32, #cols>
  %n = decoder.weight {key = "n", stored_shape = array<i64: 4>} : () -> tensor<4xf32, #grid.layout<[_]>>
  %x = decoder.embedding %ids, %t : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #whole>) -> tensor<?x4xf32, #whole>
  %own = grid.slice %x dim 0 over "tp" : tensor<?x4xf32, #whole> -> tensor<?x4xf32, #rows>
  %alone = grid.all_gather %own dim 0 over "tp" : tensor<?x4xf32, #rows> -> tensor<?x4xf32, #whole>

  %x0 = grid.slice %x dim 1 over "tp" : tensor<?x4xf32, #whole> -> tensor<?x4xf32, #cols>
  %0 = decoder.linear %x0, %w : (tensor<?x4xf32, #cols>, tensor<4x4xf32, #cols>) -> tensor<?x4xf32, #owed>
  %1 = grid.reduce_scatter %0 dim 0 over "tp" {site = "a"} : tensor<?x4xf32, #owed> -> tensor<?x4xf32, #rows>
  %r1 = decoder.add %own, %1 : (tensor<?x4xf32, #rows>, tensor<?x4xf32, #rows>) -> tensor<?x4xf32, #rows>
  %n1 = decoder.norm %r1, %n {kind = #decoder.norm_kind<rms>, eps = 1.0 : f64} : (tensor<?x4xf32, #rows>, tensor<4xf32, #grid.layout<[_]>>) -> tensor<?x4xf32, #rows>
  %2 = grid.all_gather %n1 dim 0 over "tp" : tensor<?x4xf32, #rows> -> tensor<?x4xf32, #whole>

  %x1 = grid.slice %2 dim 1 over "tp" : tensor<?x4xf32, #whole> -> tensor<?x4xf32, #cols>
  %3 = decoder.linear %x1, %w : (tensor<?x4xf32, #cols>, tensor<4x4xf32, #cols>) -> tensor<?x4xf32, #owed>
  %y, %r2 = grid.fused "reduce_scatter+add+norm+all_gather" {
    %4 = grid.reduce_scatter %3 dim 0 over "tp" {site = "b"} : tensor<?x4xf32, #owed> -> tensor<?x4xf32, #rows>
    %5 = decoder.add %r1, %4 : (tensor<?x4xf32, #rows>, tensor<?x4xf32, #rows>) -> tensor<?x4xf32, #rows>
    %6 = decoder.norm %5, %n {kind = #decoder.norm_kind<rms>, eps = 1.0 : f64} : (tensor<?x4xf32, #rows>, tensor<4xf32, #grid.layout<[_]>>) -> tensor<?x4xf32, #rows>
    %7 = grid.all_gather %6 dim 0 over "tp" : tensor<?x4xf32, #rows> -> tensor<?x4xf32, #whole>
    grid.yield %7, %5 : tensor<?x4xf32, #whole>, tensor<?x4xf32, #rows>
  } : tensor<?x4xf32, #whole>, tensor<?x4xf32, #rows>

  %x2 = grid.slice %y dim 1 over "tp" : tensor<?x4xf32, #whole> -> tensor<?x4xf32, #cols>
  %8 = decoder.linear %x2, %w : (tensor<?x4xf32, #cols>, tensor<4x4xf32, #cols>) -> tensor<?x4xf32, #owed>
  %9 = grid.reduce_scatter %8 dim 0 over "tp" {site = "c"} : tensor<?x4xf32, #owed> -> tensor<?x4xf32, #rows>
  %z = decoder.add %r2, %9 : (tensor<?x4xf32, #rows>, tensor<?x4xf32, #rows>) -> tensor<?x4xf32, #rows>
  return %y, %z, %alone : tensor<?x4xf32, #whole>, tensor<?x4xf32, #rows>, tensor<?x4xf32, #whole>
}
}
