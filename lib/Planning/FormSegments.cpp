//===- FormSegments.cpp - stretches that are equal ------------------------===//
#include "FormSegments.h"
#include <algorithm>
#include <map>
#include <string>

using namespace layline;

namespace {

/// All that decides the outcome of a segment, relative to its first op.
class Signature {
public:
  Signature(const FormGraph &graph, const FormIndex &index,
            const std::vector<int> &labels, int begin)
      : graph(graph), index(index), labels(labels), begin(begin) {}

  void add(int number) { append(text, number); }
  void addValue(int value) {
    add(graph.values[value].producer - begin);
    add(index.resultOf[value]);
  }
  void addLabel(int op) { add(labels.empty() ? 0 : labels[op]); }
  void addReaders(int value) {
    add(graph.values[value].costClass);
    add(static_cast<int>(graph.values[value].readers.size()));
    for (int reader : graph.values[value].readers)
      add(reader - begin);
    add(index.lastOwedReader[value] < 0 ? -1
                                        : index.lastOwedReader[value] - begin);
  }
  void addOp(int op);
  void addPiece(int piece);
  std::string take() { return std::move(text); }

private:
  const FormGraph &graph;
  const FormIndex &index;
  const std::vector<int> &labels;
  int begin;
  std::string text;
};

} // namespace

void Signature::addOp(int number) {
  const FormGraph::Op &op = graph.ops[number];
  add(op.costClass);
  add(static_cast<int>(op.operands.size()));
  for (int value : op.operands)
    addValue(value);
  add(static_cast<int>(op.results.size()));
  for (int value : op.results)
    addReaders(value);
  add(static_cast<int>(op.modes.size()));
  for (const FormGraph::Mode &mode : op.modes) {
    for (Form form : mode.operands)
      add(static_cast<int>(form));
    for (Form form : mode.results)
      add(static_cast<int>(form));
  }
}

void Signature::addPiece(int number) {
  const FormGraph::Piece &piece = graph.pieces[number];
  add(piece.anchor - begin);
  add(index.indexOfPiece[number]);
  add(piece.costClass);
  for (const auto *events : {&piece.events, &piece.needs}) {
    add(static_cast<int>(events->size()));
    for (const FormGraph::Event &event : *events) {
      add(event.isConversion);
      add(event.choice);
      // What the piece saves depends on what its events cost by themselves.
      if (event.isConversion) {
        addValue(event.subject);
        add(graph.values[event.subject].costClass);
        addLabel(graph.values[event.subject].producer);
      } else {
        add(event.subject - begin);
        add(graph.ops[event.subject].costClass);
        addLabel(event.subject);
      }
    }
  }
}

/// The first and the last op whose outcome each piece has a part in: from where
/// a value that it converts is made.
static std::vector<std::pair<int, int>> findSpans(const FormGraph &graph,
                                                  const FormIndex &index) {
  std::vector<std::pair<int, int>> spans;
  for (size_t piece = 0; piece < graph.pieces.size(); ++piece) {
    int first = static_cast<int>(graph.ops.size()), last = 0;
    for (const auto *events :
         {&graph.pieces[piece].events, &graph.pieces[piece].needs})
      for (const FormGraph::Event &event : *events)
        first = std::min(first, event.isConversion
                                    ? graph.values[event.subject].producer
                                    : event.subject);
    for (int deadline : index.deadlines[piece])
      last = std::max(last, deadline);
    spans.emplace_back(first, last);
  }
  return spans;
}

std::vector<int>
layline::classifySegments(const FormGraph &graph, const FormIndex &index,
                          const std::vector<std::vector<int>> &live,
                          const std::vector<int> &labels) {
  const std::vector<std::pair<int, int>> spans = findSpans(graph, index);
  std::vector<int> classOf;
  std::map<std::string, int> known;
  for (size_t s = 0; s < graph.segments.size(); ++s) {
    int begin = graph.segments[s];
    int end = s + 1 < graph.segments.size()
                  ? graph.segments[s + 1]
                  : static_cast<int>(graph.ops.size());
    Signature signature(graph, index, labels, begin);
    signature.add(end - begin);
    for (int value : live[s]) {
      signature.addValue(value);
      signature.addReaders(value);
      signature.addLabel(graph.values[value].producer);
    }
    for (int op = begin; op < end; ++op) {
      signature.addOp(op);
      signature.addLabel(op);
    }
    for (size_t piece = 0; piece < graph.pieces.size(); ++piece)
      if (spans[piece].first < end && spans[piece].second >= begin)
        signature.addPiece(static_cast<int>(piece));
    classOf.push_back(
        known.try_emplace(signature.take(), static_cast<int>(known.size()))
            .first->second);
  }
  return classOf;
}
