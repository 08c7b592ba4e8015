// RUN: layline-opt %s -pass-pipeline='builtin.module(launch.plan(launch-assign-streams,launch-verify))' | FileCheck %s

// Collectives of different groups on different streams follow one another, though
// neither reads what the other writes.

launch.plan @plan target "t" dtype f32 mesh ["cp", "tp"] = [2, 2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.group @cp over ["cp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key ["cp"]
  launch.flag @f.cp group @cp key ["tp"]
  launch.kernel @k0 ["all_reduce"] dtype f32 group @cp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s2"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %e = launch.buffer "e" symmetric in "float" at 256 bytes 128 live ["s1e", "s4"] : tensor<?x4xf32, #grid.layout<[_, _] owes "cp">>
    %d = launch.buffer "d" output in "float" at 384 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions)
    launch.step "s1e" embedding (ids = %ids, weight = @w0, output = %e)
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a)
    // CHECK: launch.step "s2" all_reduce {{.*}} on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp
    // CHECK: launch.step "s4" fused {{.*}} on @compute after ["s1e"] waits ["e1"]
    launch.step "s4" fused (inputs = %e, outputs = %d) with {kernel = @k0} flag @f.cp body { launch.step "s4.0" all_reduce (input = %e, output = %d) with {group = @cp} flag @f.cp }
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}
