// What addresses mean: the buffers of each rank, and the multicast ranges over
// them.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_MEMORY_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_MEMORY_H

#include "devices/simt/RaceCheck.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace layline::simt {

struct Buffer {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  int rank = 0;
  bool isSymmetric = false;
  std::string name;
  /// The base of each rank's buffer; empty unless this is a multicast range.
  std::vector<char *> replicas;
  /// With raceCheck, from the first access on.
  mutable std::unique_ptr<Shadow> shadow;

  bool isMulticast() const { return !replicas.empty(); }
  bool holds(std::uintptr_t address, std::size_t size) const {
    return address >= base && size <= bytes && address - base <= bytes - size;
  }
};

class Memory {
public:
  Memory() = default;
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  void *allocate(int rank, std::size_t bytes, const std::string &name,
                 bool isSymmetric);
  /// Throws std::invalid_argument where buffers would overlap.
  void add(int rank, void *memory, std::size_t bytes, const std::string &name,
           bool isSymmetric);
  void remove(const void *base);
  void *makeMulticast(const std::vector<void *> &replicas, std::size_t bytes,
                      const std::string &name);
  /// Throws std::invalid_argument where a replica is no symmetric memory of
  /// its rank, or the range overlaps a buffer.
  void addMulticast(void *address, const std::vector<void *> &replicas,
                    std::size_t bytes, const std::string &name);

  /// The buffer that holds all of the bytes, or null.
  const Buffer *find(const void *address, std::size_t size) {
    auto at = reinterpret_cast<std::uintptr_t>(address);
    const Buffer *recent = recent_[slotOf(at)];
    if (recent && recent->holds(at, size))
      return recent;
    return findSlowly(at, size);
  }
  /// Says where the address is: in, behind or before which buffer.
  std::string describe(const void *address) const;
  /// Whether a multicast range holds the address.
  bool isMulticast(const void *address) const;

private:
  /// Replicas lie as far apart as allocations of one size do, often a power of
  /// two: their slots are spread (Fibonacci hashing, Knuth, volume 3, 6.4).
  static std::size_t slotOf(std::uintptr_t address) {
    return (address >> 8) * 0x9E3779B97F4A7C15ULL >> (64 - kSlotBits);
  }
  void insert(Buffer buffer);
  const Buffer *findSlowly(std::uintptr_t address, std::size_t size);

  std::map<std::uintptr_t, std::unique_ptr<Buffer>> buffers_;
  /// The last hits, by address.
  static constexpr unsigned kSlotBits = 12;
  std::array<const Buffer *, std::size_t(1) << kSlotBits> recent_{};
  std::vector<void *> owned_;
  std::vector<std::pair<void *, std::size_t>> reserved_;
};

} // namespace layline::simt

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_MEMORY_H
