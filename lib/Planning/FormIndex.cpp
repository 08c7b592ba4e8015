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
      anchored(graph.ops.size()), resultOf(graph.values.size()),
      lastOwedReader(graph.values.size(), -1) {
  for (const FormGraph::Value &value : graph.values)
    lastReader.push_back(value.readers.empty() ? value.producer
                                               : value.readers.back());
  for (size_t number = 0; number < graph.ops.size(); ++number) {
    const FormGraph::Op &op = graph.ops[number];
    for (size_t i = 0; i < op.results.size(); ++i)
      resultOf[op.results[i]] = static_cast<int>(i);
    for (const FormGraph::Mode &mode : op.modes)
      for (size_t i = 0; i < op.operands.size(); ++i)
        if (mode.operands[i] == Form::Owed)
          lastOwedReader[op.operands[i]] = static_cast<int>(number);
  }
  for (size_t piece = 0; piece < graph.pieces.size(); ++piece) {
    const FormGraph::Piece &entry = graph.pieces[piece];
    assert(countBits(entry) <= 32 && "more events than bits");
    std::vector<int> last;
    int first = static_cast<int>(graph.ops.size());
    auto add = [&](const FormGraph::Event &event, bool isNeed) {
      auto &list = event.isConversion ? ofConversion[event.subject]
                                      : ofRun[event.subject];
      list.push_back({static_cast<int>(piece), uint32_t(1) << last.size(),
                      event.choice, isNeed});
      last.push_back(event.isConversion ? lastReader[event.subject]
                                        : event.subject);
      if (!event.isConversion)
        first = std::min(first, event.subject);
    };
    for (const FormGraph::Event &event : entry.events)
      add(event, /*isNeed=*/false);
    for (const FormGraph::Event &need : entry.needs)
      add(need, /*isNeed=*/true);
    deadlines.push_back(std::move(last));
    firstRun.push_back(first);
    indexOfPiece.push_back(static_cast<int>(anchored[entry.anchor].size()));
    anchored[entry.anchor].push_back(static_cast<int>(piece));
  }
  findParts(graph);
}

static bool contains(const std::vector<FormGraph::Event> &events,
                     const FormGraph::Event &event) {
  return std::find(events.begin(), events.end(), event) != events.end();
}

void FormIndex::findParts(const FormGraph &graph) {
  // How many events of each piece another has.
  std::vector<int> shared(graph.pieces.size());
  for (size_t piece = 0; piece < graph.pieces.size(); ++piece) {
    const FormGraph::Piece &whole = graph.pieces[piece];
    std::vector<int> met;
    for (const FormGraph::Event &event : whole.events)
      for (const Member &member : getMembers(event))
        if (!member.isNeed && member.choice == event.choice &&
            shared[member.piece]++ == 0)
          met.push_back(member.piece);
    std::vector<int> &found = parts.emplace_back();
    for (int other : met) {
      const FormGraph::Piece &part = graph.pieces[other];
      if (other != static_cast<int>(piece) &&
          shared[other] == static_cast<int>(part.events.size()) &&
          std::all_of(part.needs.begin(), part.needs.end(),
                      [&](const FormGraph::Event &need) {
                        return contains(whole.events, need) ||
                               contains(whole.needs, need);
                      }))
        found.push_back(other);
      shared[other] = 0;
    }
  }
}

FormProblem::FormProblem(const FormGraph &graph, const FormIndex &index,
                         FormCosts given)
    : graph(graph), index(index), costs(std::move(given)) {
  size_t lists = graph.values.size() * kConversions;
  for (const FormGraph::Op &op : graph.ops) {
    firstOfRun.push_back(lists);
    lists += op.modes.size();
  }
  starts.assign(2 * lists + 1, 0);
  auto forEach = [&](auto visit) {
    for (size_t piece = 0; piece < graph.pieces.size(); ++piece) {
      if (costs.pieces[piece] == kNever)
        continue;
      uint32_t bit = 1;
      for (const FormGraph::Event &event : graph.pieces[piece].events) {
        visit(getList(event), Member{static_cast<int>(piece), bit});
        bit <<= 1;
      }
      for (const FormGraph::Event &need : graph.pieces[piece].needs) {
        visit(getList(need) + 1, Member{static_cast<int>(piece), bit});
        bit <<= 1;
      }
    }
  };
  forEach([&](size_t list, Member) { ++starts[list + 1]; });
  for (size_t list = 0; list < 2 * lists; ++list)
    starts[list + 1] += starts[list];
  members.resize(starts.back());
  std::vector<size_t> ends(starts.begin(), starts.end() - 1);
  forEach([&](size_t list, Member member) { members[ends[list]++] = member; });
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
