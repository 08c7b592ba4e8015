// RUN: layline-opt %s -split-input-file -verify-kv-migrations -verify-diagnostics -remarks-filter="kv" -remark-format=emitRemark

// One latent plane, two layers; four cp ranks that have gathered all tokens.
kv.pool @source mesh [1, 1, 4, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 1 in "latent" token_major>]
  compute <zigzag "cp"> residency <tokens whole, heads replicated, layers all>
kv.pool @target mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 1 in "latent" token_major>]
  residency <tokens whole, heads replicated, layers all>

// What each rank sends is its own choice: contiguous quarters of what was
// computed as a zigzag.
// expected-remark @below {{every send is from what resides at its sender}}
// expected-remark @below {{whoever sends is waited for, once}}
// expected-remark @below {{latent at 1 target ranks, 2 layers x heads (every token): written exactly once, from 4 senders each}}
// expected-remark @below {{a request is ready when each responder, by a key of its own, has reported all that it sends as arrived: 4 responders, 8 reports}}
// expected-remark @below {{2 kinds of buffers are pinned as long as a transfer, a broadcast or a round uses them}}
kv.migrate @good from @source to @target profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 { kv.send ["latent"] layers <0 to 1> heads 0 x 1 tokens <contiguous 0 of 4 x 4> }
  kv.transfer 1 to 0 { kv.send ["latent"] layers <0 to 1> heads 0 x 1 tokens <contiguous 1 of 4 x 4> }
  kv.transfer 2 to 0 { kv.send ["latent"] layers <0 to 1> heads 0 x 1 tokens <contiguous 2 of 4 x 4> }
  kv.transfer 3 to 0 { kv.send ["latent"] layers <0 to 1> heads 0 x 1 tokens <contiguous 3 of 4 x 4> }
  kv.ready 0 after [0, 1, 2, 3]
}

// -----

kv.pool @source mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 1 in "latent" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @target mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 1 in "latent" token_major>]
  residency <tokens whole, heads replicated, layers all>
// expected-error @below {{target rank 0, plane 'latent', layer 1, head 0, token 4 of 5, chunk [0, 5), room 0: never written; it resides at source ranks 0, 1, one sender is expected}}
kv.migrate @hole from @source to @target profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 { kv.send ["latent"] layers <0 to 1> heads 0 x 1 tokens <contiguous 0 of 2 x 4> }
  kv.transfer 1 to 0 { kv.send ["latent"] layers <0> heads 0 x 1 tokens <contiguous 1 of 2 x 4> }
  kv.ready 0 after [0, 1]
}

// -----

kv.pool @source mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 in "latent" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @target mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 in "latent" token_major>]
  residency <tokens whole, heads replicated, layers all>
// expected-error @below {{target rank 0, plane 'latent', layer 0, head 0, token 1 of 2, chunk [0, 2), room 0: written 2 times, by source ranks 0, 1; once is expected}}
kv.migrate @twice from @source to @target profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 { kv.send ["latent"] layers <0> heads 0 x 1 tokens <whole> }
  kv.transfer 1 to 0 { kv.send ["latent"] layers <0> heads 0 x 1 tokens <cyclic 1 of 2> }
  kv.ready 0 after [0, 1]
}

// -----

// The same bytes may come twice where the engine does that.
kv.pool @source mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 in "latent" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @target mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 in "latent" token_major>]
  residency <tokens whole, heads replicated, layers all>
// expected-remark @below {{every send is from what resides}}
// expected-remark @below {{whoever sends}}
// expected-remark @below {{written at least once, with equal bytes, from 2 senders each}}
// expected-remark @below {{2 responders, 4 reports}}
// expected-remark @below {{2 kinds of buffers}}
kv.migrate @twice from @source to @target profile "sglang-compat" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 { kv.send ["latent"] layers <0> heads 0 x 1 tokens <whole> }
  kv.transfer 1 to 0 { kv.send ["latent"] layers <0> heads 0 x 1 tokens <cyclic 1 of 2> }
  kv.ready 0 after [0, 1]
}

// -----

// What a rank computes is taken for what it keeps: of contiguous blocks, those
// tokens are sent that a zigzag would have computed there.
kv.pool @source mesh [1, 1, 4, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 in "latent" token_major>]
  compute <zigzag "cp"> residency <tokens contiguous "cp", heads replicated, layers all>
kv.pool @target mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 in "latent" token_major>]
  residency <tokens whole, heads replicated, layers all>
// expected-error @below {{token 1 of 5, chunk [0, 5), room 0: never written; it resides at source ranks 0, one sender is expected}}
kv.migrate @zigzag from @source to @target profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 { kv.send ["latent"] layers <0> heads 0 x 1 tokens <zigzag 0 of 4> }
  kv.transfer 1 to 0 { kv.send ["latent"] layers <0> heads 0 x 1 tokens <zigzag 1 of 4> }
  kv.transfer 2 to 0 { kv.send ["latent"] layers <0> heads 0 x 1 tokens <zigzag 2 of 4> }
  kv.transfer 3 to 0 { kv.send ["latent"] layers <0> heads 0 x 1 tokens <zigzag 3 of 4> }
  kv.ready 0 after [0, 1, 2, 3]
}
