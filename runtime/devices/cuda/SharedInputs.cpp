#include "devices/cuda/SharedInputs.h"

#include "plan/Error.h"

#include <algorithm>

namespace layline::runtime::cuda {
namespace {

/// What cuMemAlloc aligns to, and kernels expect of a value.
constexpr std::size_t kAlignment = 256;

/// Marks the input buffers that collectives over cards read.
void mark(const Step &step, const Variant &variant, const Groups &groups,
          std::vector<bool> &isShared) {
  for (const Step &inner : step.body)
    mark(inner, variant, groups, isShared);
  if (!step.info().isCollective ||
      groups.reach(step.attrs.group) != Reach::Peers)
    return;
  for (const std::vector<Operand> &list : step.args)
    for (const Operand &operand : list)
      if (operand.of == Operand::Of::Buffer &&
          variant.buffers[operand.index].kind == Buffer::Class::Input)
        isShared[operand.index] = true;
}

} // namespace

SharedInputs::SharedInputs(const Plan &plan, const std::vector<RankView> &ranks,
                           const std::vector<std::size_t> &islands,
                           const Groups &groups)
    : plan_(plan) {
  std::size_t most = 0;
  for (const Variant &variant : plan.variants) {
    std::vector<bool> isShared(variant.buffers.size());
    for (const Step &step : variant.steps)
      mark(step, variant, groups, isShared);
    Environment longest;
    longest.tokens = variant.maxTokens;
    longest.past = plan.past.max;
    std::vector<Room> rooms(variant.buffers.size());
    std::size_t used = 0;
    for (std::size_t b = 0; b < rooms.size(); ++b) {
      if (!isShared[b])
        continue;
      // A rank's part is no larger than the whole.
      const Buffer &buffer = variant.buffers[b];
      rooms[b] = {used, static_cast<std::size_t>(checkedMul(
                            elements(globalShape(buffer.shape, longest)),
                            sizeof(std::int64_t), "size of an input"))};
      used += (rooms[b].bytes + kAlignment - 1) / kAlignment * kAlignment;
    }
    most = std::max(most, used);
    rooms_.push_back(std::move(rooms));
  }
  if (most > 0)
    memory_ = IslandMemory(ranks, islands, most, Multicast::Never,
                           "inputs that cards share");
}

std::optional<SharedInputs::Place>
SharedInputs::find(const Variant &variant, std::size_t buffer,
                   const RankView &rank) const {
  auto number = static_cast<std::size_t>(&variant - plan_.variants.data());
  const Room &room = rooms_[number][buffer];
  if (room.bytes == 0)
    return std::nullopt;
  return Place{memory_.part(rank) + room.offset, room.bytes};
}

} // namespace layline::runtime::cuda
