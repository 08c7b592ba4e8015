// RUN: layline-opt %s | layline-opt | FileCheck %s
// RUN: layline-opt %s -mlir-print-op-generic | layline-opt | FileCheck %s

// Every op and attribute, printed as it is written.

// CHECK: kv.pool @prefill mesh [1, 1, 4, 1] page 64 capacity 65536
// CHECK-SAME: buffers [#kv.buffer<"k" table "kv" page 65536>, #kv.buffer<"v" table "kv" page 65536>]
// CHECK-SAME: planes [#kv.plane<"k" "bf16" 4 x 256 layers 0 to 47 in "k" token_major>,
// CHECK-SAME: compute <zigzag "cp"> residency <tokens whole, heads replicated, layers all>
kv.pool @prefill mesh [1, 1, 4, 1] page 64 capacity 65536
  buffers [#kv.buffer<"k" table "kv" page 65536>, #kv.buffer<"v" table "kv" page 65536>]
  planes [#kv.plane<"k" "bf16" 4 x 256 layers 0 to 47 in "k" token_major>,
          #kv.plane<"v" "bf16" 4 x 256 layers 0 to 47 in "v" token_major>]
  compute <zigzag "cp"> residency <tokens whole, heads replicated, layers all>

// CHECK: kv.pool @decode mesh [1, 1, 1, 2]
// CHECK-SAME: residency <tokens whole, heads split "tp", layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 64
  buffers [#kv.buffer<"k" table "kv" page 32768>, #kv.buffer<"v" table "kv" page 32768>]
  planes [#kv.plane<"k" "bf16" 4 x 256 layers 0 to 47 in "k" token_major>,
          #kv.plane<"v" "bf16" 4 x 256 layers 0 to 47 in "v" token_major>]
  residency <tokens whole, heads split "tp", layers all>

// CHECK: kv.migrate @handover from @prefill to @decode profile "optimised" max_descriptors 2048 slot_bytes 0 {
// CHECK: kv.transfer 0 to 0 {
// CHECK: kv.send ["k"] layers <0 to 47> heads 0 x 2 tokens <contiguous 0 of 2 x 64>
// CHECK: kv.send ["v"] layers <0 to 47> heads 0 x 2 tokens <contiguous 0 of 2 x 64 per_chunk>
// CHECK: kv.transfer 1 to 0 packing target {
// CHECK: kv.transfer 2 to 0 {
// CHECK: kv.transfer 1 to 1 batching layer {
// CHECK: kv.send ["k"] layers <0 to 47> heads 2 x 2 tokens <room 0 of 2> grain token
// CHECK: kv.ready 0 after [0, 1, 2]
kv.migrate @handover from @prefill to @decode profile "optimised" max_descriptors 2048 slot_bytes 0 {
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 47> heads 0 x 2 tokens <contiguous 0 of 2 x 64>
    kv.send ["v"] layers <0 to 47> heads 0 x 2 tokens <contiguous 0 of 2 x 64 per_chunk>
  }
  kv.transfer 1 to 0 packing target {
    kv.send ["k"] layers <0 to 47> heads 0 x 2 tokens <contiguous 1 of 2 x 64>
    kv.send ["v"] layers <0 to 47> heads 0 x 2 tokens <contiguous 1 of 2 x 64 per_chunk>
  }
  kv.transfer 2 to 0 {
  }
  kv.transfer 1 to 1 batching layer {
    kv.send ["k"] layers <0 to 47> heads 2 x 2 tokens <room 0 of 2> grain token
    kv.send ["v"] layers <0 to 47> heads 2 x 2 tokens <whole>
  }
  kv.ready 0 after [0, 1, 2]
  kv.ready 1 after [1]
}

// CHECK: kv.pool @owners mesh [1, 1, 2, 1] page 64
// CHECK-SAME: #kv.plane<"index_key" "fp8" 1 x 128 layers 0, 2 in "index" token_major>
// CHECK-SAME: #kv.plane<"index_scale" "f32" 1 x 4 layers 0, 2 in "index" at 8192 token_major>
// CHECK-SAME: compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
kv.pool @owners mesh [1, 1, 2, 1] page 64
  buffers [#kv.buffer<"latent" table "kv" page 41984>, #kv.buffer<"index" table "kv" page 8448>]
  planes [#kv.plane<"latent" "fp8" 1 x 656 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "fp8" 1 x 128 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "f32" 1 x 4 layers 0, 2 in "index" at 8192 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>

// Other maps.
// CHECK: kv.pool @others mesh [2, 1, 2, 4] page 16
// CHECK-SAME: "k_window" "bf16" 8 x 4 last 128 layers 1, 3 in "k_window" head_major>
// CHECK-SAME: "conv" "u8" 1 x 96 state layers 0 to 3 in "conv" strides [96, 96]>
// CHECK-SAME: residency <tokens cyclic "tp" by 2 x 4, heads split "tp" by 2, layers stages [0 | 1 to 3]>
// CHECK-SAME: spec = "by hand"
kv.pool @others mesh [2, 1, 2, 4] page 16
  buffers [#kv.buffer<"k_window" table "window" page 256>, #kv.buffer<"conv" table "state" page 96>]
  planes [#kv.plane<"k_window" "bf16" 8 x 4 last 128 layers 1, 3 in "k_window" head_major>,
          #kv.plane<"conv" "u8" 1 x 96 state layers 0 to 3 in "conv" strides [96, 96]>]
  residency <tokens cyclic "tp" by 2 x 4, heads split "tp" by 2, layers stages [0 | 1 to 3]>
  {spec = "by hand"}
// CHECK: kv.pool @striped {{.*}} residency <tokens page_striped "cp", heads replicated, layers all>
kv.pool @striped mesh [1, 1, 2, 1] page 16
  buffers [#kv.buffer<"latent" table "kv" page 64>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers none in "latent" token_major>]
  residency <tokens page_striped "cp", heads replicated, layers all>

// CHECK: kv.pool @numbered {{.*}} residency <tokens page_number "cp", heads replicated, layers all>
kv.pool @numbered mesh [1, 1, 2, 1] page 16
  buffers [#kv.buffer<"latent" table "kv" page 64>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers none in "latent" token_major>]
  residency <tokens page_number "cp", heads replicated, layers all>

// CHECK: kv.migrate @rounded from @striped to @striped profile "sglang-compat" max_descriptors 0 slot_bytes 0 rounds_to_pages prefix_unit 32 {
kv.migrate @rounded from @striped to @striped profile "sglang-compat" max_descriptors 0 slot_bytes 0 rounds_to_pages prefix_unit 32 {
  kv.ready 0 after []
  kv.ready 1 after []
}

// What completes a plan, stated.
// CHECK: kv.migrate @completed
// CHECK-SAME: readiness <all by sender at arrived of request failure sticky> keys ["a", "b", "c", "d"] lanes 2 {
// CHECK: kv.ready 0 after [0] reports [#kv.reports<main|auxiliary>] completions [2]
// CHECK: kv.ready 1 after [1, 3] reports [#kv.reports<main|auxiliary>, #kv.reports<auxiliary>] completions [2, 1]
// CHECK: kv.lifetime source_pages "kv" from taken until arrived after_failure quiet reuse any_request
// CHECK: kv.lifetime target_pages "kv" from taken until consumed after_failure quiet reuse any_request
// CHECK: kv.lifetime source_slots "" from taken until arrived after_failure quiet reuse next_round
// CHECK: kv.slot source 0 to 0 lane 1 bytes 4096 max_descriptors 128 transfers [0]
kv.migrate @completed from @prefill to @decode profile "optimised" max_descriptors 2048 slot_bytes 4096
    readiness <all by sender at arrived of request failure sticky> keys ["a", "b", "c", "d"] lanes 2 {
  kv.transfer 0 to 0 packing source {
    kv.send ["k"] layers <0 to 47> heads 0 x 2 tokens <whole>
    kv.send ["v"] layers <0 to 47> heads 0 x 2 tokens <whole>
  }
  kv.transfer 1 to 1 {
    kv.send ["k"] layers <0 to 47> heads 2 x 2 tokens <whole>
    kv.send ["v"] layers <0 to 47> heads 2 x 2 tokens <whole>
  }
  kv.ready 0 after [0] reports [#kv.reports<main|auxiliary>] completions [2]
  kv.ready 1 after [1, 3] reports [#kv.reports<main|auxiliary>, #kv.reports<auxiliary>] completions [2, 1]
  kv.lifetime source_pages "kv" from taken until arrived after_failure quiet reuse any_request
  kv.lifetime target_pages "kv" from taken until consumed after_failure quiet reuse any_request
  kv.lifetime source_slots "" from taken until arrived after_failure quiet reuse next_round
  kv.slot source 0 to 0 lane 1 bytes 4096 max_descriptors 128 transfers [0]
}

// CHECK-LABEL: func.func @layers
func.func @layers() {
  // CHECK: kv.rebuild @prefill ["k", "v"] layer 3 from <zigzag "cp"> as rows
  %0 = kv.rebuild @prefill ["k", "v"] layer 3 from <zigzag "cp"> as rows
  // CHECK: kv.rebuild @owners ["index_key", "index_scale"] layer 2 from <cyclic "cp"> as quantised_pages after %{{.*}}
  %1 = kv.rebuild @owners ["index_key", "index_scale"] layer 2 from <cyclic "cp"> as quantised_pages after %0
  // CHECK: kv.scratch @owners ["index_key", "index_scale"]
  %small = kv.scratch @owners ["index_key", "index_scale"]
  %large = kv.scratch @owners ["latent"]
  // CHECK: kv.owner_broadcast @owners ["index_key", "index_scale"] layer 2 owner 1 into %{{.*}} stream 0 after
  %i = kv.owner_broadcast @owners ["index_key", "index_scale"] layer 2 owner 1 into %small stream 0 after %1
  // CHECK: kv.owner_broadcast @owners ["latent"] layer 2 owner 1 into %{{.*}} stream 1 after
  %m = kv.owner_broadcast @owners ["latent"] layer 2 owner 1 into %large stream 1 after %i
  // CHECK: kv.attend @owners layer 2 from %{{.*}}, %{{.*}} after %{{.*}}, %{{.*}}
  %a = kv.attend @owners layer 2 from %small, %large after %i, %m
  // The next layer has no index of its own; its rows go over those of layer 2
  // when attention has read them.
  %m3 = kv.owner_broadcast @owners ["latent"] layer 3 owner 1 into %large stream 1 after %a
  %a3 = kv.attend @owners layer 3 from %large after %m3
  // CHECK: kv.post @handover from %{{.*}} after
  %p = kv.post @handover from %large after %m3
  // CHECK: kv.release %{{.*}} after %{{.*}}
  kv.release %small after %a
  kv.release %large after %a3, %p
  return
}
