// RUN: layline-opt %s -split-input-file -lower-to-launch | FileCheck %s

// What both variants share stands once; a weight that one of them holds in
// another layout is another weight. Functions without a token range are dropped,
// variants are sorted by it.

#whole = #grid.layout<[_, _]>
#rows = #grid.layout<[block "tp", _]>

// CHECK-LABEL: launch.plan @plan target "cpu" dtype f32 mesh ["tp"] = [2]
// CHECK-SAME:  source {config = "c.json", digest = "d", layers = 1 : i64, model_type = "llama"} requires [] {
// CHECK-NEXT:  launch.symbol "tokens" from 1 to 64
// CHECK-NEXT:  launch.symbol "past" from 0 to 127
// CHECK-NEXT:  launch.range @"n4/tp" block over "tp" extent 4
// CHECK-NEXT:  launch.range @"tokens/tp" block over "tp" extent "tokens"
// CHECK-NEXT:  launch.input "ids" : tensor<?xi64>
// CHECK-NEXT:  launch.weight @w0 "e" stored [8, 4] bytes 128
// CHECK-NEXT:  launch.weight @w1 "w" stored [4, 4] bytes 64 : tensor<4x4xf32, #grid.layout<[_, _]>>
// CHECK-NEXT:  launch.weight @w2 "w" stored [4, 4] bytes 32 : tensor<4x4xf32, #grid.layout<[block "tp", _]>>
// CHECK-NEXT:  launch.weight @w3 "w" stored [4, 4] rows [0, 2] bytes 32 : tensor<2x4xf32, #grid.layout<[_, _]>>
// CHECK-NEXT:  launch.stream @compute
// CHECK-NEXT:  launch.stream @comm
// CHECK-NEXT:  launch.variant @v0 tokens 1 to 7 boundaries "whole" {
// CHECK:         launch.step "s1" linear (input = %b1, weight = @w1, output = %b2)
// CHECK-NEXT:    launch.output "y" %b2
// CHECK:       launch.variant @v1 tokens 8 to 64 {
// CHECK:         launch.step "s1" linear (input = %b1, weight = @w1, output = %b2)
// CHECK:         launch.step "s2" linear (input = %b1, weight = @w2, output = %b3)
// CHECK:         launch.step "s3" linear (input = %b1, weight = @w3, output = %b4)
// CHECK:         launch.step "s4" slice (input = %b2, output = %b5) with {dim = 0 : i64, range = @"tokens/tp"}
// CHECK-NOT:   func.func
// CHECK-NOT:   grid.mesh
module attributes {
  decoder.source = {config = "c.json", digest = "d", model_type = "llama", layers = 1 : i64, max_positions = 128 : i64},
  grid.target = "cpu"
} {
grid.mesh @mesh ["tp"] = [2]
func.func private @placed(%x: tensor<?x4xf32, #whole>) -> tensor<?x4xf32, #whole> { return %x : tensor<?x4xf32, #whole> }
func.func @large(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"}) -> (tensor<?x4xf32, #rows> {decoder.output = "y"})
    attributes {grid.tokens = array<i64: 8, 64>} {
  %e = decoder.weight {key = "e", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #whole>
  %x = decoder.embedding %ids, %e : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #whole>) -> tensor<?x4xf32, #whole>
  %w = decoder.weight {key = "w", stored_shape = array<i64: 4, 4>} : () -> tensor<4x4xf32, #whole>
  %v = decoder.weight {key = "w", stored_shape = array<i64: 4, 4>} : () -> tensor<4x4xf32, #rows>
  %u = decoder.weight {key = "w", stored_shape = array<i64: 4, 4>, rows = array<i64: 0, 2>} : () -> tensor<2x4xf32, #whole>
  %0 = decoder.linear %x, %w : (tensor<?x4xf32, #whole>, tensor<4x4xf32, #whole>) -> tensor<?x4xf32, #whole>
  %1 = decoder.linear %x, %v : (tensor<?x4xf32, #whole>, tensor<4x4xf32, #rows>) -> tensor<?x4xf32, #grid.layout<[_, block "tp"]>>
  %2 = decoder.linear %x, %u : (tensor<?x4xf32, #whole>, tensor<2x4xf32, #whole>) -> tensor<?x2xf32, #whole>
  %3 = grid.slice %0 dim 0 over "tp" : tensor<?x4xf32, #whole> -> tensor<?x4xf32, #rows>
  return %3 : tensor<?x4xf32, #rows>
}
func.func @small(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"}) -> (tensor<?x4xf32, #whole> {decoder.output = "y"})
    attributes {grid.tokens = array<i64: 1, 7>, grid.boundaries = "whole"} {
  %e = decoder.weight {key = "e", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #whole>
  %x = decoder.embedding %ids, %e : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #whole>) -> tensor<?x4xf32, #whole>
  %w = decoder.weight {key = "w", stored_shape = array<i64: 4, 4>} : () -> tensor<4x4xf32, #whole>
  %0 = decoder.linear %x, %w : (tensor<?x4xf32, #whole>, tensor<4x4xf32, #whole>) -> tensor<?x4xf32, #whole>
  return %0 : tensor<?x4xf32, #whole>
}
}

// -----

// Values that stay inside a fused region are registers, those that leave are
// not; the operand of the sum, which peers read, is symmetric. Nothing is made
// of the view: the norm reads the sum's bytes as heads.

#whole = #grid.layout<[_, _]>
#owed = #grid.layout<[_, _] owes "tp">
#cols = #grid.layout<[_, block "tp"]>
#cube = #grid.layout<[_, _, _]>

// CHECK:       launch.kernel @k0 ["all_reduce", "norm", "add"] dtype f32 group @tp
// CHECK:       launch.variant @v0
// CHECK-NEXT:  %b0 = launch.buffer "b0" input "ids"
// CHECK-NEXT:  %b1 = launch.buffer "b1" activation : tensor<?x4xf32, #grid.layout<[_, block "tp"]>>
// CHECK-NEXT:  launch.step "s0" embedding
// CHECK-NEXT:  %b2 = launch.buffer "b2" symmetric : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
// CHECK-NEXT:  launch.step "s1" linear
// CHECK-NEXT:  %b3 = launch.buffer "b3" symmetric : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
// CHECK-NEXT:  launch.step "s2" scale
// CHECK-NEXT:  %b4 = launch.buffer "b4" symmetric : tensor<?x4xf32, #grid.layout<[_, _]>>
// CHECK-NEXT:  launch.step "s3" all_reduce (input = %b3, output = %b4) with {group = @tp} flag @f.tp
// CHECK-NEXT:  %b5 = launch.buffer "b5" symmetric : tensor<?x4xf32, #grid.layout<[_, _]>>
// CHECK-NEXT:  %b6 = launch.buffer "b6" register : tensor<?x2x2xf32, #grid.layout<[_, _, _]>>
// CHECK-NEXT:  %b7 = launch.buffer "b7" output : tensor<?x4xf32, #grid.layout<[_, _]>>
// CHECK-NEXT:  launch.step "s4" fused (inputs = %b2, inputs = %b4, inputs = @w2, outputs = %b5, outputs = %b7) with {kernel = @k0} flag @f.tp body {
// CHECK-NEXT:    launch.step "s4.0" all_reduce (input = %b2, output = %b5) with {group = @tp} flag @f.tp
// CHECK-NEXT:    launch.step "s4.1" norm (input = %b5 as tensor<?x2x2xf32, #grid.layout<[_, _, _]>>, weight = @w2, output = %b6) with {eps = 1.000000e+00 : f64, norm = "rms", weight_offset = 0.000000e+00 : f64}
// CHECK-NEXT:    launch.step "s4.2" add (inputs = %b6 as tensor<?x4xf32, #grid.layout<[_, _]>>, inputs = %b4, output = %b7)
// CHECK-NEXT:  }
// CHECK-NEXT:  %b8 = launch.buffer "b8" output
// CHECK-NEXT:  launch.step "s5" scale (input = %b5, output = %b8)
module attributes {decoder.source = {max_positions = 128 : i64}, grid.target = "cpu"} {
grid.mesh @mesh ["tp"] = [2]
func.func @v(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"})
    -> (tensor<?x4xf32, #whole> {decoder.output = "y"}, tensor<?x4xf32, #whole> {decoder.output = "z"})
    attributes {grid.tokens = array<i64: 1, 64>} {
  %e = decoder.weight {key = "e", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #cols>
  %x = decoder.embedding %ids, %e : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #cols>) -> tensor<?x4xf32, #cols>
  %w = decoder.weight {key = "w", stored_shape = array<i64: 4, 4>} : () -> tensor<4x4xf32, #cols>
  %n = decoder.weight {key = "n", stored_shape = array<i64: 2>} : () -> tensor<2xf32, #grid.layout<[_]>>
  %0 = decoder.linear %x, %w : (tensor<?x4xf32, #cols>, tensor<4x4xf32, #cols>) -> tensor<?x4xf32, #owed>
  %r0 = decoder.scale %0 {factor = 0.5 : f64} : (tensor<?x4xf32, #owed>) -> tensor<?x4xf32, #owed>
  %r = grid.all_reduce %r0 over ["tp"] : tensor<?x4xf32, #owed> -> tensor<?x4xf32, #whole>
  %a, %s = grid.fused "all_reduce+norm+add" {
    %1 = grid.all_reduce %0 over ["tp"] : tensor<?x4xf32, #owed> -> tensor<?x4xf32, #whole>
    %2 = decoder.split_heads %1 : (tensor<?x4xf32, #whole>) -> tensor<?x2x2xf32, #cube>
    %3 = decoder.norm %2, %n {kind = #decoder.norm_kind<rms>, eps = 1.0 : f64} : (tensor<?x2x2xf32, #cube>, tensor<2xf32, #grid.layout<[_]>>) -> tensor<?x2x2xf32, #cube>
    %4 = decoder.merge_heads %3 : (tensor<?x2x2xf32, #cube>) -> tensor<?x4xf32, #whole>
    %5 = decoder.add %4, %r : (tensor<?x4xf32, #whole>, tensor<?x4xf32, #whole>) -> tensor<?x4xf32, #whole>
    grid.yield %5, %1 : tensor<?x4xf32, #whole>, tensor<?x4xf32, #whole>
  } : tensor<?x4xf32, #whole>, tensor<?x4xf32, #whole>
  %z = decoder.scale %s {factor = 2.0 : f64} : (tensor<?x4xf32, #whole>) -> tensor<?x4xf32, #whole>
  return %a, %z : tensor<?x4xf32, #whole>, tensor<?x4xf32, #whole>
}
}
