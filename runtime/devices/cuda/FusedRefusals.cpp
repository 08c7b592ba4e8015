// Why steps that have a kernel run step by step all the same.
#include "devices/cuda/FusedLaunches.h"

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

/// What the kernels of rows take a vector at a time.
constexpr Address kAlignment = 16;

} // namespace

/// Why a kernel that there is is not launched, or "".
std::string FusedLaunches::refusal(const RankView &rank,
                                   const LaunchPlan &planned) const {
  const RowWork &work = planned.work;
  if (work.isArranged)
    return "its parts are no blocks of rows, which the kernel would leave one "
           "behind another";
  if (planned.variant.waits()) {
    if (groups_.reach(planned.group) == Reach::Nccl)
      return "the cards of its ranks do not reach one another's memory";
    if (std::int64_t blocks = residentBlocks(planned.variant); blocks < 1)
      return concat("its blocks wait for one another, and a card has no room "
                    "for those of ",
                    ranksOnCard_, " ranks on ", waitingStreams_, " streams");
  }
  if (planned.variant.family == kernels::Family::Broadcast)
    return broadcastRefusal(rank, planned);
  for (const Operand *operand :
       {work.rows, work.bias, work.innerWeight, work.residual, work.weight,
        work.normBias, work.gate, work.values, work.residualOut}) {
    if (!operand)
      continue;
    Numbers numbers = rank.numbers(*operand);
    if (planned.variant.family == kernels::Family::GatherRows) {
      // Inside a fused step that runs step by step numbers are float32.
      std::int64_t bytes = isInteger(operand->dtype)
                               ? std::int64_t(sizeof(std::int64_t))
                               : local::numberBytes(numbers.type);
      if (bytes != planned.elementBytes)
        return concat("a value is kept in ", bytes,
                      " bytes where the kernel takes ", planned.elementBytes);
    } else if (numbers.type != numberType(planned.variant.dtype))
      return concat("a value is kept in ", nameOf(numbers.type),
                    " where the kernel takes ",
                    nameOf(numberType(planned.variant.dtype)));
    if (reinterpret_cast<Address>(numbers.data) % kAlignment != 0)
      return concat("a value does not begin at a multiple of ", kAlignment,
                    " bytes");
  }
  return "";
}

/// Rows are bytes of one type on both sides, a vector at a time.
std::string FusedLaunches::broadcastRefusal(const RankView &rank,
                                            const LaunchPlan &planned) const {
  for (const char *name : {"input", "output"}) {
    const Operand &operand = planned.step->arg(name);
    std::int64_t each = isInteger(operand.dtype)
                            ? std::int64_t(sizeof(std::int64_t))
                            : local::numberBytes(rank.numbers(operand).type);
    if (std::int64_t bytes =
            checkedMul(elements(rank.shape(operand)), each, "size of a value");
        bytes != planned.bytes)
      return concat("its ", name, " is kept in ", bytes,
                    " bytes where the kernel takes ", planned.bytes);
    // Inputs of a run are tables of its parameters, which are aligned.
    const Buffer &buffer = rank.run->variant->buffers[operand.index];
    if (buffer.kind != Buffer::Class::Input &&
        rank.address(operand.index) % kAlignment != 0)
      return concat("its ", name, " does not begin at a multiple of ",
                    kAlignment, " bytes");
  }
  return "";
}

} // namespace layline::runtime::cuda
