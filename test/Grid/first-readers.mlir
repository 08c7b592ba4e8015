// RUN: layline-opt %s -split-input-file -verify-diagnostics -verify-partitions | FileCheck %s

// KV heads that several ranks hold, each kept by the first of them.

!held = tensor<?x4x16xf32, #grid.layout<[_, readers(8) "tp", _]>>
!kept = tensor<?x4x16xf32, #grid.layout<[_, first_readers(8) "tp", _]>>
grid.mesh @mesh ["tp"] = [8]
// CHECK-LABEL: @kept
func.func @kept(%k: !held) -> !kept {
  // CHECK: grid.slice {{.*}} -> tensor<?x4x16xf32, #grid.layout<[_, first_readers(8) "tp", _]>>
  %0 = grid.slice %k dim 1 over "tp" : !held -> !kept
  return %0 : !kept
}

// -----

// Of other query heads the first readers are others.
!held = tensor<?x4x16xf32, #grid.layout<[_, readers(8) "tp", _]>>
!other = tensor<?x4x16xf32, #grid.layout<[_, first_readers(12) "tp", _]>>
func.func @other_query_heads(%k: !held) {
  // expected-error @below {{splits dimension 1 of its result as #grid.split<first_readers(12) "tp">, expected #grid.split<first_readers(8) "tp"> of what is split as #grid.split<readers(8) "tp">}}
  %0 = grid.slice %k dim 1 over "tp" : !held -> !other
  return
}

// -----

!held = tensor<?x4x16xf32, #grid.layout<[_, readers(8) "tp", _]>>
!block = tensor<?x4x16xf32, #grid.layout<[_, block "tp", _]>>
func.func @blocks_of_readers(%k: !held) {
  // expected-error @below {{expected #grid.split<first_readers(8) "tp">}}
  %0 = grid.slice %k dim 1 over "tp" : !held -> !block
  return
}

// -----

// A block is a partition already: nothing is there twice.
!held = tensor<?x8x16xf32, #grid.layout<[_, block "tp", _]>>
!kept = tensor<?x8x16xf32, #grid.layout<[_, first_readers(8) "tp", _]>>
func.func @first_of_blocks(%k: !held) {
  // expected-error @below {{splits dimension 1 of its result as #grid.split<first_readers(8) "tp">, expected #grid.split<block "tp"> and then over "tp"}}
  %0 = grid.slice %k dim 1 over "tp" : !held -> !kept
  return
}

// -----

// Attention reads all KV heads of its query heads, not the first of them.
!q = tensor<?x8x16xf32, #grid.layout<[_, block "tp", _]>>
!k = tensor<?x4x16xf32, #grid.layout<[_, first_readers(8) "tp", _]>>
!pos = tensor<?xi64, #grid.layout<[_]>>
func.func @attention_on_first(%q: !q, %k: !k, %v: !k, %pos: !pos) {
  // expected-error @below {{a rank would not hold the KV heads that its query heads read}}
  %0 = decoder.attention %q, %k, %v, %pos, %pos {scale = 0.25 : f64, causal = true} : (!q, !k, !k, !pos, !pos) -> !q
  return
}

// -----

// expected-error @below {{'first_readers' has the argument 0, expected at least 1}}
!k = tensor<?x4x16xf32, #grid.layout<[_, first_readers(0) "tp", _]>>
func.func @no_query_heads(%k: !k)

// -----

// expected-error @below {{9 query heads cannot share 4 KV heads evenly}}
func.func @uneven(%k: tensor<?x4x16xf32, #grid.layout<[_, first_readers(9) "tp", _]>>)

// -----

// expected-error @below {{dimension 0 is dynamic, but 'first_readers' needs its number of items}}
func.func @rows(%k: tensor<?x16xf32, #grid.layout<[first_readers(8) "tp", _]>>)

// -----

// expected-error @below {{'first_readers' is followed by 'block': only block, zigzag and cyclic parts are dealt out again}}
func.func @dealt_out_again(%k: tensor<?x4x16xf32, #grid.layout<[_, first_readers(8) "tp" then block "cp", _]>>)
