// Why steps that have a kernel run step by step all the same.
#include "devices/cuda/FusedLaunches.h"
#include "devices/cuda/FusedParams.h"

#include "plan/Error.h"

namespace layline::runtime::cuda {
namespace {

NumberType numberType(kernels::DType dtype) {
  return dtype == kernels::DType::BF16  ? NumberType::BF16
         : dtype == kernels::DType::F16 ? NumberType::F16
                                        : NumberType::F32;
}

const char *nameOf(NumberType type) {
  static const char *const names[] = {"f32", "bf16", "f16", "e4m3", "e5m2"};
  return names[static_cast<std::size_t>(type)];
}

/// Bytes that kernels take at a time, at multiples of which values begin.
constexpr Address kVector = 16, kWord = 4, kElement = 1;

std::string whyNotAligned(Address address, Address unit) {
  if (address % unit == 0)
    return "";
  return concat("a value does not begin at a multiple of ", unit, " bytes");
}

/// Why a kernel cannot take numbers as they are kept: it wants this type, and
/// so many bytes at a time.
std::string whyNotTaken(const Numbers &numbers, NumberType type,
                        Address unit = kVector) {
  if (numbers.type != type)
    return concat("a value is kept in ", nameOf(numbers.type),
                  " where the kernel takes ", nameOf(type));
  return whyNotAligned(reinterpret_cast<Address>(numbers.data), unit);
}

/// The same of values that are bytes to a kernel.
std::string whyNotMoved(const RankView &rank, const Operand &operand,
                        std::int64_t taken, Address unit = kVector) {
  std::int64_t each = isInteger(operand.dtype)
                          ? std::int64_t(sizeof(std::int64_t))
                          : local::numberBytes(rank.numbers(operand).type);
  // Inside a fused step that runs step by step numbers are float32.
  if (std::int64_t bytes =
          checkedMul(elements(rank.shape(operand)), each, "size of a value");
      bytes != taken)
    return concat("a value is kept in ", bytes,
                  " bytes where the kernel takes ", taken);
  // Inputs of a run are tables of its parameters, which are aligned.
  const Buffer &buffer = rank.run->variant->buffers[operand.index];
  return buffer.kind == Buffer::Class::Input
             ? ""
             : whyNotAligned(rank.address(operand.index), unit);
}

std::string whyNotRows(const RankView &rank, const LaunchPlan &planned) {
  const RowWork &work = planned.work;
  if (work.isArranged)
    return "its parts are no blocks of rows, which the kernel would leave one "
           "behind another";
  // The product of payload and scales is made behind the kernel, of any type
  // where it does not hold those two.
  const Operand *values =
      work.isQuantized() && !planned.isGathered() ? nullptr : work.values;
  for (const Operand *operand :
       {work.rows, work.bias, work.innerWeight, work.residual, work.weight,
        work.normBias, work.gate, values, work.exact, work.residualOut})
    if (operand)
      if (std::string why = whyNotTaken(rank.numbers(*operand),
                                        numberType(planned.variant.dtype));
          !why.empty())
        return why;
  if (!work.isQuantized())
    return "";
  // A kernel would send them to everyone too, beside the payload.
  if (work.exact && planned.isGathered())
    return "rows leave it that are gathered quantized";
  const QuantizedRows rows = quantizedRows(rank, planned);
  std::string why = whyNotTaken(rows.payload, NumberType::E4M3);
  return why.empty() ? whyNotTaken(rows.scales, NumberType::F32, kElement)
                     : why;
}

std::string whyNotGathered(const RankView &rank, const LaunchPlan &planned) {
  const RowWork &work = planned.work;
  if (work.isArranged)
    return whyNotRows(rank, planned);
  const std::int64_t
      rowBytes = planned.problem.width,
      own =
          planned.own(static_cast<std::int64_t>(memberOf(rank, planned))).size;
  const Address unit = planned.variant.byElement ? kWord : kVector;
  std::string why = whyNotMoved(rank, *work.rows, own * rowBytes, unit);
  return why.empty() ? whyNotMoved(rank, *work.values,
                                   planned.problem.tokens * rowBytes, unit)
                     : why;
}

std::string whyNotBroadcast(const RankView &rank, const LaunchPlan &planned) {
  std::string why =
      whyNotMoved(rank, planned.step->arg("input"), planned.bytes);
  return why.empty()
             ? whyNotMoved(rank, planned.step->arg("output"), planned.bytes)
             : why;
}

std::string whyNotRotated(const RankView &rank, const LaunchPlan &planned) {
  const Numbers from = rank.numbers(planned.step->arg("input")),
                to = rank.numbers(planned.step->arg("output"));
  for (const Numbers &numbers : {from, to})
    if (std::string why =
            whyNotTaken(numbers, numberType(planned.variant.dtype),
                        planned.variant.byElement ? kElement : kVector);
        !why.empty())
      return why;
  // A kernel's threads each read what they write over.
  if (planned.variant.style == kernels::RopeStyle::InterleavedToHalf &&
      from.data == to.data)
    return "pairs change their places in one buffer";
  return "";
}

std::string whyNotMixed(const RankView &rank, const LaunchPlan &planned) {
  // merge_experts gives them no sum, where nothing is expected.
  if (rank.isRouted(planned.step->arg("input")))
    return "its rows were dispatched, and some places have none";
  for (const char *name : {"input", "output"})
    if (std::string why = whyNotTaken(rank.numbers(planned.step->arg(name)),
                                      numberType(planned.variant.dtype));
        !why.empty())
      return why;
  return "";
}

/// Pages are the engine's to lay out, in every run anew, where a launch is made
/// for many: rows of the device's own caches are scattered, as of one page. By
/// vectors where sizes and addresses allow it, which the kernel sees for
/// itself, else by words.
std::string whyNotScattered(const RankView &rank, const LaunchPlan &planned) {
  const Operand &input = planned.step->arg("input"),
                &cache = planned.step->arg("cache");
  const CacheRows &rows = rank.caches[static_cast<std::size_t>(cache.index)];
  if (rows.hooks)
    return "its rows are in pages of the engine's";
  const std::int64_t bytes = rows.slice.rowElements() * rows.elementBytes;
  if (bytes % static_cast<std::int64_t>(kWord) != 0)
    return concat("rows of ", bytes, " bytes, kernels move multiples of ",
                  kWord);
  if (!isInteger(input.dtype))
    if (std::string why = whyNotTaken(rank.numbers(input),
                                      rank.pages(cache).rows.type, kWord);
        !why.empty())
      return why;
  return whyNotMoved(rank, input, planned.problem.tokens * bytes, kWord);
}

} // namespace

/// What is owed and what is for everyone must lie where the switch reaches it
/// on the ranks of the group, and on no others.
std::string FusedLaunches::whyNotBySwitch(const RankView &rank,
                                          const LaunchPlan &planned) const {
  const RowAddresses at = addressesOf(rank, planned);
  auto why = [&](const void *memory) -> std::string {
    const ArenaPlace *arena = memory ? rank.arenaOf(memory) : nullptr;
    if (!memory)
      return "";
    if (!arena)
      return "a value is in no arena";
    if (arena->multicast == 0)
      return arena->whyNoMulticast;
    if (auto members = static_cast<std::size_t>(planned.variant.ranks);
        members != arena->ranks)
      return concat("its group has ", members, " of the ", arena->ranks,
                    " ranks that the switch would reach");
    return "";
  };
  std::string reason = planned.variant.isOwed() ? why(at.rows) : "";
  if (planned.variant.isForEveryone())
    for (const void *memory : {static_cast<const void *>(at.values),
                               static_cast<const void *>(at.payload),
                               static_cast<const void *>(at.scales)})
      if (reason.empty())
        reason = why(memory);
  return reason;
}

/// Why a kernel that there is is not launched, or "".
std::string FusedLaunches::refusal(const RankView &rank,
                                   const LaunchPlan &planned) const {
  if (planned.variant.waits()) {
    if (groups_.reach(planned.group) == Reach::Nccl)
      return groups_.isOfSeveralProcesses(planned.group)
                 ? "its ranks are in several processes"
                 : "the cards of its ranks do not reach one another's memory";
    if (std::int64_t blocks = residentBlocks(planned.variant); blocks < 1)
      return concat("its blocks wait for one another, and a card has no room "
                    "for those of ",
                    ranksOnCard_, " ranks on ", waitingStreams_, " streams");
  }
  switch (planned.variant.family) {
  case kernels::Family::Rope:
    return whyNotRotated(rank, planned);
  case kernels::Family::Broadcast:
    return whyNotBroadcast(rank, planned);
  case kernels::Family::ScatterPages:
    return whyNotScattered(rank, planned);
  case kernels::Family::MergeExperts:
    return whyNotMixed(rank, planned);
  case kernels::Family::GatherRows:
    return whyNotGathered(rank, planned);
  default:
    return whyNotRows(rank, planned);
  }
}

} // namespace layline::runtime::cuda
