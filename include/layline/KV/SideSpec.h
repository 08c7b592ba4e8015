//===- SideSpec.h - how one side of a migration keeps its cache -*- C++ -*-===//
#ifndef LAYLINE_KV_SIDESPEC_H
#define LAYLINE_KV_SIDESPEC_H

#include <cstdint>
#include <string>
#include <vector>

namespace layline::kv {

/// What the ranks of a context group keep of each other's tokens and layers.
enum class Residency {
  Gathered,   ///< every rank all tokens: each layer is gathered as it runs
  Layers,     ///< every rank all tokens of the layers that it owns (LayerSplit)
  Pages,      ///< page i of a request on rank i mod n
  Numbers,    ///< page number i of the pool's allocator on rank i mod n
  Contiguous, ///< the tokens that it computes, where these are contiguous
  Zigzag,
  Cyclic,
};

/// How query tokens are dealt out for computing. It decides nothing about what
/// is sent, but some engines refuse combinations with a residency.
enum class ComputeSplit { Zigzag, Contiguous, Cyclic };

/// "tp4,cp4,page64,fp8": parts separated by commas, in any order, each once.
///
///   tpN          ranks that the heads of a request are divided among
///   cpN          ranks that its query tokens are divided among
///   ppN, pp7+8   stages of layers: balanced, or with these numbers of layers
///   dpN          copies of all that; a request lives in one
///   dcpN, dcpN:I tokens in runs of I (1) over N neighbours of a tp group
///   pageN        tokens of a page (64)
///   nhd, hnd     order inside a page: token-major (default) or head-major
///   bf16, f16, f32, fp8
///                element type of the cache (the model's)
///   zigzag, contiguous, interleave, interleave:I
///                how query tokens are dealt out over cp (zigzag)
///   layersplit   each cp rank owns layers
///   pagesplit    page i on rank i mod n, over cp, or over tp without one
///   pagenumber   the same by the number that the allocator gives the page
///   cpstore      each cp rank keeps the tokens that it computes
///   owners=0:10,1:10,...
///                layersplit with these ranks and numbers of layers
struct SideSpec {
  std::string text;
  std::int64_t tp = 1, cp = 1, pp = 1, dp = 1, dcp = 1, dcpRun = 1;
  std::vector<std::int64_t> stageLayers; ///< empty: balanced
  std::int64_t pageTokens = 64;
  bool isHeadMajor = false;
  std::string dtype; ///< empty: the model's
  ComputeSplit compute = ComputeSplit::Zigzag;
  std::int64_t computeRun = 1; ///< of Cyclic
  Residency residency = Residency::Gathered;
  std::vector<std::int64_t> ownerLayers; ///< by cp rank; empty: balanced

  /// Cards of one copy.
  std::int64_t countRanks() const { return pp * cp * tp; }
};

/// Throws runtime::Error that names the part, what was found and what is
/// expected.
SideSpec parseSideSpec(const std::string &text);

} // namespace layline::kv

#endif // LAYLINE_KV_SIDESPEC_H
