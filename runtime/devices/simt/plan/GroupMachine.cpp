#include "devices/simt/plan/GroupMachine.h"

#include "devices/simt/plan/CopyKernel.h"
#include "kernels/LaunchSafety.h"
#include "plan/Error.h"
#include "weights/HalfFloat.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace layline::runtime {
namespace {

/// Rows begin at multiples of 16 bytes, buffers of CUDA at those of 256.
constexpr std::size_t kAlignment = 256;

/// The emulator's handler of bad accesses is the process's.
std::mutex &machineMutex() {
  static std::mutex mutex;
  return mutex;
}

kernels::Workspace planned(const kernels::WorkspaceNeed &need) {
  kernels::Workspace workspace;
  std::string error;
  if (!kernels::planWorkspace(need, workspace, error))
    fail(LAYLINE_RUN_FAILURE, error);
  return workspace;
}

const char *nameOf(kernels::FlagKind kind) {
  static const char *const names[] = {"nothing",   "the entry", "the exit",
                                      "a mailbox", "readiness", "a chunk"};
  return names[static_cast<std::size_t>(kind)];
}

} // namespace

GroupMachine::GroupMachine(const simt::Options &options,
                           const kernels::WorkspaceNeed &need,
                           kernels::DType dtype)
    : need_(need), layout_(planned(need)),
      places_(static_cast<std::size_t>(need.ranks)),
      machine_(need.ranks, options) {
  auto bytes = static_cast<std::size_t>(layout_.symmetricBytes),
       ownBytes = static_cast<std::size_t>(layout_.ownBytes);
  // Waits have no limit: where nobody can go on the emulator says who waits for
  // whom.
  WorkspaceAddresses workspace{layout_, need.maxBlocks, {}, nullptr, 0};
  workspace.symmetric =
      machine_.allocateSymmetric<unsigned char>(bytes, "symmetric workspace");
  for (unsigned char *shared : workspace.symmetric) {
    std::fill_n(shared, bytes, 0);
    std::fill_n(reinterpret_cast<std::uint32_t *>(shared + layout_.boxes),
                3 * need.ranks * layout_.boxCapacity * 4,
                dtype == kernels::DType::F32 ? kernels::kPoison32
                                             : kernels::kPoison16);
  }
  for (int member = 0; member < need.ranks; ++member) {
    workspace.own =
        machine_.allocate<unsigned char>(member, ownBytes, "own workspace");
    std::fill_n(workspace.own, ownBytes, 0);
    workspaces_.push_back(workspace);
  }
}

void GroupMachine::place(int member, Place place, const float *from,
                         std::int64_t count, kernels::DType dtype) {
  static const char *const names[kPlaces] = {
      "rows", "values",        "residual",        "residual out",
      "bias", "inner weight",  "weight",          "norm bias",
      "gate", "produced rows", "consumed values", "consumed residual"};
  Placed &placed = places_[static_cast<std::size_t>(member)][place];
  auto bytes = static_cast<std::size_t>(count * kernels::bytesOf(dtype));
  if (placed.bytes.size() < bytes + kAlignment)
    placed.bytes = AlignedBytes(bytes + kAlignment);
  auto address = reinterpret_cast<std::uintptr_t>(placed.bytes.data());
  address = (address + kAlignment - 1) / kAlignment * kAlignment;
  placed.address = reinterpret_cast<void *>(address);
  bool isShared = place == Rows || place == Values;
  machine_.registerMemory(member, placed.address, bytes, names[place],
                          isShared && need_.ranks > 1);
  if (!from) {
    // A NaN in every format.
    std::memset(placed.address, 0xff, bytes);
  } else if (dtype == kernels::DType::F32) {
    std::memcpy(placed.address, from, bytes);
  } else {
    auto *to = static_cast<std::uint16_t *>(placed.address);
    std::transform(from, from + count, to, narrowToBF16);
  }
}

void GroupMachine::fetch(int member, Place place, std::int64_t first,
                         std::int64_t count, float *to,
                         kernels::DType dtype) const {
  const void *from = at(member, place);
  if (dtype == kernels::DType::F32) {
    std::copy_n(static_cast<const float *>(from) + first, count, to);
  } else {
    const auto *bits = static_cast<const std::uint16_t *>(from) + first;
    std::transform(bits, bits + count, to, widenBF16);
  }
}

void GroupMachine::dropPlaces() {
  for (std::array<Placed, kPlaces> &ofMember : places_)
    for (Placed &placed : ofMember)
      if (placed.address)
        machine_.unregisterMemory(std::exchange(placed.address, nullptr));
}

RowAddresses GroupMachine::addressesOf(int member) const {
  RowAddresses result;
  result.rows = at(member, Rows);
  result.bias = at(member, Bias);
  result.innerWeight = at(member, InnerWeight);
  result.residual = at(member, Residual);
  result.weight = at(member, Weight);
  result.normBias = at(member, NormBias);
  result.gate = at(member, Gate);
  result.values = at(member, Values);
  result.residualOut = at(member, ResidualOut);
  return result;
}

void GroupMachine::copy(int member, const char *kernel, Place from, Place to,
                        std::int64_t bytes) {
  simt::Launch launch{kernel, {2}, {64}};
  launch.programmatic = true;
  const void *source = at(member, from);
  void *target = at(member, to);
  machine_.launch(member, launch, [=] { copyKernel(source, target, bytes); });
}

template <int P>
void GroupMachine::launch(const std::vector<const RowLaunch *> &members) {
  std::vector<RowAddresses> addresses;
  for (int member = 0; member < P; ++member)
    addresses.push_back(addressesOf(member));
  for (int member = 0; member < P; ++member) {
    auto m = static_cast<std::size_t>(member);
    const RowLaunch &its = *members[m];
    const LaunchPlan &planned = *its.planned;
    const kernels::Variant &variant = planned.variant;
    simt::Launch launch{
        variant.name(), {planned.shape.grid}, {planned.shape.block}};
    launch.cooperative = planned.shape.cooperative;
    launch.programmatic = true;
    std::int64_t rowBytes =
        planned.problem.width * kernels::bytesOf(variant.dtype);
    copy(member, "producer", Produced, Rows, planned.rowsIn(member) * rowBytes);
    auto start = [&](const auto &params) {
      using Params = std::decay_t<decltype(params)>;
      auto kernel =
          reinterpret_cast<void (*)(const Params)>(its.kernel->function);
      machine_.launch(member, launch, [=] { kernel(params); });
    };
    if (variant.family == kernels::Family::OneShot)
      start(oneShotParamsOf<P>(planned, addresses[m], workspaces_[m], member));
    else
      start(rowParamsOf<P>(planned, addresses, workspaces_[m], member));
    copy(member, "consumer", Values, Consumed,
         planned.rowsOut(member) * rowBytes);
    if (its.residualOut)
      copy(member, "consumer of the residual", ResidualOut, ConsumedResidual,
           planned.rowsKept(member) * rowBytes);
  }
}

void GroupMachine::setFailure(std::int64_t member, const std::string &text) {
  failure_ = text;
  failedMember_ = member;
}

bool GroupMachine::run(const std::vector<const RowLaunch *> &members) {
  const LaunchPlan &first = *members.front()->planned;
  const kernels::Variant &variant = first.variant;
  std::vector<std::uint64_t> digests;
  for (const RowLaunch *its : members)
    digests.push_back(kernels::digestOf(
        its->planned->variant, its->planned->problem, its->planned->shape));
  std::string error;
  if (!kernels::checkAgreement(variant.name(), digests, error) ||
      !kernels::checkWorkspace(need_, variant, first.problem, first.shape,
                               error)) {
    setFailure(0, error);
    return false;
  }
  for (std::size_t m = 0; m < members.size(); ++m) {
    const RowLaunch &its = *members[m];
    auto member = static_cast<int>(m);
    const LaunchPlan &planned = *its.planned;
    std::int64_t width = planned.problem.width, kept = planned.rowsKept(member);
    auto put = [&](Place where, const float *from, std::int64_t rows) {
      if (from)
        place(member, where, from, rows * width, variant.dtype);
    };
    put(Produced, its.rows, planned.rowsIn(member));
    put(Bias, its.bias, 1);
    put(InnerWeight, its.innerWeight, 1);
    put(Weight, its.weight, 1);
    put(NormBias, its.normBias, 1);
    put(Gate, its.gate, kept);
    bool isPart = its.isResidualWhole && kept != planned.problem.tokens;
    put(Residual,
        its.residual
            ? its.residual + (isPart ? planned.own(member).begin * width : 0)
            : nullptr,
        kept);
    auto make = [&](Place where, std::int64_t rows) {
      place(member, where, nullptr, rows * width, variant.dtype);
    };
    make(Rows, planned.rowsIn(member));
    make(Values, planned.rowsOut(member));
    make(Consumed, planned.rowsOut(member));
    if (its.residualOut) {
      make(ResidualOut, kept);
      make(ConsumedResidual, kept);
    }
  }
  simt::Report report;
  {
    std::lock_guard<std::mutex> lock(machineMutex());
    switch (need_.ranks) {
    case 1:
      launch<1>(members);
      break;
    case 2:
      launch<2>(members);
      break;
    case 3:
      launch<3>(members);
      break;
    case 4:
      launch<4>(members);
      break;
    default: // the catalogue has no other
      launch<8>(members);
    }
    report = machine_.run();
  }
  if (!report.ok())
    setFailure(std::max(report.rank, 0),
               concat("kernel ", variant.name(), ": ",
                      simt::nameOf(report.failure), ": ", report.text));
  for (std::size_t m = 0; m < members.size() && !hasFailed(); ++m) {
    const kernels::SpinError &late = *watchOf(workspaces_[m]).error;
    if (late.kind)
      setFailure(static_cast<std::int64_t>(m),
                 concat("kernel ", variant.name(), ": block ", late.block,
                        " waited too long for ",
                        nameOf(static_cast<kernels::FlagKind>(late.kind)),
                        " of ", late.flag, ": found epoch ", late.seen,
                        ", expected ", late.epoch));
  }
  for (std::size_t m = 0; m < members.size() && !hasFailed(); ++m) {
    const RowLaunch &its = *members[m];
    auto member = static_cast<int>(m);
    const LaunchPlan &planned = *its.planned;
    std::int64_t width = planned.problem.width;
    fetch(member, Consumed, 0, planned.rowsOut(member) * width, its.values,
          variant.dtype);
    if (its.residualOut)
      fetch(member, ConsumedResidual, 0, planned.rowsKept(member) * width,
            its.residualOut, variant.dtype);
    if (kernels::RowBlock own = planned.own(member); its.ungathered)
      fetch(member, Consumed, own.begin * width, own.size * width,
            its.ungathered, variant.dtype);
  }
  dropPlaces();
  return !hasFailed();
}

} // namespace layline::runtime
