//===- Tally.cpp - how often each net caught each kind of fault -----------===//
#include "Tally.h"
#include <fstream>
#include <iostream>
#include <sstream>

using namespace layline::test;

Tally::Tally() : rows(allFaultKinds().size()) {}

/// A static net refuses the fault, and not only the cast that stands for it.
static bool isSeenStatically(const FaultKind &kind, const Answers &answers) {
  if (kind.form != FaultForm::Relabel)
    return isCaughtStatically(answers);
  Answers others = answers;
  for (Net net :
       {Net::Positions, Net::Consumers, Net::Equivalence, Net::Launch})
    others[static_cast<unsigned>(net)].verdict = Verdict::NotAsked;
  return isCaughtStatically(others);
}

void Tally::add(const Planted &fault, const Answers &answers) {
  Row &row = rows[fault.kind - allFaultKinds().data()];
  ++row.planted;
  row.caught += isCaught(answers);
  row.caughtStatically += isSeenStatically(*fault.kind, answers);
  for (unsigned net = 0; net < kNumNets; ++net) {
    row.asked[net] += answers[net].verdict != Verdict::NotAsked;
    row.refused[net] += answers[net].verdict == Verdict::Refuses;
  }
  std::string what = fault.kind->name.str() + " " +
                     std::to_string(fault.place) + " in " + fault.program;
  if (!isCaught(answers))
    missed.push_back(what);
  if (fault.kind->effect == FaultEffect::Value &&
      answers[static_cast<unsigned>(Net::Exact)].verdict == Verdict::Accepts)
    unseen.push_back(what);
}

unsigned Tally::planted() const {
  unsigned sum = 0;
  for (const Row &row : rows)
    sum += row.planted;
  return sum;
}

void Tally::print(std::ostream &os) const {
  os << "| fault | changes | planted |";
  for (const char *net : kNetNames)
    os << " " << net << " |";
  os << "\n|---|---|---:|";
  for (unsigned net = 0; net < kNumNets; ++net)
    os << "---:|";
  os << "\n";
  for (size_t index = 0; index < rows.size(); ++index) {
    const FaultKind &kind = allFaultKinds()[index];
    const Row &row = rows[index];
    os << "| " << kind.name.str()
       << (kind.form == FaultForm::Relabel ? " (cast)" : "") << " | "
       << stringifyFaultEffect(kind.effect).str() << " | " << row.planted
       << " |";
    for (unsigned net = 0; net < kNumNets; ++net) {
      if (!row.asked[net])
        os << " |";
      else if (row.refused[net])
        os << " " << row.refused[net] << "/" << row.asked[net] << " |";
      else
        os << " 0 |";
    }
    os << "\n";
  }
}

std::vector<std::string> Tally::missedStatically() const {
  std::vector<std::string> names;
  for (size_t index = 0; index < rows.size(); ++index)
    if (unsigned lost = rows[index].planted - rows[index].caughtStatically)
      names.push_back(allFaultKinds()[index].name.str() + " (" +
                      std::to_string(lost) + " of " +
                      std::to_string(rows[index].planted) + ")");
  return names;
}

bool layline::test::checkPage(const std::string &path, const std::string &text,
                              bool update) {
  if (update) {
    std::ofstream(path) << text;
    return true;
  }
  std::ifstream file(path);
  std::stringstream committed;
  committed << file.rdbuf();
  if (committed.str() == text)
    return true;
  std::cerr << path << " is not what the nets give now; look at it with "
            << "--update\n";
  return false;
}
