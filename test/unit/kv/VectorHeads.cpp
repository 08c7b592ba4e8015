//===- VectorHeads.cpp - heads on more or fewer ranks ---------------------===//
#include "VectorChecks.h"

#include <numeric>
#include <set>

using namespace layline::kv;
using namespace layline::kv::vectors;

namespace {

void checkHeadSlice(const Json &in, const Json &expected) {
  std::int64_t p = in["P"], d = in["D"];
  Model model = makeByteHeads(1, in["H"], 4);
  Plan plan = makePlan(model, "tp" + std::to_string(p),
                       "tp" + std::to_string(d), Profile::SGLangCompat);
  std::vector<std::pair<int, int>> pairs;
  if (in.contains("ranks")) {
    for (int r = 0; r < p; ++r)
      pairs.push_back({r, r});
  } else if (in.contains("src_ranks")) {
    for (int r : in["src_ranks"])
      pairs.push_back({r, in["dst_rank"]});
  } else {
    for (int r : in["dst_ranks"])
      pairs.push_back({in["src_rank"], r});
  }
  bool isAny = false;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Move *move = findMove(plan, pairs[i].first, pairs[i].second, 0);
    // The engine's function answers for any pair; only pairs that talk to each
    // other count.
    if (!move)
      continue;
    isAny = true;
    REQUIRE(Json({move->sourceHead, move->heads, move->targetHead}) ==
            expected[i]);
  }
  REQUIRE(isAny);
}

/// [send, source offset, target offset, length] of a block of one pair.
Json describeBlock(const Plan &plan, int source, int target) {
  FakeMemory from(plan.source, static_cast<int>(source), 64,
                  std::uint64_t(1) << 40);
  FakeMemory to(plan.target, static_cast<int>(target), 64,
                std::uint64_t(1) << 40);
  Binding binding(plan, makeRequest(64), source, target, from.memory,
                  to.memory);
  if (binding.countDescriptors() == 0)
    return Json({false});
  std::uint64_t s, t, bytes;
  binding.fill(0, 1, &s, &t, &bytes);
  std::int64_t page = plan.source.planes[0].pageBytes;
  std::int64_t targetPage = plan.target.planes[0].pageBytes;
  return Json({true, (s - from.memory.buffers[0]) % page,
               (t - to.memory.buffers[0]) % targetPage, bytes});
}

void checkFan(const Json &in, const Json &expected) {
  std::int64_t p = in["P"], d = in["D"], heads = in["H"];
  std::int64_t local = in["local_block"];
  // Heads in front: a block is a head of all tokens of a page.
  std::int64_t own = std::max<std::int64_t>(1, heads / p);
  Plan plan = makePlan(
      makeByteHeads(1, heads, local / own / 64), "hnd,tp" + std::to_string(p),
      "hnd,tp" + std::to_string(d), Profile::Optimised, SenderRule::First);
  REQUIRE(plan.source.planes[0].pageBytes == local);
  REQUIRE(plan.target.planes[0].pageBytes == in["remote_block"]);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    int rank = static_cast<int>(i);
    Json found =
        p > d ? describeBlock(plan, rank, static_cast<int>(rank / (p / d)))
              : describeBlock(plan, static_cast<int>(rank / (d / p)), rank);
    REQUIRE(found == expected[i]);
  }
}

void checkRegionLengths(const Json &in, const Json &expected) {
  std::int64_t heads = in["H"], p = in["P"], d = in["D"];
  std::int64_t local = in["local_len"], remote = in["remote_len"];
  Model model = makeByteHeads(
      1, heads, remote / std::max<std::int64_t>(1, heads / d) / 64);
  Plan plan = makePlan(model, "tp" + std::to_string(p),
                       "tp" + std::to_string(d), Profile::Optimised);
  bool fits = plan.source.planes[0].pageBytes == local &&
              plan.target.planes[0].pageBytes == remote;
  REQUIRE(fits == expected.get<bool>());
}

void checkReplicatedWriter(const Json &in, const Json &expected) {
  for (auto [profile, senders] :
       {std::pair(Profile::SGLangCompat, SenderRule::All),
        std::pair(Profile::Optimised, SenderRule::First)}) {
    Plan plan =
        makePlan(makeLatent(1, 8), "tp" + std::to_string(in["P"].get<int>()),
                 "tp" + std::to_string(in["D"].get<int>()), profile, senders);
    std::set<int> writers;
    for (const Transfer &transfer : plan.transfers)
      writers.insert(transfer.source);
    REQUIRE(Json(writers) == expected["writers"]);
  }
}

void checkSliceCounts(const Json &in, const Json &expected) {
  Plan plan = makePlan(
      makeByteHeads(in["layers"], in["H"], in["head_bytes"].get<int>()),
      "tp1,cp4", "tp4", Profile::SGLangCompat);
  std::vector<std::int32_t> from(64), to(64);
  std::iota(from.begin(), from.end(), 3);
  std::iota(to.begin(), to.end(), 11);
  // Rank 1 of the four sends pages 16 to 31.
  int source = in["cp"][0], target = in["dst_rank"];
  FakeMemory sourceMemory(plan.source, static_cast<int>(source), 4096,
                          std::uint64_t(1) << 40);
  FakeMemory targetMemory(plan.target, static_cast<int>(target), 4096,
                          std::uint64_t(1) << 40);
  RankMemory s = sourceMemory.memory, t = targetMemory.memory;
  s.tables = {{from.data(), 64}};
  t.tables = {{to.data(), 64}};
  s.poolPages.clear();
  t.poolPages.clear();
  Binding binding(plan, makeRequest(in["tokens"]), source, target, s, t);
  REQUIRE(static_cast<std::int64_t>(binding.getBatches().size()) ==
          expected["batches"]);
  REQUIRE(binding.countDescriptors() == expected["descriptors"]);
  REQUIRE(binding.countBytes() == expected["bytes"]);
  std::uint64_t a, b, bytes;
  binding.fill(0, 1, &a, &b, &bytes);
  REQUIRE(a - s.buffers[0] == expected["first_src_off"]);
  REQUIRE(b - t.buffers[0] == expected["first_dst_off"]);
}

} // namespace

Checks layline::kv::vectors::getHeadChecks() {
  return {{"head_slice", checkHeadSlice},
          {"gqa_fanin", checkFan},
          {"gqa_fanout", checkFan},
          {"region_len_check", checkRegionLengths},
          {"replicated_writer", checkReplicatedWriter},
          {"slice_counts", checkSliceCounts}};
}
