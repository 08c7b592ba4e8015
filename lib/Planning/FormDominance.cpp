//===- FormDominance.cpp - states that no optimum passes ------------------===//
#include "FormDominance.h"

using namespace layline;

/// What is lost at most if the conversion has been done before the piece that
/// would do it can begin: its other events are then paid one by one.
double FormDominance::getLoss(int value, Conversion conversion,
                              int next) const {
  FormGraph::Event event = FormGraph::convert(value, conversion);
  auto mayBegin = [&](const FormProblem::Member &member) {
    return problem.index.firstRun[member.piece] >= next;
  };
  double loss = 0;
  // Several pieces may wait for one need.
  for (const FormProblem::Member &member : problem.getNeeders(event))
    if (mayBegin(member))
      return kNever;
  for (const FormProblem::Member &member : problem.getDoers(event)) {
    if (!mayBegin(member))
      continue;
    double others = -problem.costs.pieces[member.piece];
    for (const FormGraph::Event &other :
         problem.graph.pieces[member.piece].events)
      if (!(other == event))
        others += getOwnCost(problem.costs, other);
    loss = std::max(loss, others);
  }
  return loss;
}

void FormDominance::moveTo(int next, const std::vector<int> &live) {
  slots.clear();
  for (int value : live) {
    const auto &own = problem.costs.conversions[value];
    auto loss = [&](Conversion c) { return getLoss(value, c, next); };
    slots.push_back({value, problem.index.lastOwedReader[value] >= next,
                     own[static_cast<int>(Conversion::ReduceScatter)],
                     own[static_cast<int>(Conversion::AllReduce)],
                     own[static_cast<int>(Conversion::AllGather)],
                     loss(Conversion::ReduceScatter),
                     loss(Conversion::AllReduce), loss(Conversion::AllGather)});
  }
}

double FormDominance::getBound(const Slot &slot, uint8_t forms,
                               uint8_t others) const {
  if (slot.mayBeReadOwed && (others & kOwed) && !(forms & kOwed))
    return kNever;
  bool rows = forms & kRows, whole = forms & kWhole;
  bool otherRows = others & kRows, otherWhole = others & kWhole;
  // Behind: it converts where the other has.
  if (otherWhole && !whole)
    return rows ? slot.gather
                : std::min(slot.reduce, slot.scatter + slot.gather);
  if (otherRows && !rows)
    return std::min(slot.scatter, slot.reduce + slot.lostGather);
  // Ahead: what the other may still do in a piece is done.
  if (whole && otherRows)
    return otherWhole ? 0 : slot.lostGather;
  if (whole)
    return std::max(slot.lostScatter + slot.lostGather, slot.lostReduce);
  // The other may still reduce, this one can only gather.
  if (rows && !otherRows)
    return std::max(slot.lostScatter, slot.lostReduce + slot.gather);
  return 0;
}

/// Whether an open piece waits for a conversion of the value.
bool FormDominance::isOwedByPiece(const FormState &state, int value) const {
  for (const OpenPiece &open : state.open)
    for (const FormIndex::Member &member : problem.index.ofConversion[value])
      if (member.piece == open.piece && (open.owed & member.bit))
        return true;
  return false;
}

bool FormDominance::isWithin(const FormState &state, const FormState &other,
                             double limit) const {
  if (state.open.size() > other.open.size())
    return false;
  double bound = 0;
  // Pieces that the other has begun too are free for it, and paid one by one
  // here. A piece begun only here would have to be ended.
  const OpenPiece *mine = state.open.begin();
  for (const OpenPiece &theirs : other.open) {
    if (mine != state.open.end() && mine->piece <= theirs.piece) {
      if (mine->piece != theirs.piece || mine->owed != theirs.owed)
        return false;
      ++mine;
      continue;
    }
    const auto &events = problem.graph.pieces[theirs.piece].events;
    for (size_t i = 0; i < events.size(); ++i)
      if (theirs.owed >> i & 1)
        bound += getOwnCost(problem.costs, events[i]);
    if (bound > limit)
      return false;
  }
  if (mine != state.open.end())
    return false;
  for (size_t i = 0; i < slots.size(); ++i) {
    uint8_t forms = state.getForms(i), others = other.getForms(i);
    if (forms == others)
      continue;
    // A piece that both have begun waits for a conversion that one of them has
    // done already, or that the other would do in a different way.
    if (isOwedByPiece(state, slots[i].value))
      return false;
    bound += getBound(slots[i], forms, others);
    if (bound > limit)
      return false;
  }
  return bound <= limit;
}
