#include "kernels/LaunchSafety.h"

#include <algorithm>
#include <limits>
#include <sstream>

namespace layline::kernels {

bool residentBlocks(const Occupancy &occupancy, std::int64_t margin,
                    std::uint32_t &blocks, std::string &error) {
  if (occupancy.blocksPerMultiprocessor < 0 || occupancy.multiprocessors < 0 ||
      margin < 0) {
    std::ostringstream out;
    out << "occupancy of " << occupancy.blocksPerMultiprocessor
        << " blocks on each of " << occupancy.multiprocessors
        << " multiprocessors less " << margin
        << "; expected none of them below 0";
    error = out.str();
    return false;
  }
  std::int64_t fitting = 0;
  if (!multiplySizes(
          {occupancy.blocksPerMultiprocessor, occupancy.multiprocessors},
          fitting, error))
    return false;
  if (fitting <= margin) {
    std::ostringstream out;
    out << fitting << " blocks fit on the device together ("
        << occupancy.blocksPerMultiprocessor << " on each of "
        << occupancy.multiprocessors << " multiprocessors); expected more than "
        << margin << ", which are left to others";
    error = out.str();
    return false;
  }
  constexpr std::int64_t mostBlocks = std::numeric_limits<std::int32_t>::max();
  blocks = static_cast<std::uint32_t>(std::min(fitting - margin, mostBlocks));
  return true;
}

bool checkAgreement(const std::string &group,
                    const std::vector<std::uint64_t> &digests,
                    std::string &error) {
  auto other =
      std::find_if(digests.begin(), digests.end(), [&](std::uint64_t digest) {
        return digest != digests.front();
      });
  if (other == digests.end())
    return true;
  std::ostringstream out;
  out << "rank " << other - digests.begin() << " of group \"" << group
      << "\" launches something else than rank 0: digest 0x" << std::hex
      << *other << ", expected 0x" << digests.front()
      << "; kernel, rows, grid, block and workspace must be equal";
  error = out.str();
  return false;
}

bool multiplySizes(const std::vector<std::int64_t> &sizes,
                   std::int64_t &product, std::string &error) {
  product = 1;
  // A zero makes nothing of whatever stands before it.
  bool isNothing = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  for (std::int64_t size : sizes) {
    bool isNegative = size < 0;
    bool overflows =
        !isNothing && __builtin_mul_overflow(product, size, &product);
    if (!isNegative && !overflows)
      continue;
    std::ostringstream out;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      out << (i == 0 ? "" : " * ") << sizes[i];
    out << (isNegative ? "; expected no size below 0"
                       : " does not fit 63 bits");
    error = out.str();
    return false;
  }
  if (isNothing)
    product = 0;
  return true;
}

bool CollectiveOrder::begin(const std::string &communicator,
                            std::uint64_t stream, const std::string &kernel,
                            Ticket waitedFor, Ticket &ticket,
                            std::string &error) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto at = underWay_.lower_bound({communicator, 0});
       at != underWay_.end() && at->first.first == communicator; ++at) {
    std::uint64_t on = at->first.second;
    const Launch &launch = at->second;
    if (on == stream || launch.ticket <= waitedFor)
      continue;
    std::ostringstream out;
    out << kernel << " on stream " << stream << " of communicator \""
        << communicator << "\" while launch " << launch.ticket << ", "
        << launch.kernel << " on stream " << on
        << ", is under way; expected that the stream waits for it, or a "
           "communicator of its own";
    error = out.str();
    return false;
  }
  ticket = ++last_;
  underWay_[{communicator, stream}] = {ticket, kernel};
  return true;
}

void CollectiveOrder::complete(Ticket ticket) {
  std::lock_guard<std::mutex> lock(mutex_);
  // Of a stream that has gone on, a later launch is complete behind this one.
  for (auto at = underWay_.begin(); at != underWay_.end(); ++at)
    if (at->second.ticket == ticket) {
      underWay_.erase(at);
      return;
    }
}

} // namespace layline::kernels
