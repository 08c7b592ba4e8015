// RUN: layline-opt %s -split-input-file -verify-diagnostics

// One case for each line of the verifiers of what happens layer by layer.

// A rebuild is of a pool.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  // expected-error @below {{names @q, which is no kv.pool}}
  %r = kv.rebuild @q ["latent"] layer 1 from <cyclic "cp"> as rows
  return
}

// -----

// Of its planes.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  // expected-error @below {{names plane 'k', which @p does not have}}
  %r = kv.rebuild @p ["k"] layer 1 from <cyclic "cp"> as rows
  return
}

// -----

// At least one.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  // expected-error @below {{names no plane}}
  %r = kv.rebuild @p [] layer 1 from <cyclic "cp"> as rows
  return
}

// -----

// That have the layer: index keys have a list of their own.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  // expected-error @below {{names layer 1 of plane 'index_key', which has layers 0, 2}}
  %r = kv.rebuild @p ["index_key", "index_scale"] layer 1 from <cyclic "cp"> as quantised_pages
  return
}

// -----

// The pool states who computes.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  // expected-error @below {{gathers what cp ranks have computed, but @p does not state its compute split}}
  %r = kv.rebuild @p ["latent"] layer 1 from <cyclic "cp"> as rows
  return
}

// -----

// And that is what is gathered.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  // expected-error @below {{gathers tokens dealt out as #kv.deal<zigzag "cp">, but @p computes them as #kv.deal<cyclic "cp">}}
  %r = kv.rebuild @p ["latent"] layer 1 from <zigzag "cp"> as rows
  return
}

// -----

// Over cp.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <whole> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  // expected-error @below {{gathers over "cp" what is not dealt out over it}}
  %r = kv.rebuild @p ["latent"] layer 1 from <whole> as rows
  return
}

// -----

// Every rank keeps what it is brought.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens cyclic "cp", heads replicated, layers all>
func.func @f() {
  // expected-error @below {{writes every token of the chunk at each rank, but @p keeps parts of them, #kv.deal<cyclic "cp">}}
  %r = kv.rebuild @p ["latent"] layer 1 from <cyclic "cp"> as rows
  return
}

// -----

// Index keys are quantised when they are together.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  // expected-error @below {{writes plane 'index_key' as rows: its pages are planar, so keys are gathered first and quantised then, expected quantised_pages}}
  %r = kv.rebuild @p ["index_key", "index_scale"] layer 2 from <cyclic "cp"> as rows
  return
}

// -----

// Rows are written as rows.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  // expected-error @below {{writes plane 'latent' as quantised_pages: it is kept as it is computed, expected rows}}
  %r = kv.rebuild @p ["latent"] layer 1 from <cyclic "cp"> as quantised_pages
  return
}

// -----

// Keys and scales share pages.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  // expected-error @below {{writes plane 'index_key' without plane "index_scale" of the same pages}}
  %r = kv.rebuild @p ["index_key"] layer 2 from <cyclic "cp"> as quantised_pages
  return
}

// -----

// Scratch buffers are of planes of the pool.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  // expected-error @below {{names plane 'k', which @p does not have}}
  %s = kv.scratch @p ["k"]
  return
}

// -----

// Where every rank keeps a layer, nobody broadcasts it.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers all>
func.func @f() {
  %small = kv.scratch @p ["index_key", "index_scale"]
  %large = kv.scratch @p ["latent"]
  // expected-error @below {{broadcasts a layer of @p, every cp rank of which keeps it}}
  %i = kv.owner_broadcast @p ["index_key", "index_scale"] layer 2 owner 1 into %small stream 0
  return
}

// -----

// The owner broadcasts.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  %small = kv.scratch @p ["index_key", "index_scale"]
  %large = kv.scratch @p ["latent"]
  // expected-error @below {{broadcasts layer 2 from cp rank 0, which does not keep it, expected its owner 1}}
  %i = kv.owner_broadcast @p ["index_key", "index_scale"] layer 2 owner 0 into %small stream 0
  return
}

// -----

// Index and main rows go apart.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  %s = kv.scratch @p ["index_key", "index_scale", "latent"]
  // expected-error @below {{broadcasts index and main planes together: the indexer would wait for rows that it does not need}}
  %i = kv.owner_broadcast @p ["index_key", "latent"] layer 2 owner 1 into %s stream 0
  return
}

// -----

// Into a buffer that is made for them.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  // expected-note @below {{the buffer is made here}}
  %s = kv.scratch @p ["latent"]
  // expected-error @below {{brings plane 'index_key' into a buffer of others}}
  %i = kv.owner_broadcast @p ["index_key", "index_scale"] layer 2 owner 1 into %s stream 0
  return
}

// -----

// The index comes first.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  %small = kv.scratch @p ["index_key", "index_scale"]
  %large = kv.scratch @p ["latent"]
  %i = kv.owner_broadcast @p ["index_key", "index_scale"] layer 2 owner 1 into %small stream 0
  // expected-error @below {{broadcasts 'latent' of layer 2 before its "index_key": the indexer would wait behind it, expected it after the broadcast of the index}}
  %m = kv.owner_broadcast @p ["latent"] layer 2 owner 1 into %large stream 1
  return
}

// -----

// That of the same layer.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  %small = kv.scratch @p ["index_key", "index_scale"]
  %large = kv.scratch @p ["latent"]
  %i = kv.owner_broadcast @p ["index_key", "index_scale"] layer 0 owner 0 into %small stream 0
  // expected-error @below {{broadcasts 'latent' of layer 2 before its "index_key"}}
  %m = kv.owner_broadcast @p ["latent"] layer 2 owner 1 into %large stream 1 after %i
  return
}

// -----

// On a stream of its own.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  %small = kv.scratch @p ["index_key", "index_scale"]
  %large = kv.scratch @p ["latent"]
  // expected-note @below {{the index is broadcast here}}
  %i = kv.owner_broadcast @p ["index_key", "index_scale"] layer 2 owner 1 into %small stream 0
  // expected-error @below {{broadcasts on stream 0 as its index does: the indexer could not run beside it, expected a second stream}}
  %m = kv.owner_broadcast @p ["latent"] layer 2 owner 1 into %large stream 0 after %i
  return
}

// -----

// A scratch buffer is written again when attention has read it.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  %small = kv.scratch @p ["index_key", "index_scale"]
  %large = kv.scratch @p ["latent"]
  %i = kv.owner_broadcast @p ["index_key", "index_scale"] layer 2 owner 1 into %small stream 0
  %m = kv.owner_broadcast @p ["latent"] layer 2 owner 1 into %large stream 1 after %i
  // expected-note @below {{it is read here}}
  %a = kv.attend @p layer 2 from %small, %large after %i, %m
  // expected-error @below {{re-uses a scratch buffer before all that uses it has completed, expected its event}}
  %n = kv.owner_broadcast @p ["latent"] layer 3 owner 1 into %large stream 1 after %m
  return
}

// -----

// And when what wrote it has arrived.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  %large = kv.scratch @p ["latent"]
  // expected-note @below {{it is written here}}
  %m = kv.owner_broadcast @p ["latent"] layer 1 owner 0 into %large stream 1
  // expected-error @below {{re-uses a scratch buffer before all that uses it has completed}}
  %n = kv.owner_broadcast @p ["latent"] layer 3 owner 1 into %large stream 1
  return
}

// -----

// And when sends from it have arrived.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
kv.pool @d mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.migrate @m from @p to @d profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.ready 0 after []
}
func.func @f() {
  %large = kv.scratch @p ["latent"]
  %m = kv.owner_broadcast @p ["latent"] layer 1 owner 0 into %large stream 1
  // expected-note @below {{it is the source of these sends}}
  %e = kv.post @m from %large after %m
  // expected-error @below {{re-uses a scratch buffer before all that uses it has completed}}
  %n = kv.owner_broadcast @p ["latent"] layer 3 owner 1 into %large stream 1 after %m
  return
}

// -----

// Attention of a layer with an owner reads all of its planes.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  %small = kv.scratch @p ["index_key", "index_scale"]
  %large = kv.scratch @p ["latent"]
  %i = kv.owner_broadcast @p ["index_key", "index_scale"] layer 2 owner 1 into %small stream 0
  %m = kv.owner_broadcast @p ["latent"] layer 2 owner 1 into %large stream 1 after %i
  // expected-error @below {{reads plane "index_key" of layer 2, which cp rank 1 owns, from no scratch buffer with a broadcast of it}}
  %a = kv.attend @p layer 2 from %large after %i, %m
  return
}

// -----

// Of that layer.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  %small = kv.scratch @p ["index_key", "index_scale"]
  %large = kv.scratch @p ["latent"]
  %i = kv.owner_broadcast @p ["index_key", "index_scale"] layer 2 owner 1 into %small stream 0
  %m = kv.owner_broadcast @p ["latent"] layer 2 owner 1 into %large stream 1 after %i
  %a = kv.attend @p layer 2 from %small, %large after %i, %m
  // expected-note @below {{it was written here}}
  %n = kv.owner_broadcast @p ["latent"] layer 3 owner 1 into %large stream 1 after %a
  // expected-error @below {{reads plane "latent" of layer 2 from a buffer that holds layer 3}}
  %b = kv.attend @p layer 2 from %small, %large after %i, %n
  return
}

// -----

// It waits for the main rows.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  %small = kv.scratch @p ["index_key", "index_scale"]
  %large = kv.scratch @p ["latent"]
  %i = kv.owner_broadcast @p ["index_key", "index_scale"] layer 2 owner 1 into %small stream 0
  // expected-note @below {{the broadcast starts here}}
  %m = kv.owner_broadcast @p ["latent"] layer 2 owner 1 into %large stream 1 after %i
  // expected-error @below {{reads plane "latent" of layer 2 before its broadcast has arrived, expected its event}}
  %a = kv.attend @p layer 2 from %small, %large after %i
  return
}

// -----

// And for the index.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  %small = kv.scratch @p ["index_key", "index_scale"]
  %large = kv.scratch @p ["latent"]
  // expected-note @below {{the broadcast starts here}}
  %i = kv.owner_broadcast @p ["index_key", "index_scale"] layer 2 owner 1 into %small stream 0
  %other = kv.scratch @p ["index_key", "index_scale"]
  %i0 = kv.owner_broadcast @p ["index_key", "index_scale"] layer 2 owner 1 into %other stream 0
  %m = kv.owner_broadcast @p ["latent"] layer 2 owner 1 into %large stream 1 after %i0
  // expected-error @below {{reads plane "index_key" of layer 2 before its broadcast has arrived, expected its event}}
  %a = kv.attend @p layer 2 from %small, %large after %m
  return
}

// -----

// A migration is posted.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  %small = kv.scratch @p ["index_key", "index_scale"]
  %large = kv.scratch @p ["latent"]
  %i = kv.owner_broadcast @p ["index_key", "index_scale"] layer 2 owner 1 into %small stream 0
  // expected-error @below {{names @p, which is no kv.migrate}}
  %e = kv.post @p from %small after %i
  return
}

// -----

// From a buffer that holds something.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
kv.pool @d mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.migrate @m from @p to @d profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.ready 0 after []
}
func.func @f() {
  %large = kv.scratch @p ["latent"]
  // expected-error @below {{sends from a scratch buffer that nothing has written}}
  %e = kv.post @m from %large
  return
}

// -----

// That has arrived.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
kv.pool @d mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.migrate @m from @p to @d profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.ready 0 after []
}
func.func @f() {
  %large = kv.scratch @p ["latent"]
  // expected-note @below {{it is written here}}
  %m = kv.owner_broadcast @p ["latent"] layer 1 owner 0 into %large stream 1
  // expected-error @below {{sends from a scratch buffer before what writes it has completed, expected its event}}
  %e = kv.post @m from %large
  return
}

// -----

// A source is not freed before its sends have arrived.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
kv.pool @d mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.migrate @m from @p to @d profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.ready 0 after []
}
func.func @f() {
  %large = kv.scratch @p ["latent"]
  %m = kv.owner_broadcast @p ["latent"] layer 1 owner 0 into %large stream 1
  // expected-note @below {{it is the source of these sends}}
  %e = kv.post @m from %large after %m
  // expected-error @below {{releases a scratch buffer before all that uses it has completed, expected its event}}
  kv.release %large after %m
  return
}

// -----

// Nor sent from when it is free.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
kv.pool @d mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  residency <tokens whole, heads replicated, layers all>
kv.migrate @m from @p to @d profile "optimised" max_descriptors 0 slot_bytes 0 {
  kv.ready 0 after []
}
func.func @f() {
  %large = kv.scratch @p ["latent"]
  %m = kv.owner_broadcast @p ["latent"] layer 1 owner 0 into %large stream 1
  // expected-note @below {{it is free since here}}
  kv.release %large after %m
  // expected-error @below {{uses a scratch buffer that has been released}}
  %e = kv.post @m from %large after %m
  return
}

// -----

// Nor read.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers all>
func.func @f() {
  %large = kv.scratch @p ["latent"]
  // expected-note @below {{it is free since here}}
  kv.release %large
  // expected-error @below {{uses a scratch buffer that has been released}}
  %a = kv.attend @p layer 1 from %large
  return
}

// -----

// Nor written, nor freed again.
kv.pool @p mesh [1, 1, 2, 1] page 4
  buffers [#kv.buffer<"latent" table "kv" page 16>, #kv.buffer<"index" table "kv" page 20>]
  planes [#kv.plane<"latent" "u8" 1 x 4 layers 0 to 3 in "latent" token_major>,
          #kv.plane<"index_key" "u8" 1 x 4 layers 0, 2 in "index" token_major>,
          #kv.plane<"index_scale" "u8" 1 x 1 layers 0, 2 in "index" at 16 token_major>]
  compute <cyclic "cp"> residency <tokens whole, heads replicated, layers owners [0 to 1 | 2 to 3]>
func.func @f() {
  %large = kv.scratch @p ["latent"]
  // expected-note @below {{it is free since here}}
  kv.release %large
  // expected-error @below {{uses a scratch buffer that has been released}}
  kv.release %large
  return
}
