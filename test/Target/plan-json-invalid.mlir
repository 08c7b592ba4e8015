// RUN: layline-translate %s -launch-to-plan-json -split-input-file -verify-diagnostics -o /dev/null

// The printer takes no decision: a plan that lacks one is refused.

// expected-error @below {{holds 0 launch plans, expected one}}
module {}

// -----

launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    // expected-error @below {{"a" has no place: plan the memory first}}
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
  }
}

// -----

launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.stream @compute
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" input "a" : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.arena "float" bytes 128 bound 128
    %b = launch.buffer "b" activation in "float" at 0 bytes 128 live ["s0", "s0"] : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{"s0" is on no stream: assign streams first}}
    launch.step "s0" scale (input = %a, output = %b) with {factor = 1.0}
  }
}
