// RUN: layline-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// Attention over latent rows, sinks, and the indexer that selects rows.

// CHECK-LABEL: @plain
func.func @plain(%qn: tensor<?x8x12xbf16>, %qr: tensor<?x8x8xbf16>, %l: tensor<?x24xbf16>, %k: tensor<?x8xbf16>, %ku: tensor<96x24xbf16>, %vu: tensor<80x24xbf16>, %iq: tensor<?x4x16xbf16>, %ik: tensor<?x16xbf16>, %iw: tensor<?x4xbf16>, %p: tensor<?xi64>) {
  // CHECK: %[[ROWS:.*]], %{{.*}} = decoder.indexer %{{.*}} {causal = true, scale = 1.250000e-01 : f64, top_k = 6 : i64} : (tensor<?x4x16xbf16>, tensor<?x16xbf16>, tensor<?x4xbf16>, tensor<?xi64>, tensor<?xi64>) -> (tensor<?x6xi32>, tensor<?x6xbf16>)
  %rows, %scores = decoder.indexer %iq, %ik, %iw, %p, %p {top_k = 6, scale = 0.125 : f64, causal = true}
     : (tensor<?x4x16xbf16>, tensor<?x16xbf16>, tensor<?x4xbf16>, tensor<?xi64>, tensor<?xi64>) -> (tensor<?x6xi32>, tensor<?x6xbf16>)
  // CHECK: decoder.latent_attention %{{.*}}, %[[ROWS]] {causal = true, scale = 2.500000e-01 : f64}
  %o = decoder.latent_attention %qn, %qr, %l, %k, %ku, %vu, %p, %p, %rows {scale = 0.25 : f64, causal = true}
     : (tensor<?x8x12xbf16>, tensor<?x8x8xbf16>, tensor<?x24xbf16>, tensor<?x8xbf16>, tensor<96x24xbf16>, tensor<80x24xbf16>, tensor<?xi64>, tensor<?xi64>, tensor<?x6xi32>) -> tensor<?x8x10xbf16>
  // Of all rows.
  %a = decoder.latent_attention %qn, %qr, %l, %k, %ku, %vu, %p, %p {scale = 0.25 : f64, causal = true}
     : (tensor<?x8x12xbf16>, tensor<?x8x8xbf16>, tensor<?x24xbf16>, tensor<?x8xbf16>, tensor<96x24xbf16>, tensor<80x24xbf16>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x8x10xbf16>
  // The planes of its caches, and its rotation.
  // CHECK: plane = #decoder.plane<latent>
  %lc = decoder.cache %l {layer = 0 : si64, plane = #decoder.plane<latent>} : (tensor<?x24xbf16>) -> tensor<?x24xbf16>
  // CHECK: plane = #decoder.plane<rope_key>
  %kc = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<rope_key>} : (tensor<?x8xbf16>) -> tensor<?x8xbf16>
  // CHECK: plane = #decoder.plane<index_key>
  %ic = decoder.cache %ik {layer = 0 : si64, plane = #decoder.plane<index_key>} : (tensor<?x16xbf16>) -> tensor<?x16xbf16>
  // CHECK: style = #decoder.rope_style<interleaved_to_half>
  %r = decoder.rope %qr, %p {style = #decoder.rope_style<interleaved_to_half>, table = #decoder.rope_table<[1.0, 0.1, 0.01, 0.001], factor 1.0>}
     : (tensor<?x8x8xbf16>, tensor<?xi64>) -> tensor<?x8x8xbf16>
  return
}

// CHECK-LABEL: @sinks
func.func @sinks(%q: tensor<?x8x16xbf16>, %k: tensor<?x2x16xbf16>, %p: tensor<?xi64>, %s: tensor<8xbf16>) {
  // CHECK: decoder.attention %{{.*}} : (tensor<?x8x16xbf16>, tensor<?x2x16xbf16>, tensor<?x2x16xbf16>, tensor<?xi64>, tensor<?xi64>, tensor<8xbf16>) -> tensor<?x8x16xbf16>
  %o = decoder.attention %q, %k, %k, %p, %p, %s {scale = 0.25 : f64, causal = true}
     : (tensor<?x8x16xbf16>, tensor<?x2x16xbf16>, tensor<?x2x16xbf16>, tensor<?xi64>, tensor<?xi64>, tensor<8xbf16>) -> tensor<?x8x16xbf16>
  return
}

// Heads are split with the rows of key_up and value_up that make theirs; the
// latent rows are there whole. Query rows may be split too, over another axis.
!qn = tensor<?x8x12xf32, #grid.layout<[block "cp", block "tp", _]>>
!qr = tensor<?x8x8xf32, #grid.layout<[block "cp", block "tp", _]>>
!o = tensor<?x8x10xf32, #grid.layout<[block "cp", block "tp", _]>>
!l = tensor<?x24xf32, #grid.layout<[_, _]>>
!k = tensor<?x8xf32, #grid.layout<[_, _]>>
!ku = tensor<96x24xf32, #grid.layout<[block "tp" x 12, _]>>
!vu = tensor<80x24xf32, #grid.layout<[block "tp" x 10, _]>>
!p = tensor<?xi64, #grid.layout<[block "cp"]>>
!kp = tensor<?xi64, #grid.layout<[_]>>
!s = tensor<?x6xi32, #grid.layout<[block "cp", _]>>
!iq = tensor<?x4x16xf32, #grid.layout<[block "cp", _, _]>>
!ik = tensor<?x16xf32, #grid.layout<[_, _]>>
!iw = tensor<?x4xf32, #grid.layout<[block "cp", _]>>
!sc = tensor<?x6xf32, #grid.layout<[block "cp", _]>>
// CHECK-LABEL: @split
func.func @split(%qn: !qn, %qr: !qr, %l: !l, %k: !k, %ku: !ku, %vu: !vu, %p: !p, %kp: !kp, %iq: !iq, %ik: !ik, %iw: !iw) -> !o {
  %s, %sc = decoder.indexer %iq, %ik, %iw, %p, %kp {top_k = 6, scale = 0.125 : f64, causal = true} : (!iq, !ik, !iw, !p, !kp) -> (!s, !sc)
  // CHECK: decoder.latent_attention {{.*}} -> tensor<?x8x10xf32, #grid.layout<[block "cp", block "tp", _]>>
  %o = decoder.latent_attention %qn, %qr, %l, %k, %ku, %vu, %p, %kp, %s {scale = 0.25 : f64, causal = true} : (!qn, !qr, !l, !k, !ku, !vu, !p, !kp, !s) -> !o
  return %o : !o
}

// -----

func.func @scale_zero(%qn: tensor<?x8x12xf32>, %qr: tensor<?x8x8xf32>, %l: tensor<?x24xf32>, %k: tensor<?x8xf32>, %ku: tensor<96x24xf32>, %vu: tensor<80x24xf32>, %p: tensor<?xi64>) {
  // expected-error @below {{has the scale 0.000000e+00, expected a positive number}}
  %a = decoder.latent_attention %qn, %qr, %l, %k, %ku, %vu, %p, %p {scale = 0.0 : f64, causal = true}
     : (tensor<?x8x12xf32>, tensor<?x8x8xf32>, tensor<?x24xf32>, tensor<?x8xf32>, tensor<96x24xf32>, tensor<80x24xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x8x10xf32>
  return
}

// -----

func.func @index_scale_zero(%iq: tensor<?x4x16xf32>, %ik: tensor<?x16xf32>, %iw: tensor<?x4xf32>, %p: tensor<?xi64>) {
  // expected-error @below {{has the scale 0.000000e+00, expected a positive number}}
  %0:2 = decoder.indexer %iq, %ik, %iw, %p, %p {top_k = 6, scale = 0.0 : f64, causal = true} : (tensor<?x4x16xf32>, tensor<?x16xf32>, tensor<?x4xf32>, tensor<?xi64>, tensor<?xi64>) -> (tensor<?x6xi32>, tensor<?x6xf32>)
  return
}

// -----

func.func @other_width(%iq: tensor<?x4x16xf32>, %ik: tensor<?x16xf32>, %iw: tensor<?x4xf32>, %p: tensor<?xi64>) {
  // expected-error @below {{selects the top 5 rows, but its results have the width 6}}
  %0:2 = decoder.indexer %iq, %ik, %iw, %p, %p {top_k = 5, scale = 0.1 : f64, causal = true} : (tensor<?x4x16xf32>, tensor<?x16xf32>, tensor<?x4xf32>, tensor<?xi64>, tensor<?xi64>) -> (tensor<?x6xi32>, tensor<?x6xf32>)
  return
}

// -----

// key_up of the keys' width and value_up of the values'.
func.func @up_of_other_width(%qn: tensor<?x8x12xf32>, %qr: tensor<?x8x8xf32>, %l: tensor<?x24xf32>, %k: tensor<?x8xf32>, %ku: tensor<96x24xf32>, %vu: tensor<80x24xf32>, %p: tensor<?xi64>) {
  // expected-error @below {{operand #4 has 80 elements in dimension 0 (heads), expected a multiple of 12}}
  %a = decoder.latent_attention %qn, %qr, %l, %k, %vu, %ku, %p, %p {scale = 0.1 : f64, causal = true}
     : (tensor<?x8x12xf32>, tensor<?x8x8xf32>, tensor<?x24xf32>, tensor<?x8xf32>, tensor<80x24xf32>, tensor<96x24xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x8x10xf32>
  return
}

// -----

// The latent of a rank's own rows is not that of the rows its queries see.
!qn = tensor<?x8x12xf32, #grid.layout<[block "cp", _, _]>>
!qr = tensor<?x8x8xf32, #grid.layout<[block "cp", _, _]>>
!o = tensor<?x8x10xf32, #grid.layout<[block "cp", _, _]>>
!l = tensor<?x24xf32, #grid.layout<[block "cp", _]>>
!k = tensor<?x8xf32, #grid.layout<[_, _]>>
!ku = tensor<96x24xf32, #grid.layout<[_, _]>>
!vu = tensor<80x24xf32, #grid.layout<[_, _]>>
!p = tensor<?xi64, #grid.layout<[block "cp"]>>
!kp = tensor<?xi64, #grid.layout<[_]>>
func.func @latent_of_own_rows(%qn: !qn, %qr: !qr, %l: !l, %k: !k, %ku: !ku, %vu: !vu, %p: !p, %kp: !kp) {
  // expected-error @below {{needs dimension 0 (context) of operand #2 whole, but it is split over "cp"; gather it first}}
  %o = decoder.latent_attention %qn, %qr, %l, %k, %ku, %vu, %p, %kp {scale = 0.25 : f64, causal = true} : (!qn, !qr, !l, !k, !ku, !vu, !p, !kp) -> !o
  return
}

// -----

// Heads of one rank with the rows of value_up of all.
!qn = tensor<?x8x12xf32, #grid.layout<[_, block "tp", _]>>
!qr = tensor<?x8x8xf32, #grid.layout<[_, block "tp", _]>>
!o = tensor<?x8x10xf32, #grid.layout<[_, block "tp", _]>>
!l = tensor<?x24xf32, #grid.layout<[_, _]>>
!k = tensor<?x8xf32, #grid.layout<[_, _]>>
!ku = tensor<96x24xf32, #grid.layout<[block "tp" x 12, _]>>
!vu = tensor<80x24xf32, #grid.layout<[_, _]>>
!p = tensor<?xi64, #grid.layout<[_]>>
func.func @values_of_other_heads(%qn: !qn, %qr: !qr, %l: !l, %k: !k, %ku: !ku, %vu: !vu, %p: !p) {
  // expected-error @below {{takes operands that hold different parts of 'heads'}}
  %o = decoder.latent_attention %qn, %qr, %l, %k, %ku, %vu, %p, %p {scale = 0.25 : f64, causal = true} : (!qn, !qr, !l, !k, !ku, !vu, !p, !p) -> !o
  return
}

// -----

// The best rows by a part of the heads are not the best.
!iq = tensor<?x4x16xf32, #grid.layout<[_, block "tp", _]>>
!ik = tensor<?x16xf32, #grid.layout<[_, _]>>
!iw = tensor<?x4xf32, #grid.layout<[_, block "tp"]>>
!p = tensor<?xi64, #grid.layout<[_]>>
!s = tensor<?x6xi32, #grid.layout<[_, _]>>
!sc = tensor<?x6xf32, #grid.layout<[_, _]>>
func.func @index_of_some_heads(%iq: !iq, %ik: !ik, %iw: !iw, %p: !p) {
  // expected-error @below {{needs dimension 1 (heads) of operand #0 whole, but it is split over "tp"}}
  %s, %sc = decoder.indexer %iq, %ik, %iw, %p, %p {top_k = 6, scale = 0.125 : f64, causal = true} : (!iq, !ik, !iw, !p, !p) -> (!s, !sc)
  return
}

// -----

// A logit for each query head.
func.func @sinks_of_kv_heads(%q: tensor<?x8x16xf32>, %k: tensor<?x2x16xf32>, %p: tensor<?xi64>, %s: tensor<2xf32>) {
  // expected-error @below {{'heads' is 8 in operand #0, but 2 in operand #5}}
  %o = decoder.attention %q, %k, %k, %p, %p, %s {scale = 0.25 : f64, causal = true}
     : (tensor<?x8x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?xi64>, tensor<?xi64>, tensor<2xf32>) -> tensor<?x8x16xf32>
  return
}
