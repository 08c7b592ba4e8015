#include "devices/cuda/Workspaces.h"

#include "plan/Error.h"

#include <algorithm>

namespace layline::runtime::cuda {

GroupWorkspace &Workspaces::at(int group, std::int64_t rank,
                               std::size_t stream) {
  const std::vector<std::int64_t> &members =
      findRank(ranks_, rank)->instances[static_cast<std::size_t>(group)]->ranks;
  std::string name =
      concat("group '", plan_.groups[static_cast<std::size_t>(group)].id,
             "' of rank ", members.front());
  bool isNew = false;
  GroupWorkspace &workspace = table_.at(name, stream, [&] {
    isNew = true;
    GroupWorkspace made;
    made.name = name;
    made.ranks = members;
    return made;
  });
  if (isNew)
    all_.push_back(&workspace);
  return workspace;
}

GroupWorkspace &Workspaces::reserve(int group, std::int64_t rank,
                                    std::size_t stream,
                                    const kernels::WorkspaceNeed &need) {
  GroupWorkspace &workspace = at(group, rank, stream);
  kernels::WorkspaceNeed &has = workspace.need;
  if (!workspace.own.empty() && need.maxBlocks <= has.maxBlocks &&
      need.maxChunks <= has.maxChunks &&
      need.maxOneShotBytes <= has.maxOneShotBytes)
    return workspace;
  has.ranks = need.ranks;
  has.maxBlocks = std::max(has.maxBlocks, need.maxBlocks);
  has.maxChunks = std::max(has.maxChunks, need.maxChunks);
  has.maxOneShotBytes = std::max(has.maxOneShotBytes, need.maxOneShotBytes);
  std::string error;
  if (!kernels::planWorkspace(has, workspace.layout, error))
    fail(LAYLINE_RUN_FAILURE, workspace.name, ": ", error);
  std::string what = workspace.name + ", workspace";
  // The old one goes first, and with it what a failure would leave half made.
  workspace.own.clear();
  workspace.symmetric = {};
  std::vector<Card *> cards;
  for (std::int64_t member : workspace.ranks)
    cards.push_back(findRank(ranks_, member)->card);
  workspace.symmetric = SymmetricMemory(
      cards, static_cast<std::size_t>(workspace.layout.symmetricBytes),
      Multicast::Never, what);
  std::vector<DeviceMemory> own;
  for (const Card *card : cards)
    own.emplace_back(*card, static_cast<std::size_t>(workspace.layout.ownBytes),
                     what);
  workspace.own = std::move(own);
  clear(workspace);
  return workspace;
}

void Workspaces::clear(const GroupWorkspace &workspace) const {
  const kernels::Workspace &layout = workspace.layout;
  for (std::size_t m = 0; m < workspace.own.size(); ++m) {
    const Card &card = *findRank(ranks_, workspace.ranks[m])->card;
    std::string what = workspace.name + ", workspace on " + card.name();
    card.use();
    Address symmetric = workspace.symmetric.part(m);
    check(driver().setBytes(symmetric, 0,
                            static_cast<std::size_t>(layout.symmetricBytes),
                            nullptr),
          "cuMemsetD8Async", what);
    if (layout.boxCapacity > 0)
      check(driver().setWords(
                symmetric + static_cast<Address>(layout.boxes),
                mailboxes_ == kernels::DType::F32 ? kernels::kPoison32
                                                  : kernels::kPoison16,
                static_cast<std::size_t>(3 * workspace.need.ranks *
                                         layout.boxCapacity * 4),
                nullptr),
            "cuMemsetD32Async", what);
    check(driver().setBytes(workspace.own[m].address(), 0,
                            workspace.own[m].bytes(), nullptr),
          "cuMemsetD8Async", what);
    check(driver().streamSynchronize(nullptr), "cuStreamSynchronize", what);
  }
}

WorkspaceAddresses Workspaces::addresses(int group, std::int64_t rank,
                                         std::size_t stream) {
  const GroupWorkspace &workspace = at(group, rank, stream);
  WorkspaceAddresses result;
  result.layout = workspace.layout;
  result.maxBlocks = workspace.need.maxBlocks;
  for (std::size_t m = 0; m < workspace.ranks.size(); ++m)
    result.symmetric.push_back(workspace.symmetric.part<unsigned char>(m));
  auto member = static_cast<std::size_t>(
      findRank(ranks_, rank)->members[static_cast<std::size_t>(group)]);
  result.own = workspace.own[member].as<unsigned char>();
  return result;
}

void Workspaces::reset() {
  for (const GroupWorkspace *workspace : all_)
    clear(*workspace);
}

} // namespace layline::runtime::cuda
