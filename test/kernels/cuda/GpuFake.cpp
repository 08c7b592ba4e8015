#include "FakeGpu.h"
#include "Gpu.h"

namespace layline::test {
namespace {

class EmulatedGpu final : public Gpu {
public:
  EmulatedGpu(int count, unsigned seed) : gpu_(cards(count, seed)) {}
  bool isEmulated() const override { return true; }
  int liveCount() const override { return gpu_.liveCount(); }
  std::string fault() const override { return gpu_.emulatorError(); }

private:
  FakeGpu gpu_;
};

} // namespace

std::unique_ptr<Gpu> makeGpu(int count, unsigned seed) {
  return std::make_unique<EmulatedGpu>(count, seed);
}

} // namespace layline::test
