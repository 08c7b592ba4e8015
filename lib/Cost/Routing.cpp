//===- Routing.cpp - how many ranks the experts of a row are on -----------===//
#include "layline/Cost/Routing.h"
#include "layline/Support/Partition.h"
#include <algorithm>
#include <vector>

using namespace layline;

/// The probability that none of `chosen` of `all` items is one of `marked`:
/// C(all - marked, chosen) / C(all, chosen).
static double missAll(int64_t all, int64_t marked, int64_t chosen) {
  double probability = 1;
  for (int64_t i = 0; i < chosen; ++i)
    probability *= std::max<double>(0, double(all - marked - i)) /
                   std::max<double>(1, double(all - i));
  return probability;
}

double layline::getHitProbability(const RoutingShape &shape, int64_t ranks,
                                  int64_t rank) {
  Segment own = getBlock(shape.experts, ranks, rank);
  if (own.size == 0 || shape.chosen == 0)
    return 0;
  if (shape.groups < 2 || shape.chosenGroups >= shape.groups)
    return 1 - missAll(shape.experts, own.size, shape.chosen);
  int64_t size = shape.experts / shape.groups;
  // By number of groups chosen so far and of own experts in these: the share of
  // all sets of groups, group by group.
  std::vector<std::vector<double>> sets(shape.chosenGroups + 1,
                                        std::vector<double>(own.size + 1, 0));
  sets[0][0] = 1;
  for (int64_t group = 0; group < shape.groups; ++group) {
    int64_t begin = std::max(own.begin, group * size),
            end = std::min(own.end(), (group + 1) * size);
    int64_t marked = std::max<int64_t>(0, end - begin);
    int64_t left = shape.groups - group;
    for (int64_t count = std::min(group, shape.chosenGroups); count >= 0;
         --count)
      for (int64_t found = own.size; found >= 0; --found) {
        double share = sets[count][found];
        if (share == 0)
          continue;
        double taken = double(shape.chosenGroups - count) / double(left);
        sets[count][found] = share * (1 - taken);
        if (count < shape.chosenGroups)
          sets[count + 1][found + marked] += share * taken;
      }
  }
  double miss = 0;
  for (int64_t found = 0; found <= own.size; ++found)
    miss += sets[shape.chosenGroups][found] *
            missAll(shape.chosenGroups * size, found, shape.chosen);
  return 1 - miss;
}

double layline::getExpectedHits(const RoutingShape &shape, int64_t ranks) {
  double hits = 0;
  for (int64_t rank = 0; rank < ranks; ++rank)
    hits += getHitProbability(shape, ranks, rank);
  return hits;
}
