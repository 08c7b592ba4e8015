//===- VectorChecks.h - checks of vectors, by their groups ------*- C++ -*-===//
#ifndef LAYLINE_TEST_UNIT_KV_VECTORCHECKS_H
#define LAYLINE_TEST_UNIT_KV_VECTORCHECKS_H

#include "FakeMemory.h"
#include "KVModels.h"

#include "kv/Binding.h"
#include "layline/KV/Planner.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace layline::kv::vectors {

using Json = nlohmann::json;
using Numbers = std::vector<std::int64_t>;

using Kind = TokenPart::Kind;
using Of = TokenPart::Of;

/// Blocks (source, target, bytes) relative to the buffers.
using Blocks = std::vector<std::array<std::int64_t, 3>>;

struct Relayout {
  std::vector<std::int32_t> sourcePages, targetPages;
  std::int64_t sourcePageTokens = 1, targetPageTokens = 1;
  TokenPart sourceTokens, targetTokens;
  std::int64_t rowBytes = 1;
  Grain grain = Grain::Token;
  Request request;
  std::vector<TokenPart> share;

  Blocks find() const {
    std::vector<TokenPart> parts = share;
    parts.push_back(sourceTokens);
    parts.push_back(targetTokens);
    std::vector<TokenRun> runs = selectTokens(
        parts, request,
        {{std::max(request.prefix, request.chunk.begin), request.chunk.end}});
    auto check = [&](const TokenPart &part, std::int64_t page,
                     const std::vector<std::int32_t> &pages) {
      if (findPages(runs, request, part, page).end >
          static_cast<std::int64_t>(pages.size()))
        throw std::out_of_range("a page is missing");
    };
    check(sourceTokens, sourcePageTokens, sourcePages);
    check(targetTokens, targetPageTokens, targetPages);
    Placement source{0, sourcePageTokens * rowBytes, 0, rowBytes, rowBytes, 1};
    Placement target{0, targetPageTokens * rowBytes, 0, rowBytes, rowBytes, 1};
    auto table = [](const std::vector<std::int32_t> &pages) {
      return PageTable{pages.data(), static_cast<std::int64_t>(pages.size())};
    };
    Blocks blocks;
    for (const Region &region : findRegions(
             runs, request,
             {&sourceTokens, table(sourcePages), sourcePageTokens, &source, 0},
             {&targetTokens, table(targetPages), targetPageTokens, &target, 0},
             1, rowBytes, grain))
      for (std::int64_t j = 0; j < region.outer; ++j)
        for (std::int64_t i = 0; i < region.inner; ++i)
          blocks.push_back(
              {region.source + j * region.sourceJump + i * region.sourceStep,
               region.target + j * region.targetJump + i * region.targetStep,
               region.bytes});
    return blocks;
  }
};

inline Request makeRequest(std::int64_t tokens) {
  Request request;
  request.tokens = tokens;
  request.chunk = {0, tokens};
  return request;
}

inline Model makeByteHeads(std::int64_t layers, std::int64_t heads,
                           std::int64_t headBytes) {
  Model model = kv::makeHeads("heads", layers, heads);
  model.dtype = "u8";
  model.headDim = headBytes;
  return model;
}

inline Model makeLatent(std::int64_t layers, std::int64_t bytes) {
  Model model = makeByteHeads(layers, 0, 0);
  model.latentRank = bytes;
  return model;
}

/// The move of a plane between two ranks, or none.
inline const Move *findMove(const Plan &plan, int source, int target,
                            int plane) {
  for (const Transfer &transfer : plan.transfers)
    if (transfer.source == source && transfer.target == target)
      for (const Move &move : transfer.moves)
        if (move.planes.front() == plane)
          return &move;
  return nullptr;
}

inline std::vector<std::int32_t> toPages(const Json &list) {
  return list.get<std::vector<std::int32_t>>();
}

inline Numbers toTokens(const TokenPart &part, const Request &request) {
  Numbers tokens;
  for (const TokenRun &run : selectTokens({part}, request, {request.chunk}))
    for (std::int64_t i = 0; i < run.count; ++i)
      for (std::int64_t k = 0; k < run.length; ++k)
        tokens.push_back(run.first + i * run.step + k);
  return tokens;
}

/// By group of vectors: takes the input, and what is expected of it.
using Checks = std::map<std::string, void (*)(const Json &, const Json &)>;
Checks getPageChecks();    ///< VectorPages.cpp
Checks getHeadChecks();    ///< VectorHeads.cpp
Checks getDcpChecks();     ///< VectorDcp.cpp
Checks getLayerChecks();   ///< VectorLayers.cpp
Checks getComputeChecks(); ///< VectorCompute.cpp

} // namespace layline::kv::vectors

#endif // LAYLINE_TEST_UNIT_KV_VECTORCHECKS_H
