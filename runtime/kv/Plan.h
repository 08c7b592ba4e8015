// A migration plan: what every pair of ranks sends, as rules over the tokens of
// a request and over page tables that are not known yet.
//
// Four maps stay apart: who computes a token (not part of a plan: what is sent
// is what resides), where it resides at the source, which of those that hold it
// sends it, and where it must arrive.
#ifndef LAYLINE_RUNTIME_KV_PLAN_H
#define LAYLINE_RUNTIME_KV_PLAN_H

#include "kv/Completion.h"

#include <cstdint>
#include <string>
#include <vector>

namespace layline::kv {

/// A rule that gives each token of a request to one of `parts` parts, and the
/// part that is meant. Items are runs of `unit` tokens, the last one possibly
/// shorter; n of them.
struct TokenPart {
  enum class Kind {
    Whole,      ///< every token
    Contiguous, ///< balanced: the first n mod parts have one item more
    Zigzag,     ///< of 2 * parts balanced runs, run `index` and its mirror
    Cyclic,     ///< item i belongs to part i mod parts
    Room,       ///< every token if the request's room mod parts is `index`
    /// Pages whose number mod parts is `index`. All ranks of a group are given
    /// the same table; rank `index` keeps page n as its page n / parts.
    PageNumber,
  };
  enum class Of { Request, Chunk };

  Kind kind = Kind::Whole;
  std::int64_t parts = 1;
  std::int64_t index = 0;
  std::int64_t unit = 1; ///< tokens; of Room and PageNumber 1
  /// What is dealt out: all tokens of the request, or those of one chunk.
  Of of = Of::Request;

  bool operator==(const TokenPart &other) const {
    return kind == other.kind && parts == other.parts && index == other.index &&
           unit == other.unit && of == other.of;
  }
};

/// What is kept of every token, or once per request, in every layer that has
/// it.
struct Plane {
  std::string name;  ///< "k", "v", "latent", "index_key", "index_scale", ...
  std::string dtype; ///< of its elements: "bf16", "fp8", "u8", "f32"
  std::int64_t heads = 1;     ///< of the model; 1 where there are none
  std::int64_t headBytes = 0; ///< one head of one token; of a state: all of it
  bool isState = false;       ///< one item per request, not per token
  /// Only the last tokens of a request are needed: how many; 0: all.
  std::int64_t window = 0;
  std::vector<std::int64_t> layers; ///< of the model, ascending

  /// Keys by which rows are chosen (DSA), or their scales.
  bool isIndex() const { return name == "index_key" || name == "index_scale"; }
};

/// Where a plane lies in the buffers of one side. Byte of head h (of those that
/// the rank holds) of the token in slot s of page p:
///   base + p * pageBytes + offset + s * tokenStride + h * headStride
struct Placement {
  int buffer = 0; ///< of Side::buffers
  std::int64_t pageBytes = 0, offset = 0, tokenStride = 0, headStride = 0;
  std::int64_t heads = 1; ///< that a rank holds
};

/// A kind of buffer: one per layer, in pages.
struct Buffer {
  std::string name;
  std::string table; ///< name of the page table that numbers its pages
  std::int64_t pageBytes = 0;
};

struct Rank {
  std::int64_t pp = 0, dp = 0, cp = 0, tp = 0;
  TokenPart tokens;           ///< of every request that resides here
  std::int64_t headIndex = 0; ///< which of Side::headParts it has
  /// By buffer: the layers that the rank has it for, in the order of its list
  /// of buffer addresses.
  std::vector<std::vector<std::int64_t>> layers;

  /// The number of the buffer for a layer in the rank's list of addresses,
  /// which has all layers of buffer 0, then those of buffer 1, ...; -1 if it
  /// has none.
  std::int64_t getOrdinal(int buffer, std::int64_t layer) const;
  std::int64_t countBuffers() const;
};

struct Side {
  std::string spec; ///< as it was asked for
  std::int64_t pageTokens = 1;
  /// The heads of every plane are divided into so many parts; a plane with
  /// fewer heads has each of them in equally many parts.
  std::int64_t headParts = 1;
  std::vector<Buffer> buffers;
  std::vector<Placement> planes; ///< by plane of the plan
  std::vector<Rank> ranks;
};

/// The names of a side's page tables, each once, in the order of its buffers,
/// and the number of a buffer's among them.
std::vector<std::string> getTables(const Side &side);
int getTable(const Side &side, int buffer);

/// Heads [begin, end) of a plane.
struct HeadRange {
  std::int64_t begin = 0, end = 0;
};
HeadRange getHeads(const Plane &plane, const Side &side, const Rank &rank);

/// Layers first, first + 1, ... of two lists of buffers that are moved alike.
struct LayerRun {
  std::int64_t source = 0, target = 0, count = 0; ///< ordinals
};

/// What a descriptor is made of.
enum class Grain {
  Token, ///< one per token: heads of a token that lie side by side
  Page,  ///< whole pages, of both sides alike, that follow one another on both
  Free,  ///< whatever is contiguous on both sides, exact to the token
};

/// What one rank sends to another of one plane, or, by pages, of all planes of
/// a buffer.
struct Move {
  std::vector<int> planes;
  Grain grain = Grain::Free;
  std::int64_t sourceHead = 0, targetHead = 0, heads = 1; ///< local numbers
  TokenPart share; ///< of what resides at both, what this rank sends
  std::vector<LayerRun> layers;
};

enum class Batching {
  Layer, ///< one batch per plane and layer
  All,   ///< one batch per transfer
};

/// Where small blocks are put together to be sent as large ones: in a scratch
/// buffer of the source, in one of the target, or both.
enum class Packing { None, Source, Target, Both };

/// Moves of one pair that are sent together.
struct Transfer {
  int source = 0, target = 0;
  Packing packing = Packing::None;
  Batching batching = Batching::All;
  /// Sent once, with the last chunk, for the whole request; else with every
  /// chunk, for its tokens.
  bool isWithLastChunk = false;
  std::vector<Move> moves;
};

struct Policy {
  /// The slots behind the last token are sent too, up to the end of its page.
  bool roundsToPages = false;
  /// Tokens that the target has already are a multiple of this many.
  std::int64_t prefixUnit = 1;
  std::int64_t maxDescriptors = 0; ///< in a batch; 0: no limit
  /// Most bytes of a relay slot, for transfers that pack.
  std::int64_t slotBytes = 0;
};

struct Plan {
  std::string model, profile;
  std::vector<Plane> planes;
  Side source, target;
  Policy policy;
  std::vector<Transfer> transfers; ///< by target, then source
  /// By target rank: the source ranks that must report before a request is
  /// ready, ascending; also those with nothing to send.
  std::vector<std::vector<int>> responders;
  Readiness readiness;             ///< what each of them has to report
  std::vector<Lifetime> lifetimes; ///< of all that the transfers use
  Relay relay;
  /// By rank, by kind of buffer: getLayoutDigests (kv/LayoutDigest.h).
  std::vector<std::vector<std::string>> sourceDigests, targetDigests;
};

/// Some rank keeps pages by their numbers.
bool usesPageNumbers(const Plan &plan);

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_PLAN_H
