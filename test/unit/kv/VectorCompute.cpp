//===- VectorCompute.cpp - who computes which tokens ----------------------===//
#include "VectorChecks.h"

#include "layline/KV/Report.h"

#include <numeric>

using namespace layline::kv;
using namespace layline::kv::vectors;

namespace {

std::vector<Interval> getZigzag(std::int64_t tokens, std::int64_t cp,
                                std::int64_t rank) {
  SideSpec spec = parseSideSpec("cp" + std::to_string(cp));
  return getComputed(spec, rank, {0, tokens});
}

void checkZigzag(const Json &in, const Json &expected) {
  std::int64_t cp = in["cp"], tokens = in["L"];
  Numbers counts, segments(2 * cp);
  Json spans = Json::array();
  for (std::int64_t rank = 0; rank < cp; ++rank) {
    std::vector<Interval> own = getZigzag(tokens, cp, rank);
    std::int64_t count = 0;
    Json span = Json::array();
    for (const Interval &interval : own) {
      count += interval.end - interval.begin;
      span.push_back({interval.begin, interval.end});
    }
    counts.push_back(count);
    spans.push_back(span);
    segments[rank] = own[0].end - own[0].begin;
    segments[2 * cp - 1 - rank] = own[1].end - own[1].begin;
  }
  REQUIRE(Json(counts) == expected["per_rank"]);
  if (expected.contains("segments"))
    REQUIRE(Json(segments) == expected["segments"]);
  if (expected.contains("spans"))
    REQUIRE(spans == expected["spans"]);
}

/// Requests with prefixes: each is dealt out by itself.
void checkZigzagBatch(const Json &in, const Json &expected) {
  std::int64_t cp = in["cp"];
  Numbers all = in["seq_lens"].get<Numbers>();
  Numbers extend = in["extend"].get<Numbers>();
  Numbers counts(cp);
  Json split = Json::array(), previous = Json::array(), next = Json::array();
  for (std::int64_t tokens : extend) {
    Numbers segments(2 * cp);
    for (std::int64_t rank = 0; rank < cp; ++rank) {
      std::vector<Interval> own = getZigzag(tokens, cp, rank);
      segments[rank] = own[0].end - own[0].begin;
      segments[2 * cp - 1 - rank] = own[1].end - own[1].begin;
      counts[rank] += segments[rank] + segments[2 * cp - 1 - rank];
    }
    for (std::int64_t segment : segments)
      split.push_back(segment);
  }
  // Keys that a rank's two segments see: to the segment's end, prefix included.
  for (std::int64_t rank = 0; rank < cp; ++rank) {
    Numbers first, second;
    for (std::size_t i = 0; i < extend.size(); ++i) {
      std::vector<Interval> own = getZigzag(extend[i], cp, rank);
      first.push_back(all[i] - extend[i] + own[0].end);
      second.push_back(all[i] - extend[i] + own[1].end);
    }
    previous.push_back(first);
    next.push_back(second);
  }
  REQUIRE(split == expected["split_list"]);
  REQUIRE(Json(counts) == expected["per_rank"]);
  REQUIRE(previous == expected["kv_len_prev"]);
  REQUIRE(next == expected["kv_len_next"]);
  // A rank's segments: those of the first halves of all requests, then of the
  // second halves.
  for (std::int64_t rank = 0; rank < cp; ++rank)
    REQUIRE(Json({rank, 2 * cp + rank, 2 * cp - 1 - rank, 4 * cp - 1 - rank}) ==
            expected["zigzag_index"][rank]);
}

void checkPadding(const Json &in, const Json &expected) {
  Numbers counts = in["per_rank"].get<Numbers>();
  std::int64_t tokens =
      std::accumulate(counts.begin(), counts.end(), std::int64_t(0));
  // The largest part, as Zigzag and Contiguous give it: the first rank's.
  std::int64_t largest = countTokens(
      {Kind::Zigzag, in["cp"], 0, 1, Of::Request}, makeRequest(tokens));
  REQUIRE(largest == expected);
}

void checkInterleave(const Json &in, const Json &expected) {
  std::int64_t cp = in["cp"];
  for (std::int64_t rank = 0; rank < cp; ++rank)
    REQUIRE(Json(toTokens({Kind::Cyclic, cp, rank, 1, Of::Request},
                          makeRequest(in["tokens"]))) == expected[rank]);
}

void checkThdOrder(const Json &in, const Json &expected) {
  Numbers ends = in["cu"].get<Numbers>(), order;
  for (std::size_t i = 1; i < ends.size(); ++i)
    for (const Interval &interval :
         getZigzag(ends[i] - ends[i - 1], in["cp"], in["rank"]))
      for (std::int64_t k = interval.begin; k < interval.end; ++k)
        order.push_back(k);
  REQUIRE(Json(order) == expected);
}

} // namespace

Checks layline::kv::vectors::getComputeChecks() {
  return {{"zigzag", checkZigzag},
          {"zigzag_batch", checkZigzagBatch},
          {"moe_cp_pad", checkPadding},
          {"interleave", checkInterleave},
          {"thd_order", checkThdOrder}};
}
