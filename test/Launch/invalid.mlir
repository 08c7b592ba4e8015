// RUN: layline-opt %s -split-input-file -verify-diagnostics

// One case for each line of the verifiers of the launch dialect.

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

// As many sizes as axes.
// expected-error @below {{names 2 axes but gives 1 sizes}}
launch.plan @plan target "t" dtype f32 mesh ["tp", "cp"] = [2] source {} requires [] {

}

// -----

// The dtype is a floating-point type.
// expected-error @below {{has the dtype 'i32', expected a floating-point type}}
launch.plan @plan target "t" dtype i32 mesh ["tp"] = [2] source {} requires [] {

}

// -----

// Inputs are defined once.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-note @below {{the first one is here}}
  launch.input "positions" : tensor<?xi64>
  // expected-error @below {{the input "positions" is defined twice}}
  launch.input "positions" : tensor<?xi64>
}

// -----

// So are symbols.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-note @below {{the first one is here}}
  launch.symbol "tokens" from 1 to 8
  // expected-error @below {{the symbol "tokens" is defined twice}}
  launch.symbol "tokens" from 1 to 8
}

// -----

// The token ranges of variants leave no gap.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-note @below {{the variant before ends here}}
  launch.variant @v0 tokens 1 to 8 {}
  // expected-error @below {{begins at 10 tokens, expected 9}}
  launch.variant @v1 tokens 10 to 20 {}
}

// -----

// ... and do not overlap.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-note @below {{the variant before ends here}}
  launch.variant @v0 tokens 1 to 8 {}
  // expected-error @below {{begins at 8 tokens, expected 9}}
  launch.variant @v1 tokens 8 to 20 {}
}

// -----

// Ranges of symbols are not empty.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{"tokens" has the range 8 to 1, expected 0 <= min <= max}}
  launch.symbol "tokens" from 8 to 1
}

// -----

// ... and not negative.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{"past" has the range -1 to 1, expected 0 <= min <= max}}
  launch.symbol "past" from -1 to 1
}

// -----

//===----------------------------------------------------------------------===//
// Groups and ranges
//===----------------------------------------------------------------------===//

// Groups are over axes of the mesh.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{is over "cp", which is no axis of the mesh}}
  launch.group @cp over ["cp"] ranks 2
}

// -----

// ... with as many ranks as these have.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{has 4 ranks, expected 2 from its axes}}
  launch.group @tp over ["tp"] ranks 4
}

// -----

// Extents, begins and sizes are closed expressions.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{has the extent "rows", expected a closed expression}}
  launch.range @r block over "tp" extent "rows" begin 0 size 1
}

// -----

// An operator has the operands that it takes.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{has the segment [["sub", 1, 2, 3], 1], expected closed expressions for begin and size}}
  launch.range @r block over "tp" extent 8 begin ["sub", 1, 2, 3] size 1
}

// -----

// Every operand is an expression.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{has the segment [0, ["add", 1, ["pow", 2, 2]]], expected closed expressions for begin and size}}
  launch.range @r block over "tp" extent 8 begin 0 size ["add", 1, ["pow", 2, 2]]
}

// -----

// Ranges are over an axis of the mesh.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{is over "cp", which is no axis of the mesh}}
  launch.range @r block over "cp" extent 8 begin 0 size 1
}

// -----

// Readers say of how many query heads.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{deals out 2 : i64 items by 'readers', expected 'of' as a multiple of them}}
  launch.range @r readers over "tp" extent 2 of 7 begin 0 size 1
}

// -----

launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{deals out 2 : i64 items by 'first_readers', expected 'of' as a multiple of them}}
  launch.range @r first_readers over "tp" extent 2 begin 0 size 1
}

// -----

// Blocks do not.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{deals out 2 : i64 items by 'block', expected no 'of'}}
  launch.range @r block over "tp" extent 2 of 8 begin 0 size 1
}

// -----

//===----------------------------------------------------------------------===//
// Inputs, caches, tables, weights
//===----------------------------------------------------------------------===//

// Inputs are integers.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{"x" has the type 'tensor<?xf32>', expected a ranked tensor of integers}}
  launch.input "x" : tensor<?xf32>
}

// -----

// Caches hold their rows whole.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{expected a tensor that holds its rows whole}}
  launch.cache @c layer 0 plane key : tensor<?x4xf32, #grid.layout<[block "tp", _]>>
}

// -----

// ... and are placed.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{expected a tensor that holds its rows whole}}
  launch.cache @c layer 0 plane key : tensor<?x4xf32>
}

// -----

// Positions belong to no layer.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{has the layer 0, expected -1 for the positions}}
  launch.cache @c layer 0 plane positions : tensor<?xi64, #grid.layout<[_]>>
}

// -----

// Keys and values do.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{has the layer -1, expected 0 or more}}
  launch.cache @c layer -1 plane key : tensor<?x4xf32, #grid.layout<[_, _]>>
}

// -----

// Both sets of a table have as many frequencies.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{has 2 and 1 frequencies, expected as many, and at least one}}
  launch.table @t frequencies [1.0, 0.5] factor 1.0 above 8 frequencies [1.0] factor 1.0
}

// -----

// There is at least one.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{has 0 and 0 frequencies, expected as many, and at least one}}
  launch.table @t frequencies [] factor 1.0
}

// -----

// Weights have a static shape.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{"k" has the type}}
  launch.weight @w "k" stored [4] bytes 16 : tensor<?xf32, #grid.layout<[_]>>
}

// -----

// ... and owe nothing.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{expected a static shape and a layout that owes nothing}}
  launch.weight @w "k" stored [4] bytes 16 : tensor<4xf32, #grid.layout<[_] owes "tp">>
}

// -----

// Zigzag has two runs per rank.
launch.plan @plan target "t" dtype f32 mesh ["cp"] = [2] source {} requires [] {
  // expected-error @below {{has 1 segments, expected 2 for 'zigzag'}}
  launch.range @r zigzag over "cp" extent "tokens" begin 0 : i64 size "tokens"
}

// -----

// A strided segment says its runs.
launch.plan @plan target "t" dtype f32 mesh ["cp"] = [2] source {} requires [] {
  // expected-error @below {{expected closed expressions for begin and size, a block and a stride}}
  launch.range @r cyclic over "cp" extent "tokens" interleave 1 begin "rank.cp" size 1 : i64
}

// -----

// ... and only cyclic is strided.
launch.plan @plan target "t" dtype f32 mesh ["cp"] = [2] source {} requires [] {
  // expected-error @below {{expected closed expressions for begin and size}}
  launch.range @r block over "cp" extent "tokens" begin 0 : i64 size 1 : i64 block 1 stride 2
}

// -----

launch.plan @plan target "t" dtype f32 mesh ["cp"] = [2] source {} requires [] {
  // expected-error @below {{deals out its items by 'cyclic', expected an 'interleave' of at least 1}}
  launch.range @r cyclic over "cp" extent "tokens" begin "rank.cp" size 1 : i64 block 1 stride 2
}

// -----

launch.plan @plan target "t" dtype f32 mesh ["cp"] = [2] source {} requires [] {
  // expected-error @below {{deals out its items by 'block', expected no 'interleave'}}
  launch.range @r block over "cp" extent "tokens" interleave 2 begin 0 : i64 size 1 : i64
}

// -----

// What a range gives to a rank is dealt out over another axis.
launch.plan @plan target "t" dtype f32 mesh ["cp"] = [2] source {} requires [] {
  launch.range @r block over "cp" extent "tokens" begin 0 : i64 size 1 : i64
  // expected-error @below {{deals out over "cp" what is dealt out over it already}}
  launch.range @s block over "cp" extent ["size", "r"] within @r begin 0 : i64 size 1 : i64
}

// -----

launch.plan @plan target "t" dtype f32 mesh ["cp", "tp"] = [2, 2] source {} requires [] {
  // expected-error @below {{is within @r, expected a partition defined before}}
  launch.range @s block over "tp" extent ["size", "r"] within @r begin 0 : i64 size 1 : i64
  launch.range @r block over "cp" extent "tokens" begin 0 : i64 size 1 : i64
}

// -----

launch.plan @plan target "t" dtype f32 mesh ["cp", "tp"] = [2, 2] source {} requires [] {
  launch.range @r block over "cp" extent "tokens" begin 0 : i64 size 1 : i64
  // expected-error @below {{is within @r, but has the extent "tokens"}}
  launch.range @s block over "tp" extent "tokens" within @r begin 0 : i64 size 1 : i64
}

// -----

launch.plan @plan target "t" dtype f32 mesh ["cp", "tp"] = [2, 2] source {} requires [] {
  launch.range @r block over "cp" extent "tokens" begin 0 : i64 size 1 : i64
  // expected-error @below {{deals out the parts of another range, expected 'within' to name it}}
  launch.range @s block over "tp" extent ["size", "r"] begin 0 : i64 size 1 : i64
}

// -----

//===----------------------------------------------------------------------===//
// Flags and kernels
//===----------------------------------------------------------------------===//

// Flags belong to a group.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{names the group @tp, which is not defined}}
  launch.flag @f group @tp key []
}

// -----

// ... and to nothing else.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.stream @tp
  // expected-error @below {{names the group @tp, which is not defined}}
  launch.flag @f group @tp key []
}

// -----

// KV fault 5 of the public engines: completion keys that collide across ranks.
// The group "tp" has an instance per rank of "cp"; with one flag for all of them
// (a key without "cp") each would take the others' signals.
launch.plan @plan target "t" dtype f32 mesh ["cp", "tp"] = [4, 2] source {} requires [] {
  launch.group @tp over ["tp"] ranks 2
  // expected-error @below {{has the key [], expected ["cp"]: the group @tp has an instance for each setting of these axes, and instances that share a flag take one another's signals}}
  launch.flag @f group @tp key []
}

// -----

// ... the right one.
launch.plan @plan target "t" dtype f32 mesh ["cp", "tp"] = [4, 2] source {} requires [] {
  launch.group @tp over ["tp"] ranks 2
  launch.flag @f group @tp key ["cp"]
}

// -----

// An axis of the group itself is no key: its members have to meet.
launch.plan @plan target "t" dtype f32 mesh ["cp", "tp"] = [4, 2] source {} requires [] {
  launch.group @tp over ["tp"] ranks 2
  // expected-error @below {{has the key ["cp", "tp"], expected ["cp"]}}
  launch.flag @f group @tp key ["cp", "tp"]
}

// -----

// Kernels run kinds of steps.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{runs 'softmax', expected a kind of step that is not fused}}
  launch.kernel @k ["softmax"] dtype f32
}

// -----

// ... that are not fused.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{runs 'fused', expected a kind of step that is not fused}}
  launch.kernel @k ["fused"] dtype f32
}

// -----

// A collective needs a group.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{holds a collective but names no group}}
  launch.kernel @k ["all_reduce"] dtype f32
}

// -----

// Nothing else does.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.group @tp over ["tp"] ranks 2
  // expected-error @below {{names a group but holds no collective}}
  launch.kernel @k ["norm"] dtype f32 group @tp
}

// -----

// The group of a kernel is defined.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{names the group @tp, which is not defined}}
  launch.kernel @k ["all_reduce"] dtype f32 group @tp
}

// -----

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

// Token ranges are not empty.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{is for 8 to 1 tokens, expected 1 <= min <= max}}
  launch.variant @v0 tokens 8 to 1 {}
}

// -----

// ... and begin at one token.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-error @below {{is for 0 to 1 tokens, expected 1 <= min <= max}}
  launch.variant @v0 tokens 0 to 1 {}
}

// -----

// Buffers are defined once.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    // expected-note @below {{the first one is here}}
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{the buffer "a" is defined twice}}
    %other = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
  }
}

// -----

// So are arenas.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    // expected-note @below {{the first one is here}}
    launch.arena "float" bytes 0 bound 0
    // expected-error @below {{the arena "float" is defined twice}}
    launch.arena "float" bytes 0 bound 0
  }
}

// -----

// So are outputs.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-note @below {{the first one is here}}
    launch.output "logits" %a
    // expected-error @below {{the output "logits" is defined twice}}
    launch.output "logits" %a
  }
}

// -----

// So are sites.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    // expected-note @below {{the first one is here}}
    launch.site "a" "missed" was []
    // expected-error @below {{the site "a" is defined twice}}
    launch.site "a" "missed" was []
  }
}

// -----

// So are steps.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-note @below {{the first one is here}}
    launch.step "s0" scale (input = %a, output = %b) with {factor = 1.0}
    // expected-error @below {{the step "s0" is defined twice}}
    launch.step "s0" scale (input = %a, output = %b) with {factor = 1.0}
  }
}

// -----

// Steps come after steps of the list.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{'after' names the step "s9", which is not in the list}}
    launch.step "s0" scale (input = %a, output = %b) with {factor = 1.0} after ["s9"]
  }
}

// -----

// Lives go from step to step.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "float" bytes 512 bound 0
    // expected-error @below {{'live' names the step "s9", which is not in the list}}
    %a = launch.buffer "a" activation in "float" at 0 bytes 128 live ["s9", "s9"] : tensor<?x4xf32, #grid.layout<[_, _]>>
  }
}

// -----

// Buffers are in arenas of their variant.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    // expected-error @below {{is in the arena "float", which the variant does not have}}
    %a = launch.buffer "a" activation in "float" at 0 bytes 128 : tensor<?x4xf32, #grid.layout<[_, _]>>
  }
}

// -----

// Sites name steps.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    // expected-error @below {{names the step "s9", which the variant does not have}}
    launch.site "a" "missed" was [] step "s9"
  }
}

// -----

//===----------------------------------------------------------------------===//
// Arenas, buffers, outputs, sites
//===----------------------------------------------------------------------===//

// The bound of an arena is no more than its bytes.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    // expected-error @below {{"float" has 1 bytes and the bound 2, expected 0 <= bound <= bytes}}
    launch.arena "float" bytes 1 bound 2
  }
}

// -----

// ... and not negative.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    // expected-error @below {{"float" has 1 bytes and the bound -2, expected 0 <= bound <= bytes}}
    launch.arena "float" bytes 1 bound -2
  }
}

// -----

// Buffers are placed on the mesh.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    // expected-error @below {{"a" has the type 'tensor<?x4xf32>', expected a ranked tensor with a layout}}
    %a = launch.buffer "a" activation : tensor<?x4xf32>
  }
}

// -----

// Only their rows may be dynamic.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    // expected-error @below {{dynamic in its rows at most}}
    %a = launch.buffer "a" activation : tensor<4x?xf32, #grid.layout<[_, _]>>
  }
}

// -----

// Inputs are of class input.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    // expected-error @below {{"a" is of class 'activation' and binds input}}
    %a = launch.buffer "a" activation "positions" : tensor<?x4xf32, #grid.layout<[_, _]>>
  }
}

// -----

// Nothing else is.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    // expected-error @below {{"a" is of class 'input' and binds no input}}
    %a = launch.buffer "a" input : tensor<?x4xf32, #grid.layout<[_, _]>>
  }
}

// -----

// Inputs have no place.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    launch.arena "int" bytes 0 bound 0
    // expected-error @below {{"a" is an input, which the caller binds, but has a place in the arena "int"}}
    %a = launch.buffer "a" input "positions" in "int" at 0 bytes 8 : tensor<?xi64, #grid.layout<[_]>>
  }
}

// -----

// A place is an arena, an offset and bytes.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    // expected-error @below {{"a" needs arena, offset and bytes together, and two steps for 'live'}}
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>> {offset = 8 : i64}
  }
}

// -----

// A life has a first and a last step.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    // expected-error @below {{"a" needs arena, offset and bytes together, and two steps for 'live'}}
    %a = launch.buffer "a" activation live ["s0"] : tensor<?x4xf32, #grid.layout<[_, _]>>
  }
}

// -----

// Outputs owe nothing.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    // expected-note @below {{the buffer is defined here}}
    %a = launch.buffer "a" output : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    // expected-error @below {{"logits" owes a sum over "tp"; reduce it first}}
    launch.output "logits" %a
  }
}

// -----

// Bytes are given before and after.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    // expected-error @below {{"a" has bytes only before or only after}}
    launch.site "a" "missed" was [] before {ring = 1}
  }
}

// -----

// ... as closed expressions.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    // expected-error @below {{"a" sends "rows" bytes by 'ring', expected a closed expression}}
    launch.site "a" "missed" was [] before {ring = 1} after {ring = "rows"}
  }
}

// -----

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

// All roles of the kind are given.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has the role '' in place #1, expected 'output' of 'scale'}}
    launch.step "s0" scale (input = %a) with {factor = 1.0}
  }
}

// -----

// ... in the order of the kind.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has the role 'output' in place #0, expected 'input' of 'scale'}}
    launch.step "s0" scale (output = %a, input = %b) with {factor = 1.0}
  }
}

// -----

// ... once, but for lists.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has 2 of 'input', expected one}}
    launch.step "s0" scale (input = %a, input = %a, output = %b) with {factor = 1.0}
  }
}

// -----

// ... and no others.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has the role 'bias' in place #2, which 'scale' does not take there}}
    launch.step "s0" scale (input = %a, output = %b, bias = %a) with {factor = 1.0}
  }
}

// -----

// As many roles as targets.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has 1 roles for 2 targets and 1 buffers}}
    "launch.step"(%a) <{id = "s0", kind = 0 : i32, roles = ["ids"], targets = [unit, @w]}> ({}) : (!launch.buffer) -> ()
  }
}

// -----

// A buffer is no weight.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has a buffer as 'weight', expected a symbol}}
    launch.step "s0" linear (input = %a, weight = %a, output = %b)
  }
}

// -----

// A weight is no buffer.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has a symbol as 'input', expected a buffer}}
    launch.step "s0" linear (input = @w, weight = @w, output = %b)
  }
}

// -----

// Ids are integers.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has 'f32' as 'ids', expected integers}}
    launch.step "s0" embedding (ids = %a, weight = @w, output = %b)
  }
}

// -----

// What is computed with are floats.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xi32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has 'i32' as 'input', expected floats}}
    launch.step "s0" scale (input = %a, output = %b) with {factor = 1.0}
  }
}

// -----

// A view has all elements of its buffer.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{views 'input' as 'tensor<?x8xf32, #grid.layout<[_, _]>>', but the buffer holds}}
    launch.step "s0" scale (input = %a as tensor<?x8xf32, #grid.layout<[_, _]>>, output = %b) with {factor = 1.0}
  }
}

// -----

// ... owes the same sums.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{views 'input' as}}
    launch.step "s0" scale (input = %a as tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>, output = %b) with {factor = 1.0}
  }
}

// -----

// All attributes of the kind are given.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{lacks the attribute 'factor' of 'scale'}}
    launch.step "s0" scale (input = %a, output = %b)
  }
}

// -----

// ... and no others.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has the attribute 'eps', which 'scale' does not take}}
    launch.step "s0" scale (input = %a, output = %b) with {factor = 1.0, eps = 1.0}
  }
}

// -----

// ... of the right types.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has the attribute 'factor' = 1 : i64 of a wrong type}}
    launch.step "s0" scale (input = %a, output = %b) with {factor = 1}
  }
}

// -----

// A bool is no integer.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has the attribute 'root' = true of a wrong type}}
    launch.step "s0" broadcast (input = %a, output = %b) with {group = @tp, root = true}
  }
}

// -----

// As many names as outputs.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has 2 names for 1 outputs}}
    launch.step "s0" scale (input = %a, output = %b) with {factor = 1.0} names ["x", "y"]
  }
}

// -----

// Collectives have a flag.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{is a collective without a flag}}
    launch.step "s0" all_reduce (input = %a, output = %b) with {group = @tp}
  }
}

// -----

// ... of their own group.
launch.plan @plan target "t" dtype f32 mesh ["cp", "tp"] = [2, 2] source {} requires [] {
  launch.group @cp over ["cp"] ranks 2
  launch.group @tp over ["tp"] ranks 2
  // expected-note @below {{the flag is defined here}}
  launch.flag @f.cp group @cp key ["tp"]
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{is of the group @tp, but signals by @f.cp, a flag of the group @cp}}
    launch.step "s0" all_reduce (input = %a, output = %b) with {group = @tp} flag @f.cp
  }
}

// -----

// Nothing else has.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has a flag but is no collective}}
    launch.step "s0" scale (input = %a, output = %b) with {factor = 1.0} flag @f
  }
}

// -----

// A fused step has a body.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{is fused but has no body}}
    launch.step "s0" fused (inputs = %a, outputs = %a) with {kernel = @k}
  }
}

// -----

// Nothing else has.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has a body, which only a fused step has}}
    launch.step "s0" scale (input = %a, output = %b) with {factor = 1.0} body {}
  }
}

// -----

// Steps in a body are on no stream.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" fused (inputs = %a, outputs = %b) with {kernel = @k} body {
      // expected-error @below {{stands in the body of a fused step, where nothing is fused, ordered or put on a stream}}
      launch.step "s0.0" scale (input = %a, output = %b) with {factor = 1.0} on @compute
    }
  }
}

// -----

// ... and not fused.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    launch.step "s0" fused (inputs = %a, outputs = %b) with {kernel = @k} body {
      // expected-error @below {{stands in the body of a fused step, where nothing is fused, ordered or put on a stream}}
      launch.step "s0.0" fused (inputs = %a, outputs = %b) with {kernel = @k} body {}
    }
  }
}

// -----

// Symbols are defined.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has 'weight' = @w, which is not defined}}
    launch.step "s0" linear (input = %a, weight = @w, output = %b)
  }
}

// -----

// ... as what they are used for.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  // expected-note @below {{it is defined here}}
  launch.stream @w
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has 'weight' = @w, which is a 'launch.stream'}}
    launch.step "s0" linear (input = %a, weight = @w, output = %b)
  }
}

// -----

// So are those of attributes.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has 'range' = @r, which is not defined}}
    launch.step "s0" slice (input = %a, output = %b) with {dim = 0, range = @r}
  }
}

// -----

// ... and streams.
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {} requires [] {
  launch.variant @v0 tokens 1 to 8 {
    %a = launch.buffer "a" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    %b = launch.buffer "b" activation : tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{has 'on' = @s, which is not defined}}
    launch.step "s0" scale (input = %a, output = %b) with {factor = 1.0} on @s
  }
}
