// RUN: layline-opt %s -split-input-file -verify-diagnostics

// One case for each line of the verifiers of attributes and pools.

// The part is one of the parts.
// expected-error @below {{part 4 of 4, expected one of the parts}}
func.func private @f() attributes {a = #kv.tokens<cyclic 4 of 4>}

// -----

// Runs have a token.
// expected-error @below {{runs of 0 tokens, expected at least 1}}
func.func private @f() attributes {a = #kv.tokens<cyclic 0 of 4 x 0>}

// -----

// Kinds are those of the table.
// expected-error @below {{found 'block', expected whole, contiguous, zigzag, cyclic, room or top_k}}
func.func private @f() attributes {a = #kv.tokens<block 0 of 4>}

// -----

// All but whole name an axis.
// expected-error @below {{found 'owner', expected whole, contiguous, zigzag, cyclic, page_striped or page_number}}
func.func private @f() attributes {a = #kv.deal<owner "cp">}

// -----

// Groups have a rank.
// expected-error @below {{groups of -1 neighbours, expected at least 1}}
func.func private @f() attributes {a = #kv.deal<cyclic "tp" by -1>}

// -----

// Runs have a token.
// expected-error @below {{runs of 0 tokens, expected at least 1}}
func.func private @f() attributes {a = #kv.deal<cyclic "tp" x 0>}

// -----

// Pages are what they are.
// expected-error @below {{pages in runs of 4, expected 'cyclic' with that many tokens}}
func.func private @f() attributes {a = #kv.deal<page_striped "cp" x 4>}

// -----

// So are their numbers.
// expected-error @below {{page numbers in runs of 2, expected none}}
func.func private @f() attributes {a = #kv.deal<page_number "cp" x 2>}

// -----

// Layers are ascending.
// expected-error @below {{layer 2 behind layer 3, expected ascending numbers}}
func.func private @f() attributes {a = #kv.layers<3, 2>}

// -----

// Ranges are ascending.
// expected-error @below {{layers 5 to 3, expected ascending numbers below 1048576}}
func.func private @f() attributes {a = #kv.layers<5 to 3>}

// -----

// Groups of heads have a rank.
// expected-error @below {{heads by groups of 0, expected at least 1}}
func.func private @f() attributes {a = #kv.residency<tokens whole, heads split "tp" by 0, layers all>}

// -----

// A layer has one stage.
// expected-error @below {{layer 3 is in list 0 and in list 1, expected one of them}}
func.func private @f() attributes {a = #kv.residency<tokens whole, heads replicated, layers stages [0 to 3 | 3 to 5]>}

// -----

// Rules of layers are those of the table.
// expected-error @below {{found 'some', expected all, stages or owners}}
func.func private @f() attributes {a = #kv.residency<tokens whole, heads replicated, layers some>}

// -----

// Planes have heads with bytes.
// expected-error @below {{plane "k" has 0 heads of 4 bytes, expected at least 1 of each}}
func.func private @f() attributes {a = #kv.plane<"k" "u8" 0 x 4 layers 0 in "k" token_major>}

// -----

// A state has no window.
// expected-error @below {{plane "s" has a window of 8 and is a state, which has no tokens}}
func.func private @f() attributes {a = #kv.plane<"s" "u8" 1 x 4 state last 8 layers 0 in "k" token_major>}

// -----

// Orders are those of the table.
// expected-error @below {{found 'planar', expected token_major, head_major or strides}}
func.func private @f() attributes {a = #kv.plane<"k" "u8" 1 x 4 layers 0 in "k" planar>}

// -----

// The mesh has four axes.
// expected-error @below {{has a mesh of 2 axes, expected pp, dp, cp and tp}}
kv.pool @p mesh [1, 4] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>

// -----

// Axes have ranks.
// expected-error @below {{has 0 ranks of "cp", expected at least 1}}
kv.pool @p mesh [1, 1, 0, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>

// -----

// Pages have tokens.
// expected-error @below {{has pages of 0 tokens, expected at least 1}}
kv.pool @p mesh [1, 1, 1, 1] page 0
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>

// -----

// Capacity is in whole pages: it is the pool's, not a request's.
// expected-error @below {{has a capacity of 4099 token slots, expected whole pages of 4}}
kv.pool @p mesh [1, 1, 1, 1] page 4 capacity 4099
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>

// -----

// Buffers have names of their own.
// expected-error @below {{has two buffers "k"}}
kv.pool @p mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>, #kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>

// -----

// So have planes.
// expected-error @below {{has two planes "k"}}
kv.pool @p mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" token_major>, #kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers all>

// -----

// A plane is in a buffer.
// expected-error @below {{keeps plane "k" in "v", which is no buffer of it}}
kv.pool @p mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "v" token_major>]
  residency <tokens whole, heads replicated, layers all>

// -----

// Axes of maps are axes of the mesh.
// expected-error @below {{names the axis "ep" in its residency, expected pp, dp, cp or tp}}
kv.pool @p mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens cyclic "ep", heads replicated, layers all>

// -----

// Also those of the compute split.
// expected-error @below {{names the axis "ep" in its compute, expected pp, dp, cp or tp}}
kv.pool @p mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" token_major>]
  compute <zigzag "ep"> residency <tokens whole, heads replicated, layers all>

// -----

// Also those of heads.
// expected-error @below {{names the axis "ep" in its residency, expected pp, dp, cp or tp}}
kv.pool @p mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "ep", layers all>

// -----

// Groups divide the axis.
// expected-error @below {{has groups of 3 neighbours in its residency, which do not divide the 4 ranks of "tp"}}
kv.pool @p mesh [1, 1, 1, 4] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens cyclic "tp" by 3, heads replicated, layers all>

// -----

// Heads are divided evenly.
// expected-error @below {{divides the 3 heads of plane "k" among 2 parts, expected equal parts, or each head in equally many}}
kv.pool @p mesh [1, 1, 1, 2] page 4
  buffers [#kv.buffer<"k" table "kv" page 48>]
  planes [#kv.plane<"k" "u8" 3 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads split "tp", layers all>

// -----

// Tokens of a page do not overlap.
// expected-error @below {{has tokens 3 bytes apart and heads 4 bytes apart in plane "k", which overlap: a rank keeps 1 heads of 4 bytes}}
kv.pool @p mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" strides [3, 4]>]
  residency <tokens whole, heads replicated, layers all>

// -----

// Planes lie inside their page.
// expected-error @below {{has bytes [4, 20) of a page for plane "k", pages of "k" have 16}}
kv.pool @p mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" at 4 token_major>]
  residency <tokens whole, heads replicated, layers all>

// -----

// Planes of a page do not overlap.
// expected-error @below {{has planes "k" and "s" in bytes [15, 16) of a page}}
kv.pool @p mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 19>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" token_major>, #kv.plane<"s" "u8" 1 x 1 layers 0 to 1 in "k" at 15 token_major>]
  residency <tokens whole, heads replicated, layers all>

// -----

// Planes of one buffer have the same layers.
// expected-error @below {{has planes "k" and "s" of one buffer in layers 0 to 1 and in 0}}
kv.pool @p mesh [1, 1, 1, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 20>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" token_major>, #kv.plane<"s" "u8" 1 x 1 layers 0 in "k" at 16 token_major>]
  residency <tokens whole, heads replicated, layers all>

// -----

// Each stage has a list of layers.
// expected-error @below {{has 3 lists of layers for stages, expected 2}}
kv.pool @p mesh [2, 1, 1, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers stages [0 | 1 | 2]>

// -----

// So has each owner.
// expected-error @below {{has 2 lists of layers for owners, expected 4}}
kv.pool @p mesh [2, 1, 2, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers owners [0 | 1]>

// -----

// No layer is lost between stages.
// expected-error @below {{keeps layer 1 of plane "k" at no rank}}
kv.pool @p mesh [2, 1, 1, 1] page 4
  buffers [#kv.buffer<"k" table "kv" page 16>]
  planes [#kv.plane<"k" "u8" 1 x 4 layers 0 to 1 in "k" token_major>]
  residency <tokens whole, heads replicated, layers stages [0 | 2]>
