// RUN: layline-opt %s -split-input-file -verify-diagnostics

// What a migration states of readiness, lifetimes and slots, one case for each
// rule. The rules are those of kv.json's reader (CheckCompletion.h), and so are
// the paths.

// All of it, right.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 lanes 2 {
  kv.transfer 0 to 0 packing source {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0] reports [#kv.reports<main|auxiliary>] completions [2]
  kv.ready 1 after [0]
  kv.lifetime source_pages "kv" from taken until arrived after_failure quiet reuse any_request
  kv.lifetime target_pages "kv" from taken until consumed after_failure quiet reuse any_request
  kv.lifetime source_slots "" from taken until arrived after_failure quiet reuse next_round
  kv.slot source 0 to 0 lane 1 bytes 16 max_descriptors 8 transfers [0]
}

// -----

// All completions are needed.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{is wrong at readiness.ready_when: is 'any': a request would be ready with bytes missing; 'all' is expected}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 readiness <any by sender at arrived of request failure sticky> {
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// A report that comes twice counts once.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{is wrong at readiness.counted_by: is 'report': one that comes twice would stand for another; 'sender' is expected}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 readiness <all by report at arrived of request failure sticky> {
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// What is posted has not arrived.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{is wrong at readiness.reported_at: is 'posted': the bytes may still be under way, or fail; 'arrived' is expected}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 readiness <all by sender at posted of request failure sticky> {
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// Rooms are used again.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{is wrong at readiness.names: is 'room': a late report would be taken for one of the next request there; 'request' is expected}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 readiness <all by sender at arrived of room failure sticky> {
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// A failure stays.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{is wrong at readiness.failure: is 'until_next_report': a later report would hide it; 'sticky' is expected}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 readiness <all by sender at arrived of request failure until_next_report> {
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// A key is one sender's.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{is wrong at readiness.keys[1]: is 'a', the key of source rank 0 too: reports of one would count for the other; a key for each sender is expected}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 keys ["a", "a"] {
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// Each transfer is a completion, and what is auxiliary one more.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{is wrong at readiness.targets[0][0].completions: is 1; 1 transfers and what is auxiliary, 2, are expected}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 {
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0] reports [#kv.reports<main|auxiliary>] completions [1]
  kv.ready 1 after [0]
}

// -----

// Whatever is sent is reported.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{is wrong at readiness.targets[0][0].reports: source rank 0 reports auxiliary; what it sends to target rank 0 is main, auxiliary}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 {
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0] reports [#kv.reports<auxiliary>] completions [2]
  kv.ready 1 after [0]
}

// -----

// Pages that are read are pinned until the bytes have arrived.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{is wrong at lifetimes[0].until: source_pages 'kv': is 'posted', but writes read them until they have arrived; 'arrived' is expected}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 {
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
  kv.lifetime source_pages "kv" from taken until posted after_failure quiet reuse any_request
}

// -----

// Also those of a request that has failed.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{is wrong at lifetimes[0].after_failure: source_pages 'kv': is 'failed': writes may still be under way when a request has failed; 'quiet' is expected}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 {
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
  kv.lifetime source_pages "kv" from taken until arrived after_failure failed reuse any_request
}

// -----

// Pages that are written are pinned, too.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{is wrong at lifetimes: transfers[0] writes plane 'k', but target_pages 'kv' are pinned by none}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 {
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
  kv.lifetime source_pages "kv" from taken until arrived after_failure quiet reuse any_request
}

// -----

// A slot has one target.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{is wrong at relay.slots[0].transfers[0]: transfer 1 goes to target rank 1, those of this slot to target rank 0: a slot is free again when one target has it; one target is expected}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 lanes 2 {
  kv.transfer 0 to 0 packing source {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
  kv.slot source 0 to 0 lane 0 bytes 16 max_descriptors 8 transfers [1]
}

// -----

// It holds the largest block.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{is wrong at relay.slots[0].bytes: is 3; transfer 0 has blocks of 4 bytes of plane 'k', which a slot must hold}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 lanes 2 {
  kv.transfer 0 to 0 packing source {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
  kv.slot source 0 to 0 lane 0 bytes 3 max_descriptors 8 transfers [0]
}

// -----

// A round is no larger than a batch.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{is wrong at relay.slots[0].max_descriptors: is 9; a batch may have 8, so 1 to that many are expected}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 lanes 2 {
  kv.transfer 0 to 0 packing source {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
  kv.slot source 0 to 0 lane 0 bytes 16 max_descriptors 9 transfers [0]
}

// -----

// Lanes are those of a rank.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{is wrong at relay.slots[0].lane: is 2; there are 2 lanes}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 lanes 2 {
  kv.transfer 0 to 0 packing source {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
  kv.slot source 0 to 0 lane 2 bytes 16 max_descriptors 8 transfers [0]
}

// -----

// Whoever packs has a slot.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{is wrong at transfers[0].packing: packs at the source, but no slot of relay.slots there is for it}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 lanes 2 {
  kv.transfer 0 to 0 packing source {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// Slots are in lanes.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{has relay slots, but no 'lanes' for them}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 {
  kv.transfer 0 to 0 packing source {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
  kv.slot source 0 to 0 lane 0 bytes 16 max_descriptors 8 transfers [0]
}

// -----

// Every rank has a set and a count.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 8 slot_bytes 16 {
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  // expected-error @below {{has 1 sets of reports and 2 counts of completions for 2 ranks, expected one of each for every rank, or none}}
  kv.ready 0 after [0, 1] reports [#kv.reports<main|auxiliary>] completions [2, 1]
  kv.ready 1 after [0]
}
