// A plan with the addresses and page tables of one request: descriptors.
#ifndef LAYLINE_RUNTIME_KV_BINDING_H
#define LAYLINE_RUNTIME_KV_BINDING_H

#include "kv/Plan.h"
#include "kv/Regions.h"
#include "kv/Tokens.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace layline::kv {

/// What a rank of one side has for a request. Nothing is copied: the caller
/// keeps the arrays until the binding is made.
struct RankMemory {
  /// Addresses of the rank's buffers, in the order of Rank::getOrdinal.
  const std::uint64_t *buffers = nullptr;
  std::int64_t bufferCount = 0;
  /// By table of the side (see getTables): pages of the request.
  std::vector<PageTable> tables;
  /// By table: how many pages a buffer has, so that numbers can be checked; 0:
  /// not known.
  std::vector<std::int64_t> poolPages;
};

/// The names of a side's page tables, each once, in the order of its buffers.
std::vector<std::string> getTables(const Side &side);

struct Batch {
  std::int64_t first = 0, descriptors = 0; ///< numbers of descriptors
  std::int64_t bytes = 0;
  bool isWithLastChunk = false;
};

/// The descriptors of one transfer of the plan.
struct Part {
  std::int64_t first = 0, descriptors = 0;
  Packing packing = Packing::None;
  bool isWithLastChunk = false;
};

/// Everything that one rank sends to another for a chunk of a request.
/// Immutable: threads may share it.
class Binding {
public:
  /// Throws runtime::Error if the request, the addresses or the tables are not
  /// what the plan needs.
  Binding(const Plan &plan, const Request &request, int source, int target,
          const RankMemory &sourceMemory, const RankMemory &targetMemory);

  /// Of transfers that do not pack: what the engine gets in one call. Of those
  /// that do: what it would get if they did not.
  const std::vector<Batch> &getBatches() const { return batches; }
  const std::vector<Part> &getParts() const { return parts; }
  std::int64_t countDescriptors() const { return descriptors; }
  std::int64_t countRegions() const;
  std::int64_t countBytes() const;

  /// Descriptors first .. first + count - 1: addresses and lengths. Writes
  /// `count` elements of each array; allocates nothing.
  void fill(std::int64_t first, std::int64_t count, std::uint64_t *source,
            std::uint64_t *target, std::uint64_t *bytes) const;

  /// Calls visit(source, target, bytes) with the addresses of descriptors
  /// first .. first + count - 1, in order.
  template <typename Visit>
  void forEachBlock(std::int64_t first, std::int64_t count,
                    const Visit &visit) const;

  /// Calls visit(region, source address, target address) for every region, in
  /// order, with the address of its first block.
  template <typename Visit> void forEachRegion(const Visit &visit) const {
    for (const Section &section : sections)
      for (const Region &region : lists[section.list].regions)
        visit(region, section.source + region.source,
              section.target + region.target);
  }

private:
  /// Regions that several layers share.
  struct List {
    std::vector<Region> regions;
    std::vector<std::int64_t> firsts; ///< descriptors before each region
    std::int64_t descriptors = 0, bytes = 0;
    /// Most regions are one block: descriptors as arrays, to be copied.
    std::vector<std::int64_t> flatSource, flatTarget, flatBytes;
  };
  /// A list at the addresses of one layer.
  struct Section {
    int list = 0;
    std::uint64_t source = 0, target = 0;
    std::int64_t first = 0; ///< number of its first descriptor
  };

  void add(const Plan &plan, const Transfer &transfer, const Request &request,
           const RankMemory &source, const RankMemory &target);
  int addList(std::vector<Region> regions);
  void addBatches(const Policy &policy, const Transfer &transfer,
                  std::size_t fromSection);
  static void fillList(const List &list, std::uint64_t source,
                       std::uint64_t target, std::int64_t from,
                       std::int64_t count, std::uint64_t *sources,
                       std::uint64_t *targets, std::uint64_t *bytes);

  std::vector<List> lists;
  std::vector<Section> sections;
  std::vector<Batch> batches;
  std::vector<Part> parts;
  std::int64_t descriptors = 0;
};

template <typename Visit>
void Binding::forEachBlock(std::int64_t first, std::int64_t count,
                           const Visit &visit) const {
  // By pieces that stay in cache.
  constexpr std::int64_t kPiece = 512;
  std::uint64_t source[kPiece], target[kPiece], bytes[kPiece];
  while (count > 0) {
    std::int64_t here = count < kPiece ? count : kPiece;
    fill(first, here, source, target, bytes);
    for (std::int64_t i = 0; i < here; ++i)
      visit(source[i], target[i], bytes[i]);
    first += here;
    count -= here;
  }
}

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_BINDING_H
