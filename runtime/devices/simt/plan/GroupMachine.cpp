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

kernels::RowBlock RowLaunch::own(std::int64_t member) const {
  return kernels::row_block(problem.tokens, kernel->variant.ranks, member);
}

std::int64_t RowLaunch::rowsIn(std::int64_t member) const {
  return kernel->variant.family == kernels::Family::OneShot ||
                 kernel->variant.input == kernels::Input::Owed
             ? problem.tokens
             : own(member).size;
}

std::int64_t RowLaunch::rowsOut(std::int64_t member) const {
  return kernel->variant.family == kernels::Family::OneShot ||
                 kernel->variant.output == kernels::Output::Everyone
             ? problem.tokens
             : own(member).size;
}

std::int64_t RowLaunch::rowsKept(std::int64_t member) const {
  return kernel->variant.family == kernels::Family::OneShot ? problem.tokens
                                                            : own(member).size;
}

GroupMachine::GroupMachine(const simt::Options &options,
                           const kernels::WorkspaceNeed &need,
                           kernels::DType dtype)
    : need_(need), workspace_(planned(need)),
      places_(static_cast<std::size_t>(need.ranks)),
      machine_(need.ranks, options) {
  auto bytes = static_cast<std::size_t>(workspace_.symmetricBytes);
  symmetric_ =
      machine_.allocateSymmetric<unsigned char>(bytes, "symmetric workspace");
  auto ownBytes = static_cast<std::size_t>(workspace_.ownBytes);
  for (int member = 0; member < need.ranks; ++member) {
    unsigned char *shared = symmetric_[static_cast<std::size_t>(member)];
    std::fill_n(shared, bytes, 0);
    std::fill_n(reinterpret_cast<std::uint32_t *>(shared + workspace_.boxes),
                3 * need.ranks * workspace_.boxCapacity * 4,
                dtype == kernels::DType::F32 ? kernels::kPoison32
                                             : kernels::kPoison16);
    ownBytes_.push_back(
        machine_.allocate<unsigned char>(member, ownBytes, "own workspace"));
    std::fill_n(ownBytes_.back(), ownBytes, 0);
  }
}

kernels::Watch GroupMachine::watch(int member) const {
  // No limit: where nobody can go on the emulator says who waits for whom.
  return {own<kernels::SpinError>(member, workspace_.error), 0};
}

template <int P>
kernels::PeerFlags<P> GroupMachine::peerFlags(int member) const {
  kernels::PeerFlags<P> result;
  for (std::size_t peer = 0; peer < P; ++peer)
    result.flags[peer] =
        reinterpret_cast<std::uint32_t *>(symmetric_[peer] + workspace_.flags);
  result.epochs = own<std::uint32_t>(member, workspace_.epochs);
  result.maxBlocks = need_.maxBlocks;
  result.rank = static_cast<std::uint32_t>(member);
  result.watch = watch(member);
  return result;
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

kernels::RowOperands GroupMachine::operandsOf(const RowLaunch &launch,
                                              int member) const {
  kernels::RowOperands operands{};
  operands.bias = at(member, Bias);
  operands.innerWeight = at(member, InnerWeight);
  operands.residual = at(member, Residual);
  operands.residualOut = at(member, ResidualOut);
  operands.weight = at(member, Weight);
  operands.normBias = at(member, NormBias);
  operands.gate = at(member, Gate);
  operands.innerScale = launch.innerScale;
  operands.scale = launch.scale;
  operands.eps = launch.eps;
  operands.weightOffset = launch.weightOffset;
  return operands;
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
  for (int member = 0; member < P; ++member) {
    const RowLaunch &its = *members[static_cast<std::size_t>(member)];
    const kernels::Variant &variant = its.kernel->variant;
    simt::Launch launch{variant.name(), {its.shape.grid}, {its.shape.block}};
    launch.cooperative = its.shape.cooperative;
    launch.programmatic = true;
    auto width = static_cast<std::int32_t>(its.problem.width);
    std::int64_t rowBytes = width * kernels::bytesOf(variant.dtype);
    copy(member, "producer", Produced, Rows, its.rowsIn(member) * rowBytes);
    if (variant.family == kernels::Family::OneShot) {
      kernels::OneShotParams<P> params{};
      for (int peer = 0; peer < P; ++peer)
        params.boxes[peer] =
            symmetric_[static_cast<std::size_t>(peer)] + workspace_.boxes;
      params.capacity = workspace_.boxCapacity;
      params.state = own<kernels::OneShotState>(member, workspace_.state);
      params.rank = static_cast<std::uint32_t>(member);
      params.watch = watch(member);
      params.addends = at(member, Rows);
      params.tokens = its.problem.tokens;
      params.width = width;
      params.operands = operandsOf(its, member);
      params.out.values[0] = at(member, Values);
      auto kernel = reinterpret_cast<void (*)(const kernels::OneShotParams<P>)>(
          its.kernel->function);
      machine_.launch(member, launch, [=] { kernel(params); });
    } else {
      kernels::RowParams<P> params{};
      params.peers = peerFlags<P>(member);
      for (int peer = 0; peer < P; ++peer) {
        params.addends[peer] = at(peer, Rows);
        params.out.values[peer] = at(peer, Values);
      }
      params.rows = at(member, Rows);
      params.tokens = its.problem.tokens;
      params.width = width;
      params.operands = operandsOf(its, member);
      auto kernel = reinterpret_cast<void (*)(const kernels::RowParams<P>)>(
          its.kernel->function);
      machine_.launch(member, launch, [=] { kernel(params); });
    }
    copy(member, "consumer", Values, Consumed, its.rowsOut(member) * rowBytes);
    if (its.residualOut)
      copy(member, "consumer of the residual", ResidualOut, ConsumedResidual,
           its.rowsKept(member) * rowBytes);
  }
}

void GroupMachine::setFailure(std::int64_t member, const std::string &text) {
  failure_ = text;
  failedMember_ = member;
}

bool GroupMachine::run(const std::vector<const RowLaunch *> &members) {
  const kernels::Variant &variant = members.front()->kernel->variant;
  std::vector<std::uint64_t> digests;
  for (const RowLaunch *its : members)
    digests.push_back(
        kernels::digestOf(its->kernel->variant, its->problem, its->shape));
  std::string error;
  if (!kernels::checkAgreement(variant.name(), digests, error) ||
      !kernels::checkWorkspace(need_, variant, members.front()->problem,
                               members.front()->shape, error)) {
    setFailure(0, error);
    return false;
  }
  for (std::size_t m = 0; m < members.size(); ++m) {
    const RowLaunch &its = *members[m];
    auto member = static_cast<int>(m);
    std::int64_t width = its.problem.width, kept = its.rowsKept(member);
    auto put = [&](Place where, const float *from, std::int64_t rows) {
      if (from)
        place(member, where, from, rows * width, variant.dtype);
    };
    put(Produced, its.rows, its.rowsIn(member));
    put(Bias, its.bias, 1);
    put(InnerWeight, its.innerWeight, 1);
    put(Weight, its.weight, 1);
    put(NormBias, its.normBias, 1);
    put(Gate, its.gate, kept);
    bool isPart = its.isResidualWhole && kept != its.problem.tokens;
    put(Residual,
        its.residual
            ? its.residual + (isPart ? its.own(member).begin * width : 0)
            : nullptr,
        kept);
    auto make = [&](Place where, std::int64_t rows) {
      place(member, where, nullptr, rows * width, variant.dtype);
    };
    make(Rows, its.rowsIn(member));
    make(Values, its.rowsOut(member));
    make(Consumed, its.rowsOut(member));
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
    const auto &late =
        *own<kernels::SpinError>(static_cast<int>(m), workspace_.error);
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
    std::int64_t width = its.problem.width;
    fetch(member, Consumed, 0, its.rowsOut(member) * width, its.values,
          variant.dtype);
    if (its.residualOut)
      fetch(member, ConsumedResidual, 0, its.rowsKept(member) * width,
            its.residualOut, variant.dtype);
    if (kernels::RowBlock own = its.own(member); its.ungathered)
      fetch(member, Consumed, own.begin * width, own.size * width,
            its.ungathered, variant.dtype);
  }
  dropPlaces();
  return !hasFailed();
}

} // namespace layline::runtime
