#include "BenchNccl.h"

#include "plan/Error.h"

#include <algorithm>
#include <ostream>

namespace layline::test {

using namespace layline::runtime::cuda;

std::unique_ptr<NcclGroup> NcclGroup::open(const CardSet &cards,
                                           std::ostream &notes) {
  try {
    nccl();
  } catch (const runtime::Error &error) {
    notes << "gpu-bench: without NCCL: " << error.what() << std::endl;
    return nullptr;
  }
  return std::unique_ptr<NcclGroup>(new NcclGroup(cards));
}

NcclGroup::NcclGroup(const CardSet &cards)
    : cards_(cards), comms_(cards.size()) {
  std::vector<int> ordinals;
  for (std::size_t c = 0; c < cards.size(); ++c)
    ordinals.push_back(cards[c].ordinal());
  checkNccl(nccl().initAll(comms_.data(), static_cast<int>(comms_.size()),
                           ordinals.data()),
            "ncclCommInitAll", "bench");
  for (NcclComm comm : comms_)
    cleanup_.add([comm] { nccl().destroy(comm); });
}

NcclGroup::Buffers NcclGroup::makeBuffers(std::int64_t bytes) const {
  auto buffers = std::make_shared<std::vector<DeviceMemory>>();
  for (std::size_t c = 0; c < cards_.size(); ++c)
    buffers->emplace_back(cards_[c], static_cast<std::size_t>(bytes), "rows");
  return buffers;
}

void NcclGroup::grouped(const std::function<void()> &calls) const {
  checkNccl(nccl().groupStart(), "ncclGroupStart", "bench");
  calls();
  checkNccl(nccl().groupEnd(), "ncclGroupEnd", "bench");
}

void NcclGroup::send(const Buffers &buffers, std::size_t from, std::size_t to,
                     std::int64_t offset, std::int64_t bytes) const {
  const auto count = static_cast<std::size_t>(bytes);
  auto at = [&](std::size_t card) {
    return (*buffers)[card].as<unsigned char>() + offset;
  };
  checkNccl(nccl().send(at(from), count, NcclType::Int8, static_cast<int>(to),
                        comms_[from], cards_.stream(from).get()),
            "ncclSend", "bench");
  checkNccl(nccl().receive(at(to), count, NcclType::Int8,
                           static_cast<int>(from), comms_[to],
                           cards_.stream(to).get()),
            "ncclRecv", "bench");
}

std::function<void()> NcclGroup::allReduce(std::int64_t bytes) const {
  return [this, bytes, buffers = makeBuffers(bytes)] {
    grouped([&] {
      for (std::size_t c = 0; c < cards_.size(); ++c) {
        void *rows = (*buffers)[c].as<void>();
        checkNccl(nccl().allReduce(rows, rows,
                                   static_cast<std::size_t>(bytes / 2),
                                   NcclType::BFloat16, kNcclSum, comms_[c],
                                   cards_.stream(c).get()),
                  "ncclAllReduce", "bench");
      }
    });
  };
}

std::function<void()> NcclGroup::broadcast(std::int64_t bytes) const {
  return [this, bytes, buffers = makeBuffers(bytes)] {
    grouped([&] {
      for (std::size_t to = 1; to < cards_.size(); ++to)
        send(buffers, 0, to, 0, bytes);
    });
  };
}

std::function<void()> NcclGroup::allGather(std::int64_t bytes) const {
  return [this, bytes, buffers = makeBuffers(bytes)] {
    const auto count = static_cast<std::int64_t>(cards_.size()),
               part = (bytes + count - 1) / count;
    grouped([&] {
      for (std::size_t from = 0; from < cards_.size(); ++from)
        for (std::size_t to = 0; to < cards_.size(); ++to) {
          const std::int64_t offset = static_cast<std::int64_t>(from) * part;
          if (from != to && offset < bytes)
            send(buffers, from, to, offset, std::min(part, bytes - offset));
        }
    });
  };
}

} // namespace layline::test
