#include "devices/cuda/ProgramBuilder.h"

#include "kernels/local/LocalParams.h"
#include "plan/Error.h"

namespace layline::runtime::cuda {
namespace {

/// Local kernels take a block's worth of rows or elements at a time: more
/// blocks than these do not make them faster.
constexpr std::int64_t kBlocksPerMultiprocessor = 16;

/// Blocks of a card that waiting kernels leave to what else runs on it.
constexpr std::int64_t kFreeBlocks = 16;

/// What cuMemAlloc aligns to, and scratch of different ranks too.
constexpr std::size_t kScratchAlignment = 256;

std::size_t aligned(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

} // namespace

ProgramBuilder::ProgramBuilder(std::vector<RankView> &ranks,
                               const std::vector<RankShape> &shapes,
                               const std::vector<std::unique_ptr<Card>> &cards,
                               const Groups &groups,
                               std::vector<ProgramMemory> &memory)
    : ranks_(ranks), shapes_(shapes), cards_(cards), groups_(groups),
      memory_(memory), ofCard_(cards.size()), bytes_(cards.size()) {
  for (RankView &rank : ranks)
    ofCard_[rank.cardNumber].push_back(&rank);
  std::size_t streams = ranks.front().run->plan->streams.size();
  scratchOfStep_.assign(cards.size(), std::vector<std::size_t>(
                                          std::max<std::size_t>(1, streams)));
  for (ProgramMemory &of : memory_) {
    of.parameterBytes = 0;
    of.tapBytes = 0;
    of.scratchBytes.resize(scratchOfStep_.front().size());
  }
}

void ProgramBuilder::begin(const Step &step, std::size_t number) {
  commands_.emplace_back();
  commands_.back().step = &step;
  stream_ = static_cast<std::size_t>(step.stream);
  number_ = static_cast<std::int32_t>(number);
  for (std::vector<std::size_t> &of : scratchOfStep_)
    of[stream_] = 0;
}

std::size_t ProgramBuilder::reserve(std::size_t card, std::size_t bytes,
                                    std::size_t alignment) {
  std::size_t at = aligned(bytes_[card].size(), alignment);
  bytes_[card].resize(at + bytes);
  memory_[card].parameterBytes = bytes_[card].size();
  return at;
}

Command &ProgramBuilder::add(std::size_t card, Command::Kind kind) {
  std::vector<Command> &commands = commands_.back().commands;
  commands.emplace_back();
  commands.back().kind = kind;
  commands.back().card = card;
  commands.back().stream = stream_;
  return commands.back();
}

void ProgramBuilder::addKernel(std::size_t card, const char *symbol,
                               std::size_t parameters, std::int64_t blocks,
                               bool waitsForRanks) {
  CardLaunch launch;
  launch.symbol = symbol;
  launch.blocks =
      waitsForRanks ? static_cast<unsigned>(blocks) : blocksOn(card, blocks);
  launch.threads = local::kThreads;
  launch.waitsForRanks = waitsForRanks;
  addLaunch(card, launch, parameters, ofCard_[card].size());
}

unsigned ProgramBuilder::blocksOn(std::size_t card, std::int64_t blocks) const {
  return static_cast<unsigned>(
      std::min(blocks, std::int64_t(cards_[card]->multiprocessors()) *
                           kBlocksPerMultiprocessor));
}

void ProgramBuilder::addEngine(std::size_t card, const char *symbol,
                               std::size_t parameters, std::int64_t blocks,
                               std::function<bool(Stream)> isDone) {
  CardLaunch launch;
  launch.symbol = symbol;
  launch.blocks = blocksOn(card, blocks);
  launch.threads = local::kThreads;
  addLaunch(card, launch, parameters, /*ranks=*/1);
  Command &command = commands_.back().commands.back();
  command.kind = Command::Kind::Engine;
  command.isDone = std::move(isDone);
}

void ProgramBuilder::addLaunch(std::size_t card, const CardLaunch &launch,
                               std::size_t parameters, std::size_t ranks) {
  Card &of = *cards_[card];
  Command &command = add(card, Command::Kind::Kernel);
  command.kernel.function = of.kernel(launch.symbol);
  command.kernel.symbol = launch.symbol;
  command.kernel.blocks = launch.blocks;
  command.kernel.ranks = static_cast<unsigned>(ranks);
  command.kernel.threads = launch.threads;
  command.kernel.waitsForRanks = launch.waitsForRanks;
  command.parameters = parameters;
  if (launch.waitsForRanks)
    checkResidency(of, command.kernel, kFreeBlocks);
}

void ProgramBuilder::product(const RankView &rank, const Step &step,
                             const Product &product, Address input,
                             Address weight, Address output) {
  Command &command = add(rank.cardNumber, Command::Kind::Product);
  command.product = product;
  command.step = &step;
  command.rank = rank.rank;
  command.input = input;
  command.weight = weight;
  command.output = output;
}

void ProgramBuilder::copy(const RankView &rank, Address from, Address to,
                          std::size_t bytes) {
  if (bytes == 0)
    return;
  Command &command = add(rank.cardNumber, Command::Kind::Copy);
  command.input = from;
  command.output = to;
  command.bytes = bytes;
}

void ProgramBuilder::nccl(const RankView &rank,
                          std::function<void(Stream)> work) {
  add(rank.cardNumber, Command::Kind::Nccl).nccl = std::move(work);
}

std::string ProgramBuilder::kernelsFrom(std::size_t command) const {
  const std::vector<Command> &commands = commands_.back().commands;
  std::vector<std::string> names;
  for (std::size_t i = command; i < commands.size(); ++i) {
    std::string name;
    switch (commands[i].kind) {
    case Command::Kind::Kernel:
      name = commands[i].kernel.symbol;
      break;
    case Command::Kind::Product:
      name = "cublasLt";
      break;
    case Command::Kind::Copy:
      name = "copy";
      break;
    case Command::Kind::Nccl:
      name = "nccl";
      break;
    case Command::Kind::Engine:
      name = concat("the engine's, or ", commands[i].kernel.symbol);
      break;
    }
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  }
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : "+") + name;
  // A step without rows on any rank.
  return text.empty() ? "nothing" : text;
}

Address ProgramBuilder::scratch(const RankView &rank, std::size_t bytes) {
  ProgramMemory &memory = memory_[rank.cardNumber];
  std::size_t &used = scratchOfStep_[rank.cardNumber][stream_];
  std::size_t at = used;
  used += aligned(bytes, kScratchAlignment);
  Address begin = memory.scratch;
  for (std::size_t s = 0; s < stream_; ++s)
    begin += memory.scratchBytes[s];
  memory.scratchBytes[stream_] = std::max(memory.scratchBytes[stream_], used);
  return begin + at;
}

Address ProgramBuilder::tap(const RankView &rank, std::size_t bytes) {
  ProgramMemory &memory = memory_[rank.cardNumber];
  std::size_t at = memory.tapBytes;
  memory.tapBytes += aligned(bytes, kScratchAlignment);
  return memory.taps + at;
}

local::FaultPlace ProgramBuilder::faultPlace(const RankView &rank) const {
  return {
      reinterpret_cast<local::FaultRecord *>(memory_[rank.cardNumber].faults),
      static_cast<std::int32_t>(rank.rank), number_};
}

} // namespace layline::runtime::cuda
