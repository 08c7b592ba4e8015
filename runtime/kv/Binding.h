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

/// How many pages of a table a rank needs for all tokens of a request.
std::int64_t countTablePages(const Plan &plan, const Side &side,
                             const Rank &rank, const Request &request,
                             int table);

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
  std::int64_t firstBatch = 0, batches = 0;
};

/// A region at the addresses of one layer: those of its first block.
struct BoundRegion {
  Region region;
  std::uint64_t source = 0, target = 0;
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
  std::int64_t countRegions() const { return regions; }
  std::int64_t countBytes() const { return totalBytes; }

  /// Descriptors first .. first + count - 1: addresses and lengths. Writes
  /// `count` elements of each array; allocates nothing.
  void fill(std::int64_t first, std::int64_t count, std::uint64_t *source,
            std::uint64_t *target, std::uint64_t *bytes) const;

  /// The same as two arrays of `count` rows: address, bytes, device.
  void fillRows(std::int64_t first, std::int64_t count,
                std::uint64_t sourceDevice, std::uint64_t targetDevice,
                std::uint64_t *source, std::uint64_t *target) const;

  /// Calls visit(source, target, bytes) with the addresses of descriptors
  /// first .. first + count - 1, in order.
  template <typename Visit>
  void forEachBlock(std::int64_t first, std::int64_t count,
                    const Visit &visit) const;

  /// Calls visit(region) for regions first .. first + count - 1, in order.
  template <typename Visit>
  void forEachRegion(std::int64_t first, std::int64_t count,
                     const Visit &visit) const;

private:
  friend class Binder;

  /// Regions that several layers share.
  struct List {
    std::vector<Region> regions;
    /// Descriptors and bytes before each region, and of all.
    std::vector<std::int64_t> firsts, bytesBefore;
    std::int64_t descriptors = 0, bytes = 0;
    /// Most regions are one block: descriptors as arrays, to be copied.
    std::vector<std::int64_t> flatSource, flatTarget, flatBytes;
    bool isFlat = false;
    std::int64_t equalBytes = 0; ///< of every block; 0: they differ

    /// The region that descriptor `number` is of.
    std::size_t findRegion(std::int64_t number) const;
    /// Bytes of the first descriptors.
    std::int64_t countBytes(std::int64_t count) const;
  };
  /// A list at the addresses of one layer.
  struct Section {
    int list = 0;
    std::uint64_t source = 0, target = 0;
    std::int64_t first = 0;       ///< number of its first descriptor
    std::int64_t firstRegion = 0; ///< and region
  };

  /// Section::first or Section::firstRegion: the section that a number is of.
  std::size_t findSection(std::int64_t Section::*member,
                          std::int64_t number) const;
  template <typename Sink>
  void fillList(const List &list, const Section &section, std::int64_t from,
                std::int64_t count, Sink &sink) const;
  template <typename Sink>
  void fillRange(std::int64_t first, std::int64_t count, Sink sink) const;

  std::vector<List> lists;
  std::vector<Section> sections;
  std::vector<Batch> batches;
  std::vector<Part> parts;
  std::int64_t descriptors = 0, regions = 0, totalBytes = 0;
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

template <typename Visit>
void Binding::forEachRegion(std::int64_t first, std::int64_t count,
                            const Visit &visit) const {
  if (count <= 0)
    return;
  std::size_t number = findSection(&Section::firstRegion, first);
  std::int64_t from = first - sections[number].firstRegion;
  for (; count > 0; ++number, from = 0) {
    const Section &section = sections[number];
    const std::vector<Region> &own = lists[section.list].regions;
    for (; from < static_cast<std::int64_t>(own.size()) && count > 0;
         ++from, --count)
      visit(BoundRegion{
          own[from],
          section.source + static_cast<std::uint64_t>(own[from].source),
          section.target + static_cast<std::uint64_t>(own[from].target)});
  }
}

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_BINDING_H
