//===- Sampling.cpp - which coordinates of a model are run ----------------===//
#include "layline/Exact/Sampling.h"
#include "DimClasses.h"
#include "Parts.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

using namespace layline;
using namespace layline::exact;

namespace {

constexpr int64_t kSmall = 6;      ///< dimensions up to this size are run whole
constexpr int64_t kManyRanks = 16; ///< beyond, only first elements of parts
constexpr int64_t kChoices = 2;    ///< experts taken of those sampled
/// Entries of the vocabulary: more than any run has tokens, so that no two rows
/// need have one id. Rows of equal ids could change places unseen.
constexpr int64_t kEntries = 48;
constexpr int64_t kLargestWhole = 4096; ///< larger ones have a fault anyway
constexpr int kMaxNesting = 8;          ///< of flat dimensions, against cycles

class Sampler {
public:
  Sampler(const std::vector<const Program *> &programs, std::deque<Items> &sets)
      : programs(programs), sets(sets), classes(programs) {}

  void choose();
  const Items *getItems(unsigned node, int nesting = 0);
  DimClasses &getClasses() { return classes; }

private:
  struct Chosen {
    std::set<int64_t> elements;
    const DimClasses::Flat *flat = nullptr;
    bool isRotated = false;
    bool isWhole = false;
    std::set<Digest> splits; ///< layouts whose parts are in already
    const Items *items = nullptr;
  };

  Chosen &get(unsigned node) { return chosen[classes.find(node)]; }
  int64_t size(unsigned node) const { return classes.extent(node).constant(); }
  bool add(unsigned node, int64_t element, int nesting = 0);
  void addEnds(unsigned node);
  void addSplits(size_t index);
  void addParts(unsigned node, const Program &program, const DimLayout &layout);
  bool closeRotation(const DimClasses::Rotation &rotation);
  bool closeReordering(const DimClasses::Reordering &reordering);
  bool closeReaders(const DimClasses::Readers &readers);
  bool closeWindow(const DimClasses::Window &window);
  std::vector<int64_t> getElements(unsigned node, int nesting = 0);

  const std::vector<const Program *> &programs;
  std::deque<Items> &sets;
  DimClasses classes;
  std::unordered_map<unsigned, Chosen> chosen; ///< by root
  std::map<Items, const Items *> interned;
};

/// Of a flat dimension the elements are chosen in its factors. Returns whether
/// the element is new.
bool Sampler::add(unsigned node, int64_t element, int nesting) {
  Chosen &set = get(node);
  if (!set.flat || nesting > kMaxNesting)
    return set.elements.insert(element).second;
  int64_t inner = size(set.flat->inner);
  bool isNew = add(set.flat->outer, element / inner, nesting + 1);
  return add(set.flat->inner, element % inner, nesting + 1) || isNew;
}

void Sampler::addEnds(unsigned node) {
  int64_t count = size(node);
  Chosen &set = get(node);
  if (count <= kSmall) {
    for (int64_t i = 0; i < count; ++i)
      set.elements.insert(i);
    return;
  }
  add(node, 0);
  add(node, count - 1);
  // Rotated pairs make four of the two, factors many more.
  if (!set.isRotated && !set.flat)
    add(node, 1);
}

/// The first and last elements of every part.
void Sampler::addParts(unsigned node, const Program &program,
                       const DimLayout &layout) {
  std::vector<unsigned> over;
  for (const Link &link : layout.links)
    over.push_back(link.axis);
  std::vector<int64_t> ranks = program.group(0, over);
  for (int64_t rank : ranks) {
    std::string fault; // of the op that uses it, when it runs
    std::vector<Segment> segments = getLocalSegments(
        program, layout, size(node), program.coordinates(rank), fault);
    segments.erase(std::remove_if(segments.begin(), segments.end(),
                                  [](Segment s) { return s.size == 0; }),
                   segments.end());
    if (segments.empty())
      continue;
    add(node, segments.front().begin);
    add(node, segments.back().begin);
    if (int64_t(ranks.size()) > kManyRanks)
      continue;
    add(node, segments.front().end() - 1);
    add(node, segments.back().end() - 1);
  }
}

void Sampler::addSplits(size_t index) {
  const Program &program = *programs[index];
  if (!program.hasSensibleMesh())
    return; // it will not run
  Hasher mesh("mesh");
  for (const Axis &axis : program.axes)
    mesh.add(uint64_t(axis.size));
  for (ValueId id = 0; id < program.values.size(); ++id) {
    const Value &value = program.values[id];
    for (unsigned dim = 0; dim < value.shape.size(); ++dim) {
      if (dim >= value.dims.size() || value.dims[dim].links.empty() ||
          !value.shape[dim].isConstant())
        continue;
      const DimLayout &layout = value.dims[dim];
      Hasher key = mesh;
      key.add(uint64_t(layout.unit));
      for (const Link &link : layout.links)
        key.add(uint64_t(link.axis)).add(link.identity);
      unsigned node = classes.node(index, id, dim);
      if (get(node).splits.insert(key.digest()).second)
        addParts(node, program, layout);
    }
  }
}

/// The features that rope pairs with chosen ones, and one that it leaves alone.
bool Sampler::closeRotation(const DimClasses::Rotation &rotation) {
  const RopeTable &rope = *rotation.rope;
  int64_t pairs = int64_t(rope.numbers.inverseFrequencies.size());
  int64_t width = size(rotation.node);
  if (2 * pairs > width)
    return false; // its op will say so
  bool isChanged = 2 * pairs < width && add(rotation.node, 2 * pairs);
  if (pairs > 0)
    isChanged |= add(rotation.node, 2 * pairs - 1);
  const std::set<int64_t> elements = get(rotation.node).elements;
  for (int64_t i : elements) {
    if (i >= 2 * pairs)
      continue;
    int64_t partner = rope.isInterleaved ? (i ^ 1) : (i + pairs) % (2 * pairs);
    isChanged |= add(rotation.node, partner);
  }
  return isChanged;
}

/// Pair i is 2i and 2i + 1 of the one, i and i + pairs of the other; what is
/// not rotated stays where it is.
bool Sampler::closeReordering(const DimClasses::Reordering &reordering) {
  int64_t pairs = int64_t(reordering.rope->numbers.inverseFrequencies.size());
  unsigned from = reordering.from, to = reordering.to;
  bool isChanged = false;
  if (2 * pairs > size(from))
    return false; // its op will say so
  auto addPair = [&](int64_t pair) {
    for (auto [node, element] :
         {std::pair(from, 2 * pair), std::pair(from, 2 * pair + 1),
          std::pair(to, pair), std::pair(to, pair + pairs)})
      isChanged |= add(node, element);
  };
  for (int64_t i : getElements(from))
    if (i < 2 * pairs)
      addPair(i / 2);
    else
      isChanged |= add(to, i);
  for (int64_t i : getElements(to))
    if (i < 2 * pairs)
      addPair(i % pairs);
    else
      isChanged |= add(from, i);
  return isChanged;
}

/// The KV heads that chosen query heads read.
bool Sampler::closeReaders(const DimClasses::Readers &readers) {
  int64_t perKVHead = size(readers.heads) / size(readers.kvHeads);
  bool isChanged = false;
  if (perKVHead == 0)
    return false;
  const std::set<int64_t> heads = get(readers.heads).elements;
  for (int64_t head : heads)
    isChanged |= add(readers.kvHeads, head / perKVHead);
  return isChanged;
}

/// The elements that are chosen so far.
std::vector<int64_t> Sampler::getElements(unsigned node, int nesting) {
  const Chosen &set = get(node);
  std::vector<int64_t> elements;
  if (set.isWhole && size(node) <= kLargestWhole) {
    elements.resize(size(node));
    std::iota(elements.begin(), elements.end(), 0);
  } else if (set.flat && nesting < kMaxNesting) {
    int64_t width = size(set.flat->inner);
    std::vector<int64_t> inner = getElements(set.flat->inner, nesting + 1);
    for (int64_t o : getElements(set.flat->outer, nesting + 1))
      for (int64_t i : inner)
        elements.push_back(o * width + i);
  } else {
    elements.assign(set.elements.begin(), set.elements.end());
  }
  return elements;
}

/// A window runs the columns that the whole does, and the whole those of its
/// windows.
bool Sampler::closeWindow(const DimClasses::Window &window) {
  bool isChanged = false;
  int64_t begin = window.begin, end = begin + size(window.part);
  for (int64_t column : getElements(window.whole))
    if (column >= begin && column < end)
      isChanged |= add(window.part, column - begin);
  for (int64_t column : getElements(window.part))
    isChanged |= add(window.whole, begin + column);
  return isChanged;
}

void Sampler::choose() {
  for (unsigned node : classes.contradictions)
    get(node).isWhole = true;
  for (const DimClasses::Flat &flat : classes.flats)
    if (!get(flat.flat).isWhole)
      get(flat.flat).flat = &flat;
  for (const DimClasses::Rotation &rotation : classes.rotations)
    get(rotation.node).isRotated = true;
  for (unsigned node = 0; node < classes.nodes(); ++node)
    if (classes.find(node) == node && classes.extent(node).isConstant())
      addEnds(node);
  for (size_t program = 0; program < programs.size(); ++program)
    addSplits(program);
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (const DimClasses::Rotation &rotation : classes.rotations)
      if (classes.extent(rotation.node).isConstant())
        isChanged |= closeRotation(rotation);
    for (const DimClasses::Reordering &reordering : classes.reorderings)
      if (classes.extent(reordering.from).isConstant())
        isChanged |= closeReordering(reordering);
    for (const DimClasses::Readers &readers : classes.readers)
      isChanged |= closeReaders(readers);
    for (const DimClasses::Window &window : classes.windows)
      isChanged |= closeWindow(window);
  }
  for (unsigned node : classes.vocabularies)
    if (classes.extent(node).isConstant())
      for (int64_t i = 0; i < kEntries; ++i)
        add(node, i * size(node) / kEntries);
  for (unsigned node : classes.choices) {
    if (!classes.extent(node).isConstant())
      continue;
    std::set<int64_t> &elements = get(node).elements;
    elements.clear();
    for (int64_t i = 0; i < std::min(size(node), kChoices); ++i)
      elements.insert(i);
  }
}

const Items *Sampler::getItems(unsigned node, int nesting) {
  if (!classes.extent(node).isConstant())
    return nullptr;
  Chosen &set = get(node);
  if (set.items)
    return set.items;
  Items items;
  if (set.isWhole && size(node) <= kLargestWhole) {
    for (int64_t i = 0; i < size(node); ++i)
      items.push_back(i);
  } else if (set.flat && nesting < kMaxNesting) {
    const Items &inner = *getItems(set.flat->inner, nesting + 1);
    for (int64_t o : *getItems(set.flat->outer, nesting + 1))
      for (int64_t i : inner)
        items.push_back(o * size(set.flat->inner) + i);
  } else {
    items.assign(set.elements.begin(), set.elements.end());
  }
  // Layers are alike: equal sets are one, and what depends on them is done
  // once.
  auto [known, isNew] = interned.try_emplace(std::move(items), nullptr);
  if (isNew) {
    sets.push_back(known->first);
    known->second = &sets.back();
  }
  return set.items = known->second;
}

} // namespace

Sampling::Sampling(const std::vector<const Program *> &list) {
  Sampler sampler(list, sets);
  sampler.choose();
  DimClasses &classes = sampler.getClasses();
  for (size_t index = 0; index < list.size(); ++index) {
    SampledProgram &sampled = programs.emplace_back();
    sampled.program = list[index];
    sampled.faults = classes.faults[index];
    if (!classes.vocabularies.empty())
      sampled.vocabulary = sampler.getItems(classes.vocabularies.front());
    for (ValueId id = 0; id < list[index]->values.size(); ++id) {
      auto &items = sampled.items.emplace_back();
      for (unsigned dim = 0; dim < list[index]->values[id].shape.size(); ++dim)
        items.push_back(sampler.getItems(classes.node(index, id, dim)));
    }
  }
}
