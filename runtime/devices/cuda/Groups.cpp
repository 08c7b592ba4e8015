#include "devices/cuda/Groups.h"

#include "devices/cuda/HostNumbers.h"
#include "plan/Error.h"
#include "transports/Transport.h"

#include <algorithm>

namespace layline::runtime::cuda {

Groups::Groups(const Plan &plan, std::vector<RankView> &ranks,
               const std::vector<std::unique_ptr<Card>> &cards,
               const std::vector<std::size_t> &islands, double timeout)
    : ranks_(ranks),
      // None would be for ever.
      waitNanoseconds_(
          static_cast<std::uint64_t>(std::max(1.0, timeout * 1e9))) {
  std::vector<std::size_t> onCard(cards.size());
  for (const RankView &rank : ranks)
    records_.push_back(onCard[rank.cardNumber]++);
  for (std::size_t c = 0; c < cards.size(); ++c)
    failures_.emplace_back(*cards[c], onCard[c] * sizeof(kernels::SpinError),
                           "records of ranks that are late");
  for (RankView &rank : ranks) {
    rank.members.assign(plan.groups.size(), 0);
    rank.instances.assign(plan.groups.size(), nullptr);
  }
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const Group &group = plan.groups[g];
    std::vector<Instance *> ofGroup;
    Reach reach = Reach::OneCard;
    for (RankView &rank : ranks) {
      std::vector<std::int64_t> members = membersOf(plan, group, rank.rank);
      auto at = std::find(members.begin(), members.end(), rank.rank);
      rank.members[g] = at - members.begin();
      if (rank.members[g] == 0) {
        instances_.emplace_back();
        instances_.back().members = {members, instances_.size() - 1};
        ofGroup.push_back(&instances_.back());
      }
      // Members ascend: the instance was made when its first rank came.
      for (Instance *instance : ofGroup)
        if (instance->members.ranks == members)
          rank.instances[g] = &instance->members;
    }
    for (Instance *instance : ofGroup)
      for (std::int64_t a : instance->members.ranks)
        for (std::int64_t b : instance->members.ranks) {
          const RankView &one = ranks[static_cast<std::size_t>(a)],
                         &other = ranks[static_cast<std::size_t>(b)];
          if (one.card == other.card)
            continue;
          bool areOfOne =
              islands[one.cardNumber] == islands[other.cardNumber];
          reach = std::max(reach, areOfOne ? Reach::Peers : Reach::Nccl);
        }
    reach_.push_back(reach);
    for (Instance *instance : ofGroup)
      connect(*instance, reach, "group '" + group.id + "'");
  }
  reset();
}

void Groups::connect(Instance &instance, Reach reach, const std::string &what) {
  if (reach == Reach::OneCard)
    return;
  std::vector<Card *> cards;
  for (std::int64_t rank : instance.members.ranks)
    cards.push_back(ranks_[static_cast<std::size_t>(rank)].card);
  if (reach == Reach::Peers) {
    instance.flags =
        SymmetricMemory(cards, (cards.size() + 1) * sizeof(std::uint32_t),
                        Multicast::Never, what + ", flags");
    return;
  }
  std::vector<int> ordinals;
  for (const Card *card : cards) {
    if (std::find(ordinals.begin(), ordinals.end(), card->ordinal()) !=
        ordinals.end())
      fail(LAYLINE_REFUSED_FEATURE, what,
           ": its cards cannot reach one "
           "another's memory, and NCCL wants a card for each rank; ",
           card->name(), " has several");
    ordinals.push_back(card->ordinal());
  }
  instance.comms.assign(cards.size(), nullptr);
  checkNccl(nccl().initAll(instance.comms.data(),
                           static_cast<int>(ordinals.size()), ordinals.data()),
            "ncclCommInitAll", what);
  for (NcclComm comm : instance.comms)
    comms_.add([comm] { nccl().destroy(comm); });
}

void Groups::reset() {
  auto clear = [](const Card &card, Address at, std::size_t bytes) {
    card.use();
    check(driver().setBytes(at, 0, bytes, nullptr), "cuMemsetD8Async",
          "flags on " + card.name());
    check(driver().streamSynchronize(nullptr), "cuStreamSynchronize",
          "flags on " + card.name());
  };
  for (const RankView &rank : ranks_) {
    clear(*rank.card, reinterpret_cast<Address>(failureOf(rank)),
          sizeof(kernels::SpinError));
    for (std::size_t g = 0; g < rank.instances.size(); ++g)
      if (reach_[g] == Reach::Peers) {
        const Instance &instance = instances_[rank.instances[g]->number];
        clear(*rank.card,
              instance.flags.part(static_cast<std::size_t>(rank.members[g])),
              (instance.members.ranks.size() + 1) * sizeof(std::uint32_t));
      }
  }
}

local::BarrierParams Groups::barrier(ProgramBuilder &builder,
                                     const RankView &rank, int group) const {
  auto g = static_cast<std::size_t>(group);
  const Instance &instance = instances_[rank.instances[g]->number];
  std::size_t members = instance.members.ranks.size();
  std::vector<std::uint32_t *> flags;
  for (std::size_t m = 0; m < members; ++m)
    flags.push_back(instance.flags.part<std::uint32_t>(m));
  local::BarrierParams p;
  p.flags = builder.table(rank.cardNumber, flags);
  p.member = static_cast<std::uint32_t>(rank.members[g]);
  p.members = static_cast<std::uint32_t>(members);
  p.epoch = flags[p.member] + members;
  p.watch = {failureOf(rank), waitNanoseconds_};
  p.rank = static_cast<std::uint32_t>(rank.rank);
  return p;
}

std::optional<Groups::Late> Groups::late() const {
  std::vector<std::vector<kernels::SpinError>> records;
  for (std::size_t c = 0; c < failures_.size(); ++c) {
    records.emplace_back(failures_[c].bytes() / sizeof(kernels::SpinError));
    for (const RankView &rank : ranks_)
      if (rank.cardNumber == c) {
        copyOut(*rank.card, records.back().data(), failures_[c].address(),
                failures_[c].bytes(), "records of ranks that are late");
        break;
      }
  }
  for (const RankView &rank : ranks_)
    if (const kernels::SpinError &error =
            records[rank.cardNumber]
                   [records_[static_cast<std::size_t>(rank.rank)]];
        error.kind != 0)
      return Late{rank.rank, error};
  return std::nullopt;
}

NcclComm Groups::comm(const RankView &rank, int group) const {
  auto g = static_cast<std::size_t>(group);
  return instances_[rank.instances[g]->number]
      .comms[static_cast<std::size_t>(rank.members[g])];
}

bool needsNccl(const ProgramBuilder &builder, int group) {
  return builder.groups().reach(group) == Reach::Nccl;
}

void meet(ProgramBuilder &builder, int group) {
  if (builder.groups().reach(group) != Reach::Peers)
    return;
  builder.waitingKernel<local::BarrierParams>(
      "layline_group_barrier", [&](const RankView &rank, auto &p) {
        p = builder.groups().barrier(builder, rank, group);
        return 1;
      });
}

void gatherByNccl(ProgramBuilder &builder, int group,
                  std::vector<std::vector<Address>> &sources,
                  const std::function<std::size_t(const RankView &)> &bytes) {
  auto g = static_cast<std::size_t>(group);
  std::vector<std::vector<Address>> gathered = sources;
  for (const RankView &rank : builder.ranks()) {
    auto r = static_cast<std::size_t>(rank.rank);
    const std::vector<std::int64_t> &members = rank.instances[g]->ranks;
    for (std::size_t m = 0; m < members.size(); ++m)
      if (members[m] != rank.rank)
        gathered[r][m] = builder.scratch(
            rank, bytes(builder.ranks()[static_cast<std::size_t>(members[m])]));
  }
  // One NCCL group over all ranks: a single thread issues the calls of all.
  struct Part {
    NcclComm comm;
    int peer;
    Address send, receive;
    std::size_t sendBytes, receiveBytes;
  };
  for (const RankView &rank : builder.ranks()) {
    auto r = static_cast<std::size_t>(rank.rank);
    std::vector<Part> parts;
    const std::vector<std::int64_t> &members = rank.instances[g]->ranks;
    for (std::size_t m = 0; m < members.size(); ++m)
      if (members[m] != rank.rank)
        parts.push_back(
            {builder.groups().comm(rank, group), static_cast<int>(m),
             sources[r][static_cast<std::size_t>(rank.members[g])],
             gathered[r][m], bytes(rank),
             bytes(builder.ranks()[static_cast<std::size_t>(members[m])])});
    builder.nccl(rank, [parts](Stream stream) {
      for (const Part &part : parts) {
        // A member without items sends nothing, and nothing is expected of it.
        if (part.sendBytes > 0)
          checkNccl(nccl().send(reinterpret_cast<const void *>(part.send),
                                part.sendBytes, NcclType::Int8, part.peer,
                                part.comm, stream),
                    "ncclSend", "a collective");
        if (part.receiveBytes > 0)
          checkNccl(nccl().receive(reinterpret_cast<void *>(part.receive),
                                   part.receiveBytes, NcclType::Int8, part.peer,
                                   part.comm, stream),
                    "ncclRecv", "a collective");
      }
    });
  }
  sources = std::move(gathered);
}

} // namespace layline::runtime::cuda
