//===- GridDialect.td - where values live on a mesh of cards -*- tablegen -*-===//
#ifndef LAYLINE_GRID_DIALECT
#define LAYLINE_GRID_DIALECT

include "mlir/IR/OpBase.td"

def Grid_Dialect : Dialect {
  let name = "grid";
  let summary = "Layouts of tensors on a mesh of cards, and the edges between them.";
  let description = [{
    Tensors keep their *global* shape. Where a tensor lives is part of its type,
    as the encoding `#grid.layout`: which mesh axis splits which dimension, and
    over which axes the ranks' values still owe a sum. An op that cannot take a
    layout is a type error with a location.

    A tensor without an encoding has not been placed yet.
  }];
  let cppNamespace = "::layline::grid";
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
}

#endif // LAYLINE_GRID_DIALECT
