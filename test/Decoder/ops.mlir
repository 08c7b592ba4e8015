// RUN: layline-opt %s | layline-opt | FileCheck %s
// RUN: layline-opt %s -mlir-print-op-generic | layline-opt | FileCheck %s

// Where a program comes from, and the program kept for comparison.
// CHECK: module attributes {decoder.source = {layers = 2 : i64, model_type = "llama"}}
module attributes {decoder.source = {model_type = "llama", layers = 2}} {
  // CHECK: func.func private @reference(%{{.*}}: tensor<?xi64> {decoder.input = "positions"})
  // CHECK-SAME: attributes {decoder.reference}
  func.func private @reference(%p: tensor<?xi64> {decoder.input = "positions"}) attributes {decoder.reference} {
    return
  }
}

// CHECK-LABEL: @weight
func.func @weight() {
  // CHECK: decoder.weight {key = "model.norm.weight", stored_shape = array<i64: 64>} : () -> tensor<64xbf16>
  %0 = decoder.weight {key = "model.norm.weight", stored_shape = array<i64: 64>} : () -> tensor<64xbf16>
  // A window of the first dimension: the K rows of a fused QKV tensor.
  // CHECK: decoder.weight {key = "qkv", rows = array<i64: 64, 80>, stored_shape = array<i64: 96, 64>} : () -> tensor<16x64xbf16>
  %1 = decoder.weight {key = "qkv", stored_shape = array<i64: 96, 64>, rows = array<i64: 64, 80>} : () -> tensor<16x64xbf16>
  // A stack over the experts, of all rows or of a window.
  // CHECK: decoder.weight {key = "by_head", period = 24 : i64, rows = array<i64: 8, 16>, stored_shape = array<i64: 96, 64>} : () -> tensor<32x64xbf16>
  %4 = decoder.weight {key = "by_head", stored_shape = array<i64: 96, 64>, rows = array<i64: 8, 16>, period = 24} : () -> tensor<32x64xbf16>
  // CHECK: decoder.weight {key = "experts.{expert}.up", stored_shape = array<i64: 16, 64>} : () -> tensor<8x16x64xbf16>
  %2 = decoder.weight {key = "experts.{expert}.up", stored_shape = array<i64: 16, 64>} : () -> tensor<8x16x64xbf16>
  // CHECK: decoder.weight {key = "experts.{expert}.gate_up", rows = array<i64: 16, 32>, stored_shape = array<i64: 32, 64>} : () -> tensor<8x16x64xbf16>
  %3 = decoder.weight {key = "experts.{expert}.gate_up", stored_shape = array<i64: 32, 64>, rows = array<i64: 16, 32>} : () -> tensor<8x16x64xbf16>
  return
}

// CHECK-LABEL: @embedding
func.func @embedding(%ids: tensor<?xi64>, %narrow: tensor<?xi32>, %table: tensor<128x64xbf16>) {
  // CHECK: decoder.embedding %{{.*}} : (tensor<?xi64>, tensor<128x64xbf16>) -> tensor<?x64xbf16>
  %0 = decoder.embedding %ids, %table : (tensor<?xi64>, tensor<128x64xbf16>) -> tensor<?x64xbf16>
  // CHECK: decoder.embedding %{{.*}} : (tensor<?xi32>, tensor<128x64xbf16>) -> tensor<?x64xbf16>
  %1 = decoder.embedding %narrow, %table : (tensor<?xi32>, tensor<128x64xbf16>) -> tensor<?x64xbf16>
  return
}

// CHECK-LABEL: @norm
func.func @norm(%x: tensor<?x64xbf16>, %h: tensor<?x4x16xbf16>, %w: tensor<64xbf16>, %b: tensor<64xbf16>, %v: tensor<16xbf16>, %vs: tensor<4x16xbf16>) {
  // CHECK: decoder.norm {{.*}} : (tensor<?x4x16xbf16>, tensor<4x16xbf16>) -> tensor<?x4x16xbf16>
  %own = decoder.norm %h, %vs {kind = #decoder.norm_kind<layer>, eps = 1.0e-6 : f64}
    : (tensor<?x4x16xbf16>, tensor<4x16xbf16>) -> tensor<?x4x16xbf16>
  // CHECK: decoder.norm %{{.*}}, %{{.*}} {eps = 9.9999999999999995E-7 : f64, kind = #decoder.norm_kind<rms>}
  %0 = decoder.norm %x, %w {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64}
     : (tensor<?x64xbf16>, tensor<64xbf16>) -> tensor<?x64xbf16>
  // CHECK: decoder.norm %{{.*}}, %{{.*}}, %{{.*}} {{{.*}}kind = #decoder.norm_kind<layer>}
  %1 = decoder.norm %x, %w, %b {kind = #decoder.norm_kind<layer>, eps = 1.0e-6 : f64}
     : (tensor<?x64xbf16>, tensor<64xbf16>, tensor<64xbf16>) -> tensor<?x64xbf16>
  // Every head by itself.
  // CHECK: decoder.norm %{{.*}} : (tensor<?x4x16xbf16>, tensor<16xbf16>) -> tensor<?x4x16xbf16>
  %2 = decoder.norm %h, %v {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64}
     : (tensor<?x4x16xbf16>, tensor<16xbf16>) -> tensor<?x4x16xbf16>
  // The weights of Gemma are stored less 1.
  // CHECK: decoder.norm {{.*}}weight_offset = 1.000000e+00 : f64
  %3 = decoder.norm %x, %w {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64, weight_offset = 1.0 : f64}
     : (tensor<?x64xbf16>, tensor<64xbf16>) -> tensor<?x64xbf16>
  return
}

// CHECK-LABEL: @linear
func.func @linear(%x: tensor<?x64xbf16>, %w: tensor<128x64xbf16>, %b: tensor<128xbf16>) {
  // CHECK: decoder.linear %{{.*}}, %{{.*}} : (tensor<?x64xbf16>, tensor<128x64xbf16>) -> tensor<?x128xbf16>
  %0 = decoder.linear %x, %w : (tensor<?x64xbf16>, tensor<128x64xbf16>) -> tensor<?x128xbf16>
  // CHECK: decoder.linear %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x64xbf16>, tensor<128x64xbf16>, tensor<128xbf16>) -> tensor<?x128xbf16>
  %1 = decoder.linear %x, %w, %b : (tensor<?x64xbf16>, tensor<128x64xbf16>, tensor<128xbf16>) -> tensor<?x128xbf16>
  return
}

// CHECK-LABEL: @logits
func.func @logits(%x: tensor<?x64xbf16>, %w: tensor<128x64xbf16>) {
  // CHECK: decoder.logits %{{.*}} : (tensor<?x64xbf16>, tensor<128x64xbf16>) -> tensor<?x128xbf16>
  %0 = decoder.logits %x, %w : (tensor<?x64xbf16>, tensor<128x64xbf16>) -> tensor<?x128xbf16>
  return
}

// CHECK-LABEL: @heads
func.func @heads(%x: tensor<?x128xbf16>) {
  // CHECK: decoder.split_heads %{{.*}} : (tensor<?x128xbf16>) -> tensor<?x8x16xbf16>
  %0 = decoder.split_heads %x : (tensor<?x128xbf16>) -> tensor<?x8x16xbf16>
  // CHECK: decoder.merge_heads %{{.*}} : (tensor<?x8x16xbf16>) -> tensor<?x128xbf16>
  %1 = decoder.merge_heads %0 : (tensor<?x8x16xbf16>) -> tensor<?x128xbf16>
  return
}

// CHECK-LABEL: @rope
func.func @rope(%x: tensor<?x2x4xbf16>, %positions: tensor<?xi64>) {
  // CHECK: decoder.rope {{.*}} {style = #decoder.rope_style<half>, table = #decoder.rope_table<[1.000000e+00, 1.000000e-01], factor 1.000000e+00>}
  %0 = decoder.rope %x, %positions {style = #decoder.rope_style<half>, table = #decoder.rope_table<[1.0, 0.1], factor 1.0>}
     : (tensor<?x2x4xbf16>, tensor<?xi64>) -> tensor<?x2x4xbf16>
  // The first two features of every head only, by neighbours.
  // CHECK: decoder.rope {{.*}} {style = #decoder.rope_style<interleaved>, table = #decoder.rope_table<[1.000000e+00], factor 1.000000e+00>}
  %1 = decoder.rope %x, %positions {style = #decoder.rope_style<interleaved>, table = #decoder.rope_table<[1.0], factor 1.0>}
     : (tensor<?x2x4xbf16>, tensor<?xi64>) -> tensor<?x2x4xbf16>
  // LongRoPE: other numbers where a step reaches position 4096. Frequency 0 passes.
  // CHECK: #decoder.rope_table<[1.000000e+00, 1.000000e-02], factor 1.190000e+00, above 4096 [5.000000e-01, 0.000000e+00], factor 1.250000e+00>
  %2 = decoder.rope %x, %positions {style = #decoder.rope_style<half>,
       table = #decoder.rope_table<[1.0, 0.01], factor 1.19, above 4096 [0.5, 0.0], factor 1.25>}
     : (tensor<?x2x4xbf16>, tensor<?xi64>) -> tensor<?x2x4xbf16>
  return
}

// CHECK-LABEL: @cache
func.func @cache(%k: tensor<?x2x16xbf16>, %positions: tensor<?xi64>) {
  // CHECK: decoder.cache %{{.*}} {layer = 0 : si64, plane = #decoder.plane<key>} : (tensor<?x2x16xbf16>) -> tensor<?x2x16xbf16>
  %0 = decoder.cache %k {layer = 0 : si64, plane = #decoder.plane<key>} : (tensor<?x2x16xbf16>) -> tensor<?x2x16xbf16>
  // CHECK: decoder.cache %{{.*}} {layer = 3 : si64, plane = #decoder.plane<value>}
  %1 = decoder.cache %k {layer = 3 : si64, plane = #decoder.plane<value>} : (tensor<?x2x16xbf16>) -> tensor<?x2x16xbf16>
  // CHECK: decoder.cache %{{.*}} {layer = -1 : si64, plane = #decoder.plane<positions>} : (tensor<?xi64>) -> tensor<?xi64>
  %2 = decoder.cache %positions {layer = -1 : si64, plane = #decoder.plane<positions>} : (tensor<?xi64>) -> tensor<?xi64>
  return
}

// CHECK-LABEL: @attention
func.func @attention(%q: tensor<?x8x16xbf16>, %k: tensor<?x2x16xbf16>, %v: tensor<?x2x32xbf16>, %p: tensor<?xi64>, %kp: tensor<?xi64>) {
  // Four query heads read one KV head; values may have another width.
  // CHECK: decoder.attention {{.*}} {causal = true, scale = 2.500000e-01 : f64} : {{.*}} -> tensor<?x8x32xbf16>
  %0 = decoder.attention %q, %k, %v, %p, %kp {scale = 0.25 : f64, causal = true}
     : (tensor<?x8x16xbf16>, tensor<?x2x16xbf16>, tensor<?x2x32xbf16>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x8x32xbf16>
  // CHECK: decoder.attention {{.*}} {causal = true, scale = 2.500000e-01 : f64, softcap = 5.000000e+01 : f64}
  %capped = decoder.attention %q, %k, %v, %p, %kp {scale = 0.25 : f64, causal = true, softcap = 50.0 : f64}
    : (tensor<?x8x16xbf16>, tensor<?x2x16xbf16>, tensor<?x2x32xbf16>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x8x32xbf16>
  // CHECK: decoder.softcap %{{.*}} {cap = 3.000000e+01 : f64} : (tensor<?x8x32xbf16>
  %element = decoder.softcap %capped {cap = 30.0 : f64} : (tensor<?x8x32xbf16>) -> tensor<?x8x32xbf16>
  // CHECK: decoder.attention {{.*}} {causal = true, scale = 2.500000e-01 : f64, window = 128 : i64}
  %1 = decoder.attention %q, %k, %v, %p, %kp {scale = 0.25 : f64, causal = true, window = 128}
     : (tensor<?x8x16xbf16>, tensor<?x2x16xbf16>, tensor<?x2x32xbf16>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x8x32xbf16>
  return
}

// CHECK-LABEL: @activations
func.func @activations(%x: tensor<?x64xbf16>, %u: tensor<?x64xbf16>) {
  // CHECK: decoder.activation %{{.*}} {function = #decoder.function<gelu>}
  %0 = decoder.activation %x {function = #decoder.function<gelu>} : (tensor<?x64xbf16>) -> tensor<?x64xbf16>
  // CHECK: decoder.activation %{{.*}} {function = #decoder.function<relu>}
  %1 = decoder.activation %x {function = #decoder.function<relu>} : (tensor<?x64xbf16>) -> tensor<?x64xbf16>
  // CHECK: decoder.gated_activation %{{.*}}, %{{.*}} {function = #decoder.function<silu>}
  %2 = decoder.gated_activation %x, %u {function = #decoder.function<silu>} : (tensor<?x64xbf16>, tensor<?x64xbf16>) -> tensor<?x64xbf16>
  // CHECK: decoder.gated_activation %{{.*}}, %{{.*}} {function = #decoder.function<gelu_tanh>}
  %3 = decoder.gated_activation %x, %u {function = #decoder.function<gelu_tanh>} : (tensor<?x64xbf16>, tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return
}

// CHECK-LABEL: @mixture
func.func @mixture(%x: tensor<?x64xbf16>, %logits: tensor<?x8xbf16>, %gate: tensor<8x16x64xbf16>, %down: tensor<8x64x16xbf16>) {
  // CHECK: %[[IDS:.*]], %[[WEIGHTS:.*]] = decoder.router %{{.*}} {renormalize = true, scoring = #decoder.scoring<softmax>, top_k = 2 : i64} : (tensor<?x8xbf16>) -> (tensor<?x2xi32>, tensor<?x2xbf16>)
  %ids, %weights = decoder.router %logits {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true}
     : (tensor<?x8xbf16>) -> (tensor<?x2xi32>, tensor<?x2xbf16>)
  // CHECK: decoder.experts %{{.*}}, %[[IDS]], %[[WEIGHTS]], %{{.*}}, %{{.*}}, %{{.*}} {function = #decoder.function<silu>}
  %y = decoder.experts %x, %ids, %weights, %gate, %gate, %down {function = #decoder.function<silu>}
     : (tensor<?x64xbf16>, tensor<?x2xi32>, tensor<?x2xbf16>, tensor<8x16x64xbf16>, tensor<8x16x64xbf16>, tensor<8x64x16xbf16>) -> tensor<?x64xbf16>
  // All experts, with sigmoid scores.
  // CHECK: decoder.router %{{.*}} {renormalize = false, scoring = #decoder.scoring<sigmoid>, top_k = 8 : i64}
  %all:2 = decoder.router %logits {top_k = 8, scoring = #decoder.scoring<sigmoid>, renormalize = false}
     : (tensor<?x8xbf16>) -> (tensor<?x8xi32>, tensor<?x8xbf16>)
  return
}

// CHECK-LABEL: @elementwise
func.func @elementwise(%x: tensor<?x64xbf16>, %y: tensor<?x64xbf16>, %b: tensor<64xbf16>) {
  // A recorded value has a name.
  // CHECK: decoder.add %{{.*}}, %{{.*}} {decoder.record = ["layer.0.output"]} : (tensor<?x64xbf16>, tensor<?x64xbf16>) -> tensor<?x64xbf16>
  %0 = decoder.add %x, %y {decoder.record = ["layer.0.output"]} : (tensor<?x64xbf16>, tensor<?x64xbf16>) -> tensor<?x64xbf16>
  // CHECK: decoder.add_bias %{{.*}} : (tensor<?x64xbf16>, tensor<64xbf16>) -> tensor<?x64xbf16>
  %1 = decoder.add_bias %x, %b : (tensor<?x64xbf16>, tensor<64xbf16>) -> tensor<?x64xbf16>
  // CHECK: decoder.scale %{{.*}} {factor = -2.200000e-01 : f64}
  %2 = decoder.scale %x {factor = -0.22 : f64} : (tensor<?x64xbf16>) -> tensor<?x64xbf16>
  // CHECK: decoder.cast %{{.*}} : (tensor<?x64xbf16>) -> tensor<?x64xf32>
  %3 = decoder.cast %x : (tensor<?x64xbf16>) -> tensor<?x64xf32>
  return
}
