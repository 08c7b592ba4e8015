// RUN: layline-opt %s -split-input-file -pass-pipeline='builtin.module(launch.plan(launch-assign-streams,launch-verify))' | FileCheck %s

#whole = #grid.layout<[_, _]>
#owed = #grid.layout<[_, _] owes "tp">

// Events stand exactly where an order is needed between two streams. "s2" reads
// what "s1" and "s0" wrote; having waited for "s1", which waited for "s0", it
// needs no more.

// CHECK-LABEL: launch.variant @crossing
// CHECK:       launch.step "s0" embedding {{.*}} on @compute signals ["e0"]
// CHECK-NEXT:  launch.step "s1" all_reduce {{.*}} on @comm after ["s0"] waits ["e0"] signals ["e1"]
// CHECK-NEXT:  launch.step "s2" add {{.*}} on @compute after ["s1"] waits ["e1"]{{$}}
// CHECK-NEXT:  launch.step "s3" add {{.*}} on @compute after ["s1", "s2"]{{$}}
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "ids" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.stream @compute
  launch.stream @comm
  launch.variant @crossing tokens 1 to 8 {
    launch.arena "float" bytes 1024 bound 0
    %ids = launch.buffer "ids" input "ids" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s0", "s1"] : tensor<?x4xf32, #owed>
    %b = launch.buffer "b" symmetric in "float" at 256 bytes 128 live ["s1", "s3"] : tensor<?x4xf32, #whole>
    %c = launch.buffer "c" activation in "float" at 512 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #whole>
    %d = launch.buffer "d" output in "float" at 0 bytes 128 live ["s3", "s3"] : tensor<?x4xf32, #whole>
    launch.step "s0" embedding (ids = %ids, weight = @w0, output = %a)
    launch.step "s1" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp
    launch.step "s2" add (inputs = %b, inputs = %b, output = %c)
    launch.step "s3" add (inputs = %b, inputs = %c, output = %d)
    launch.output "d" %d
  }
}

// -----

#whole = #grid.layout<[_, _]>
#owed = #grid.layout<[_, _] owes "tp">

// "s3" uses nothing of "s1" but the memory of its operand: it waits for the
// event of "s1" without coming `after` it. Its neighbour "s2" writes elsewhere and
// does not wait.

// CHECK-LABEL: launch.variant @reuse
// CHECK:       launch.step "s0" embedding {{.*}} on @compute signals ["e0"]
// CHECK-NEXT:  launch.step "s1" all_reduce {{.*}} on @comm after ["s0"] waits ["e0"] signals ["e1"]
// CHECK-NEXT:  launch.step "s2" embedding {{.*}} on @compute{{$}}
// CHECK-NEXT:  launch.step "s3" scale {{.*}} on @compute after ["s2"] waits ["e1"]{{$}}
// CHECK-NEXT:  launch.step "s4" add {{.*}} on @compute after ["s1", "s3"]{{$}}
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "ids" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.stream @compute
  launch.stream @comm
  launch.variant @reuse tokens 1 to 8 {
    launch.arena "float" bytes 1024 bound 0
    %ids = launch.buffer "ids" input "ids" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s0", "s1"] : tensor<?x4xf32, #owed>
    %b = launch.buffer "b" symmetric in "float" at 256 bytes 128 live ["s1", "s4"] : tensor<?x4xf32, #whole>
    %c = launch.buffer "c" activation in "float" at 512 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #whole>
    %d = launch.buffer "d" activation in "float" at 64 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #whole>
    %e = launch.buffer "e" output in "float" at 512 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #whole>
    launch.step "s0" embedding (ids = %ids, weight = @w0, output = %a)
    launch.step "s1" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp
    launch.step "s2" embedding (ids = %ids, weight = @w0, output = %c)
    launch.step "s3" scale (input = %c, output = %d) with {factor = 2.0}
    launch.step "s4" add (inputs = %b, inputs = %d, output = %e)
    launch.output "e" %e
  }
}

// -----

#whole = #grid.layout<[_, _]>
#owed = #grid.layout<[_, _] owes "tp">

// A fused step runs on @compute although it holds a collective. The collective
// before it, of the same group, must be over first.

// CHECK-LABEL: launch.variant @one_in_flight
// CHECK:       launch.step "s0" embedding {{.*}} on @compute signals ["e0"]
// CHECK-NEXT:  launch.step "s1" embedding {{.*}} on @compute{{$}}
// CHECK-NEXT:  launch.step "s2" all_reduce {{.*}} on @comm after ["s0"] waits ["e0"] signals ["e1"]
// CHECK-NEXT:  launch.step "s3" fused {{.*}} on @compute after ["s1"] waits ["e1"] body {
// CHECK-NEXT:    launch.step "s3.0" all_reduce {{.*}} flag @f.tp{{$}}
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "ids" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @one_in_flight tokens 1 to 8 {
    launch.arena "float" bytes 1024 bound 0
    %ids = launch.buffer "ids" input "ids" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s0", "s2"] : tensor<?x4xf32, #owed>
    %b = launch.buffer "b" symmetric in "float" at 256 bytes 128 live ["s1", "s3"] : tensor<?x4xf32, #owed>
    %c = launch.buffer "c" output in "float" at 512 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #whole>
    %d = launch.buffer "d" output in "float" at 768 bytes 128 live ["s3", "s3"] : tensor<?x4xf32, #whole>
    launch.step "s0" embedding (ids = %ids, weight = @w0, output = %a)
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %b)
    launch.step "s2" all_reduce (input = %a, output = %c) with {group = @tp} flag @f.tp
    launch.step "s3" fused (inputs = %b, outputs = %d) with {kernel = @k0} flag @f.tp body {
      launch.step "s3.0" all_reduce (input = %b, output = %d) with {group = @tp} flag @f.tp
    }
    launch.output "c" %c
    launch.output "d" %d
  }
}
