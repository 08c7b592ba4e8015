#include "plan/Check.h"

#include <algorithm>
#include <set>

namespace layline::runtime {
namespace {

/// After how many items the parts of a range look alike again.
std::int64_t period(const Plan &plan, int index) {
  constexpr std::int64_t kEnough = 64;
  std::int64_t result = 1;
  for (; index >= 0 && result < kEnough; index = plan.ranges[index].within) {
    const Range &range = plan.ranges[index];
    result *= std::min(plan.axes[range.axis].size, kEnough);
    result *= range.kind == Range::Kind::Zigzag ? 2
              : range.kind == Range::Kind::Cyclic
                  ? std::min(range.interleave, kEnough)
                  : 1;
  }
  return result;
}

/// Token counts at which expressions are tried: the ends of every variant and,
/// for the uneven cases, all counts of two periods.
std::set<std::int64_t> sampleTokens(const Plan &plan, int range) {
  std::set<std::int64_t> samples;
  auto add = [&](std::int64_t tokens) {
    if (plan.tokens.min <= tokens && tokens <= plan.tokens.max)
      samples.insert(tokens);
  };
  std::int64_t ranks = plan.axes[plan.ranges[range].axis].size;
  for (std::int64_t i = 0,
                    e = std::min<std::int64_t>(2 * period(plan, range), 64) + 1;
       i <= e; ++i)
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

Part readPart(const Range &range, std::int64_t extent, std::int64_t ranks,
              std::int64_t rank) {
  Part heads = blockPart(range.of, ranks, rank);
  if (heads.size == 0)
    return {};
  std::int64_t perHead = range.of / extent;
  std::int64_t first = heads.begin / perHead;
  return {first, (heads.end() - 1) / perHead - first + 1};
}

/// What a rank reads and no rank before it does.
Part firstReadPart(const Range &range, std::int64_t extent, std::int64_t ranks,
                   std::int64_t rank) {
  Part part = readPart(range, extent, ranks, rank);
  std::int64_t end = part.end();
  for (std::int64_t lower = 0; lower < rank; ++lower)
    part.begin =
        std::max(part.begin, readPart(range, extent, ranks, lower).end());
  part.size = std::max<std::int64_t>(0, end - part.begin);
  return part;
}

/// Begin and size of the segments that the kind gives a rank.
std::vector<Part> expectedSegments(const Range &range, std::int64_t extent,
                                   std::int64_t ranks, std::int64_t rank) {
  switch (range.kind) {
  case Range::Kind::Block:
    return {blockPart(extent, ranks, rank)};
  case Range::Kind::Readers:
    return {readPart(range, extent, ranks, rank)};
  case Range::Kind::FirstReaders:
    return {firstReadPart(range, extent, ranks, rank)};
  case Range::Kind::Routed:
    return {{0, extent}};
  case Range::Kind::Zigzag:
    return {blockPart(extent, 2 * ranks, rank),
            blockPart(extent, 2 * ranks, 2 * ranks - 1 - rank)};
  case Range::Kind::Cyclic:
    break;
  }
  // Whole periods, then what is left of the one that is cut off.
  std::int64_t run = range.interleave, all = ranks * run;
  std::int64_t rest = extent % all - rank * run;
  return {{rank * run,
           extent / all * run + std::clamp<std::int64_t>(rest, 0, run)}};
}

const char *whatKindGives(Range::Kind kind) {
  switch (kind) {
  case Range::Kind::Block:
    return "the block";
  case Range::Kind::Readers:
    return "what it reads";
  case Range::Kind::FirstReaders:
    return "what it is the first to read";
  case Range::Kind::Routed:
    return "a place for every row";
  case Range::Kind::Zigzag:
    return "of zigzag it";
  case Range::Kind::Cyclic:
    break;
  }
  return "of cyclic it";
}

/// [begin, end), or the items of a strided segment.
std::string printSegment(const Segment &segment, Part part) {
  if (!segment.isStrided())
    return concat("[", part.begin, ", ", part.end(), ")");
  return concat(part.size, " items from ", part.begin, " on in runs of ",
                segment.block, " that are ", segment.stride, " apart");
}

/// One rank's segments are what the kind says.
void checkSegments(const Plan &plan, int index, std::int64_t extent,
                   const Environment &environment) {
  const Range &range = plan.ranges[index];
  std::int64_t rank = environment.coordinates[range.axis];
  auto who = [&] {
    std::string text =
        concat("rank ", rank, " on axis '", plan.axes[range.axis].name, "'");
    for (int r = range.within; r >= 0; r = plan.ranges[r].within)
      text +=
          concat(" within rank ", environment.coordinates[plan.ranges[r].axis],
                 " on axis '", plan.axes[plan.ranges[r].axis].name, "'");
    return text;
  };
  std::vector<Part> expected =
      expectedSegments(range, extent, plan.axes[range.axis].size, rank);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Segment &segment = range.segments[i];
    Part found{evaluate(segment.begin, environment),
               evaluate(segment.size, environment)};
    checkedAdd(found.begin, found.size, "end of a part");
    // Where an empty part begins does not matter.
    if (found.size != expected[i].size ||
        (expected[i].size > 0 && found.begin != expected[i].begin))
      invalid("gives ", who(), " ",
              expected.size() > 1 ? concat("in segment ", i, " ")
                                  : std::string(),
              printSegment(segment, found), " of ", extent, " for ",
              environment.tokens, " tokens; ", whatKindGives(range.kind),
              " is ", printSegment(segment, expected[i]));
    if (found.size == 0 && !segment.isStrided() &&
        (found.begin < 0 || found.begin > extent))
      invalid("gives ", who(), " an empty part at ", found.begin, " of ",
              extent);
  }
}

bool dependsOnTokens(const Plan &plan, int index) {
  for (; index >= 0; index = plan.ranges[index].within) {
    const Range &range = plan.ranges[index];
    if (uses(range.extent, {Expr::Op::Tokens}))
      return true;
    for (const Segment &segment : range.segments)
      if (uses(segment.begin, {Expr::Op::Tokens}) ||
          uses(segment.size, {Expr::Op::Tokens}))
        return true;
  }
  return false;
}

/// What the rank has of the dimension that the range deals out.
std::int64_t extentFor(const Plan &plan, const Range &range,
                       const Environment &environment) {
  std::int64_t extent = evaluate(range.extent, environment);
  if (extent < 0)
    invalid("has extent ", extent, " for ", environment.tokens, " tokens");
  if (range.hasQueryHeads() && (extent == 0 || range.of % extent != 0))
    invalid("has ", range.of, " query heads for ", extent,
            " KV heads; a multiple is expected");
  return extent;
}

void checkFeature(const Plan &plan, const Range &range) {
  bool isOld =
      range.kind == Range::Kind::Block || range.kind == Range::Kind::Readers;
  if (isOld && !range.isNested())
    return;
  const char *feature = range.kind == Range::Kind::FirstReaders
                            ? "row_statistics"
                        : range.isRouted() ? "expert_parallel"
                                           : "segmented_ranges";
  if (!plan.hasFeature(feature))
    invalid("is ",
            range.isNested() ? "within '" + plan.ranges[range.within].id + "'"
                             : concat("of kind '", kindName(range.kind), "'"),
            "; 'requires' does not list the feature '", feature, "'");
}

void checkRange(const Plan &plan, int index) {
  const Range &range = plan.ranges[index];
  checkFeature(plan, range);
  std::set<std::int64_t> samples = sampleTokens(plan, index);
  if (!dependsOnTokens(plan, index))
    samples = {plan.tokens.min};
  // Of all ranges only the one around this may be asked for.
  std::vector<Part> outer(plan.ranges.size());
  for (std::int64_t tokens : samples)
    plan.forEachSetting(
        plan.axesOf(index), [&](const std::vector<std::int64_t> &coordinates) {
          if (range.isNested())
            outer[range.within] = plan.part(range.within, tokens, coordinates);
          Environment environment{tokens, 0, coordinates.data(), outer.data()};
          checkSegments(plan, index, extentFor(plan, range, environment),
                        environment);
        });
}

} // namespace

void checkRanges(const Plan &plan, Findings &findings) {
  for (std::size_t i = 0; i < plan.ranges.size(); ++i)
    findings.of([&] {
      try {
        checkRange(plan, static_cast<int>(i));
      } catch (const Error &error) {
        invalid("range '", plan.ranges[i].id, "': ", error.what());
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
