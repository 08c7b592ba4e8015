// RUN: split-file %s %t
// RUN: layline verify --consumers %t/good.mlir | FileCheck %s --check-prefix=GOOD
// RUN: layline verify --consumers --json %t/good.mlir | FileCheck %s --check-prefix=JSON
// RUN: not layline verify --consumers %t/dropped.mlir | FileCheck %s --check-prefix=BAD
// RUN: not layline verify --consumers %t/none.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not layline verify --consumers %t/absent.mlir 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: not layline verify --json %t 2>&1 | FileCheck %s --check-prefix=FLAG

// One line per reader, grouped by value, with the places of the model; what an
// attention of few heads in a kernel for many comes to.

//--- good.mlir

!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!q = tensor<?x64x4xf32, #grid.layout<[_, block "tp", _]>>
!padded = tensor<?x64x4xf32, #grid.layout<[_, block "tp" pad 64, _]>>
!kv = tensor<?x8x4xf32, #grid.layout<[_, readers(64) "tp", _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
!up = tensor<32x16xf32, #grid.layout<[block "tp", _]>>
!columns = tensor<?x32xf32, #grid.layout<[_, block "tp"]>>

grid.mesh @mesh ["tp"] = [16]

// The imported program is not reported.
func.func private @reference(%x: tensor<?x16xf32>) -> tensor<?x16xf32> attributes {decoder.reference} {
  return %x : tensor<?x16xf32>
}

// GOOD: @v0: 8 rewritten values, 9 readers, all fed
// GOOD: %0 deferred scale layer.0.o_proj #grid.layout<[_, _] owes "tp">
// GOOD-NEXT: fed reduce_scatter layer.0.o_proj #0 needs owes "tp", all rows gets all rows, all columns, owes "tp"
func.func @v0(%p: !owes, %r: !rows, %q: !q, %k: !kv, %v: !kv, %pos: !pos, %up: !up) -> (!whole, !q, !columns) {
  %0 = decoder.scale %p {factor = 2.0 : f64} : (!owes) -> !owes loc("layer.0.o_proj")
  %1 = grid.reduce_scatter %0 dim 0 over "tp" : !owes -> !rows loc("layer.0.o_proj")
  %2 = decoder.add %r, %1 : (!rows, !rows) -> !rows loc("layer.0.add")
  %3 = grid.all_gather %2 dim 0 over "tp" : !rows -> !whole loc("layer.0.add")
  %4 = decoder.linear %3, %up : (!whole, !up) -> !columns loc("layer.0.up_proj")
  %5 = grid.pad %q dim 1 to 64 : !q -> !padded loc("layer.0.q_proj")
  %6 = decoder.attention %5, %k, %v, %pos, %pos {scale = 0.5 : f64, causal = true} : (!padded, !kv, !kv, !pos, !pos) -> !padded loc("layer.0.attention")
  %7 = grid.unpad %6 dim 1 : !padded -> !q
  return %3, %7, %4 : !whole, !q, !columns
}
// GOOD: attention: 4 of 64 heads useful (6.25 %), in 1 place
// GOOD-NEXT: products: 32 of 32 multiply-adds per token useful (100 %)

// JSON: "schema": "layline.consumers"
// JSON: "program": "v0"
// JSON: "fed": true
// JSON: "form": "deferred"
// JSON: "op": "reduce_scatter"
// JSON: "at": "layer.0.o_proj"
// JSON: "needs": "owes \"tp\", all rows"
// JSON: "heads": 4
// JSON-NEXT: "padded_heads": 64
// JSON-NEXT: "useful": 32
// JSON-NEXT: "padded": 512

//--- dropped.mlir

// The ops of this program do not verify: it is read all the same.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!whole = tensor<?x16xf32, #grid.layout<[_, _]>>
!a = tensor<8x16xf32, #grid.layout<[_, _]>>
!latent_rows = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!latent = tensor<?x8xf32, #grid.layout<[_, _]>>
!up = tensor<32x16xf32, #grid.layout<[block "tp", _]>>
!columns = tensor<?x32xf32, #grid.layout<[_, block "tp"]>>

// BAD: @v0: 3 rewritten values, 4 readers, 1 NOT FED
// BAD: %0 narrowed slice layer.3.kv_a
// BAD-NEXT: fed linear layer.3.kv_a #0 needs any rows, any in, summed, may owe gets rows by block "tp", all in
// BAD-NEXT: NOT FED linear layer.3.shared.up_proj #0 needs all rows over "tp", any in, summed, may owe 'decoder.linear' at layer.3.shared.up_proj needs all rows of %0 (operand #0), because "tp" splits its out, but gets the rows that "tp" splits: narrowed at layer.3.kv_a and nothing gathers it
func.func @v0(%x: !whole, %a: !a, %up: !up) -> (!latent, !columns) {
  %h = grid.slice %x dim 0 over "tp" : !whole -> !rows loc("layer.3.kv_a")
  %0 = decoder.linear %h, %a : (!rows, !a) -> !latent_rows loc("layer.3.kv_a")
  %1 = grid.all_gather %0 dim 0 over "tp" : !latent_rows -> !latent loc("layer.3.kv_a")
  %3 = decoder.linear %h, %up : (!rows, !up) -> !columns loc("layer.3.shared.up_proj")
  return %1, %3 : !latent, !columns
}

//--- none.mlir

// NONE: none.mlir: found no program, expected functions
func.func private @reference(%x: tensor<?x16xf32>) -> tensor<?x16xf32> attributes {decoder.reference} {
  return %x : tensor<?x16xf32>
}

// ABSENT: absent.mlir: No such file or directory
// FLAG: --json requires --consumers
