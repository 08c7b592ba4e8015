// Shared memory of a block.
#include "devices/simt/MachineState.h"

namespace layline::simt {

SharedBlock sharedArray(const void *key, const char *name, std::size_t bytes) {
  MachineState &state = *machine;
  Block &block = *state.current->block;
  for (const SharedMemory &array : block.shared)
    if (array.key == key)
      return {array.data.get(), array.bytes};
  block.sharedBytes += bytes;
  if (block.sharedBytes > state.options.sharedBytesPerBlock)
    state.fail(Failure::Launch,
               state.describe(*state.current) + " with '" + name + "' needs " +
                   std::to_string(block.sharedBytes) +
                   " bytes of shared memory; a block has " +
                   std::to_string(state.options.sharedBytesPerBlock));
  SharedMemory array;
  array.key = key;
  array.name = name;
  array.bytes = bytes;
  array.data.reset(new char[bytes]); // aligned for 16 bytes
  std::memset(array.data.get(), 0xff, bytes);
  block.shared.push_back(std::move(array));
  return {block.shared.back().data.get(), bytes};
}

SharedBlock dynamicShared(const char *name) {
  static const char key = 0;
  return sharedArray(&key, name,
                     machine->current->block->grid->launch.dynamicSharedBytes);
}

void failShared(const char *name, std::size_t index, std::size_t size) {
  MachineState &state = *machine;
  state.fail(Failure::Access,
             state.describe(*state.current) + " takes element " +
                 std::to_string(static_cast<std::ptrdiff_t>(index)) +
                 " of shared '" + name + "' of " + std::to_string(size));
}

void watchShared(const void *address, unsigned bytes, bool isStore,
                 bool isAtomic) {
  MachineState &state = *machine;
  if (!state.options.raceCheck)
    return;
  auto at = reinterpret_cast<std::uintptr_t>(address);
  for (SharedMemory &array : state.current->block->shared) {
    auto base = reinterpret_cast<std::uintptr_t>(array.data.get());
    if (at - base >= array.bytes)
      continue;
    if (!array.shadow)
      array.shadow = std::make_unique<Shadow>(base, array.bytes);
    AccessKind kind = isAtomic  ? AccessKind::StrongUpdate
                      : isStore ? AccessKind::Store
                                : AccessKind::Load;
    // An element may be wider than a granule of the shadow.
    for (unsigned done = 0; done < bytes; done += 16)
      state.noteAccess(*array.shadow, static_cast<const char *>(address) + done,
                       bytes - done < 16 ? bytes - done : 16, kind, array.name);
  }
}

} // namespace layline::simt
