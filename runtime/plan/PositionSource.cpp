#include "plan/PositionSource.h"

namespace layline::runtime {
namespace {

bool onlyMoves(StepKind kind) {
  return kind == StepKind::Slice || kind == StepKind::Cast ||
         kind == StepKind::AllGather || kind == StepKind::Broadcast;
}

void follow(const Step &step, std::vector<int> &source) {
  if (step.kind == StepKind::Fused) {
    for (const Step &inner : step.body)
      follow(inner, source);
    return;
  }
  for (std::size_t a = 0; a < step.args.size(); ++a)
    for (const Operand &operand : step.args[a])
      if (step.info().args[a].isOutput && operand.of == Operand::Of::Buffer)
        source[operand.index] =
            onlyMoves(step.kind) ? source[step.arg("input").index] : -1;
}

} // namespace

std::vector<int> inputOfBuffers(const Variant &variant) {
  std::vector<int> source;
  for (const Buffer &buffer : variant.buffers)
    source.push_back(buffer.input);
  for (const Step &step : variant.steps)
    follow(step, source);
  return source;
}

} // namespace layline::runtime
