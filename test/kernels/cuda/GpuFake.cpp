#include "FakeGpu.h"
#include "Gpu.h"

namespace layline::test {
namespace {

FakeCards describe(int cards, unsigned seed) {
  FakeCards fake;
  fake.count = cards;
  fake.emulator.seed = seed;
  return fake;
}

class EmulatedGpu final : public Gpu {
public:
  EmulatedGpu(int cards, unsigned seed) : gpu_(describe(cards, seed)) {}
  bool isEmulated() const override { return true; }
  int liveCount() const override { return gpu_.liveCount(); }
  std::string fault() const override { return gpu_.emulatorError(); }

private:
  FakeGpu gpu_;
};

} // namespace

std::unique_ptr<Gpu> makeGpu(int cards, unsigned seed) {
  return std::make_unique<EmulatedGpu>(cards, seed);
}

} // namespace layline::test
