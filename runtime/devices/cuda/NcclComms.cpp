#include "devices/cuda/NcclComms.h"

#include "plan/Error.h"
#include "transports/mpi/Pause.h"

#include <algorithm>
#include <chrono>

namespace layline::runtime::cuda {
namespace {

using Clock = std::chrono::steady_clock;

/// An engine that is destroyed has nobody to tell that others are late.
constexpr std::chrono::seconds kLongestEnd{5};

NcclId newId(const std::string &what) {
  NcclId id{};
  checkNccl(nccl().uniqueId(&id), "ncclGetUniqueId", what);
  return id;
}

} // namespace

NcclComms::Calls::Calls(NcclComms &comms, std::string what)
    : comms_(comms), what_(std::move(what)) {
  checkNccl(nccl().groupStart(), "ncclGroupStart", what_);
}

NcclComms::Calls::~Calls() {
  if (isOpen_)
    nccl().groupEnd();
}

void NcclComms::Calls::end() {
  isOpen_ = false;
  checkNccl(nccl().groupEnd(), "ncclGroupEnd", what_);
  comms_.settle(what_);
  comms_.areUsed_ = true;
}

std::vector<NcclComm> NcclComms::connect(const NcclId &id, std::size_t members,
                                         const std::vector<Own> &own,
                                         const std::string &what) {
  NcclConfig config;
  std::vector<NcclComm> made(own.size(), nullptr);
  // Those of a call that fails are there too.
  Cleanup keep;
  keep.add([&] {
    for (NcclComm comm : made)
      if (comm)
        comms_.push_back(comm);
  });
  Calls calls(*this, what);
  for (std::size_t i = 0; i < own.size(); ++i) {
    own[i].card->use();
    checkNccl(nccl().initRank(&made[i], static_cast<int>(members), id,
                              own[i].member, &config),
              "ncclCommInitRankConfig", what);
  }
  // From here on they are looked at.
  keep.run();
  calls.end();
  areUsed_ = false; // that was no run
  return made;
}

bool NcclComms::areBusy(const std::string &what) const {
  bool isBusy = false;
  for (NcclComm comm : comms_) {
    NcclResult state = kNcclSuccess;
    checkNccl(nccl().asyncError(comm, &state), "ncclCommGetAsyncError", what);
    checkNccl(state, "NCCL", what);
    isBusy |= state == kNcclInProgress;
  }
  return isBusy;
}

void NcclComms::settle(const std::string &what) {
  Clock::time_point begin = Clock::now();
  Pause pause;
  while (areBusy(what)) {
    transport_.watch();
    if (std::chrono::duration<double>(Clock::now() - begin).count() > timeout_)
      fail(LAYLINE_RUN_FAILURE, what, ": waited ", timeout_,
           " s for NCCL to reach the other ranks");
    pause();
  }
}

void NcclComms::watch(const std::string &what) {
  areBusy(what);
  transport_.watch();
}

/// The runs are done, but NCCL's threads may have bytes of theirs for others.
/// ncclCommDestroy alone would wait for members that are there no more. Where
/// there was no run, others may wait to hear why.
void NcclComms::finish() noexcept {
  if (!areUsed_ || !canFinalize())
    return abort();
  for (NcclComm comm : comms_)
    nccl().destroy(comm);
  comms_.clear();
}

bool NcclComms::canFinalize() const {
  for (NcclComm comm : comms_)
    if (NcclResult result = nccl().finalize(comm);
        result != kNcclSuccess && result != kNcclInProgress)
      return false;
  try {
    Clock::time_point begin = Clock::now();
    Pause pause;
    while (areBusy("the end of NCCL's communicators")) {
      if (Clock::now() - begin > kLongestEnd)
        return false;
      pause();
    }
    return true;
  } catch (const std::exception &) {
    return false;
  }
}

void NcclComms::abort() noexcept {
  areAborted_ |= !comms_.empty();
  for (NcclComm comm : comms_)
    nccl().abort(comm);
  comms_.clear();
}

void NcclComms::checkUsable() const {
  if (areAborted_)
    fail(LAYLINE_RUN_FAILURE,
         "an earlier run failed while NCCL was at work, which was ended; a new "
         "engine is expected");
}

NcclIds::NcclIds(const Plan &plan, Transport &transport) {
  Communicator *world = transport.world();
  if (!world)
    return;
  struct Place {
    std::pair<int, std::int64_t> instance;
    std::int64_t process, number; ///< among those that it makes
  };
  std::vector<Place> places;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(world->size()));
  std::vector<NcclId> own;
  for (std::size_t g = 0; g < plan.groups.size(); ++g)
    for (std::int64_t rank = 0; rank < plan.ranks(); ++rank) {
      std::vector<std::int64_t> members = membersOf(plan, plan.groups[g], rank);
      std::int64_t process = transport.processOf(rank);
      // Members ascend, and so do the processes that they are in.
      if (members.front() != rank ||
          transport.processOf(members.back()) == process)
        continue;
      groups_.insert(g);
      places.push_back({{static_cast<int>(g), rank},
                        process,
                        counts[static_cast<std::size_t>(process)]++});
      if (process == world->member())
        own.push_back(newId("group '" + plan.groups[g].id + "'"));
    }
  if (places.empty())
    return;
  world->show(own.data(), [&](std::int64_t, std::int64_t owner) {
    return allOf(counts[static_cast<std::size_t>(owner)]);
  });
  for (const Place &place : places)
    ids_[place.instance] = world->shown<NcclId>(place.process)[place.number];
  world->release();
}

NcclId NcclIds::of(int group, std::int64_t first) const {
  auto found = ids_.find({group, first});
  return found == ids_.end() ? newId("NCCL's communicator") : found->second;
}

} // namespace layline::runtime::cuda
