#include "engine/RunShape.h"

#include "plan/PositionSource.h"
#include "transports/Assemble.h"

#include <algorithm>

namespace layline::runtime {

std::vector<std::int64_t> arenaScales(const Variant &variant,
                                      const ElementBytes &bytes) {
  std::vector<std::int64_t> scales(variant.arenas.size(), 1);
  for (const Buffer &buffer : variant.buffers)
    if (buffer.arena >= 0) {
      std::int64_t &scale = scales[static_cast<std::size_t>(buffer.arena)];
      scale = std::max(scale, bytes(buffer) / dtypeBytes(buffer.dtype));
    }
  return scales;
}

void RunShape::describe(const RunRequest &request, const ElementBytes &bytes) {
  variant = request.variant;
  tokens = request.tokens;
  past = request.past;
  inputOfBuffer = inputOfBuffers(*variant);
  largestOfInput.clear();
  for (const std::vector<std::int64_t> &values : *request.inputs)
    largestOfInput.push_back(
        values.empty() ? 0 : *std::max_element(values.begin(), values.end()));
  arenaScale = arenaScales(*variant, bytes);
}

std::vector<std::int64_t> localInput(const Plan &plan, const Buffer &buffer,
                                     const RunRequest &request,
                                     const Environment &environment) {
  Shape global = globalShape(buffer.shape, environment);
  Region region = regionOf(plan, global, buffer.layout, environment);
  const std::vector<std::int64_t> &values =
      (*request.inputs)[static_cast<std::size_t>(buffer.input)];
  std::vector<std::int64_t> part(
      static_cast<std::size_t>(elements(shapeOf(region))));
  forEachRun(global, region,
             [&](std::int64_t to, std::int64_t from, std::int64_t count) {
               std::copy_n(&values[static_cast<std::size_t>(from)], count,
                           &part[static_cast<std::size_t>(to)]);
             });
  return part;
}

BufferRead readOf(const Buffer &buffer, const std::optional<Part> &rows,
                  std::int64_t tokens, std::int64_t past) {
  BufferRead read;
  read.shape = buffer.shape;
  read.name = "buffer " + buffer.id;
  read.isPart = rows && isHeldWhole(buffer.layout);
  if (read.isPart) {
    // They lie one behind another.
    read.shape[0] = Expr::constant(1);
    read.skipped =
        rows->begin * elements(globalShape(read.shape, {tokens, past}));
    read.shape[0] = Expr::constant(rows->size);
    read.name += concat(", ", rows->size, " rows from ", rows->begin);
  }
  return read;
}

void TapList::clear() {
  taps_.clear();
  ofStep_.clear();
}

void TapList::add(const Step &step, const IsKept &isKept) {
  if (step.names.empty())
    return;
  std::size_t first = taps_.size(), output = 0;
  for (std::size_t a = 0; a < step.args.size(); ++a)
    for (const Operand &operand : step.args[a]) {
      if (!step.info().args[a].isOutput)
        continue;
      const std::string &name = step.names[output++];
      if (!name.empty() && operand.of == Operand::Of::Buffer &&
          (!isKept || isKept(step, operand)))
        taps_.push_back({name, operand});
    }
  ofStep_[&step] = {first, taps_.size()};
}

void TapList::list(const Variant &variant, const IsKept &isKept) {
  clear();
  for (const Step &step : variant.steps) {
    add(step, isKept);
    for (const Step &inner : step.body)
      add(inner, isKept);
  }
}

} // namespace layline::runtime
