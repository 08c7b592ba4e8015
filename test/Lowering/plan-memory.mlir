// RUN: layline-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(launch.plan(launch-plan-memory))' | FileCheck %s

#whole = #grid.layout<[_, _]>
#rows = #grid.layout<[block "tp", _]>

// Four values in a chain, of 8 tokens x 40 floats = 1280 bytes, 256-aligned: a
// place is free again after the last read, and no step writes onto its input.

// CHECK-LABEL: launch.variant @chain
// CHECK-NEXT:  launch.arena "float" bytes 2560 bound 2560
// CHECK-NEXT:  launch.arena "int" bytes 0 bound 0
// CHECK-NEXT:  launch.arena "register" bytes 0 bound 0
// CHECK-NEXT:  %x = launch.buffer "x" input "x" : tensor
// CHECK-NEXT:  %a = launch.buffer "a" activation in "float" at 0 bytes 1280 live ["s0", "s1"]
// CHECK-NEXT:  %b = launch.buffer "b" activation in "float" at 1280 bytes 1280 live ["s1", "s2"]
// CHECK-NEXT:  %c = launch.buffer "c" activation in "float" at 0 bytes 1280 live ["s2", "s3"]
// CHECK-NEXT:  %d = launch.buffer "d" output in "float" at 1280 bytes 1280 live ["s3", "s3"]
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [3] source {} requires [] {
  launch.variant @chain tokens 1 to 8 {
    %x = launch.buffer "x" input "x" : tensor<?x40xf32, #whole>
    %a = launch.buffer "a" activation : tensor<?x40xf32, #whole>
    %b = launch.buffer "b" activation : tensor<?x40xf32, #whole>
    %c = launch.buffer "c" activation : tensor<?x40xf32, #whole>
    %d = launch.buffer "d" output : tensor<?x40xf32, #whole>
    launch.step "s0" scale (input = %x, output = %a) with {factor = 2.0}
    launch.step "s1" scale (input = %a, output = %b) with {factor = 2.0}
    launch.step "s2" scale (input = %b, output = %c) with {factor = 2.0}
    launch.step "s3" scale (input = %c, output = %d) with {factor = 2.0}
    launch.output "d" %d
  }
}

// -----

#whole = #grid.layout<[_, _]>
#rows = #grid.layout<[block "tp", _]>
#heads = #grid.layout<[_, readers(9) "tp"]>

// Sizes are those of the rank that holds most: 4 of 7 rows, 2 of 3 KV heads. A
// value that is read late keeps its place until then, an output to the end.

// CHECK-LABEL: launch.variant @parts
// CHECK:       %a = launch.buffer "a" activation in "float" at {{[0-9]+}} bytes 640 live ["s0", "s3"]
// CHECK-NEXT:  %b = launch.buffer "b" activation in "float" at {{[0-9]+}} bytes 56 live ["s1", "s2"]
// CHECK-NEXT:  %c = launch.buffer "c" output in "float" at {{[0-9]+}} bytes 56 live ["s2", "s3"]
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @parts tokens 1 to 7 {
    %x = launch.buffer "x" input "x" : tensor<?x40xf32, #rows>
    %y = launch.buffer "y" input "y" : tensor<?x3xf32, #heads>
    %a = launch.buffer "a" activation : tensor<?x40xf32, #rows>
    %b = launch.buffer "b" activation : tensor<?x3xf32, #heads>
    %c = launch.buffer "c" output : tensor<?x3xf32, #heads>
    %d = launch.buffer "d" output : tensor<?x40xf32, #rows>
    launch.step "s0" scale (input = %x, output = %a) with {factor = 2.0}
    launch.step "s1" scale (input = %y, output = %b) with {factor = 2.0}
    launch.step "s2" scale (input = %b, output = %c) with {factor = 2.0}
    launch.step "s3" scale (input = %a, output = %d) with {factor = 2.0}
    launch.output "c" %c
    launch.output "d" %d
  }
}

// -----

#whole = #grid.layout<[_, _]>

// Three arenas. Registers of one fused step are alive at once; those of the next
// one take their places.

// CHECK-LABEL: launch.variant @arenas
// CHECK-NEXT:  launch.arena "float" bytes 4608 bound 4608
// CHECK-NEXT:  launch.arena "int" bytes 256 bound 256
// CHECK-NEXT:  launch.arena "register" bytes 512 bound 512
// CHECK-DAG:   %r0 = launch.buffer "r0" register in "register" at 0 bytes 128 live ["s1", "s1"]
// CHECK-DAG:   %r1 = launch.buffer "r1" register in "register" at 256 bytes 128 live ["s1", "s1"]
// CHECK-DAG:   %r2 = launch.buffer "r2" register in "register" at 0 bytes 128 live ["s2", "s2"]
// CHECK-DAG:   %ids = launch.buffer "ids" activation in "int" at 0 bytes 32 live ["s0", "s0"]
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.kernel @k0 ["scale", "scale", "add"] dtype f32
  launch.kernel @k1 ["scale", "scale"] dtype f32
  launch.variant @arenas tokens 1 to 8 {
    %x = launch.buffer "x" input "x" : tensor<?x4xf32, #whole>
    %ids = launch.buffer "ids" activation : tensor<?x1xi32, #whole>
    %w = launch.buffer "w" activation : tensor<?x1xf32, #whole>
    %r0 = launch.buffer "r0" register : tensor<?x4xf32, #whole>
    %r1 = launch.buffer "r1" register : tensor<?x4xf32, #whole>
    %r2 = launch.buffer "r2" register : tensor<?x4xf32, #whole>
    %a = launch.buffer "a" activation : tensor<?x128xf32, #whole>
    %y = launch.buffer "y" activation : tensor<?x4xf32, #whole>
    %z = launch.buffer "z" output : tensor<?x4xf32, #whole>
    launch.step "s0" router (logits = %x, ids = %ids, weights = %w) with {top_k = 1, scoring = "softmax", renormalize = true, scale = 1.0}
    launch.step "s1" fused (inputs = %x, outputs = %y) with {kernel = @k0} body {
      launch.step "s1.0" scale (input = %x, output = %r0) with {factor = 2.0}
      launch.step "s1.1" scale (input = %x, output = %r1) with {factor = 2.0}
      launch.step "s1.2" add (inputs = %r0, inputs = %r1, output = %y)
    }
    launch.step "s2" fused (inputs = %y, outputs = %z) with {kernel = @k1} body {
      launch.step "s2.0" scale (input = %y, output = %r2) with {factor = 2.0}
      launch.step "s2.1" scale (input = %r2, output = %z) with {factor = 2.0}
    }
    launch.step "s3" scale (input = %y, output = %a) with {factor = 2.0}
    launch.output "z" %z
  }
}

// -----

#whole = #grid.layout<[_, _]>

launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    // expected-error @below {{"a" is used by no step}}
    %a = launch.buffer "a" activation : tensor<?x4xf32, #whole>
  }
}
