//===- LaunchDialect.td - what every rank launches ---------*- tablegen -*-===//
#ifndef LAYLINE_LAUNCH_DIALECT
#define LAYLINE_LAUNCH_DIALECT

include "mlir/IR/OpBase.td"

def Launch_Dialect : Dialect {
  let name = "launch";
  let summary = "The launch plan: steps, buffers, memory, streams.";
  let description = [{
    One program for all ranks of a group, with no decision left: `plan.json`
    (docs/plan-format.md) is a print of it. Tensor types are global and carry
    their `grid.layout`; a rank's local shape follows from it.

    Steps are in destination-passing style: a `launch.buffer` is a piece of an
    arena, and a step names the buffers it reads and writes by role. Sizes that
    depend on the run are closed expressions in the plan's prefix form:
    `"tokens"`, `4096`, `["mul", "tokens", 2]`, `["size", "tokens/tp"]`.

    Steps, buffers and events have the names that they have in the plan ("s4",
    "b7", "e1"); everything that is shared by all variants is a symbol.
  }];
  let cppNamespace = "::layline::launch";
  let dependentDialects = ["::layline::grid::GridDialect"];
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerTypes();
  }];
}

#endif // LAYLINE_LAUNCH_DIALECT
