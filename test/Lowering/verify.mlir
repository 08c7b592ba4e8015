// RUN: layline-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(launch.plan(launch-verify))'

// A good plan, and for each thing that launch-verify proves a plan that lacks it.

// The good neighbour of all that follow: %a and %c share bytes, one after the
// other, on two streams.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

// A value is written before it is read.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s2"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %e = launch.buffer "e" activation in "float" at 256 bytes 128 live ["s3", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    // expected-error @below {{"s3" reads "e" before any step has written it}}
    launch.step "s3" scale (input = %e, output = %c) with {factor = 2.0} on @compute waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// ... by one step.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 256 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    // expected-error @below {{"s4" writes "c", which "s3" has written}}
    launch.step "s4" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// Inputs are the caller's.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s5"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s5"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    // expected-error @below {{"s5" writes the input "ids"}}
    launch.step "s5" cast (input = %c, output = %ids) on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// They are inputs of the plan.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    // expected-error @below {{"ids" binds the input "ids", which the plan does not have}}
    %ids = launch.buffer "ids" input "ids" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// ... of its type.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-note @below {{the input is defined here}}
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    // expected-error @below {{"ids" holds 'tensor<?xi32, #grid.layout<[_]>>', but the input is 'tensor<?xi64>'}}
    %ids = launch.buffer "ids" input "positions" : tensor<?xi32, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// Values are read in their lives.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    // expected-error @below {{"s4" reads "c" outside its life}}
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// ... and written.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    // expected-error @below {{"s3" writes "c" outside its life}}
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// Outputs are written.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %e = launch.buffer "e" output in "float" at 256 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    // expected-error @below {{"logits" is written by no step}}
    launch.output "logits" %e
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// ... and live to the end.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s5"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %e = launch.buffer "e" activation in "float" at 256 bytes 128 live ["s5", "s5"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.step "s5" scale (input = %c, output = %e) with {factor = 2.0} on @compute after ["s3"]
    // expected-error @below {{"logits" does not live to the last step}}
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

// Memory is planned.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{"c" has no place or no life: plan the memory first}}
    %c = launch.buffer "c" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// Lives that overlap have places that do not.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    // expected-note @below {{the other one is here}}
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{"c" shares bytes with "b" while both live}}
    %c = launch.buffer "c" activation in "float" at 192 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// Lives do not end before they begin.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    // expected-error @below {{"a" dies before it lives}}
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s2", "s1"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// Places are large enough for the most tokens.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{"c" has 112 bytes, but 8 tokens need 128}}
    %c = launch.buffer "c" activation in "float" at 0 bytes 112 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// ... inside their arena.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{"c" is at the bytes [448, 576) of an arena of 512, expected aligned bytes inside}}
    %c = launch.buffer "c" activation in "float" at 448 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// ... aligned to their elements.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{"c" is at the bytes [2, 130) of an arena of 512, expected aligned bytes inside}}
    %c = launch.buffer "c" activation in "float" at 2 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// Floats are with floats.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    launch.arena "int" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{"c" is in the arena "int", expected "float"}}
    %c = launch.buffer "c" activation in "int" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

// Steps are on a stream.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    // expected-error @below {{"s3" is on no stream}}
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// Events are signalled by some step.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    // expected-error @below {{"s3" waits for the event "e2", which no step before it signals}}
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e2"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// ... that stands before.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute
    // expected-error @below {{"s2" waits for the event "e0", which no step before it signals}}
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"] signals ["e0"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// ... and by no other.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    // expected-note @below {{it is signalled here}}
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    // expected-error @below {{"s3" signals the event "e0", which another step signals}}
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"] signals ["e0"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// Reads wait for the write.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    // expected-error @below {{"s2" reads "a" but does not wait for "s1", which writes it}}
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// Writes wait for the reads of what was there: %c is written over %a by a step
// that waits for nothing.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.weight @w1 "norm" stored [4] bytes 16 : tensor<4xf32, #grid.layout<[_]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 384 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %e = launch.buffer "e" activation in "float" at 256 bytes 128 live ["s0e", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s0e" embedding (ids = %ids, weight = @w0, output = %e) on @compute
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    // expected-error @below {{"s3" writes "c" where "a" was, but does not wait for "s2", which uses that}}
    launch.step "s3" norm (input = %e, weight = @w1, output = %c) with {norm = "rms", eps = 1.0, weight_offset = 0.0} on @compute after ["s0e"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// Writes wait for the write of what was there, though nobody reads it.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.range @"tokens/tp" block over "tp" extent "tokens" begin 0 size 4
  launch.range @r block over "tp" extent "tokens" begin 0 size 4
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 256 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 384 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %h = launch.buffer "h" activation in "float" at 384 bytes 64 live ["s1h", "s2e"] : tensor<?x4xf32, #grid.layout<[block "tp", _]>>
    %e = launch.buffer "e" activation in "float" at 256 bytes 128 live ["s2e", "s2e"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute
    launch.step "s1h" embedding (ids = %ids, weight = @w0, output = %h) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s2e" all_gather (input = %h, output = %e) with {group = @tp, dim = 0, range = @r} flag @f.tp on @comm after ["s1h"]
    // expected-error @below {{"s3" writes "c" where "e" was, but does not wait for "s2e", which uses that}}
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// One collective of a group at a time.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
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
    // expected-error @below {{"s4" may be in flight together with "s2", a collective of the same group}}
    launch.step "s4" fused (inputs = %e, outputs = %d) with {kernel = @k0} flag @f.tp on @compute after ["s1e"] body { launch.step "s4.0" all_reduce (input = %e, output = %d) with {group = @tp} flag @f.tp }
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// `after` lists what is used.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    // expected-error @below {{"s3" lists the steps [] in 'after', but uses the results of [s2]}}
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// ... and nothing else.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    // expected-error @below {{"s4" lists the steps [s2, s3] in 'after', but uses the results of [s3]}}
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s2", "s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

//===----------------------------------------------------------------------===//
// Caches, weights, ranges, sites
//===----------------------------------------------------------------------===//

// Attention, the good neighbour.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @layer.0.key layer 0 plane key : tensor<?x1x4xf32, #grid.layout<[_, _, _]>>
  launch.cache @layer.0.value layer 0 plane value : tensor<?x1x4xf32, #grid.layout<[_, _, _]>>
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s5"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %q = launch.buffer "q" activation in "float" at 384 bytes 128 live ["q", "s5"] : tensor<?x1x4xf32, #grid.layout<[_, _, _]>>
    %o = launch.buffer "o" activation in "float" at 256 bytes 128 live ["s5", "s5"] : tensor<?x1x4xf32, #grid.layout<[_, _, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.step "q" embedding (ids = %ids, weight = @w0, output = %q) on @compute
    launch.step "key" cache_append (input = %q, cache = @layer.0.key) on @compute after ["q"]
    launch.step "value" cache_append (input = %q, cache = @layer.0.value) on @compute after ["q"]
    launch.step "s5" attention (query = %q, keys = @layer.0.key, values = @layer.0.value, positions = %ids, key_positions = @positions, output = %o) with {scale = 1.0, causal = true, heads = 1, kv_heads = 1} on @compute after ["s0", "q", "key", "value"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// The rows of this step are appended before they are read.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @layer.0.key layer 0 plane key : tensor<?x1x4xf32, #grid.layout<[_, _, _]>>
  launch.cache @layer.0.value layer 0 plane value : tensor<?x1x4xf32, #grid.layout<[_, _, _]>>
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s5"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %q = launch.buffer "q" activation in "float" at 384 bytes 128 live ["q", "s5"] : tensor<?x1x4xf32, #grid.layout<[_, _, _]>>
    %o = launch.buffer "o" activation in "float" at 256 bytes 128 live ["s5", "s5"] : tensor<?x1x4xf32, #grid.layout<[_, _, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.step "q" embedding (ids = %ids, weight = @w0, output = %q) on @compute
    launch.step "key" cache_append (input = %q, cache = @layer.0.key) on @compute after ["q"]
    // expected-error @below {{"s5" reads the cache @layer.0.value before the rows of this step are in it}}
    launch.step "s5" attention (query = %q, keys = @layer.0.key, values = @layer.0.value, positions = %ids, key_positions = @positions, output = %o) with {scale = 1.0, causal = true, heads = 1, kv_heads = 1} on @compute after ["s0", "q", "key"]
    launch.step "value" cache_append (input = %q, cache = @layer.0.value) on @compute after ["q"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// ... by a step that the reader waits for.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @layer.0.key layer 0 plane key : tensor<?x1x4xf32, #grid.layout<[_, _, _]>>
  launch.cache @layer.0.value layer 0 plane value : tensor<?x1x4xf32, #grid.layout<[_, _, _]>>
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s5"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %q = launch.buffer "q" activation in "float" at 384 bytes 128 live ["q", "s5"] : tensor<?x1x4xf32, #grid.layout<[_, _, _]>>
    %o = launch.buffer "o" activation in "float" at 256 bytes 128 live ["s5", "s5"] : tensor<?x1x4xf32, #grid.layout<[_, _, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.step "q" embedding (ids = %ids, weight = @w0, output = %q) on @compute signals ["eq"]
    launch.step "key" cache_append (input = %q, cache = @layer.0.key) on @comm after ["q"] waits ["eq"]
    launch.step "value" cache_append (input = %q, cache = @layer.0.value) on @compute after ["q"]
    // expected-error @below {{"s5" reads the cache @layer.0.key but does not wait for "key", which appends to it}}
    launch.step "s5" attention (query = %q, keys = @layer.0.key, values = @layer.0.value, positions = %ids, key_positions = @positions, output = %o) with {scale = 1.0, causal = true, heads = 1, kv_heads = 1} on @compute after ["s0", "q", "key", "value"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// ... once.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s5"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    // expected-error @below {{"s5" appends to the cache @positions, as "s0" did}}
    launch.step "s5" cache_append (input = %ids, cache = @positions) on @compute
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// Every cache gets the rows of every step.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.range @r block over "tp" extent "tokens" begin 0 size 4
  // expected-note @below {{the cache is defined here}}
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  // expected-error @below {{never appends to the cache @positions}}
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    launch.arena "int" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %i = launch.buffer "i" activation in "int" at 0 bytes 64 live ["s0", "s0"] : tensor<?xi64, #grid.layout<[_]>>
    launch.step "s0" slice (input = %ids, output = %i) with {dim = 0, range = @r} on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// Weights are read.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  // expected-error @below {{"norm" is read by no step}}
  launch.weight @w1 "norm" stored [4] bytes 16 : tensor<4xf32, #grid.layout<[_]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// Parts are ranges of the plan.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{for which the plan has no range @"tokens/tp"}}
    %h = launch.buffer "h" activation in "float" at 384 bytes 64 live ["s1", "s1"] : tensor<?x4xf32, #grid.layout<[block "tp", _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    launch.site "x" "missed" was ["all_reduce"] step "s2"
  }
}

// -----

// Sites name the step that pays their sum.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    // expected-error @below {{"x" names no step that pays its sum}}
    launch.site "x" "missed" was ["all_reduce"] step "s3"
  }
}

// -----

// ... and name one.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.input "positions" : tensor<?xi64>
  launch.group @tp over ["tp"] ranks 2
  launch.cache @positions layer -1 plane positions : tensor<?xi64, #grid.layout<[_]>>
  launch.weight @w0 "embed" stored [8, 4] bytes 128 : tensor<8x4xf32, #grid.layout<[_, _]>>
  launch.flag @f.tp group @tp key []
  launch.kernel @k0 ["all_reduce"] dtype f32 group @tp
  launch.stream @compute
  launch.stream @comm
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    %ids = launch.buffer "ids" input "positions" : tensor<?xi64, #grid.layout<[_]>>
    %a = launch.buffer "a" symmetric in "float" at 0 bytes 128 live ["s1", "s2"] : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" symmetric in "float" at 128 bytes 128 live ["s2", "s3"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %c = launch.buffer "c" activation in "float" at 0 bytes 128 live ["s3", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    %d = launch.buffer "d" output in "float" at 128 bytes 128 live ["s4", "s4"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" cache_append (input = %ids, cache = @positions) on @compute
    launch.step "s1" embedding (ids = %ids, weight = @w0, output = %a) on @compute signals ["e0"]
    launch.step "s2" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.tp on @comm after ["s1"] waits ["e0"] signals ["e1"]
    launch.step "s3" scale (input = %b, output = %c) with {factor = 2.0} on @compute after ["s2"] waits ["e1"]
    launch.step "s4" scale (input = %c, output = %d) with {factor = 2.0} on @compute after ["s3"]
    launch.output "logits" %d
    // expected-error @below {{"x" names no step that pays its sum}}
    launch.site "x" "missed" was ["all_reduce"]
  }
}
