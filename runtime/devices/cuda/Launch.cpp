#include "devices/cuda/Launch.h"

#include "plan/Error.h"

#include <array>

namespace layline::runtime::cuda {

void launch(const Card &card, const KernelLaunch &launch, Address parameters,
            Stream stream) {
  LaunchConfiguration configuration;
  configuration.gridX = launch.blocks;
  configuration.gridY = launch.ranks;
  configuration.blockX = launch.threads;
  configuration.stream = stream;
  std::array<LaunchAttribute, 3> attributes;
  unsigned count = 0;
  if (launch.waitsForRanks) {
    attributes[count].id = LaunchAttributeId::Cooperative;
    attributes[count++].value.cooperative = 1;
    attributes[count].id = LaunchAttributeId::MemSyncDomain;
    attributes[count++].value.memSyncDomain = kMemSyncDomainRemote;
  }
  if (launch.isProgrammatic) {
    attributes[count].id = LaunchAttributeId::ProgrammaticStreamSerialization;
    attributes[count++].value.programmaticStreamSerializationAllowed = 1;
  }
  configuration.attributes = attributes.data();
  configuration.attributeCount = count;
  void *arguments[] = {&parameters};
  check(driver().launch(&configuration, launch.function, arguments, nullptr),
        "cuLaunchKernelEx",
        concat("kernel ", launch.symbol, ", ", launch.blocks, " x ",
               launch.ranks, " blocks of ", launch.threads, " threads on ",
               card.name()));
}

void checkResidency(const Card &card, const KernelLaunch &launch,
                    std::int64_t margin) {
  std::int64_t resident =
      card.residentBlocks(launch.function, static_cast<int>(launch.threads), 0);
  std::int64_t wanted = std::int64_t(launch.blocks) * launch.ranks;
  if (wanted > resident - margin)
    fail(LAYLINE_REFUSED_FEATURE, "kernel ", launch.symbol, " has ", wanted,
         " blocks that wait for one another (", launch.blocks, " for each of ",
         launch.ranks, " ranks); ", card.name(), " holds ", resident,
         " at one time, of which ", margin, " stay free");
}

} // namespace layline::runtime::cuda
