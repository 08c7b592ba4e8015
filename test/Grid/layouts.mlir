// RUN: layline-opt %s -split-input-file | layline-opt -split-input-file | FileCheck %s
// RUN: layline-opt %s -split-input-file -mlir-print-op-generic | layline-opt -split-input-file | FileCheck %s

// What a layout says of a tensor, and how it is written. `n` items of `unit`
// elements are dealt out to the ranks of one axis.

// Nothing is split: every rank holds all of it. A value without dimensions too.
// CHECK-LABEL: @whole(
// CHECK-SAME: tensor<?x16xf32, #grid.layout<[_, _]>>
// CHECK-SAME: tensor<f32, #grid.layout<[]>>
func.func private @whole(tensor<?x16xf32, #grid.layout<[_, _]>>, tensor<f32, #grid.layout<[]>>)

// -----

// Items are elements, or heads of 16 features each.
// CHECK-LABEL: @block(
// CHECK-SAME: #grid.layout<[block "tp", _]>
// CHECK-SAME: #grid.layout<[_, block "tp" x 16]>
func.func private @block(tensor<?x64xf32, #grid.layout<[block "tp", _]>>,
                         tensor<?x64xf32, #grid.layout<[_, block "tp" x 16]>>)

// -----

// A unit of 1 is not written.
// CHECK-LABEL: @unit_of_one(
// CHECK-SAME: #grid.layout<[block "tp"]>
func.func private @unit_of_one(tensor<?xi64, #grid.layout<[block "tp" x 1]>>)

// -----

// 2p segments; rank k holds the k-th from either end.
// CHECK-LABEL: @zigzag(
// CHECK-SAME: #grid.layout<[zigzag "cp", _]>
func.func private @zigzag(tensor<?x64xf32, #grid.layout<[zigzag "cp", _]>>)

// -----

// Item i belongs to rank (i / 4) mod p.
// CHECK-LABEL: @cyclic(
// CHECK-SAME: #grid.layout<[cyclic(4) "cp", _]>
func.func private @cyclic(tensor<?x64xf32, #grid.layout<[cyclic(4) "cp", _]>>)

// -----

// One owner for each of the three items of 4 elements.
// CHECK-LABEL: @owner(
// CHECK-SAME: #grid.layout<[owner(0, 1, 0) "pp" x 4, _]>
func.func private @owner(tensor<12x64xf32, #grid.layout<[owner(0, 1, 0) "pp" x 4, _]>>)

// -----

// The KV heads that a rank's part of 6 query heads reads.
// CHECK-LABEL: @readers(
// CHECK-SAME: #grid.layout<[_, readers(6) "tp", _]>
// CHECK-SAME: #grid.layout<[_, readers(6) "tp" x 4]>
func.func private @readers(tensor<?x2x4xf32, #grid.layout<[_, readers(6) "tp", _]>>,
                           tensor<?x8xf32, #grid.layout<[_, readers(6) "tp" x 4]>>)

// -----

// Owed sums, in alphabetical order; a value may be split over other axes.
// CHECK-LABEL: @owes(
// CHECK-SAME: #grid.layout<[_, _] owes "tp">
// CHECK-SAME: #grid.layout<[block "cp", _] owes "ep", "tp">
func.func private @owes(tensor<?x64xf32, #grid.layout<[_, _] owes "tp">>,
                        tensor<?x64xf32, #grid.layout<[block "cp", _] owes "ep", "tp">>)

// -----

// Tokens over one axis and heads over another cover the grid of the two.
// CHECK-LABEL: @two_axes(
// CHECK-SAME: #grid.layout<[zigzag "cp", block "tp", _]>
func.func private @two_axes(tensor<?x8x4xf32, #grid.layout<[zigzag "cp", block "tp", _]>>)

// -----

// A split by itself.
// CHECK-LABEL: @split(
// CHECK-SAME: a = #grid.split<block "tp">
// CHECK-SAME: b = #grid.split<block "tp" x 128>
// CHECK-SAME: c = #grid.split<cyclic(4) "cp">
// CHECK-SAME: d = #grid.split<owner(1, 0) "pp">
// CHECK-SAME: e = #grid.split<readers(64) "tp">
// CHECK-SAME: f = #grid.split<zigzag "cp" x 2>
func.func private @split() attributes {
  a = #grid.split<block "tp">, b = #grid.split<block "tp" x 128>,
  c = #grid.split<cyclic(4) "cp">, d = #grid.split<owner(1, 0) "pp">,
  e = #grid.split<readers(64) "tp">, f = #grid.split<zigzag "cp" x 2>}
