#include "transports/mpi/MessageTransport.h"

#include "plan/Error.h"
#include "transports/Hash.h"
#include "transports/mpi/MessageCommunicator.h"
#include "transports/mpi/Pause.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

namespace layline::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// A tag is 1 + ((engine * kCommunicators) + communicator) * kSequences +
// sequence, each modulo what there is room for: what could be mistaken for one
// another is that far apart.
constexpr int kEngines = 64, kCommunicators = 64, kSequences = 4096;
constexpr int kTags = 1 + kEngines * kCommunicators * kSequences;
/// The number of the group of all ranks.
constexpr int kWorld = kCommunicators - 1;

/// MPI counts bytes in an int.
constexpr std::size_t kLongestMessage = std::size_t(1) << 30;

/// How often processes are looked for that are waited for.
constexpr std::chrono::milliseconds kLivenessInterval{20};
/// How long one that has ended is still waited for: between its last message
/// and its end nothing says that the message has come.
constexpr std::chrono::milliseconds kGrace{100};

/// Memory that messages under way may still write to: never freed.
void keepForEver(AlignedBytes memory) {
  static std::mutex mutex;
  static auto *kept = new std::vector<AlignedBytes>();
  std::lock_guard<std::mutex> lock(mutex);
  kept->push_back(std::move(memory));
}

} // namespace

MessageTransport::MessageTransport(Link &link, const TransportOptions &options)
    : link_(link), timeout_(options.timeout), engine_(link.engines++),
      notices_(link, engine_) {
  if (link.isAbandoned())
    fail(LAYLINE_RUN_FAILURE,
         "an earlier engine of this process failed while messages were under "
         "way; processes are expected to end then");
  if (link.maxTag() < kTags)
    fail(LAYLINE_REFUSED_FEATURE, "transport 'mpi': this MPI has tags to ",
         link.maxTag(), "; ", kTags, " are expected");
  localRanks_ = {link.rank()};
  for (int process = 0; process < link.size(); ++process)
    if (process != link.rank())
      others_.insert(process);
}

void MessageTransport::connect(const Plan &plan, std::uint64_t identity) {
  checkUsable();
  if (plan.ranks() % link_.size() != 0)
    fail(LAYLINE_BAD_ARGUMENT, wrongProcesses(plan, link_.size()));
  auto each = static_cast<std::size_t>(plan.ranks() / link_.size());
  localRanks_.resize(each);
  std::iota(localRanks_.begin(), localRanks_.end(),
            static_cast<std::int64_t>(each) * link_.rank());
  if (plan.groups.size() >= static_cast<std::size_t>(kWorld))
    fail(LAYLINE_REFUSED_FEATURE, "the plan has ", plan.groups.size(),
         " groups; transport 'mpi' takes at most ", kWorld - 1);
  shown_.assign(static_cast<std::size_t>(link_.size()), nullptr);
  for (std::vector<AlignedBytes> &memory : scratch_) {
    memory.clear();
    memory.resize(shown_.size());
  }
  auto join = [&](int number, std::vector<std::int64_t> ranks) {
    auto me = std::find(ranks.begin(), ranks.end(), link_.rank());
    std::int64_t member = me - ranks.begin();
    return std::make_unique<MessageCommunicator>(*this, number,
                                                 std::move(ranks), member);
  };
  groups_.clear();
  if (each == 1)
    for (const Group &group : plan.groups)
      groups_.push_back(join(static_cast<int>(groups_.size()),
                             membersOf(plan, group, link_.rank())));
  std::vector<std::int64_t> all(shown_.size());
  std::iota(all.begin(), all.end(), std::int64_t(0));
  world_ = join(kWorld, std::move(all));
  agree("plan", identity);
}

Communicator &MessageTransport::group(std::int64_t, int group) {
  if (groups_.empty())
    fail(LAYLINE_INTERNAL, "groups of ", localRanks_.size(),
         " ranks of one process are asked for");
  return *groups_[static_cast<std::size_t>(group)];
}

void MessageTransport::agree(const std::string &what, std::uint64_t hash) {
  const std::uint64_t mine[] = {hashOf(what), hash};
  world_->show(mine, [](std::int64_t, std::int64_t) { return allOf(2); });
  const auto *first = world_->shown<std::uint64_t>(0);
  std::string others;
  bool isSame = true;
  for (std::int64_t process = 0; process < world_->size(); ++process) {
    const auto *hashes = world_->shown<std::uint64_t>(process);
    isSame = isSame && hashes[0] == first[0];
    if (hashes[0] != first[0] || hashes[1] != first[1])
      others += (others.empty() ? "" : ", ") + ranksOf(process);
  }
  world_->release();
  if (!isSame)
    fail(LAYLINE_BAD_ARGUMENT, others, " and ", ranksOf(0),
         " are not at the same call: ", "here it is about the ", what,
         "; all processes make the same calls in the same order");
  if (!others.empty())
    fail(LAYLINE_BAD_ARGUMENT, others, " and ", ranksOf(0),
         " do not have the same ", what, "; all processes are expected to");
}

void MessageTransport::checkUsable() const {
  if (!broken_.empty())
    fail(LAYLINE_RUN_FAILURE, broken_);
  if (left_)
    fail(LAYLINE_INTERNAL, "this rank has left");
}

int MessageTransport::tagOf(int communicator, std::uint64_t sequence) const {
  auto engine = static_cast<int>(engine_ % kEngines);
  return 1 + (engine * kCommunicators + communicator) * kSequences +
         static_cast<int>(sequence % kSequences);
}

std::string MessageTransport::ranksOf(std::int64_t process) const {
  auto each = static_cast<std::int64_t>(localRanks_.size());
  if (each == 1)
    return concat("rank ", process);
  return concat("ranks ", process * each, " to ", (process + 1) * each - 1);
}

std::string MessageTransport::nameOf(int process) const {
  return concat(ranksOf(process), " (", link_.describe(process), ")");
}

std::byte *MessageTransport::scratch(Scratch use, std::size_t member,
                                     std::size_t bytes) {
  AlignedBytes &memory = scratch_[static_cast<int>(use)][member];
  if (memory.size() < bytes)
    memory = AlignedBytes(bytes);
  return memory.data();
}

void MessageTransport::exchange(int communicator, std::uint64_t sequence,
                                const std::vector<Transfer> &transfers) {
  std::vector<Pending> pending;
  int tag = tagOf(communicator, sequence);
  try {
    for (const Transfer &transfer : transfers)
      post(transfer, tag, pending);
    wait(pending);
  } catch (const Error &) {
    throw;
  } catch (const std::runtime_error &error) {
    // What it left pending is not known.
    link_.abandon();
    pending.clear();
    breakOff(pending, error.what(), /*isKnown=*/false);
  }
}

void MessageTransport::post(const Transfer &transfer, int tag,
                            std::vector<Pending> &pending) {
  for (std::size_t done = 0; done < transfer.bytes;) {
    std::size_t bytes = std::min(transfer.bytes - done, kLongestMessage);
    Transfer part{transfer.process, transfer.isReceive, transfer.data + done,
                  bytes};
    Link::Request request =
        part.isReceive ? link_.receive(part.process, tag, part.data, bytes)
                       : link_.send(part.process, tag, part.data, bytes);
    pending.push_back({request, part});
    done += bytes;
  }
}

void MessageTransport::test(std::vector<Pending> &pending) {
  for (std::size_t i = 0; i < pending.size();) {
    const Transfer &transfer = pending[i].transfer;
    std::size_t bytes = 0;
    if (!link_.test(pending[i].request, bytes)) {
      ++i;
      continue;
    }
    if (transfer.isReceive && bytes != transfer.bytes)
      throw std::runtime_error(concat(nameOf(transfer.process), " sent ", bytes,
                                      " bytes; ", transfer.bytes,
                                      " are expected"));
    pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::string MessageTransport::findDeparted(const std::set<int> &processes) {
  for (int process : processes) {
    if (auto left = notices_.left().find(process);
        left != notices_.left().end())
      return nameOf(process) + " has ended its engine" +
             (left->second.empty() ? "" : ": " + left->second);
    if (link_.isGone(process))
      return nameOf(process) + " has ended while it was waited for";
  }
  return "";
}

std::string MessageTransport::findMissing(const std::set<int> &processes) {
  Clock::time_point now = Clock::now();
  if (now < nextLook_)
    return "";
  nextLook_ = now + kLivenessInterval;
  std::string why = findDeparted(processes);
  if (why.empty())
    looksSince_ = 0;
  else if (++looksSince_ == 1)
    departed_ = now;
  // What it sent before may still be arriving.
  else if (now - departed_ > kGrace)
    return why;
  return "";
}

void MessageTransport::watch() {
  checkUsable();
  std::vector<Pending> none;
  try {
    notices_.receive();
  } catch (const std::runtime_error &error) {
    breakOff(none, error.what(), /*isKnown=*/false);
  }
  breakOffIfFailed(none);
  if (std::string why = findMissing(others_); !why.empty())
    breakOff(none, why, /*isKnown=*/false);
}

void MessageTransport::breakOffIfFailed(std::vector<Pending> &pending) {
  if (notices_.failed().empty())
    return;
  const auto &[process, why] = *notices_.failed().begin();
  breakOff(pending, nameOf(process) + " failed: " + why, /*isKnown=*/true);
}

void MessageTransport::wait(std::vector<Pending> &pending) {
  Clock::time_point begin = Clock::now();
  nextLook_ = begin;
  looksSince_ = 0;
  Pause pause;
  while (true) {
    test(pending);
    if (pending.empty())
      return;
    notices_.receive();
    breakOffIfFailed(pending);
    std::set<int> late;
    for (const Pending &waiting : pending)
      late.insert(waiting.transfer.process);
    if (std::string why = findMissing(late); !why.empty())
      breakOff(pending, why, /*isKnown=*/false);
    if (Clock::now() - begin > timeout_) {
      std::string names;
      for (int process : late)
        names += (names.empty() ? "" : ", ") + nameOf(process);
      breakOff(pending, concat("waited ", timeout_.count(), " s for ", names),
               /*isKnown=*/false);
    }
    pause();
  }
}

void MessageTransport::breakOff(std::vector<Pending> &pending,
                                const std::string &why, bool isKnown) {
  broken_ = why;
  for (const Pending &given : pending)
    link_.cancel(given.request);
  for (std::vector<AlignedBytes> &memory : scratch_)
    for (AlignedBytes &bytes : memory)
      keepForEver(std::move(bytes));
  if (!isKnown)
    notices_.sendFailed(why);
  fail(LAYLINE_RUN_FAILURE, broken_);
}

void MessageTransport::abort(std::int64_t, const std::string &why) {
  if (!broken_.empty())
    return;
  broken_ = why;
  notices_.sendFailed(why);
}

void MessageTransport::leave(const std::string &why) noexcept {
  if (!std::exchange(left_, true) && broken_.empty())
    notices_.sendLeft(why);
}

} // namespace layline::runtime
