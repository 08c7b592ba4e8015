//===- PageCopies.cpp - which pages a transfer moves ----------------------===//
#include "PageCopies.h"
#include "RequestPages.h"

#include <algorithm>
#include <map>

using namespace layline::kv;

/// RequestPages has a buffer every 2^40 bytes.
constexpr std::uint64_t kInBuffer = (std::uint64_t(1) << 40) - 1;

static std::int64_t getPageBytes(const Side &side, const Rank &rank,
                                 std::uint64_t address) {
  std::int64_t ordinal = static_cast<std::int64_t>(address >> 40) - 1;
  for (std::size_t i = 0; i < side.buffers.size(); ++i) {
    ordinal -= static_cast<std::int64_t>(rank.layers[i].size());
    if (ordinal < 0)
      return side.buffers[i].pageBytes;
  }
  return 1;
}

/// Of one part of a binding.
static std::vector<PageCopy>
findCopies(const Plan &plan, const Binding &binding, const Part &part) {
  const Transfer &transfer = plan.transfers[part.transfer];
  const Rank &from = plan.source.ranks[transfer.source];
  const Rank &to = plan.target.ranks[transfer.target];
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> found;
  binding.forEachBlock(
      part.first, part.descriptors,
      [&](std::uint64_t s, std::uint64_t t, std::uint64_t bytes) {
        std::int64_t a = getPageBytes(plan.source, from, s);
        std::int64_t b = getPageBytes(plan.target, to, t);
        auto buffer = static_cast<std::int64_t>(t >> 40);
        for (std::uint64_t done = 0; done < bytes;) {
          auto x = static_cast<std::int64_t>((s + done) & kInBuffer);
          auto y = static_cast<std::int64_t>((t + done) & kInBuffer);
          std::int64_t region = (buffer << 40) + y % b;
          std::int64_t &first =
              found.try_emplace({x / a, y / b}, region).first->second;
          first = std::min(first, region);
          done += static_cast<std::uint64_t>(std::min(a - x % a, b - y % b));
        }
      });
  std::vector<PageCopy> copies;
  for (const auto &[pages, region] : found)
    copies.push_back({pages.first, pages.second, region});
  return copies;
}

std::vector<std::vector<PageCopy>>
layline::kv::findPageCopies(const Plan &plan, std::int64_t tokens) {
  std::vector<std::vector<PageCopy>> copies(plan.transfers.size());
  Request request;
  request.tokens = tokens;
  request.chunk = {0, tokens};
  for (std::size_t i = 0; i < plan.transfers.size();) {
    int source = plan.transfers[i].source, target = plan.transfers[i].target;
    RequestPages from(plan.source, plan.source.ranks[source], tokens,
                      PageOrder::Contiguous);
    RequestPages to(plan.target, plan.target.ranks[target], tokens,
                    PageOrder::Contiguous);
    Binding binding(plan, request, source, target, from.getMemory(),
                    to.getMemory());
    for (const Part &part : binding.getParts())
      copies[part.transfer] = findCopies(plan, binding, part);
    while (i < plan.transfers.size() && plan.transfers[i].source == source &&
           plan.transfers[i].target == target)
      ++i;
  }
  return copies;
}
