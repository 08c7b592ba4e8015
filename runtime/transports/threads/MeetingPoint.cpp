#include "transports/threads/MeetingPoint.h"

#include "plan/Error.h"

#include <algorithm>
#include <utility>

namespace layline::runtime {

MeetingPoint::MeetingPoint(std::vector<std::int64_t> ranks, double timeout)
    : shown_(ranks.size()), ranks_(std::move(ranks)), meetings_(shown_.size()),
      timeout_(timeout) {}

void MeetingPoint::meet(std::int64_t member) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (aborted_)
    throw Aborted();
  std::uint64_t mine = meeting_;
  meetings_[static_cast<std::size_t>(member)] = mine + 1;
  if (++arrived_ == size()) {
    arrived_ = 0;
    ++meeting_;
    changed_.notify_all();
    return;
  }
  changed_.wait_for(lock, timeout_,
                    [&] { return aborted_ || meeting_ != mine; });
  if (meeting_ != mine)
    return;
  if (aborted_)
    throw Aborted();
  fail(LAYLINE_RUN_FAILURE, "waited ", timeout_.count(), " s for ", missing());
}

std::string MeetingPoint::missing() const {
  std::string text;
  for (std::size_t m = 0; m < meetings_.size(); ++m)
    if (meetings_[m] <= meeting_)
      text += (text.empty() ? "rank " : ", rank ") + std::to_string(ranks_[m]);
  return text;
}

void MeetingPoint::abort() {
  std::lock_guard<std::mutex> lock(mutex_);
  aborted_ = true;
  changed_.notify_all();
}

void MeetingPoint::reset() {
  std::lock_guard<std::mutex> lock(mutex_);
  aborted_ = false;
  arrived_ = 0;
  std::fill(meetings_.begin(), meetings_.end(), meeting_);
}

} // namespace layline::runtime
