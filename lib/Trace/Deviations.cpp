//===- Deviations.cpp - what is not as expected ---------------------------===//
#include "MappingParts.h"
#include <algorithm>
#include <map>
#include <set>

using namespace layline::trace;

namespace {

class DeviationFinder {
public:
  explicit DeviationFinder(Mapping &mapping) : mapping(mapping) {}

  void run() {
    for (size_t i = 0; i < mapping.passes.size(); ++i) {
      number = static_cast<int32_t>(i);
      findCuts();
      findMissingSteps();
      findCounts();
    }
    findExtras();
  }

private:
  const ForwardPass &pass() const { return mapping.passes[number]; }
  const ExpectedProgram &program() const {
    return mapping.programs[pass().program];
  }

  void add(Deviation::Kind kind, int64_t layer, int64_t count,
           std::string text) {
    mapping.deviations.push_back({kind, number, layer, count, std::move(text)});
  }

  void findCuts() {
    if (!pass().hasBegin)
      add(Deviation::Kind::CutBegin, -1, 0,
          "begins before the recording; its first kernel is of " +
              firstPlace(true));
    if (!pass().hasEnd)
      add(Deviation::Kind::CutEnd, -1, 0,
          "goes on behind the recording; its last kernel is of " +
              firstPlace(false));
    if (pass().layersUnsure && !pass().hasBegin && !pass().hasEnd)
      add(Deviation::Kind::LayersAbsent, -1, 0,
          "has neither begin nor end here: the numbers of its layers are not "
          "known");
  }

  std::string firstPlace(bool fromBegin) const {
    size_t count = pass().endEvent - pass().firstEvent;
    for (size_t k = 0; k < count; ++k) {
      size_t i = fromBegin ? pass().firstEvent + k : pass().endEvent - 1 - k;
      if (mapping.assignments[i].role == Role::Does)
        return mapping.mainStepOf(i)->place;
    }
    return "nothing";
  }

  /// Step by step; whole layers together.
  void findMissingSteps() {
    const std::vector<ExpectedStep> &steps = program().steps;
    std::vector<double> expected(program().layers, 0), lost = expected;
    for (const ExpectedStep &step : steps)
      if (step.layer >= 0 && step.weight >= 0.3)
        expected[step.layer] += step.weight;
    std::map<int64_t, std::vector<int32_t>> byLayer;
    for (int32_t s : pass().missing) {
      byLayer[steps[s].layer].push_back(s);
      if (steps[s].layer >= 0)
        lost[steps[s].layer] += steps[s].weight;
    }
    std::vector<int64_t> absent;
    for (const auto &[layer, missing] : byLayer) {
      if (layer >= 0 && lost[layer] > 0.9 * expected[layer]) {
        absent.push_back(layer);
        continue;
      }
      for (int32_t s : missing)
        add(Deviation::Kind::Missing, layer, 1,
            "no kernel for " + steps[s].place + " (" + steps[s].kind + ")");
    }
    if (!absent.empty())
      add(Deviation::Kind::LayersAbsent, absent.front(),
          static_cast<int64_t>(absent.size()),
          std::to_string(absent.size()) +
              " layers have no kernels; which ones they are is not known "
              "where all layers look alike");
  }

  /// Kernels of one kind in one module that most layers have as many of.
  void findCounts() {
    // [module, family] -> layer -> how many.
    std::map<std::pair<std::string, Family>, std::map<int64_t, int64_t>> counts;
    std::map<std::string, std::set<int64_t>> layersOf;
    int64_t first = program().layers, last = -1;
    for (size_t i = pass().firstEvent; i < pass().endEvent; ++i) {
      const Assignment &own = mapping.assignments[i];
      if (!own.isAssigned())
        continue;
      const ExpectedStep &step = *mapping.mainStepOf(i);
      if (step.layer < 0)
        continue;
      // The first norm of a stack has nothing to add.
      Family family = mapping.familyOf(i);
      if (family == Family::AddNorm)
        family = Family::Norm;
      ++counts[{step.module, family}][step.layer];
      first = std::min(first, step.layer);
      last = std::max(last, step.layer);
    }
    // A layer that the recording cuts is no layer to compare.
    int64_t begin = pass().hasBegin ? 0 : first + 1;
    int64_t end = pass().hasEnd ? program().layers : last;
    for (const ExpectedStep &step : program().steps)
      if (step.layer >= begin && step.layer < end)
        layersOf[step.module].insert(step.layer);
    for (const auto &[key, byLayer] : counts)
      compareCounts(key.first, key.second, byLayer, layersOf[key.first]);
  }

  void compareCounts(const std::string &module, Family family,
                     const std::map<int64_t, int64_t> &byLayer,
                     const std::set<int64_t> &layers) {
    auto countOf = [&](int64_t layer) {
      auto found = byLayer.find(layer);
      return found == byLayer.end() ? int64_t(0) : found->second;
    };
    std::map<int64_t, size_t> layersWith;
    for (int64_t layer : layers)
      ++layersWith[countOf(layer)];
    if (layers.size() < 4)
      return;
    auto usual = std::max_element(
        layersWith.begin(), layersWith.end(),
        [](const auto &a, const auto &b) { return a.second < b.second; });
    // Layers of two kinds by turns have no usual number.
    if (usual->second * 4 < layers.size() * 3)
      return;
    for (int64_t layer : layers)
      if (int64_t found = countOf(layer); found != usual->first)
        add(Deviation::Kind::Count, layer, found - usual->first,
            "layer " + std::to_string(layer) + " has " + std::to_string(found) +
                " kernels " + getName(family) + " in " + module + ", " +
                std::to_string(usual->second) + " of " +
                std::to_string(layers.size()) + " layers have " +
                std::to_string(usual->first));
  }

  void findExtras() {
    for (size_t i = 0; i < mapping.assignments.size(); ++i) {
      const Assignment &own = mapping.assignments[i];
      if (own.role != Role::Extra)
        continue;
      number = own.pass;
      const ExpectedStep *step = mapping.stepOf(i);
      add(Deviation::Kind::Extra, step ? step->layer : -1, 1,
          std::string("a kernel ") + getName(mapping.familyOf(i)) +
              " has no place" + (step ? " behind " + step->place : ""));
    }
  }

  Mapping &mapping;
  int32_t number = -1;
};

} // namespace

void layline::trace::findDeviations(Mapping &mapping) {
  DeviationFinder(mapping).run();
}
