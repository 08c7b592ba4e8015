// What is left to do with the results of kernels: FP8 rows become the values
// that a step's readers take, and taps get what a kernel leaves elsewhere.
#include "devices/cuda/FusedParams.h"
#include "devices/cuda/Moves.h"

#include <algorithm>

namespace layline::runtime::cuda {
namespace {

/// The rows that the rank's own operands have of what a kernel gives.
kernels::RowBlock ownRows(const RankView &rank, const LaunchPlan &its) {
  auto member = static_cast<std::int64_t>(memberOf(rank, its));
  return its.isGathered() ? its.own(member)
                          : kernels::RowBlock{0, its.rowsOut(member)};
}

/// Whether somebody reads an operand of the step behind it.
bool isWanted(const FusedStep &step, const Operand &value) {
  const Step &its = *step.launches.front().step;
  if (step.isTapped || its.kind != StepKind::Fused)
    return true;
  const std::vector<Operand> &outputs = its.list("outputs");
  return std::any_of(outputs.begin(), outputs.end(), [&](const Operand &other) {
    return other.of == value.of && other.index == value.index;
  });
}

/// A tap wants a rank's own rows as they were before they were gathered: they
/// stand in what was.
void keepUngathered(const FusedStep &step) {
  addMove(step.builder, [&](const RankView &rank) {
    const LaunchPlan &its = step.of(rank);
    Move move = moveWithin(rank, *its.work.values, *its.work.ungathered);
    kernels::RowBlock own = ownRows(rank, its);
    std::int64_t width = its.problem.width;
    move.outputItems = own.size * width;
    move.add(0, its.problem.tokens * width, own.begin * width, 0,
             own.size * width);
    return move;
  });
}

/// Own rows of `width` numbers, of those that stand one behind another.
void keepOwn(const FusedStep &step, const std::vector<Numbers> &from,
             const Operand *RowWork::*to, bool areScales) {
  addMove(step.builder, [&](const RankView &rank) {
    const LaunchPlan &its = step.of(rank);
    const Numbers &all = from[rank.place];
    std::int64_t width = areScales ? its.scaleColumns() : its.problem.width;
    kernels::RowBlock own = ownRows(rank, its);
    Move move;
    move.sources = {reinterpret_cast<Address>(all.data)};
    move.type = all.type;
    move.output = rank.numbers(*(its.work.*to));
    move.outputItems = own.size * width;
    move.add(0, (own.begin + own.size) * width, own.begin * width, 0,
             own.size * width);
    return move;
  });
}

/// Rows and scales of all ranks, by place, out of the way of what is to stand
/// in their place.
struct Quantized {
  std::vector<Numbers> payload, scales;
};
Quantized putAside(const FusedStep &step) {
  Quantized result;
  for (const RankView &rank : step.ranks) {
    const LaunchPlan &its = step.of(rank);
    QuantizedRows rows = quantizedRows(rank, its);
    const std::int64_t count =
        its.rowsOut(static_cast<std::int64_t>(memberOf(rank, its)));
    if (rows.areInTheWay)
      for (auto [numbers, width] :
           {std::pair(&rows.payload, its.problem.width),
            std::pair(&rows.scales, its.scaleColumns())}) {
        auto bytes = static_cast<std::size_t>(
            count * width * local::numberBytes(numbers->type));
        Address aside = step.builder.scratch(rank, bytes);
        step.builder.copy(rank, reinterpret_cast<Address>(numbers->data), aside,
                          bytes);
        numbers->data = reinterpret_cast<void *>(aside);
      }
    result.payload.push_back(rows.payload);
    result.scales.push_back(rows.scales);
  }
  return result;
}

void addQuantized(const FusedStep &step) {
  const RowWork &work = step.launches.front().work;
  Quantized rows = putAside(step);
  // What a kernel left in the operands themselves, in their own types, is
  // there.
  const LaunchPlan &first = step.launches.front();
  if (quantizedRows(step.ranks.front(), first).areInTheWay) {
    if (isWanted(step, *work.payload))
      keepOwn(step, rows.payload, &RowWork::payload, /*areScales=*/false);
    if (first.isGathered() && isWanted(step, *work.scaleColumns))
      keepOwn(step, rows.scales, &RowWork::scaleColumns, /*areScales=*/true);
  }
  if (!work.values)
    return;
  step.builder.kernel<local::DequantizeParams>(
      "layline_dequantize",
      [&](const RankView &rank, local::DequantizeParams &p) {
        const LaunchPlan &its = step.of(rank);
        std::size_t r = rank.place;
        std::int64_t columns = its.scaleColumns();
        p.values = rows.payload[r];
        p.scales = rows.scales[r];
        p.output = rank.numbers(*its.work.values);
        p.groups = its.rowsOut(static_cast<std::int64_t>(memberOf(rank, its))) *
                   columns;
        p.width = its.problem.width / columns;
        return blocksForElements(p.groups * p.width);
      });
}

} // namespace

QuantizedRows quantizedRows(const RankView &rank, const LaunchPlan &planned) {
  const RowWork &work = planned.work;
  QuantizedRows rows;
  if (planned.isGathered()) {
    // Everyone's rows, for which the operands have no room and no other rank's
    // address. Their product has both: two bytes an element, of which payload
    // and scales take one and, of at least 8 elements, four bytes a scale.
    Numbers values = rank.numbers(*work.values);
    auto *begin = static_cast<std::byte *>(values.data);
    rows.payload = {begin, NumberType::E4M3};
    rows.scales = {begin + planned.problem.tokens * planned.problem.width,
                   NumberType::F32};
    rows.areInTheWay = true;
    return rows;
  }
  // Inside a fused step the operand is kept in float32, with room to spare.
  Numbers payload = rank.numbers(*work.payload);
  rows.payload = {payload.data, NumberType::E4M3};
  rows.scales = rank.numbers(*work.scaleColumns);
  rows.areInTheWay = payload.type != NumberType::E4M3;
  return rows;
}

void addResults(const FusedStep &step) {
  const RowWork &work = step.launches.front().work;
  if (work.isQuantized())
    addQuantized(step);
  if (step.isTapped && work.ungathered)
    keepUngathered(step);
}

} // namespace layline::runtime::cuda
