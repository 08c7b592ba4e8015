#include "devices/simt/Machine.h"

#include "devices/simt/MachineState.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace layline::simt {

const char *nameOf(Failure failure) {
  switch (failure) {
  case Failure::None:
    return "none";
  case Failure::Deadlock:
    return "deadlock";
  case Failure::Access:
    return "access";
  case Failure::Scope:
    return "scope";
  case Failure::Divergence:
    return "divergence";
  case Failure::Launch:
    return "launch";
  case Failure::Kernel:
    return "kernel";
  case Failure::Race:
    return "race";
  }
  return "";
}

namespace {

std::string text(Index3 size) {
  return "(" + std::to_string(size.x) + ", " + std::to_string(size.y) + ", " +
         std::to_string(size.z) + ")";
}

std::uint64_t product(Index3 size) {
  return std::uint64_t(size.x) * size.y * size.z;
}

/// Of each direction, and of threads of a block together. CUDA C++ Programming
/// Guide, "Compute Capabilities", table of technical specifications.
constexpr Index3 mostBlocks{0x7fffffff, 65535, 65535},
    mostThreads{1024, 1024, 64};
constexpr std::uint64_t mostThreadsOfBlock = 1024;

bool isWithin(Index3 size, Index3 most) {
  return size.x <= most.x && size.y <= most.y && size.z <= most.z;
}

/// Why no card launches blocks of this shape, or nothing.
std::string whyRefused(const Launch &launch, const Options &options) {
  // Together as many as in one direction: blocks are numbered in 32 bits here.
  if (product(launch.grid) == 0 || product(launch.grid) > mostBlocks.x ||
      !isWithin(launch.grid, mostBlocks))
    return "a grid of " + text(launch.grid) +
           " blocks; expected 1 or more of each direction, at most " +
           text(mostBlocks) + " and " + std::to_string(mostBlocks.x) +
           " together";
  if (product(launch.block) == 0 ||
      product(launch.block) > mostThreadsOfBlock ||
      !isWithin(launch.block, mostThreads))
    return "a block of " + text(launch.block) +
           " threads; expected 1 or more of each direction, at most " +
           text(mostThreads) + " and " + std::to_string(mostThreadsOfBlock) +
           " together";
  if (launch.dynamicSharedBytes > options.sharedBytesPerBlock)
    return std::to_string(launch.dynamicSharedBytes) +
           " bytes of dynamic shared memory; a block has " +
           std::to_string(options.sharedBytesPerBlock);
  return {};
}

} // namespace

MachineState::MachineState(int rankCount, const Options &chosen)
    : options(chosen), ranks(static_cast<std::size_t>(rankCount)),
      // The generator stays at 0 if it begins there; the multiplier spreads
      // small seeds (2^64 over the golden ratio).
      randomState(chosen.seed * 0x9E3779B97F4A7C15ULL + 0x1234567) {}

MachineState::~MachineState() {
  for (RankState &rank : ranks)
    for (Block *block : rank.resident)
      delete block;
}

Machine::Machine(int ranks, const Options &options) {
  if (ranks < 1)
    throw std::invalid_argument("a machine of " + std::to_string(ranks) +
                                " ranks; expected at least 1");
  state_ = std::make_unique<MachineState>(ranks, options);
}

Machine::~Machine() = default;

int Machine::ranks() const { return static_cast<int>(state_->ranks.size()); }

void *Machine::allocateBytes(int rank, std::size_t bytes,
                             const std::string &name, bool isSymmetric) {
  state_->ranks.at(static_cast<std::size_t>(rank));
  return state_->memory.allocate(rank, bytes, name, isSymmetric);
}

void Machine::registerMemory(int rank, void *memory, std::size_t bytes,
                             const std::string &name, bool isSymmetric) {
  state_->ranks.at(static_cast<std::size_t>(rank));
  state_->memory.add(rank, memory, bytes, name, isSymmetric);
}

void Machine::unregisterMemory(void *memory) { state_->forget(memory); }

static void checkReplicas(const std::vector<void *> &replicas,
                          std::size_t ranks, const std::string &name) {
  if (replicas.size() != ranks)
    throw std::invalid_argument("multicast '" + name + "' over " +
                                std::to_string(replicas.size()) +
                                " buffers on a machine of " +
                                std::to_string(ranks) + " ranks");
}

void *Machine::makeMulticast(const std::vector<void *> &replicas,
                             std::size_t bytes, const std::string &name) {
  checkReplicas(replicas, state_->ranks.size(), name);
  return state_->memory.makeMulticast(replicas, bytes, name);
}

void Machine::registerMulticast(void *address,
                                const std::vector<void *> &replicas,
                                std::size_t bytes, const std::string &name) {
  checkReplicas(replicas, state_->ranks.size(), name);
  state_->memory.addMulticast(address, replicas, bytes, name);
}

void Machine::launch(int rank, const Launch &launch, std::function<void()> body,
                     int stream) {
  RankState &state = state_->ranks.at(static_cast<std::size_t>(rank));
  auto refuse = [&](const std::string &why) {
    if (!state_->report.ok())
      return;
    state_->setFailure(Failure::Launch, "rank " + std::to_string(rank) +
                                            " kernel " + launch.kernel + ": " +
                                            why);
    state_->report.rank = rank;
  };
  std::string why = whyRefused(launch, state_->options);
  if (!why.empty()) {
    refuse(why);
    return;
  }
  std::uint64_t blocks = product(launch.grid), threads = product(launch.block);
  unsigned most = maxResidentBlocks(static_cast<unsigned>(threads));
  if (launch.cooperative && blocks > most) {
    refuse("a cooperative launch of " + std::to_string(blocks) + " blocks of " +
           std::to_string(threads) + " threads; " + std::to_string(most) +
           " fit on a rank together");
    return;
  }
  if (most == 0) {
    refuse("a block of " + std::to_string(threads) +
           " threads never fits on a rank of " +
           std::to_string(state_->options.residentThreads));
    return;
  }
  auto grid = std::make_unique<Grid>();
  grid->launch = launch;
  grid->body = std::move(body);
  grid->rank = rank;
  Stream &queue = state.streams[stream];
  queue.number = stream;
  grid->stream = &queue;
  auto entry = state_->counters.try_emplace({rank, launch.kernel}).first;
  grid->counters = &entry->second;
  grid->kernelName = &entry->first.second;
  grid->order.resize(static_cast<std::size_t>(blocks));
  std::iota(grid->order.begin(), grid->order.end(), 0U);
  if (state_->options.randomDispatch)
    for (std::size_t left = grid->order.size(); left > 1; --left)
      std::swap(grid->order[left - 1], grid->order[state_->random() % left]);
  StreamItem item;
  item.grid = std::move(grid);
  queue.queue.push_back(std::move(item));
  state_->mayDispatch = true;
}

int Machine::recordEvent(int rank, int stream) {
  RankState &state = state_->ranks.at(static_cast<std::size_t>(rank));
  state_->events.emplace_back();
  StreamItem item;
  item.record = static_cast<int>(state_->events.size()) - 1;
  state.streams[stream].queue.push_back(std::move(item));
  state_->mayDispatch = true;
  return static_cast<int>(state_->events.size()) - 1;
}

void Machine::waitEvent(int rank, int stream, int event) {
  RankState &state = state_->ranks.at(static_cast<std::size_t>(rank));
  state_->events.at(static_cast<std::size_t>(event));
  StreamItem item;
  item.await = event;
  state.streams[stream].queue.push_back(std::move(item));
  state_->mayDispatch = true;
}

void Machine::stealResidency(int rank, unsigned blocks) {
  state_->ranks.at(static_cast<std::size_t>(rank)).stolenBlocks = blocks;
  state_->mayDispatch = true;
}

unsigned Machine::maxResidentBlocks(unsigned threadsPerBlock) const {
  return std::min(state_->options.residentBlocks,
                  state_->options.residentThreads / threadsPerBlock);
}

Report Machine::run() { return state_->run(); }

Counters Machine::counters(int rank, const std::string &kernel) const {
  auto found = state_->counters.find({rank, kernel});
  return found == state_->counters.end() ? Counters{} : found->second;
}

} // namespace layline::simt
