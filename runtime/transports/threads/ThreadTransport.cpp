#include "transports/threads/ThreadTransport.h"

#include "plan/Error.h"

#include <numeric>

namespace layline::runtime {

namespace {

/// Threads are cheap but not free; larger meshes are for real devices.
constexpr std::int64_t kMaxRanks = 256;

} // namespace

void ThreadTransport::connect(const Plan &plan, std::uint64_t) {
  if (plan.ranks() > kMaxRanks)
    fail(LAYLINE_REFUSED_FEATURE, "the plan has ", plan.ranks(),
         " ranks; at most ", kMaxRanks, " run as threads of one process");
  communicators_.clear();
  points_.clear();
  auto ranks = static_cast<std::size_t>(plan.ranks());
  localRanks_.resize(ranks);
  std::iota(localRanks_.begin(), localRanks_.end(), std::int64_t(0));
  communicators_.resize(ranks);
  for (auto &groups : communicators_)
    groups.resize(plan.groups.size());
  for (std::size_t g = 0; g < plan.groups.size(); ++g)
    for (std::int64_t rank : localRanks_) {
      if (communicators_[rank][g])
        continue;
      // The first rank of an instance makes it.
      std::vector<std::int64_t> members = membersOf(plan, plan.groups[g], rank);
      points_.push_back(
          std::make_unique<MeetingPoint>(members, options_.timeout));
      for (std::size_t m = 0; m < members.size(); ++m)
        communicators_[members[m]][g] = std::make_unique<ThreadCommunicator>(
            *points_.back(), static_cast<std::int64_t>(m));
    }
}

void ThreadTransport::begin() {
  for (auto &point : points_)
    point->reset();
}

void ThreadTransport::abort(std::int64_t, const std::string &) {
  for (auto &point : points_)
    point->abort();
}

} // namespace layline::runtime
