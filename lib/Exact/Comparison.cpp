//===- Comparison.cpp - values of a program and of the reference ----------===//
#include "Comparison.h"
#include "Collectives.h"
#include <algorithm>

using namespace layline;
using namespace layline::exact;

static bool haveSameShape(const Value &a, const Value &b) {
  return a.shape.size() == b.shape.size() &&
         std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(),
                    isSameExtent);
}

namespace {

class Matcher {
public:
  Matcher(const Program &program, const Program &reference)
      : program(program), reference(reference) {}
  Correspondence match();

private:
  void matchOutputs();
  void matchCaches();
  void matchNames();
  void matchPlaces();
  void compare(ValueId value, ValueId expected, const std::string &what);

  const Program &program, &reference;
  Correspondence found;
};

/// "[?, 4, 128]": extents that a run decides are "?".
static std::string describeShape(const Value &value) {
  std::string text;
  for (const Expr &extent : value.shape)
    text += (text.empty() ? "" : ", ") +
            (extent.isConstant() ? std::to_string(extent.constant()) : "?");
  return "[" + text + "]";
}

void Matcher::compare(ValueId value, ValueId expected,
                      const std::string &what) {
  if (value >= program.values.size() || expected >= reference.values.size())
    found.fault = what + " is no value";
  else if (!haveSameShape(program.values[value], reference.values[expected]))
    found.fault = what + " has the shape " +
                  describeShape(program.values[value]) + ", expected " +
                  describeShape(reference.values[expected]);
  else
    found.compared.push_back({value, expected});
}

void Matcher::matchOutputs() {
  if (program.outputs.size() != reference.outputs.size())
    found.fault = "it returns " + std::to_string(program.outputs.size()) +
                  " values instead of " +
                  std::to_string(reference.outputs.size());
  for (size_t i = 0; found.fault.empty() && i < program.outputs.size(); ++i)
    compare(program.outputs[i], reference.outputs[i],
            "output " + std::to_string(i));
}

void Matcher::matchCaches() {
  auto collect = [](const Program &p) {
    std::map<std::pair<int64_t, std::string>, ValueId> caches;
    for (const CacheContent &cache : p.caches)
      caches[{cache.layer, cache.plane}] = cache.value;
    return caches;
  };
  auto own = collect(program), expected = collect(reference);
  auto name = [](const auto &entry) {
    return "the cache of plane " + entry.first.second + ", layer " +
           std::to_string(entry.first.first) + ",";
  };
  for (const auto &entry : expected)
    if (auto it = own.find(entry.first); it == own.end())
      found.fault = name(entry) + " is not written";
    else
      compare(it->second, entry.second, name(entry));
  for (const auto &entry : own)
    if (expected.count(entry.first) == 0)
      found.fault = name(entry) + " is written, but not by the reference";
}

void Matcher::matchNames() {
  std::map<std::string, ValueId> names;
  auto forEachName = [](const Program &p, auto use) {
    for (const Op &op : p.ops)
      for (size_t i = 0; i < std::min(op.names.size(), op.results.size()); ++i)
        if (!op.names[i].empty())
          use(op.names[i], op.results[i]);
  };
  forEachName(reference, [&](const std::string &name, ValueId value) {
    names[name] = value;
  });
  forEachName(program, [&](const std::string &name, ValueId value) {
    if (auto it = names.find(name); it != names.end())
      compare(value, it->second, name);
  });
}

/// Only where both have as many such ops, on as many operands: an op that was
/// split up or repeated has no counterpart. Weights may stand in any order.
void Matcher::matchPlaces() {
  using Key = std::tuple<std::string, OpKind, size_t>;
  auto collect = [](const Program &p) {
    std::map<Key, std::vector<const Op *>> ops;
    for (const Op &op : p.ops)
      if (!op.place.empty() && op.kind != OpKind::Weight)
        ops[{op.place, op.kind, op.operands.size()}].push_back(&op);
    return ops;
  };
  auto own = collect(program), expected = collect(reference);
  for (const auto &[key, ops] : own) {
    auto it = expected.find(key);
    if (it == expected.end() || it->second.size() != ops.size())
      continue;
    for (size_t i = 0; i < ops.size(); ++i) {
      const Op &a = *ops[i], &b = *it->second[i];
      for (size_t r = 0; r < std::min(a.results.size(), b.results.size()); ++r)
        if (a.results[r] < program.values.size() &&
            b.results[r] < reference.values.size() &&
            haveSameShape(program.values[a.results[r]],
                          reference.values[b.results[r]]))
          found.located.push_back({a.results[r], b.results[r]});
    }
  }
}

Correspondence Matcher::match() {
  if (reference.ranks() != 1)
    found.fault = "the reference does not run on one device";
  if (found.fault.empty())
    matchOutputs();
  if (found.fault.empty())
    matchCaches();
  if (found.fault.empty())
    matchNames();
  matchPlaces();
  return std::move(found);
}

/// Compares one value, rank by rank.
class ValueComparison {
public:
  ValueComparison(const Computed &computed, const LocalTensor &reference,
                  ValueId referenceValue, const RunLayouts &referenceLayouts)
      : computed(computed), reference(reference),
        covered(reference.values.size()) {
    for (unsigned dim = 0; dim < reference.shape.size(); ++dim)
      wholes.push_back(&referenceLayouts.part(referenceValue, dim, 0));
  }

  std::optional<Difference> find();

private:
  std::optional<Difference> compare(int64_t rank, const LocalTensor &tensor);
  bool isWhole(int64_t rank) const;
  bool isCopy(int64_t rank, int64_t other) const;
  Tensor takeSum(int64_t rank, const std::vector<unsigned> &owes) const;
  std::vector<int64_t> getElement(size_t index) const;

  const Computed &computed;
  const LocalTensor &reference;
  std::vector<const DimPart *> wholes; ///< what the reference's rank holds
  std::vector<bool> covered;
};

/// Coordinates of an element of the reference.
std::vector<int64_t> ValueComparison::getElement(size_t index) const {
  std::vector<int64_t> element(wholes.size());
  for (size_t dim = wholes.size(); dim-- > 0;) {
    element[dim] = wholes[dim]->labels[index % reference.dim(dim)];
    index /= reference.dim(dim);
  }
  return element;
}

bool ValueComparison::isWhole(int64_t rank) const {
  for (unsigned dim = 0; dim < wholes.size(); ++dim)
    if (computed.layouts.part(computed.value, dim, rank).digest !=
        wholes[dim]->digest)
      return false;
  return true;
}

/// Null if the addends do not fit together.
Tensor ValueComparison::takeSum(int64_t rank,
                                const std::vector<unsigned> &owes) const {
  std::vector<Tensor> addends;
  for (int64_t member : computed.layouts.getProgram().group(rank, owes)) {
    addends.push_back(computed.tensors.ranks[member]);
    if (addends.back()->shape != addends.front()->shape)
      return nullptr;
  }
  return sumOnce(addends, computed.memo);
}

/// Whether two ranks are known to hold the same of the value.
bool ValueComparison::isCopy(int64_t rank, int64_t other) const {
  if (computed.tensors.ranks[rank] != computed.tensors.ranks[other])
    return false;
  for (unsigned dim = 0; dim < wholes.size(); ++dim)
    if (computed.layouts.part(computed.value, dim, rank).digest !=
        computed.layouts.part(computed.value, dim, other).digest)
      return false;
  return true;
}

std::optional<Difference> ValueComparison::compare(int64_t rank,
                                                   const LocalTensor &tensor) {
  std::vector<std::vector<int64_t>> positions(wholes.size());
  size_t count = 1;
  for (unsigned dim = 0; dim < wholes.size(); ++dim) {
    const DimPart &part = computed.layouts.part(computed.value, dim, rank);
    const std::vector<int64_t> &all = wholes[dim]->labels;
    for (int64_t label : part.labels) {
      auto it = std::lower_bound(all.begin(), all.end(), label);
      if (it == all.end() || *it != label)
        return Difference{rank, {}, "has elements that the reference lacks"};
      positions[dim].push_back(it - all.begin());
    }
    count *= part.labels.size();
  }
  // Padding is behind the elements of each dimension.
  for (size_t i = 0; i < count; ++i) {
    size_t own = 0, expected = 0, ownStride = 1, stride = 1, rest = i;
    for (size_t dim = wholes.size(); dim-- > 0;) {
      size_t index = rest % positions[dim].size();
      rest /= positions[dim].size();
      own += index * ownStride;
      expected += positions[dim][index] * stride;
      ownStride *= tensor.dim(dim);
      stride *= reference.dim(dim);
    }
    covered[expected] = true;
    if (tensor.data()[own] != reference.data()[expected])
      return Difference{rank, getElement(expected), ""};
  }
  return std::nullopt;
}

std::optional<Difference> ValueComparison::find() {
  const Program &program = computed.layouts.getProgram();
  const std::vector<unsigned> &owes = program.values[computed.value].owes;
  for (unsigned axis : owes)
    if (axis >= program.axes.size())
      return Difference{0, {}, "owes a sum over an axis that is not there"};
  bool isCovered = false;
  for (int64_t rank = 0; rank < int64_t(computed.tensors.ranks.size());
       ++rank) {
    Tensor tensor = computed.tensors.ranks[rank];
    if (!owes.empty()) {
      if (program.group(rank, owes).front() != rank)
        continue; // its group was looked at
      tensor = takeSum(rank, owes);
      if (!tensor)
        return Difference{rank, {}, "owes a sum of parts that do not fit"};
    } else if (rank > 0 && isCopy(rank, rank - 1)) {
      continue;
    }
    if (isWhole(rank) && tensor->digest == reference.digest) {
      isCovered = true;
      continue;
    }
    if (auto difference = compare(rank, *tensor))
      return difference;
  }
  auto missing = std::find(covered.begin(), covered.end(), false);
  if (isCovered || missing == covered.end())
    return std::nullopt;
  return Difference{-1, getElement(missing - covered.begin()),
                    "is held by no rank"};
}

} // namespace

Correspondence exact::findCorrespondence(const Program &program,
                                         const Program &reference) {
  return Matcher(program, reference).match();
}

/// Everything that decides the comparison.
static Digest factOf(const Computed &computed, const LocalTensor &reference,
                     ValueId referenceValue,
                     const RunLayouts &referenceLayouts) {
  const Program &program = computed.layouts.getProgram();
  Hasher hasher("equal");
  hasher.add(computed.tensors.digest).add(reference.digest);
  for (const Axis &axis : program.axes)
    hasher.add(uint64_t(axis.size));
  for (unsigned axis : program.values[computed.value].owes)
    hasher.add(uint64_t(axis));
  for (unsigned dim = 0; dim < reference.shape.size(); ++dim)
    hasher.add(computed.layouts.digest(computed.value, dim))
        .add(referenceLayouts.digest(referenceValue, dim));
  return hasher.digest();
}

std::optional<Difference>
exact::findDifference(const Computed &computed, const LocalTensor &reference,
                      ValueId referenceValue,
                      const RunLayouts &referenceLayouts) {
  Digest fact = factOf(computed, reference, referenceValue, referenceLayouts);
  if (computed.memo.isKnown(fact))
    return std::nullopt;
  std::optional<Difference> difference =
      ValueComparison(computed, reference, referenceValue, referenceLayouts)
          .find();
  if (!difference)
    computed.memo.note(fact);
  return difference;
}
