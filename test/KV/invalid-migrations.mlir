// RUN: layline-opt %s -split-input-file -verify-diagnostics

// One case for each line of the verifier of kv.migrate. A source of two cp
// ranks with all heads; a target of two tp ranks with one each.

// Both pools are there.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{names @nobody, which is no kv.pool}}
kv.migrate @m from @nobody to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
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

// A prefix is a number of tokens.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
// expected-error @below {{has prefixes in units of 0 tokens, expected at least 1}}
kv.migrate @m from @prefill to @prefill profile "optimised" max_descriptors 0 slot_bytes 0 prefix_unit 0 {
}

// -----

// Planes are the same ones, in the same order.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"latent" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{moves planes k of @prefill to planes latent of @decode, expected the same planes}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
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

// Bytes are moved, never converted.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "fp8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{moves plane "k" of element type "u8" in @prefill to element type "fp8" in @decode: bytes are moved, never converted}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
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

// Heads are those of one model.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 4 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{moves plane "k" of heads 2 in @prefill to heads 4 in @decode}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
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

// So are their bytes.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 2 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{moves plane "k" of head bytes 4 in @prefill to head bytes 2 in @decode}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
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

// A latent row is not cut by the heads of the decode ranks.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 1 x 8 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{moves rows of 8 bytes of plane "k" to ranks that keep 4 bytes of each: a latent row has no heads to be cut by, expected the whole row at each rank}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
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

// Windows are the same.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 last 8 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{moves plane "k" of window 0 in @prefill to window 8 in @decode}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
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

// Layers are those of one model.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 2 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{moves plane "k" of layers 0 to 1 in @prefill to layers 0 to 2 in @decode}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
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

// Ranks are ranks of the pool.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  // expected-error @below {{names source rank 2, pool @prefill has 2}}
  kv.transfer 2 to 0 {
  }
}

// -----

// Also those at the target.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  // expected-error @below {{names target rank 5, pool @decode has 2}}
  kv.transfer 0 to 5 {
  }
}

// -----

// What is sent resides at the sender: residency decides, not who computes.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers owners [0 | 1]>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    // expected-error @below {{sends layer 1 of plane 'k' from source rank 0 (cp 0), which keeps layers 0; it resides at rank 1}}
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// A copy that a broadcast has brought does not reside.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers owners [0 | 1]>
kv.pool @decode mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
func.func @broadcast() {
  %s = kv.scratch @prefill ["latent"]
  // expected-note @below {{the copy comes from here, into a scratch buffer}}
  %m = kv.owner_broadcast @prefill ["latent"] layer 1 owner 1 into %s stream 0
  return
}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    // expected-error @below {{sends layer 1 of plane 'latent' from source rank 0 (cp 0), which has a broadcast copy of it, not a lasting one; it resides at rank 1}}
    kv.send ["latent"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
}

// -----

// What is written resides at the target.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [2, 1, 1, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers stages [0 | 1]>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    // expected-error @below {{writes layer 1 of plane 'k' at target rank 0 (pp 0), which keeps layers 0; it resides at rank 1}}
    kv.send ["k"] layers <0 to 1> heads 0 x 2 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// Layers are paired by their numbers in the model.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    // expected-error @below {{pairs layer 0 of plane 'k' at source rank 0 (cp 0) with layer 1 at target rank 0 (tp 0): layers are paired by their numbers in the model, not by position, expected layer 1}}
    kv.send ["k"] layers <0> as <1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// As many on both sides.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    // expected-error @below {{sends 1 layers as 2}}
    kv.send ["k"] layers <0> as <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// A head or more.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    // expected-error @below {{sends 0 heads, expected at least 1}}
    kv.send ["k"] layers <0> heads 0 x 0 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// Heads reside at the sender.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    // expected-error @below {{sends heads 2 to 2 of plane 'k' at source rank 0 (cp 0), which keeps heads 0 to 1}}
    kv.send ["k"] layers <0> heads 2 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// And at the target.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    // expected-error @below {{writes heads 1 to 1 of plane 'k' at target rank 0 (tp 0), which keeps heads 0 to 0}}
    kv.send ["k"] layers <0> heads 1 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// A head goes to the same head.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    // expected-error @below {{sends head 1 of plane 'k' as head 0, expected head 1}}
    kv.send ["k"] layers <0> heads 1 x 1 as 0 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// Rows without heads are not cut.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    // expected-error @below {{sends heads 0 to 1 of plane 'latent', whose rows have no heads to be cut by, expected head 0}}
    kv.send ["latent"] layers <0> heads 0 x 2 tokens <whole>
  }
  kv.ready 0 after [0]
}

// -----

// An owner sends all tokens of its layers.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers owners [0 | 1]>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    // expected-error @below {{sends 1/2 of the tokens of layer 0 of plane 'k', which source rank 0 (cp 0) owns: 1 rank keeps it, 1/2 would be lost, expected every token}}
    kv.send ["k"] layers <0> heads 0 x 1 tokens <contiguous 0 of 2 x 4>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// Positions that one query has selected are no cache.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    // expected-error @below {{sends the 2048 positions of plane 'k' that one query has selected: the next selects others, expected every position that the target keeps}}
    kv.send ["k"] layers <0> heads 0 x 1 tokens <top_k 2048>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// Planes are planes of the pools.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    // expected-error @below {{sends plane 'v', which @prefill does not have}}
    kv.send ["v"] layers <0> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// At least one.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    // expected-error @below {{sends no plane}}
    kv.send [] layers <0> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// Of one buffer.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>, #kv.buffer<"v" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>, #kv.plane<"v" "u8" 2 x 4 layers 0 to 1 in "v" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>, #kv.buffer<"v" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>, #kv.plane<"v" "u8" 2 x 4 layers 0 to 1 in "v" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    // expected-error @below {{sends planes of several buffers together}}
    kv.send ["k", "v"] layers <0> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// A state is sent when it is final.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"conv" "u8" 1 x 4 state layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"conv" "u8" 1 x 4 state layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    // expected-error @below {{sends the state 'conv' with every chunk, before it is final, expected 'with_last_chunk'}}
    kv.send ["conv"] layers <0> heads 0 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
}

// -----

// A state has no pages.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"conv" "u8" 1 x 4 state layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"conv" "u8" 1 x 4 state layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 with_last_chunk {
    // expected-error @below {{sends pages of plane 'conv', which is a state, one item}}
    kv.send ["conv"] layers <0> heads 0 x 1 tokens <whole> grain page
  }
}

// -----

// Whole pages are moved between pages of as many tokens.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 8
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    // expected-error @below {{sends whole pages, of 4 tokens at the source and of 8 at the target}}
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole> grain page
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// In which all lies alike.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    // expected-error @below {{sends whole pages, in which plane 'k' lies at 0 strides [8, 4] of 32 bytes at the source and at 0 strides [4, 4] of 16 at the target}}
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole> grain page
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// With all their heads.
kv.pool @prefill mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 4 x 2 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.pool @decode mesh [1, 1, 1, 4] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 4 x 2 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp" by 2, layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 1 {
    // expected-error @below {{sends whole pages with heads 1 to 1 of plane 'k', a page has heads 0 to 1}}
    kv.send ["k"] layers <0> heads 1 x 1 tokens <whole> grain page
  }
}

// -----

// Main rows without their index keys are of no use.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>, #kv.buffer<"v" table "kv" page 16>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 1 in "k" token_major>, #kv.plane<"index_key" "u8" 1 x 4 layers 0 to 1 in "v" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>, #kv.buffer<"v" table "kv" page 16>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 1 in "k" token_major>, #kv.plane<"index_key" "u8" 1 x 4 layers 0 to 1 in "v" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{sends 'latent' to target rank 0, but never its 'index_key' of layers 0 to 1, expected every plane that it keeps}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    kv.send ["latent"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
}

// -----

// Whoever sends is waited for.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  // expected-note @below {{its transfer is here}}
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  // expected-error @below {{waits for ranks 1, not for source rank 0 (cp 0), which sends: the request would be ready without it}}
  kv.ready 0 after [1]
  kv.ready 1 after [0]
}

// -----

// Also who has nothing to send.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  // expected-note @below {{its transfer is here}}
  kv.transfer 1 to 0 {
  }
  // expected-error @below {{waits for ranks 0, not for source rank 1 (cp 1), which answers with nothing to send: the request would be ready without it}}
  kv.ready 0 after [0]
  kv.ready 1 after [0]
}

// -----

// Once each.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  // expected-error @below {{counts source rank 0 (cp 0) twice: target rank 0 (tp 0) would be ready while another has not answered, expected each rank once}}
  kv.ready 0 after [0, 0]
  kv.ready 1 after [0]
}

// -----

// They are ranks.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  // expected-error @below {{names source rank 7, pool @prefill has 2}}
  kv.ready 0 after [0, 7]
  kv.ready 1 after [0]
}

// -----

// Each target says whom it waits for.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
// expected-error @below {{does not say whom target rank 1 (tp 1) waits for}}
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  kv.ready 0 after [0]
}

// -----

// Once.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.transfer 0 to 0 {
    kv.send ["k"] layers <0 to 1> heads 0 x 1 tokens <whole>
  }
  kv.transfer 0 to 1 {
    kv.send ["k"] layers <0 to 1> heads 1 x 1 tokens <whole>
  }
  // expected-note @below {{the first is here}}
  kv.ready 0 after [0]
  kv.ready 1 after [0]
  // expected-error @below {{is the second of target rank 0 (tp 0)}}
  kv.ready 0 after [0]
}

// -----

// A migration is transfers, and who is waited for.
kv.pool @prefill mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 32>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.pool @decode mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 2 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>
kv.migrate @m from @prefill to @decode profile "optimised" max_descriptors 0 slot_bytes 0 {
  // expected-error @below {{is in a migration, expected kv.transfer, kv.ready, kv.lifetime or kv.slot}}
  %0 = kv.scratch @prefill ["k"]
}
