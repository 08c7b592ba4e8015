// RUN: layline-opt %s | layline-opt | FileCheck %s
// RUN: layline-opt %s -mlir-print-op-generic | layline-opt | FileCheck %s

// CHECK-LABEL: launch.plan @plan target "h200x8" dtype bf16 mesh ["tp"] = [2]
// CHECK-SAME:  source {config = "config.json", layers = 1 : i64} requires ["kv_cache", "fused_steps"] {
launch.plan @plan target "h200x8" dtype bf16 mesh ["tp"] = [2]
    source {config = "config.json", layers = 1 : i64} requires ["kv_cache", "fused_steps"] {
  // CHECK-NEXT: launch.symbol "tokens" from 1 to 8192
  launch.symbol "tokens" from 1 to 8192
  // CHECK-NEXT: launch.group @tp over ["tp"] ranks 2
  launch.group @tp over ["tp"] ranks 2
  // CHECK-NEXT: launch.range @"n8/tp" block over "tp" extent 8 : i64 begin ["mul", "rank.tp", 4] size 4 : i64
  launch.range @"n8/tp" block over "tp" extent 8 : i64 begin ["mul", "rank.tp", 4] size 4 : i64
  // CHECK-NEXT: launch.range @"kv2of8/tp" readers over "tp" extent 2 : i64 of 8 begin "rank.tp" size 1 : i64
  launch.range @"kv2of8/tp" readers over "tp" extent 2 : i64 of 8 begin "rank.tp" size 1 : i64
  // CHECK-NEXT: launch.input "positions" : tensor<?xi64>
  launch.input "positions" : tensor<?xi64>
  // CHECK-NEXT: launch.cache @layer.0.key layer 0 plane key : tensor<?x2x16xbf16, #grid.layout<[_, readers(8) "tp", _]>>
  launch.cache @layer.0.key layer 0 plane key : tensor<?x2x16xbf16, #grid.layout<[_, readers(8) "tp", _]>>
  // CHECK-NEXT: launch.table @rope.0 frequencies [1.000000e+00, 1.000000e-01] factor 1.000000e+00
  launch.table @rope.0 frequencies [1.0, 0.1] factor 1.0
  // CHECK-NEXT: launch.table @rope.1 frequencies [1.000000e+00] factor 1.190000e+00 above 4096 frequencies [5.000000e-01] factor 1.190000e+00
  launch.table @rope.1 frequencies [1.0] factor 1.19 above 4096 frequencies [0.5] factor 1.19
  // CHECK-NEXT: launch.weight @w0 "k" stored [96, 64] rows [0, 64] bytes 4096 : tensor<64x64xbf16, #grid.layout<[block "tp", _]>>
  launch.weight @w0 "k" stored [96, 64] rows [0, 64] bytes 4096 : tensor<64x64xbf16, #grid.layout<[block "tp", _]>>
  // CHECK-NEXT: launch.weight @w2 "v" stored [96, 64] rows [8, 16] period 24 bytes 4096 : tensor<32x64xbf16, #grid.layout<[_, _]>>
  launch.weight @w2 "v" stored [96, 64] rows [8, 16] period 24 bytes 4096 : tensor<32x64xbf16, #grid.layout<[_, _]>>
  launch.weight @w1 "n" stored [64] bytes 128 : tensor<64xbf16, #grid.layout<[_]>>
  // CHECK: launch.flag @f.tp group @tp key []
  launch.flag @f.tp group @tp key []
  // CHECK-NEXT: launch.kernel @k0 ["all_reduce", "norm"] dtype bf16 group @tp
  launch.kernel @k0 ["all_reduce", "norm"] dtype bf16 group @tp
  // CHECK-NEXT: launch.kernel @k1 ["norm"] dtype bf16
  launch.kernel @k1 ["norm"] dtype bf16
  // CHECK-NEXT: launch.stream @compute
  launch.stream @compute
  // CHECK-NEXT: launch.variant @v0 tokens 1 to 8192 boundaries "whole" {
  launch.variant @v0 tokens 1 to 8192 boundaries "whole" {
    // CHECK-NEXT: launch.arena "float" bytes 4194304 bound 2097152
    launch.arena "float" bytes 4194304 bound 2097152
    launch.arena "register" bytes 2097152 bound 2097152
    // CHECK: %b0 = launch.buffer "b0" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %b0 = launch.buffer "b0" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    // CHECK-NEXT: %b1 = launch.buffer "b1" symmetric in "float" at 0 bytes 1048576 live ["s0", "s1"] : tensor<?x64xbf16, #grid.layout<[_, _] owes "tp">>
    %b1 = launch.buffer "b1" symmetric in "float" at 0 bytes 1048576 live ["s0", "s1"] : tensor<?x64xbf16, #grid.layout<[_, _] owes "tp">>
    %b2 = launch.buffer "b2" register in "register" at 0 bytes 1048576 live ["s1", "s1"] : tensor<?x64xbf16, #grid.layout<[_, _]>>
    %b3 = launch.buffer "b3" output in "float" at 1048576 bytes 1048576 live ["s1", "s2"] : tensor<?x64xbf16, #grid.layout<[_, _]>>
    // CHECK: launch.step "s0" embedding (ids = %b0, weight = @w0, output = %b1) on @compute signals ["e0"] names ["layer.0.input"] origin "embedding"
    launch.step "s0" embedding (ids = %b0, weight = @w0, output = %b1) on @compute signals ["e0"] names ["layer.0.input"] origin "embedding"
    // CHECK-NEXT: launch.step "s1" fused (inputs = %b1, inputs = @w1, outputs = %b3) with {kernel = @k0} flag @f.tp on @compute after ["s0"] waits ["e0"] body {
    launch.step "s1" fused (inputs = %b1, inputs = @w1, outputs = %b3) with {kernel = @k0} flag @f.tp on @compute after ["s0"] waits ["e0"] body {
      // CHECK-NEXT: launch.step "s1.0" all_reduce (input = %b1, output = %b2) with {group = @tp} flag @f.tp
      launch.step "s1.0" all_reduce (input = %b1, output = %b2) with {group = @tp} flag @f.tp
      launch.step "s1.1" norm (input = %b2, weight = @w1, output = %b3) with {eps = 1.0e-06 : f64, norm = "rms", weight_offset = 0.0 : f64}
    }
    // CHECK: launch.step "s3" softcap (input = %b3, output = %b3) with {cap = 3.000000e+01 : f64} on @compute
    launch.step "s3" softcap (input = %b3, output = %b3) with {cap = 30.0 : f64} on @compute after ["s1"]
    // CHECK: launch.step "s2" cache_append (input = %b3 as tensor<?x2x32xbf16, #grid.layout<[_, _, _]>>, cache = @layer.0.key) on @compute
    launch.step "s2" cache_append (input = %b3 as tensor<?x2x32xbf16, #grid.layout<[_, _, _]>>, cache = @layer.0.key) on @compute after ["s1"]
    // CHECK-NEXT: launch.output "logits" %b3
    launch.output "logits" %b3
    // CHECK-NEXT: launch.site "a" "missed" was ["all_reduce"] became ["all_reduce"] step "s1" reason "few rows" before {ring = ["mul", "tokens", 128], switch = 1 : i64} after {ring = 2 : i64, switch = 1 : i64}
    launch.site "a" "missed" was ["all_reduce"] became ["all_reduce"] step "s1" reason "few rows"
        before {ring = ["mul", "tokens", 128], switch = 1} after {ring = 2, switch = 1}
  }
}
