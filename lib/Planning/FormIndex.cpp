//===- FormIndex.cpp - facts of a form graph ------------------------------===//
#include "FormIndex.h"
#include <algorithm>
#include <cassert>

using namespace layline;

void layline::append(std::string &text, int number) {
  text.append(reinterpret_cast<const char *>(&number), sizeof number);
}

FormIndex::FormIndex(const FormGraph &graph)
    : ofRun(graph.ops.size()), ofConversion(graph.values.size()),
      anchored(graph.ops.size()), resultOf(graph.values.size()) {
  for (const FormGraph::Value &value : graph.values)
    lastReader.push_back(value.readers.empty() ? value.producer
                                               : value.readers.back());
  for (const FormGraph::Op &op : graph.ops)
    for (size_t i = 0; i < op.results.size(); ++i)
      resultOf[op.results[i]] = static_cast<int>(i);
  for (size_t piece = 0; piece < graph.pieces.size(); ++piece) {
    const FormGraph::Piece &entry = graph.pieces[piece];
    assert(countBits(entry) <= 32 && "more events than bits");
    std::vector<int> last;
    auto add = [&](const FormGraph::Event &event, bool isNeed) {
      auto &list = event.isConversion ? ofConversion[event.subject]
                                      : ofRun[event.subject];
      list.push_back({static_cast<int>(piece), uint32_t(1) << last.size(),
                      event.choice, isNeed});
      last.push_back(event.isConversion ? lastReader[event.subject]
                                        : event.subject);
    };
    for (const FormGraph::Event &event : entry.events)
      add(event, /*isNeed=*/false);
    for (const FormGraph::Event &need : entry.needs)
      add(need, /*isNeed=*/true);
    deadlines.push_back(std::move(last));
    indexOfPiece.push_back(static_cast<int>(anchored[entry.anchor].size()));
    anchored[entry.anchor].push_back(static_cast<int>(piece));
  }
}

std::vector<std::vector<int>> layline::findLive(const FormGraph &graph,
                                                const FormIndex &index) {
  std::vector<std::vector<int>> live;
  for (int begin : graph.segments) {
    std::vector<int> values;
    for (size_t value = 0; value < graph.values.size(); ++value)
      if (graph.values[value].producer < begin &&
          index.lastReader[value] >= begin)
        values.push_back(static_cast<int>(value));
    // In the order of their ops, as a stretch keeps them.
    std::sort(values.begin(), values.end(), [&](int a, int b) {
      return std::pair(graph.values[a].producer, index.resultOf[a]) <
             std::pair(graph.values[b].producer, index.resultOf[b]);
    });
    live.push_back(std::move(values));
  }
  return live;
}
