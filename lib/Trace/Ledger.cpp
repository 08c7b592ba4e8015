//===- Ledger.cpp - where the time of a pass's kernels goes ---------------===//
#include "Ledger.h"
#include <algorithm>
#include <stdexcept>

using namespace layline::trace;

Ledger::Ledger(const Mapping &run, size_t traceNumber, int32_t passNumber,
               const std::map<size_t, int64_t> &waitsByEvent,
               const std::vector<std::string> &boundaryPlaces)
    : mapping(run), trace(traceNumber), pass(passNumber), waits(waitsByEvent),
      places(boundaryPlaces) {
  const ForwardPass &own = mapping.passes[static_cast<size_t>(pass)];
  for (size_t i = own.firstEvent; i < own.endEvent; ++i) {
    busyUs += static_cast<double>(mapping.trace->events[i].duration) / 1000;
    auto wait = waits.find(i);
    if (wait != waits.end())
      waitingUs += static_cast<double>(wait->second) / 1000;
  }
}

UnpostedKernel Ledger::take(size_t event) {
  const ForwardPass &own = mapping.passes[static_cast<size_t>(pass)];
  if (event < own.firstEvent || event >= own.endEvent)
    throw std::logic_error("event " + std::to_string(event) +
                           " is not of this pass");
  if (std::exchange(isTaken[event], true))
    throw std::logic_error("event " + std::to_string(event) +
                           " is in a line already");
  Posting posting;
  posting.trace = trace;
  posting.event = event;
  posting.pass = pass;
  auto wait = waits.find(event);
  posting.wait = wait == waits.end() ? 0 : wait->second;
  posting.time = mapping.trace->events[event].duration - posting.wait;
  return UnpostedKernel(std::move(posting));
}

static void addSource(BudgetEntry &entry, FigureBasis basis,
                      const std::string &source) {
  entry.basis = std::max(entry.basis, basis);
  if (!source.empty() && std::find(entry.sources.begin(), entry.sources.end(),
                                   source) == entry.sources.end())
    entry.sources.push_back(source);
}

void Ledger::add(BudgetEntry &entry, const Replacement &after) {
  entry.after += after.figure;
  addSource(entry, after.basis, after.source);
}

void Ledger::post(UnpostedKernel kernel, BudgetLine line, size_t boundary,
                  const Replacement &after) {
  if (!kernel.posting)
    throw std::logic_error("a kernel is posted twice");
  BudgetEntry &entry = boundaries[boundary][static_cast<size_t>(line)];
  ++entry.kernels;
  entry.measured += kernel.us();
  postedUs += kernel.us();
  add(entry, after);
  kernel.posting->line = line;
  kernel.posting->boundary = places.at(boundary);
  postings.push_back(*std::exchange(kernel.posting, std::nullopt));
}

void Ledger::charge(BudgetLine line, size_t boundary, const Replacement &cost) {
  add(boundaries[boundary][static_cast<size_t>(line)], cost);
}

void layline::trace::addTo(BudgetEntry &sum, const BudgetEntry &entry) {
  sum.kernels += entry.kernels;
  sum.measured += entry.measured;
  sum.after += entry.after;
  addSource(sum, entry.basis, "");
  for (const std::string &source : entry.sources)
    addSource(sum, entry.basis, source);
}
