//===- VectorDcp.cpp - tokens over decode context ranks -------------------===//
#include "VectorChecks.h"

#include <set>

using namespace layline::kv;
using namespace layline::kv::vectors;

namespace {

/// The engine's lists begin behind the prefix and the chunk's first page; ours
/// with the request.
Relayout makeDcp(const Json &in) {
  std::int64_t page = in["page"], dcp = in["dcp"];
  std::int64_t prefix = in.value("decode_prefix_len", 0);
  std::int64_t begin = prefix + in.value("src_page_offset", 0) * page;
  std::int64_t pages = static_cast<std::int64_t>(in["src_pages"].size());
  std::int64_t tokens = in.value("tokens", pages * page);
  Relayout move;
  move.sourcePageTokens = move.targetPageTokens = page;
  move.sourcePages.assign(begin / page, 99);
  for (std::int32_t id : toPages(in["src_pages"]))
    move.sourcePages.push_back(id);
  move.targetPages.assign(prefix / (page * dcp), 98);
  for (std::int32_t id : toPages(in["dst_pages"]))
    move.targetPages.push_back(id);
  move.targetTokens = {Kind::Cyclic, dcp, in["rank"], 1, Of::Request};
  move.request = makeRequest(begin + tokens);
  move.request.chunk.begin = begin;
  move.request.prefix = prefix;
  return move;
}

void checkDcpRelayout(const Json &in, const Json &expected) {
  Numbers source, target;
  for (const auto &[from, to, bytes] : makeDcp(in).find()) {
    REQUIRE(bytes == 1);
    source.push_back(from);
    target.push_back(to);
  }
  REQUIRE(Json({source, target}) == expected);
}

void checkDcpReject(const Json &in, const Json &expected) {
  if (in.contains("decode_prefix_len")) {
    // A prefix that ends inside a virtual page: the profile of that engine
    // refuses it, the other needs no such border.
    std::string dcp = std::to_string(in["dcp"].get<int>());
    std::string page = std::to_string(in["page"].get<int>());
    for (bool isCompat : {true, false}) {
      Plan plan =
          makePlan(makeLatent(1, 8), "tp" + dcp + ",page" + page,
                   "tp" + dcp + ",dcp" + dcp + ",page" + page,
                   isCompat ? Profile::SGLangCompat : Profile::Optimised);
      Request request = makeRequest(8);
      request.prefix = in["decode_prefix_len"];
      FakeMemory from(plan.source, static_cast<int>(0), 8,
                      std::uint64_t(1) << 40);
      FakeMemory to(plan.target, static_cast<int>(0), 8,
                    std::uint64_t(1) << 40);
      auto bind = [&] { Binding(plan, request, 0, 0, from.memory, to.memory); };
      if (isCompat)
        REQUIRE_THROWS(bind());
      else
        REQUIRE_NOTHROW(bind());
    }
    return;
  }
  REQUIRE(expected.is_string());
  REQUIRE_THROWS(makeDcp(in).find());
}

void checkDcpGroup(const Json &in, const Json &expected) {
  Relayout move = makeDcp(in);
  move.rowBytes = 8;
  Blocks raw = move.find();
  REQUIRE(raw.size() == expected["raw_runs"]);
  // Packed at the source: what is side by side at the target is one.
  std::int64_t packed = 0, end = -1;
  for (const auto &[source, target, bytes] : raw) {
    packed += target != end;
    end = target + bytes;
  }
  REQUIRE(packed == expected["packed_runs"]);
  REQUIRE(static_cast<std::int64_t>(raw.size()) == expected["packed_len"]);
}

void checkDcpPackBytes(const Json &in, const Json &expected) {
  std::int64_t dcp = in["dcp"], bytes = 0;
  std::int64_t most = countTokens({Kind::Cyclic, dcp, 0, 1, Of::Request},
                                  makeRequest(in["max_tokens"]));
  for (std::int64_t item : in["kv_item_lens"].get<Numbers>())
    bytes += dcp * most * (item / in["page"].get<std::int64_t>());
  REQUIRE(bytes == expected);
}

void checkDcpOffsets(const Json &in, const Json &expected) {
  Json source = Json::array(), target = Json::array();
  for (std::int64_t row : in["row_bytes"].get<Numbers>()) {
    Relayout move = makeDcp(in);
    move.rowBytes = row;
    Numbers from, to;
    for (const auto &[s, t, bytes] : move.find()) {
      from.push_back(s);
      to.push_back(t);
      REQUIRE(bytes == row);
    }
    source.push_back(from);
    target.push_back(to);
  }
  REQUIRE(source == expected["src_off"]);
  REQUIRE(target == expected["dst_off"]);
}

/// Which source ranks a target rank gets anything from.
Json getSources(const Plan &plan, int target) {
  std::set<int> sources;
  for (const Transfer &transfer : plan.transfers)
    if (transfer.target == target)
      sources.insert(transfer.source);
  return sources;
}

void checkDcpTargets(const Json &in, const Json &expected) {
  std::int64_t dcp = in["prefill_dcp"];
  // There dcp is an axis of its own, here it is part of tp.
  std::string from =
      "page16,tp" + std::to_string(in["prefill_tp"].get<std::int64_t>() * dcp) +
      ",dcp" + std::to_string(dcp);
  std::string to =
      "page16,tp" + std::to_string(in["decode_tp"].get<std::int64_t>()) +
      ",dcp" + std::to_string(in["decode_dcp"].get<std::int64_t>());
  Plan plan = makePlan(makeByteHeads(1, 2, 8), from, to, Profile::Optimised);
  for (std::size_t rank = 0; rank < expected.size(); ++rank)
    REQUIRE(getSources(plan, static_cast<int>(rank)) == expected[rank]);
}

void checkMlaSources(const Json &in, const Json &expected) {
  auto side = [](std::int64_t tp, std::int64_t dcp) {
    return "tp" + std::to_string(tp) +
           (dcp > 1 ? ",dcp" + std::to_string(dcp) : "");
  };
  std::int64_t dcp = in["local_dcp"];
  Plan plan =
      makePlan(makeLatent(1, 8), side(in["remote_tp"], in["remote_dcp"]),
               side(dcp, dcp), Profile::Optimised);
  REQUIRE(getSources(plan, in["local_dcp_rank"]) == expected);
}

void checkLocalLengths(const Json &in, const Json &expected) {
  std::int64_t world = in["world"];
  Json found = Json::array();
  for (std::int64_t tokens : in["seq_lens"].get<Numbers>()) {
    Numbers counts;
    for (std::int64_t rank = 0; rank < world; ++rank)
      counts.push_back(countTokens(
          {Kind::Cyclic, world, rank, in["interleave"], Of::Request},
          makeRequest(tokens)));
    found.push_back(counts);
  }
  REQUIRE(found == expected);
}

void checkSlotMapping(const Json &in, const Json &expected) {
  std::int64_t block = in["block"];
  Numbers table = in["block_table"].get<Numbers>();
  TokenPart part{Kind::Cyclic, in["world"], in["rank"], in["interleave"],
                 Of::Request};
  Numbers slots(expected.size(), -1);
  Request request = makeRequest(static_cast<std::int64_t>(expected.size()));
  for (std::int64_t token : toTokens(part, request)) {
    std::int64_t slot = getSlot(part, request, token);
    slots[token] = table[slot / block] * block + slot % block;
  }
  REQUIRE(Json(slots) == expected);
}

} // namespace

Checks layline::kv::vectors::getDcpChecks() {
  return {{"dcp_relayout", checkDcpRelayout},
          {"dcp_reject", checkDcpReject},
          {"dcp_group", checkDcpGroup},
          {"dcp_pack_bytes", checkDcpPackBytes},
          {"dcp_offsets", checkDcpOffsets},
          {"dcp_tp_targets", checkDcpTargets},
          {"mla_dcp_sources", checkMlaSources},
          {"dcp_local_len", checkLocalLengths},
          {"slot_mapping", checkSlotMapping}};
}
