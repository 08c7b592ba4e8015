//===- CoverageProof.cpp - each grid point computed once ------------------===//
#include "layline/Verification/CoverageProof.h"
#include "ExprTools.h"
#include "MeshPoints.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace layline;

std::string layline::kindName(const Partition &partition) {
  switch (partition.kind) {
  case Partition::Kind::Block:
    return "block";
  case Partition::Kind::Zigzag:
    return "zigzag";
  case Partition::Kind::Cyclic:
    return "cyclic(" + std::to_string(partition.argument) + ")";
  case Partition::Kind::Owner:
    return "owner";
  case Partition::Kind::Readers:
    return "readers";
  case Partition::Kind::FirstReaders:
    return "first_readers";
  case Partition::Kind::Routed:
    return "routed";
  }
  return "";
}

namespace {

bool isReaders(const Link &link) {
  return link.segments.empty() &&
         link.partition.kind == Partition::Kind::Readers;
}

/// One use of an axis: which link of which dimension.
struct Use {
  const GridDim *dim;
  size_t link;
};

/// For each of so many items the ranks on the axis of one link that have it,
/// one or (of readers) more.
std::vector<std::vector<int64_t>> getHolders(const Use &use, int64_t items) {
  std::vector<std::vector<int64_t>> holders(items);
  // The parts that the links on the way make; whose they are does not matter.
  std::vector<std::vector<int64_t>> parts(1);
  for (int64_t item = 0; item < items; ++item)
    parts[0].push_back(item);
  for (size_t i = 0; i <= use.link; ++i) {
    const Link &link = use.dim->links[i];
    std::vector<std::vector<int64_t>> next;
    for (const std::vector<int64_t> &part : parts)
      for (int64_t rank = 0; rank < link.ranks; ++rank) {
        std::vector<int64_t> own;
        int64_t count = static_cast<int64_t>(part.size());
        for (int64_t number : getLinkItems(link, count, rank).value_or(own))
          if (number >= 0 && number < count)
            own.push_back(part[number]);
        if (i == use.link)
          for (int64_t item : own)
            holders[item].push_back(rank);
        next.push_back(std::move(own));
      }
    parts = std::move(next);
  }
  return holders;
}

/// The part of a smallest point that two uses of one axis leave to nobody.
struct Hole {
  int64_t tokens = 0;
  int64_t first = 0, second = 0;
  std::vector<int64_t> firstHolders, secondHolders;
};

/// An axis that is used twice, with numbers of items that may depend on T.
class Diagonal {
public:
  Diagonal(Use first, Use second) : first(first), second(second) {}

  std::optional<Hole> findSmallest() const {
    bool isSymbolic = !first.dim->items || !second.dim->items;
    if (!isSymbolic)
      return find(0);
    // The first items of the second rank end the search.
    constexpr int64_t kMostTokens = 1 << 12;
    for (int64_t tokens = 1; tokens <= kMostTokens; ++tokens)
      if (std::optional<Hole> hole = find(tokens))
        return hole;
    return std::nullopt;
  }

  std::string describe(const Hole &hole) const {
    const Link &link = first.dim->links[first.link];
    auto item = [](const Use &use, int64_t number) {
      return use.dim->name + " " + std::to_string(number);
    };
    auto on = [&](const std::vector<int64_t> &ranks) {
      return "on " + rankList(ranks) + " of \"" + link.axis + "\"";
    };
    std::string text;
    if (!first.dim->items || !second.dim->items)
      text = "with T = " + std::to_string(hole.tokens) + ": ";
    if (first.dim == second.dim)
      return text + item(first, hole.first) +
             " is computed by nobody: one split puts it " +
             on(hole.firstHolders) + ", another " + on(hole.secondHolders);
    std::string ranks = std::to_string(link.ranks);
    return text + item(first, hole.first) + ", " + item(second, hole.second) +
           " is computed by nobody: " + item(first, hole.first) + " is " +
           on(hole.firstHolders) + ", " + item(second, hole.second) + " " +
           on(hole.secondHolders) + "; the " + ranks +
           " diagonal blocks are no cover, they are " + ranks + " of the " +
           std::to_string(link.ranks * link.ranks) + " blocks of " +
           first.dim->name + " x " + second.dim->name;
  }

private:
  static bool meet(const std::vector<int64_t> &a,
                   const std::vector<int64_t> &b) {
    return llvm::any_of(
        a, [&](int64_t rank) { return llvm::is_contained(b, rank); });
  }

  std::optional<Hole> find(int64_t tokens) const {
    int64_t numFirst = first.dim->items.value_or(tokens);
    int64_t numSecond = second.dim->items.value_or(tokens);
    std::vector<std::vector<int64_t>> own = getHolders(first, numFirst);
    std::vector<std::vector<int64_t>> others = getHolders(second, numSecond);
    bool isSameDim = first.dim == second.dim;
    for (int64_t i = 0; i < numFirst; ++i)
      for (int64_t j = isSameDim ? i : 0; j < (isSameDim ? i + 1 : numSecond);
           ++j)
        if (!meet(own[i], others[j]))
          return Hole{tokens, i, j, own[i], others[j]};
    return std::nullopt;
  }

  Use first, second;
};

class Prover {
public:
  Prover(const std::vector<MeshAxis> &mesh, std::vector<GridDim> dims)
      : mesh(mesh), dims(std::move(dims)) {}

  Coverage prove() {
    coverage.proved = true;
    for (GridDim &dim : dims)
      if (!checkAxes(dim))
        return coverage;
    // What is laid out wrongly as a whole is said before what is wrong in a
    // part of it.
    for (const MeshAxis &axis : mesh)
      if (!checkUses(axis))
        return coverage;
    for (const GridDim &dim : dims) {
      Proof links = proveChain(dim.links, dim.items);
      if (!links.proved)
        links.problem = dim.name + "s: " + links.problem;
      coverage.add(links);
      if (!coverage.proved)
        return coverage;
      coverage.covered.push_back(describe(dim));
    }
    return coverage;
  }

private:
  bool refuse(std::string problem) {
    coverage.add(Proof::bad(std::move(problem)));
    return false;
  }

  bool checkAxes(GridDim &dim) {
    for (Link &link : dim.links) {
      auto axis = llvm::find_if(
          mesh, [&](const MeshAxis &axis) { return axis.name == link.axis; });
      if (axis == mesh.end()) {
        std::string names;
        for (const MeshAxis &known : mesh)
          names += (names.empty() ? "\"" : ", \"") + known.name + "\"";
        return refuse(dim.name + "s are split over \"" + link.axis +
                      "\", which is no axis of the mesh, expected one of " +
                      (names.empty() ? "none" : names));
      }
      link.ranks = axis->size;
    }
    return true;
  }

  /// Readers of query heads that another dimension splits over the same axis.
  bool followsQueries(const Link &link) const {
    return isReaders(link) && llvm::any_of(dims, [&](const GridDim &dim) {
             return dim.items == link.partition.argument &&
                    !dim.links.empty() && dim.links[0].axis == link.axis &&
                    dim.links[0].segments.empty() &&
                    dim.links[0].partition.kind == Partition::Kind::Block;
           });
  }

  bool checkUses(const MeshAxis &axis) {
    std::vector<Use> uses;
    bool isUsed = false;
    for (const GridDim &dim : dims)
      for (size_t i = 0; i < dim.links.size(); ++i)
        if (dim.links[i].axis == axis.name) {
          isUsed = true;
          if (!followsQueries(dim.links[i]))
            uses.push_back({&dim, i});
        }
    if (!isUsed && axis.size > 1) {
      coverage.replicas.push_back(axis.name);
      coverage.numReplicas *= axis.size;
    }
    if (uses.size() < 2 || axis.size == 1)
      return true;
    Diagonal diagonal(uses[0], uses[1]);
    std::optional<Hole> hole = diagonal.findSmallest();
    // All items of known numbers meet on the same ranks.
    if (!hole && uses[0].dim->items && uses[1].dim->items && uses.size() == 2)
      return true;
    return refuse(hole ? diagonal.describe(*hole)
                       : "\"" + axis.name + "\" splits " + uses[0].dim->name +
                             "s and " + uses[1].dim->name +
                             "s, expected one of them");
  }

  static std::string describe(const GridDim &dim) {
    std::string text = dim.name + ": ";
    for (const Link &link : dim.links)
      text += (&link == dim.links.data() ? "" : " then ") +
              (link.segments.empty() ? kindName(link.partition)
                                     : std::string("given parts")) +
              " over \"" + link.axis + "\"";
    if (dim.links.empty())
      text += "whole";
    text += ", " + (dim.items ? std::to_string(*dim.items) : "every number");
    bool isCover = llvm::any_of(dim.links, isReaders);
    return text + (isCover ? ", those that the query heads read" : "");
  }

  const std::vector<MeshAxis> &mesh;
  std::vector<GridDim> dims;
  Coverage coverage;
};

} // namespace

Coverage layline::proveCoverage(const std::vector<MeshAxis> &mesh,
                                const std::vector<GridDim> &dims) {
  StopWatch watch;
  Coverage coverage = Prover(mesh, dims).prove();
  coverage.seconds = watch.seconds();
  return coverage;
}
