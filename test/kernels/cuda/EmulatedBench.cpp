// The bench on emulated cards, small: its table, for `layline calibrate`. Times
// are the fake driver's.
//
//   layline-emulated-gpu-bench CARDS > bench.csv
#include "Bench.h"
#include "FakeGpu.h"
#include "plan/Error.h"

#include <cstdlib>
#include <iostream>

int main(int argc, char **argv) {
  using namespace layline::test;
  FakeCards cards;
  cards.count = argc == 2 ? std::atoi(argv[1]) : 0;
  if (cards.count < 1) {
    std::cerr << "usage: layline-emulated-gpu-bench CARDS" << std::endl;
    return 2;
  }
  FakeGpu gpu(cards);
  BenchOptions few;
  few.repeats = few.rounds = few.warmUpRounds = 1;
  few.width = 64;
  few.mostRows = 16;
  try {
    bench(few, std::cout, std::cerr);
  } catch (const layline::runtime::Error &error) {
    std::cerr << "gpu-bench: " << error.what() << std::endl;
    return 1;
  }
  return gpu.liveCount() == 0 ? 0 : 1;
}
