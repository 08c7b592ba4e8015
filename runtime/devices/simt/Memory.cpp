#include "devices/simt/Memory.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <sstream>
#include <stdexcept>
#include <sys/mman.h>

using namespace layline::simt;

namespace {

/// CUDA's own promise for cudaMalloc; also keeps buffers apart, so that an
/// access past an end is in no buffer.
constexpr std::size_t alignment = 256;

} // namespace

Memory::~Memory() {
  for (void *memory : owned_)
    std::free(memory);
  for (auto [memory, bytes] : reserved_)
    munmap(memory, bytes);
}

void *Memory::allocate(int rank, std::size_t bytes, const std::string &name,
                       bool isSymmetric) {
  std::size_t rounded = (bytes / alignment + 2) * alignment;
  void *memory = std::aligned_alloc(alignment, rounded);
  if (!memory)
    throw std::bad_alloc();
  owned_.push_back(memory);
  // All bits set are a NaN in every format here and a wild index.
  std::memset(memory, 0xff, rounded);
  add(rank, memory, bytes, name, isSymmetric);
  return memory;
}

void Memory::add(int rank, void *memory, std::size_t bytes,
                 const std::string &name, bool isSymmetric) {
  Buffer buffer;
  buffer.base = reinterpret_cast<std::uintptr_t>(memory);
  buffer.bytes = bytes;
  buffer.rank = rank;
  buffer.isSymmetric = isSymmetric;
  buffer.name = name;
  insert(std::move(buffer));
}

void Memory::insert(Buffer buffer) {
  auto next = buffers_.lower_bound(buffer.base);
  const Buffer *clash = nullptr;
  if (next != buffers_.end() &&
      next->second->base - buffer.base < (buffer.bytes ? buffer.bytes : 1))
    clash = next->second.get();
  if (next != buffers_.begin()) {
    const Buffer &before = *std::prev(next)->second;
    if (buffer.base - before.base < before.bytes)
      clash = &before;
  }
  if (clash)
    throw std::invalid_argument("buffer '" + buffer.name + "' of rank " +
                                std::to_string(buffer.rank) + " overlaps '" +
                                clash->name + "' of rank " +
                                std::to_string(clash->rank));
  std::uintptr_t base = buffer.base;
  buffers_[base] = std::make_unique<Buffer>(std::move(buffer));
}

void Memory::remove(const void *base) {
  buffers_.erase(reinterpret_cast<std::uintptr_t>(base));
  recent_.fill(nullptr);
}

void *Memory::makeMulticast(const std::vector<void *> &replicas,
                            std::size_t bytes, const std::string &name) {
  void *memory = mmap(nullptr, bytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw std::bad_alloc();
  reserved_.emplace_back(memory, bytes);
  addMulticast(memory, replicas, bytes, name);
  return memory;
}

void Memory::addMulticast(void *address, const std::vector<void *> &replicas,
                          std::size_t bytes, const std::string &name) {
  Buffer range;
  for (std::size_t rank = 0; rank < replicas.size(); ++rank) {
    const Buffer *buffer = find(replicas[rank], bytes);
    if (!buffer || !buffer->isSymmetric ||
        buffer->rank != static_cast<int>(rank))
      throw std::invalid_argument(
          "multicast '" + name + "' wants " + std::to_string(bytes) +
          " symmetric bytes of rank " + std::to_string(rank) + ", found " +
          describe(replicas[rank]));
    range.replicas.push_back(static_cast<char *>(replicas[rank]));
  }
  range.base = reinterpret_cast<std::uintptr_t>(address);
  range.bytes = bytes;
  range.rank = -1;
  range.isSymmetric = true;
  range.name = name;
  insert(std::move(range));
}

const Buffer *Memory::findSlowly(std::uintptr_t address, std::size_t size) {
  auto next = buffers_.upper_bound(address);
  if (next == buffers_.begin())
    return nullptr;
  const Buffer *buffer = std::prev(next)->second.get();
  if (!buffer->holds(address, size))
    return nullptr;
  recent_[slotOf(address)] = buffer;
  return buffer;
}

std::string Memory::describe(const void *address) const {
  auto at = reinterpret_cast<std::uintptr_t>(address);
  std::ostringstream out;
  auto next = buffers_.upper_bound(at);
  if (next == buffers_.begin()) {
    out << "address " << address << ", in no buffer";
    if (next != buffers_.end())
      out << ", " << next->second->base - at << " bytes before "
          << (next->second->isMulticast() ? "multicast '" : "'")
          << next->second->name << "'";
    return out.str();
  }
  const Buffer &buffer = *std::prev(next)->second;
  out << "byte " << at - buffer.base << " of "
      << (buffer.isMulticast() ? "multicast '" : "'") << buffer.name << "' ("
      << buffer.bytes << " bytes";
  if (!buffer.isMulticast())
    out << ", rank " << buffer.rank;
  out << ")";
  return out.str();
}

bool Memory::isMulticast(const void *address) const {
  auto at = reinterpret_cast<std::uintptr_t>(address);
  auto next = buffers_.upper_bound(at);
  return next != buffers_.begin() && std::prev(next)->second->isMulticast() &&
         std::prev(next)->second->holds(at, 1);
}
