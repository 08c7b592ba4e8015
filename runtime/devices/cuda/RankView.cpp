#include "devices/cuda/RankView.h"

#include "plan/Error.h"

#include <algorithm>

namespace layline::runtime::cuda {

ElementTypes::ElementTypes(const Plan &plan, layline_precision precision)
    : asPlanned_(precision == LAYLINE_PRECISION_BF16) {
  if (precision == LAYLINE_PRECISION_F64)
    fail(LAYLINE_REFUSED_FEATURE,
         "device 'cuda' computes in float32; precision f64 is the cpu's");
  if (asPlanned_ && plan.dtype != DType::BF16)
    fail(LAYLINE_REFUSED_FEATURE, "the plan is of a model in ",
         dtypeName(plan.dtype),
         "; precision bf16 keeps values as the plan has them and needs a model "
         "in bf16");
}

NumberType ElementTypes::of(DType dtype) const {
  if (!asPlanned_)
    return NumberType::F32;
  switch (dtype) {
  case DType::BF16:
    return NumberType::BF16;
  case DType::F16:
    return NumberType::F16;
  case DType::Fp8E4M3:
    return NumberType::E4M3;
  case DType::Fp8E5M2:
    return NumberType::E5M2;
  default:
    return NumberType::F32;
  }
}

std::size_t RankShape::bytes(const Operand &operand) const {
  return static_cast<std::size_t>(
      checkedMul(elements(shape(operand)),
                 run->types->bytes(run->variant->buffers[operand.index]),
                 "size of a value"));
}

Address RankView::address(int index) const {
  const Buffer &buffer = run->variant->buffers[index];
  if (buffer.kind == Buffer::Class::Input)
    return inputs[index];
  std::int64_t scale = run->arenaScale[buffer.arena];
  std::int64_t count =
      elements(localShape(buffer.shape, buffer.layout, environment()));
  if (checkedMul(count, run->types->bytes(buffer), "size of a buffer") >
      checkedMul(buffer.bytes, scale, "size of a buffer"))
    fail(LAYLINE_RUN_FAILURE, "buffer '", buffer.id, "' holds ", count,
         " elements for ", run->tokens, " tokens, more than its ", buffer.bytes,
         " bytes of ", dtypeName(buffer.dtype));
  return arenas[buffer.arena].address +
         static_cast<Address>(buffer.offset * scale);
}

const ArenaPlace *RankView::arenaOf(const void *memory) const {
  auto at = reinterpret_cast<Address>(memory);
  for (const ArenaPlace &arena : arenas)
    if (at >= arena.address && at - arena.address < arena.bytes)
      return &arena;
  return nullptr;
}

void *RankView::multicast(const void *memory) const {
  const ArenaPlace *arena = arenaOf(memory);
  if (!arena || arena->multicast == 0)
    return nullptr;
  return reinterpret_cast<void *>(
      arena->multicast + (reinterpret_cast<Address>(memory) - arena->address));
}

Numbers RankView::numbers(const Operand &operand) const {
  Address at = 0;
  NumberType type = NumberType::F32;
  if (operand.of == Operand::Of::Weight) {
    at = weights[operand.index];
    type = run->types->of(operand.dtype);
  } else {
    at = address(operand.index);
    type = run->types->of(run->variant->buffers[operand.index]);
  }
  return {reinterpret_cast<void *>(at), type};
}

layline_pages CacheRows::place() const {
  if (hooks)
    return pages;
  layline_pages dense = {};
  dense.size = sizeof(dense);
  dense.base = memory.as<void>();
  dense.table_count = 1;
  dense.page_rows = std::max<std::int64_t>(capacity, 1);
  dense.row_stride = slice.rowElements();
  dense.item_stride = slice.itemElements;
  dense.page_stride = dense.page_rows * dense.row_stride;
  return dense;
}

local::Pages RankView::pages(const Operand &cache) const {
  const CacheRows &of = caches[cache.index];
  layline_pages held = of.place();
  local::Pages pages;
  pages.rows = {held.base,
                run->types->of(run->plan->caches[cache.index].dtype)};
  pages.table = held.table;
  pages.pageRows = of.hooks ? held.page_rows : 0;
  pages.pageStride = held.page_stride;
  pages.rowStride = held.row_stride;
  pages.itemStride = held.item_stride;
  return pages;
}

RankView::Rotations RankView::rotations(const Step &rope) const {
  const int index = rope.arg("table").index;
  const Table &table = run->plan->tables[index];
  bool isLong = false;
  if (table.longNumbers) {
    int source = run->inputOfBuffer[rope.arg("positions").index];
    isLong = run->largestOfInput[source] >= table.longAbove;
  }
  const RopeNumbers &numbers = isLong ? *table.longNumbers : table.numbers;
  Address at = halfTurns[index];
  if (isLong)
    at += table.numbers.invFreq.size() * sizeof(double);
  return {reinterpret_cast<const double *>(at),
          static_cast<float>(numbers.attentionFactor)};
}

std::int64_t RankView::begin(const Operand &operand, std::size_t dim) const {
  const DimLayout &layout = operand.layout.dims[dim];
  if (!layout.isSplit())
    return 0;
  if (const Range &range = run->plan->ranges[layout.range];
      !range.isContiguous())
    fail(LAYLINE_INTERNAL, "range '", range.id, "' has no begin");
  return parts[layout.range].begin * layout.unit;
}

} // namespace layline::runtime::cuda
