#include "devices/cuda/Groups.h"

#include "devices/cuda/HostNumbers.h"
#include "plan/Error.h"
#include "transports/Transport.h"

#include <algorithm>

namespace layline::runtime::cuda {
namespace {

/// "0, 3"
std::string listOf(const std::vector<std::int64_t> &ranks) {
  std::string text;
  for (std::int64_t rank : ranks)
    text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

} // namespace

Groups::Groups(const Plan &plan, std::vector<RankView> &ranks,
               const std::vector<std::unique_ptr<Card>> &cards,
               const std::vector<std::size_t> &islands,
               const CardsOfRanks &places, Transport &transport, double timeout)
    : ranks_(ranks),
      // None would be for ever.
      waitNanoseconds_(
          static_cast<std::uint64_t>(std::max(1.0, timeout * 1e9))),
      ids_(plan, transport), comms_(transport, timeout) {
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
    for (RankView &rank : ranks) {
      std::vector<std::int64_t> members = membersOf(plan, group, rank.rank);
      auto at = std::find(members.begin(), members.end(), rank.rank);
      rank.members[g] = at - members.begin();
      auto found = std::find_if(ofGroup.begin(), ofGroup.end(),
                                [&](const Instance *instance) {
                                  return instance->members.ranks == members;
                                });
      if (found == ofGroup.end()) {
        instances_.emplace_back();
        instances_.back().members = {members, instances_.size() - 1};
        found = ofGroup.insert(found, &instances_.back());
      }
      rank.instances[g] = &(*found)->members;
    }
    Reach reach = Reach::OneCard;
    if (ids_.isOfSeveralProcesses(g))
      reach = Reach::Nccl;
    else
      for (const Instance *instance : ofGroup)
        reach = std::max(reach, reachOf(*instance, islands));
    reach_.push_back(reach);
    std::string what = "group '" + group.id + "'";
    // In one order in all processes, which wait for one another at each.
    std::sort(ofGroup.begin(), ofGroup.end(),
              [](const Instance *one, const Instance *other) {
                return one->members.ranks.front() <
                       other->members.ranks.front();
              });
    for (Instance *instance : ofGroup)
      if (reach == Reach::Peers)
        shareFlags(*instance, what);
      else if (reach == Reach::Nccl)
        connect(*instance, places, static_cast<int>(g), what);
  }
  reset();
}

Reach Groups::reachOf(const Instance &instance,
                      const std::vector<std::size_t> &islands) const {
  const std::vector<std::int64_t> &members = instance.members.ranks;
  Reach reach = Reach::OneCard;
  for (std::int64_t a : members)
    for (std::int64_t b : members) {
      const RankView *one = findRank(ranks_, a), *other = findRank(ranks_, b);
      if (one->card != other->card)
        reach = std::max(reach,
                         islands[one->cardNumber] == islands[other->cardNumber]
                             ? Reach::Peers
                             : Reach::Nccl);
    }
  return reach;
}

void Groups::shareFlags(Instance &instance, const std::string &what) {
  std::vector<Card *> cards;
  for (std::int64_t rank : instance.members.ranks)
    cards.push_back(findRank(ranks_, rank)->card);
  instance.flags =
      SymmetricMemory(cards, (cards.size() + 1) * sizeof(std::uint32_t),
                      Multicast::Never, what + ", flags");
}

void Groups::connect(Instance &instance, const CardsOfRanks &places, int group,
                     const std::string &what) {
  const std::vector<std::int64_t> &members = instance.members.ranks;
  auto cardOf = [&](std::int64_t rank) -> const CardUuid & {
    return places.cards[static_cast<std::size_t>(rank)];
  };
  std::vector<NcclComms::Own> own;
  for (std::size_t m = 0; m < members.size(); ++m) {
    const RankView *mine = findRank(ranks_, members[m]);
    for (std::size_t before = 0; before < m; ++before)
      if (isSame(cardOf(members[before]), cardOf(members[m])))
        fail(LAYLINE_REFUSED_FEATURE, what,
             ": its ranks cannot reach one another's memory, and NCCL wants a "
             "card for each; ",
             mine ? mine->card->name() : print(cardOf(members[m])),
             " has several: ranks ", members[before], " and ", members[m],
             isOfSeveralProcesses(group) ? "; in one process they may share it"
                                         : "");
    if (mine)
      own.push_back({static_cast<int>(m), mine->card});
  }
  std::vector<NcclComm> made =
      comms_.connect(ids_.of(group, members.front()), members.size(), own,
                     what + " of ranks " + listOf(members));
  instance.comms.assign(members.size(), nullptr);
  for (std::size_t i = 0; i < own.size(); ++i)
    instance.comms[static_cast<std::size_t>(own[i].member)] = made[i];
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
            records[rank.cardNumber][records_[rank.place]];
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
                  const std::function<std::size_t(const RankShape &)> &bytes) {
  auto g = static_cast<std::size_t>(group);
  struct Part {
    NcclComm comm;
    int peer;
    Address send, receive;
    std::size_t sendBytes, receiveBytes;
  };
  // One NCCL group over all ranks: a single thread issues the calls of all.
  for (const RankView &rank : builder.ranks()) {
    std::vector<Address> &of = sources[rank.place];
    const Address own = of[static_cast<std::size_t>(rank.members[g])];
    std::vector<Part> parts;
    const std::vector<std::int64_t> &members = rank.instances[g]->ranks;
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (members[m] == rank.rank)
        continue;
      std::size_t received = bytes(builder.shapeOf(members[m]));
      of[m] = builder.scratch(rank, received);
      parts.push_back({builder.groups().comm(rank, group), static_cast<int>(m),
                       own, of[m], bytes(rank), received});
    }
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
}

} // namespace layline::runtime::cuda
