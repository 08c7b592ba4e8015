// RUN: layline-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(launch.plan(launch-verify))'

// All collectives stand one behind the other, whatever streams they are on: two
// in flight over ranks that they share may begin in one order here and in the
// other there.

// The good neighbour: the second waits for the first, which is over another
// group.
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
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1e" embedding (ids = %ids, weight = @w0, output = %e) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s4" fused (inputs = %e, outputs = %d) with {kernel = @k0} flag @f.cp on @compute after ["s1e"] waits ["e1"] body { launch.step "s4.0" all_reduce (input = %e, output = %d) with {group = @cp} flag @f.cp }
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// Groups that share ranks, each with a flag of its own.
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
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1e" embedding (ids = %ids, weight = @w0, output = %e) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    // expected-error @below {{"s4" may be in flight together with "s2", a collective over ranks that it shares: the order of the two may differ from rank to rank}}
    launch.step "s4" fused (inputs = %e, outputs = %d) with {kernel = @k0} flag @f.cp on @compute after ["s1e"] body { launch.step "s4.0" all_reduce (input = %e, output = %d) with {group = @cp} flag @f.cp }
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// A group inside another: "tp" and all ranks.
launch.plan @plan target "t" dtype f32 mesh ["cp", "tp"] = [2, 2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.group @all over ["cp", "tp"] ranks 4
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key ["cp"]
  launch.flag @f.all group @all key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @all
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s2"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %e = launch.buffer "e" symmetric in "float" at 256 bytes 128 live ["s1e", "s4"] : tensor<?x4xf32, #grid.layout<[_, _] owes "cp", "tp">>
    %d = launch.buffer "d" output in "float" at 384 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1e" embedding (ids = %ids, weight = @w0, output = %e) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    // expected-error @below {{"s4" may be in flight together with "s2", a collective over ranks that it shares: the order of the two may differ from rank to rank}}
    launch.step "s4" fused (inputs = %e, outputs = %d) with {kernel = @k0} flag @f.all on @compute after ["s1e"] body { launch.step "s4.0" all_reduce (input = %e, output = %d) with {group = @all} flag @f.all }
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// Two flags of one group do not make it safe.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.flag @g.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s2"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %e = launch.buffer "e" symmetric in "float" at 256 bytes 128 live ["s1e", "s4"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %d = launch.buffer "d" output in "float" at 384 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1e" embedding (ids = %ids, weight = @w0, output = %e) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    // expected-error @below {{"s4" may be in flight together with "s2", a collective over ranks that it shares: the order of the two may differ from rank to rank}}
    launch.step "s4" fused (inputs = %e, outputs = %d) with {kernel = @k0} flag @g.tp on @compute after ["s1e"] body { launch.step "s4.0" all_reduce (input = %e, output = %d) with {group = @tp} flag @g.tp }
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// A group of one rank waits for nobody.
launch.plan @plan target "t" dtype f32 mesh ["cp", "tp"] = [1, 2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.group @cp over ["cp"] ranks 1
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
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1e" embedding (ids = %ids, weight = @w0, output = %e) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s4" fused (inputs = %e, outputs = %d) with {kernel = @k0} flag @f.cp on @compute after ["s1e"] body { launch.step "s4.0" all_reduce (input = %e, output = %d) with {group = @cp} flag @f.cp }
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// A broadcast has a root in its group.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.stream @compute
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" output in "float" at 256 bytes 128 live ["s3", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute
    launch.step "s2" broadcast (input = %a, output = %b) with {group = @tp, root = 1} flag @f.tp on @compute after ["s1"]
    // expected-error @below {{"s3" broadcasts from rank 2 of a group of 2}}
    launch.step "s3" broadcast (input = %b, output = %c) with {group = @tp, root = 2} flag @f.tp on @compute after ["s2"]
    launch.output "logits" %c
  }
}
