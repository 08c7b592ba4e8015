// RUN: layline-opt %s -split-input-file -verify-diagnostics -verify-partitions

// Every item of a split dimension is held by one rank. The proofs themselves
// are tested with planted faults in test/unit/verification.

// Rows (any number of them), features, heads that do not divide, fewer items
// than ranks, no items.
module {
  grid.mesh @mesh ["cp", "tp"] = [3, 8]
  func.func @blocks(%rows: tensor<?x16xf32, #grid.layout<[block "tp", _]>>,
                    %both: tensor<?x9x4xf32, #grid.layout<[block "cp", block "tp", _]>>,
                    %features: tensor<?x36xf32, #grid.layout<[_, block "tp" x 4]>>,
                    %few: tensor<3xf32, #grid.layout<[block "tp"]>>,
                    %none: tensor<0xf32, #grid.layout<[block "tp"]>>) {
    return
  }
}

// -----

// KV heads: fewer than ranks, as many, more, and groups that parts tear apart.
module {
  grid.mesh @mesh ["tp"] = [4]
  func.func @readers(%a: tensor<?x2x4xf32, #grid.layout<[_, readers(6) "tp", _]>>,
                     %b: tensor<?x4x4xf32, #grid.layout<[_, readers(8) "tp", _]>>,
                     %c: tensor<?x8x4xf32, #grid.layout<[_, readers(8) "tp", _]>>,
                     %d: tensor<?x3x4xf32, #grid.layout<[_, readers(9) "tp", _]>>,
                     %e: tensor<?x1x4xf32, #grid.layout<[_, readers(2) "tp", _]>>,
                     %f: tensor<?x12xf32, #grid.layout<[_, readers(9) "tp" x 4]>>) {
    return
  }
}

// -----

// Nothing is split, so no mesh is asked for.
func.func @whole(%x: tensor<?x16xf32, #grid.layout<[_, _]>>) {
  return
}

// -----

module {
  grid.mesh @mesh ["tp"] = [4]
  // expected-error @below {{a dimension is split over "cp", which is no axis of the mesh}}
  func.func @no_such_axis(%x: tensor<?x16xf32, #grid.layout<[block "cp", _]>>) {
    return
  }
}

// -----

// expected-error @below {{a dimension is split over "tp", which is no axis of the mesh}}
func.func @no_mesh(%x: tensor<?x16xf32, #grid.layout<[block "tp", _]>>) {
  return
}

// -----

// An axis that only owes is an axis too.
module {
  grid.mesh @mesh ["tp"] = [4]
  // expected-error @below {{a sum is owed over "ep", which is no axis of the mesh}}
  func.func @owed_over_no_axis(%x: tensor<?x16xf32, #grid.layout<[_, _] owes "ep">>) {
    return
  }
}

// -----

// The splits of what ops give, also inside a kernel.
module {
  grid.mesh @mesh ["tp"] = [4]
  func.func @inside(%x: tensor<?x16xf32, #grid.layout<[_, _]>>) {
    %0 = grid.fused "slice+scale" {
      // expected-error @below {{a dimension is split over "cp", which is no axis of the mesh}}
      %1 = grid.slice %x dim 0 over "cp" : tensor<?x16xf32, #grid.layout<[_, _]>> -> tensor<?x16xf32, #grid.layout<[block "cp", _]>>
      %2 = grid.all_gather %1 dim 0 over "cp" : tensor<?x16xf32, #grid.layout<[block "cp", _]>> -> tensor<?x16xf32, #grid.layout<[_, _]>>
      grid.yield %2 : tensor<?x16xf32, #grid.layout<[_, _]>>
    } : tensor<?x16xf32, #grid.layout<[_, _]>>
    return
  }
}

// -----

// Two runs per rank, runs of two, and what a rank of "cp" has once more over "tp".
module {
  grid.mesh @mesh ["cp", "tp", "pp"] = [4, 3, 2]
  func.func @zigzag(%x: tensor<?x16xf32, #grid.layout<[zigzag "cp", _]>>) {
    return
  }
  func.func @cyclic(%x: tensor<?x16xf32, #grid.layout<[cyclic(2) "cp", _]>>) {
    return
  }
  func.func @nested(%x: tensor<?x16xf32, #grid.layout<[zigzag "cp" then cyclic(3) "tp" then block "pp", _]>>) {
    return
  }
  func.func @owner(%x: tensor<2x16xf32, #grid.layout<[owner(1, 0) "pp", _]>>) {
    return
  }
}

// -----

// An owner is a rank of the axis.
module {
  grid.mesh @mesh ["pp"] = [2]
  // expected-error @below {{#grid.split<owner(0, 1, 2) "pp"> does not deal out every item once: with 3 items over 2 ranks of "pp", item 2 is held by nobody}}
  func.func @owner(%x: tensor<3x16xf32, #grid.layout<[owner(0, 1, 2) "pp", _]>>) {
    return
  }
}

// -----

// The axes of splits that follow are axes of the mesh too.
module {
  grid.mesh @mesh ["cp"] = [4]
  // expected-error @below {{a dimension is split over "tp", which is no axis of the mesh}}
  func.func @nested(%x: tensor<?x16xf32, #grid.layout<[zigzag "cp" then block "tp", _]>>) {
    return
  }
}
