//===- Passes.td - from placed programs to a launch plan ---*- tablegen -*-===//
#ifndef LAYLINE_LOWERING_PASSES
#define LAYLINE_LOWERING_PASSES

include "mlir/Pass/PassBase.td"

def LowerToLaunch : Pass<"lower-to-launch", "::mlir::ModuleOp"> {
  let summary = "Every op becomes a step, every value a buffer.";
  let description = [{
    Each function with `grid.tokens` becomes a variant; other functions are
    dropped. What the variants share (ranges, weights, caches, RoPE tables,
    kernels) becomes symbols of the plan, each once. Splitting and merging heads
    costs nothing: the step that reads such a value names its buffer `as`
    another shape. A value that stays inside a `grid.fused` is a register.

    ```mlir
    func.func @v0(%x: ...) attributes {grid.tokens = array<i64: 1, 512>} {
      %w = decoder.weight {key = "model.norm.weight", ...}
      %0 = grid.all_gather %x dim 0 over "tp" : ...
      %1 = decoder.norm %0, %w {...}
    ```
    becomes
    ```mlir
    launch.weight @w0 "model.norm.weight" ...
    launch.variant @v0 tokens 1 to 512 {
      %b1 = launch.buffer "b1" symmetric : tensor<?x64xbf16, #grid.layout<[_, _]>>
      launch.step "s0" all_gather (input = %b0, output = %b1) with {dim = 0, group = @tp, range = @"tokens/tp"}
      %b2 = launch.buffer "b2" activation : ...
      launch.step "s1" norm (input = %b1, weight = @w0, output = %b2) with {...}
    ```
    Buffers have no place and steps no stream yet.
  }];
  let dependentDialects = ["::layline::launch::LaunchDialect"];
}

def LaunchPlanMemory : Pass<"launch-plan-memory", "::layline::launch::PlanOp"> {
  let summary = "Give every buffer a life and a place in an arena.";
  let description = [{
    A buffer lives from the step that writes it to the last one that reads it,
    both included, so an output never lies on an input of its step; outputs of
    the program live to the end. Floats, integers and registers have an arena
    each. Sizes are for the variant's largest token count, on the rank that
    holds most.

    Two orders of placing at the lowest free offset are tried, as they come to
    life and by size, and the smaller result is taken. The arena also says the
    largest sum of bytes live at once: no placement needs less.

    ```mlir
    %b1 = launch.buffer "b1" activation : tensor<?x64xbf16, ...>
    ```
    becomes
    ```mlir
    launch.arena "float" bytes 131072 bound 131072
    %b1 = launch.buffer "b1" activation in "float" at 65536 bytes 65536 live ["s0", "s1"] : ...
    ```
  }];
}

def LaunchAssignStreams : Pass<"launch-assign-streams", "::layline::launch::PlanOp"> {
  let summary = "Put collectives on a stream of their own, with the events that order them.";
  let description = [{
    A collective that stands alone runs on @comm, everything else on @compute.
    `after` lists the steps whose results a step uses. Where an order is needed
    between streams, the earlier step signals an event and the later one waits
    for it, unless an earlier wait has ordered the two already. Order is needed

    * to read what the other step writes (buffers and caches),
    * to write bytes of an arena that the other step still uses,
    * between two collectives, of whatever groups: each rank is in a group of
      every kind, and must begin them in the order of the others.

    ```mlir
    launch.step "s0" all_gather (...)
    launch.step "s1" norm (...)
    ```
    becomes
    ```mlir
    launch.step "s0" all_gather (...) on @comm signals ["e0"]
    launch.step "s1" norm (...) on @compute after ["s0"] waits ["e0"]
    ```
  }];
}

def LaunchVerify : Pass<"launch-verify", "::layline::launch::PlanOp"> {
  let summary = "Prove that a plan is safe to run.";
  let description = [{
    From the plan alone, knowing nothing of the passes that made it:

    * input buffers bind inputs of the plan, of their type;
    * every buffer is written by exactly one step of the list, before it is
      read, and touched only inside `live`;
    * places lie inside their arenas, are large enough, and are not shared by
      two buffers whose lives overlap;
    * every event is signalled by one step, before it is waited for;
    * two steps that touch the same bytes or cache, one of them writing, are
      ordered: reads after writes, writes after reads, writes after writes;
    * no two collectives are in flight at the same time, of one group or of
      several: groups of other axes share ranks, which may begin the two in
      different orders (a group of one rank waits for nobody);
    * the root of a broadcast is a rank of its group;
    * `after` lists exactly the steps whose results are used;
    * outputs are written and owe nothing, every weight and cache is used, sites
      name the collective that pays their sum.
  }];
}

#endif // LAYLINE_LOWERING_PASSES
