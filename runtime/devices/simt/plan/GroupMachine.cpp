#include "devices/simt/plan/GroupMachine.h"

#include "devices/simt/plan/CopyKernel.h"
#include "kernels/LaunchSafety.h"

#include <algorithm>
#include <mutex>

namespace layline::runtime {
namespace {

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
    : need_(need), layout_(planned(need)), machine_(need.ranks, options),
      offered_(static_cast<std::size_t>(need.ranks)) {
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
    memory_.emplace_back(machine_, member);
  }
}

void GroupMachine::append(int member, const std::string &name,
                          const kernels::LaunchShape &shape,
                          std::uint32_t gridY, std::function<void()> body) {
  simt::Launch launch{name, {shape.grid, gridY}, {shape.block}};
  launch.cooperative = shape.cooperative;
  launch.programmatic = true;
  machine_.launch(member, launch, std::move(body));
}

void GroupMachine::copy(int member, const char *kernel, const void *from,
                        void *to, std::int64_t bytes) {
  append(member, kernel, {2, 64, false}, 1,
         [=] { copyKernel(from, to, bytes); });
}

void GroupMachine::setFailure(std::int64_t member, const std::string &text) {
  failure_ = text;
  failedMember_ = member;
}

void GroupMachine::checkWaits(const std::string &kernel) {
  for (std::size_t m = 0; m < workspaces_.size() && !hasFailed(); ++m) {
    const kernels::SpinError &late = *watchOf(workspaces_[m]).error;
    if (late.kind)
      setFailure(static_cast<std::int64_t>(m),
                 concat("kernel ", kernel, ": block ", late.block,
                        " waited too long for ",
                        nameOf(static_cast<kernels::FlagKind>(late.kind)),
                        " of ", late.flag, ": found epoch ", late.seen,
                        ", expected ", late.epoch));
  }
}

void GroupMachine::offer(int member, std::shared_ptr<MemberLaunch> launch) {
  std::lock_guard<std::mutex> lock(offering_);
  offered_[static_cast<std::size_t>(member)] = std::move(launch);
}

bool GroupMachine::run() {
  std::vector<std::shared_ptr<MemberLaunch>> launches;
  {
    std::lock_guard<std::mutex> lock(offering_);
    launches = offered_;
  }
  std::vector<MemberLaunch *> members;
  for (const std::shared_ptr<MemberLaunch> &launch : launches)
    members.push_back(launch.get());
  return run(members);
}

bool GroupMachine::run(const std::vector<MemberLaunch *> &members) {
  const LaunchPlan &first = members.front()->plan;
  std::string name = first.name(), error;
  std::vector<std::uint64_t> digests;
  for (const MemberLaunch *its : members)
    digests.push_back(kernels::digestOf(its->plan.variant, its->plan.problem,
                                        its->plan.shape));
  if (!kernels::checkAgreement(name, digests, error) ||
      !kernels::checkWorkspace(need_, first.variant, first.problem, first.shape,
                               error)) {
    setFailure(0, error);
    return false;
  }
  for (std::size_t m = 0; m < members.size(); ++m)
    members[m]->place(memory_[m]);
  simt::Report report;
  {
    std::lock_guard<std::mutex> lock(machineMutex());
    for (MemberLaunch *its : members)
      its->launch(*this, members);
    report = machine_.run();
  }
  if (!report.ok())
    setFailure(std::max(report.rank, 0),
               concat("kernel ", name, ": ", simt::nameOf(report.failure), ": ",
                      report.text));
  checkWaits(name);
  for (std::size_t m = 0; m < members.size() && !hasFailed(); ++m)
    members[m]->take(static_cast<std::int64_t>(m));
  for (DeviceMemory &memory : memory_)
    memory.drop();
  return !hasFailed();
}

} // namespace layline::runtime
