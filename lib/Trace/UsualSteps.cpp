//===- UsualSteps.cpp - kernels at the step that theirs do elsewhere ------===//
//
// Where several neighbours of a kernel were lost and no operator tells its
// sizes, order alone puts it at the first step of its kind that is left. The
// other layers know better: the same kernel does another step there.
//
//===----------------------------------------------------------------------===//
#include "MappingParts.h"
#include <algorithm>
#include <map>

using namespace layline::trace;

namespace {

class UsualSteps {
public:
  UsualSteps(const Mapping &mapping, std::vector<Place> &places)
      : mapping(mapping), places(places) {}

  void run() {
    for (size_t i = 0; i < places.size(); ++i)
      if (isAlone(i))
        ++votes[mapping.trace->events[i].name][nameOf(stepOf(places[i]))];
    for (size_t i = 0; i < places.size(); ++i)
      if (isAlone(i) && !mapping.trace->operatorOf(mapping.trace->events[i]))
        move(i);
  }

private:
  /// Does one step, of a layer.
  bool isAlone(size_t event) const {
    const Place &place = places[event];
    return place.moves && place.first == place.last && stepOf(place).layer >= 0;
  }

  const ExpectedStep &stepOf(const Place &place) const {
    return mapping.programs[place.program].steps[place.last];
  }

  static std::string nameOf(const ExpectedStep &step) {
    return std::string(getName(step.work)) + " " + placeInLayer(step);
  }

  void move(size_t event) {
    const std::map<std::string, int> &own =
        votes.at(mapping.trace->events[event].name);
    int all = 0;
    auto usual = own.begin();
    for (auto vote = own.begin(); vote != own.end(); ++vote) {
      all += vote->second;
      if (vote->second > usual->second)
        usual = vote;
    }
    constexpr int kEnoughLayers = 4;
    if (usual->second < kEnoughLayers || usual->second * 5 < all * 4 ||
        usual->first == nameOf(stepOf(places[event])))
      return;
    // A step without a kernel between the neighbours that have theirs.
    const std::vector<ExpectedStep> &steps =
        mapping.programs[places[event].program].steps;
    int64_t layer = stepOf(places[event]).layer;
    int32_t begin = 0, end = static_cast<int32_t>(steps.size());
    if (!places[event].beginsPass)
      for (size_t i = event; i-- > 0;)
        if (places[i].moves) {
          begin = places[i].last + 1;
          break;
        }
    size_t behind = event + 1;
    while (behind < places.size() && !places[behind].moves)
      ++behind;
    if (behind < places.size() && !places[behind].beginsPass)
      end = places[behind].first;
    for (int32_t s = begin; s < end; ++s)
      if (steps[s].layer == layer && nameOf(steps[s]) == usual->first) {
        for (size_t i = event; i < behind; ++i)
          places[i].first = places[i].last = s;
        return;
      }
  }

  const Mapping &mapping;
  std::vector<Place> &places;
  std::map<int32_t, std::map<std::string, int>> votes; ///< by kernel name
};

} // namespace

void layline::trace::moveToUsualSteps(const Mapping &mapping,
                                      std::vector<Place> &places) {
  UsualSteps(mapping, places).run();
}
