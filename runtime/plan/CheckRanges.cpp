#include "plan/Check.h"

#include <algorithm>
#include <set>

namespace layline::runtime {
namespace {

/// Token counts at which expressions are tried: the ends of every variant and,
/// for the uneven cases, all counts around one and two rows per rank.
std::set<std::int64_t> sampleTokens(const Plan &plan, std::int64_t ranks) {
  std::set<std::int64_t> samples;
  auto add = [&](std::int64_t tokens) {
    if (plan.tokens.min <= tokens && tokens <= plan.tokens.max)
      samples.insert(tokens);
  };
  for (std::int64_t i = 0; i <= std::min<std::int64_t>(2 * ranks, 64) + 1; ++i)
    add(plan.tokens.min + i);
  for (std::int64_t tokens : {ranks - 1, ranks, ranks + 1, plan.tokens.max / 2,
                              plan.tokens.max - 1, plan.tokens.max})
    add(tokens);
  for (const Variant &variant : plan.variants) {
    add(variant.minTokens);
    add(variant.maxTokens);
  }
  return samples;
}

Part blockPart(std::int64_t extent, std::int64_t ranks, std::int64_t rank) {
  std::int64_t quotient = extent / ranks, remainder = extent % ranks;
  return {rank * quotient + std::min(rank, remainder),
          quotient + (rank < remainder ? 1 : 0)};
}

Part expectedPart(const Range &range, std::int64_t extent, std::int64_t ranks,
                  std::int64_t rank) {
  if (range.kind == Range::Kind::Block)
    return blockPart(extent, ranks, rank);
  Part heads = blockPart(range.of, ranks, rank);
  if (heads.size == 0)
    return {};
  std::int64_t perHead = range.of / extent;
  std::int64_t first = heads.begin / perHead;
  return {first, (heads.end() - 1) / perHead - first + 1};
}

void checkRange(const Plan &plan, const Range &range) {
  std::int64_t ranks = plan.axes[range.axis].size;
  bool dependsOnTokens = false;
  for (const Expr *expr : {&range.extent, &range.begin, &range.size})
    dependsOnTokens = dependsOnTokens || uses(*expr, {Expr::Op::Tokens});
  std::set<std::int64_t> samples = sampleTokens(plan, ranks);
  if (!dependsOnTokens)
    samples = {plan.tokens.min};
  std::vector<std::int64_t> coordinates(plan.axes.size(), 0);
  for (std::int64_t tokens : samples) {
    Environment environment;
    environment.tokens = tokens;
    environment.coordinates = coordinates.data();
    std::int64_t extent = evaluate(range.extent, environment);
    if (extent < 0)
      invalid("has extent ", extent, " for ", tokens, " tokens");
    if (range.kind == Range::Kind::Readers &&
        (extent == 0 || range.of % extent != 0))
      invalid("has ", range.of, " query heads for ", extent,
              " KV heads; a multiple is expected");
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      coordinates[range.axis] = rank;
      Part found{evaluate(range.begin, environment),
                 evaluate(range.size, environment)};
      Part expected = expectedPart(range, extent, ranks, rank);
      // Where an empty part begins does not matter.
      if (found.size != expected.size ||
          (expected.size > 0 && found.begin != expected.begin))
        invalid("gives rank ", rank, " on axis '", plan.axes[range.axis].name,
                "' [", found.begin, ", ", found.end(), ") of ", extent, " for ",
                tokens, " tokens; ",
                range.kind == Range::Kind::Block ? "the block"
                                                 : "what it reads",
                " is [", expected.begin, ", ", expected.end(), ")");
      if (found.size == 0 && (found.begin < 0 || found.begin > extent))
        invalid("gives rank ", rank, " an empty part at ", found.begin, " of ",
                extent);
    }
  }
}

} // namespace

void checkRanges(const Plan &plan, Findings &findings) {
  for (const Range &range : plan.ranges)
    findings.of([&] {
      try {
        checkRange(plan, range);
      } catch (const Error &error) {
        invalid("range '", range.id, "': ", error.what());
      }
    });
}

void checkVariants(const Plan &plan, Findings &findings) {
  findings.of([&] {
    std::vector<const Variant *> order;
    for (const Variant &variant : plan.variants)
      order.push_back(&variant);
    std::sort(order.begin(), order.end(),
              [](const Variant *a, const Variant *b) {
                return a->minTokens < b->minTokens;
              });
    std::int64_t next = plan.tokens.min;
    for (const Variant *variant : order) {
      if (variant->minTokens > variant->maxTokens)
        invalid("variant '", variant->id, "' has min ", variant->minTokens,
                " above max ", variant->maxTokens);
      if (variant->minTokens < next)
        invalid("variant '", variant->id, "' begins at ", variant->minTokens,
                " tokens; ",
                next > plan.tokens.min ? "the one before ends at "
                                       : "the symbol's min is ",
                next > plan.tokens.min ? next - 1 : next);
      if (variant->minTokens > next)
        invalid("no variant runs ", next, " tokens; variant '", variant->id,
                "' begins at ", variant->minTokens);
      next = variant->maxTokens + 1;
    }
    if (next <= plan.tokens.max)
      invalid("no variant runs ", next, " tokens; the symbol's max is ",
              plan.tokens.max);
    if (next - 1 > plan.tokens.max)
      invalid("variant '", order.back()->id, "' ends at ", next - 1,
              " tokens; the symbol's max is ", plan.tokens.max);
    for (const Variant &variant : plan.variants) {
      std::set<std::string> first, own;
      for (const Output &output : plan.variants.front().outputs)
        first.insert(output.id);
      for (const Output &output : variant.outputs)
        own.insert(output.id);
      if (first != own)
        invalid("variant '", variant.id, "' has other outputs than variant '",
                plan.variants.front().id, "'");
    }
  });
}

} // namespace layline::runtime
