//===- CommunicationTest.cpp - waiting and moving, by rank ----------------===//
#include "layline/Trace/Communication.h"
#include "TraceTests.h"
#include <catch2/catch.hpp>

using namespace layline::trace;

TEST_CASE("Ranks: the last to come waits for nobody", "[trace]") {
  // Two ranks; at every all-reduce the second gets there 5 us later and so is 5
  // us less in it, but for the first call, to which it comes 40 us earlier.
  DeviceTrace early = readB200(), late = early;
  KernelFamilies families = KernelFamilies::builtIn();
  std::vector<KernelFamilies::Match> names = families.classify(early);
  bool isFirst = true;
  for (size_t i = 0; i < early.events.size(); ++i) {
    if (names[early.events[i].name].family != Family::AllReduce)
      continue;
    early.events[i].duration = isFirst ? 30000 : 35000;
    late.events[i].duration = isFirst ? 70000 : 30000;
    isFirst = false;
  }
  Mapping first = mapTrace(early, families, expectB200());
  Mapping second = mapTrace(late, families, expectB200());
  int64_t waits[2] = {0, 0}, transfers[2] = {0, 0};
  for (const CollectiveUse &use : findCollectives({&first, &second}, nullptr)) {
    if (use.work != Work::AllReduce)
      continue;
    CHECK(use.basis == TransferBasis::Ranks);
    CHECK(use.transfer() == 30000);
    waits[use.trace] += use.wait;
    transfers[use.trace] += use.transfer();
  }
  CHECK(waits[0] == 72 * 5000);
  CHECK(waits[1] == 40000);
  CHECK(transfers[0] == transfers[1]);
}

TEST_CASE("The cost model tells what nothing else does", "[trace]") {
  DeviceTrace trace = readB200();
  Mapping mapping = mapTrace(trace, KernelFamilies::builtIn(), expectB200());
  TransferModel model = [](Work work, int64_t bytes,
                           int64_t ranks) -> std::optional<TransferEstimate> {
    CHECK(ranks == 8);
    CHECK(bytes > 0);
    if (work == Work::AllGather)
      return TransferEstimate{10, "a table"};
    return std::nullopt;
  };
  std::vector<CollectiveUse> uses = findCollectives({&mapping}, model);
  const CollectiveUse &logits = uses.back();
  CHECK(logits.work == Work::AllGather);
  CHECK(logits.basis == TransferBasis::Model);
  CHECK(logits.elements == 201088);
  CHECK(logits.modelSource == "a table");
  CHECK(logits.transfer() == 10000);
  // Rows that logits are asked for say nothing of padding.
  CHECK(logits.paddingBytes() == 0);
  for (const CollectiveUse &use : uses)
    CHECK((use.work == Work::AllGather) == (use.modelUs >= 0));
}

TEST_CASE("Without links to the host nothing is told apart", "[trace]") {
  DeviceTrace trace = readB200();
  for (DeviceEvent &event : trace.events)
    event.op = -1;
  Mapping mapping = mapTrace(trace, KernelFamilies::builtIn(), expectB200());
  for (const CollectiveUse &use : findCollectives({&mapping}, nullptr)) {
    CHECK(use.basis == TransferBasis::None);
    CHECK(use.wait == 0);
    CHECK(use.bytes() == -1);
    CHECK(use.paddingBytes() == 0);
  }
}
