#include "kernels/FusedKernels.h"

namespace layline::kernels {
namespace {

#define LAYLINE_TEXT_OF(symbol) #symbol
/// The name that the arguments' macros make.
#define LAYLINE_TEXT(symbol) LAYLINE_TEXT_OF(symbol)

FusedKernel rows(DType dtype, int ranks, Input input, Output output,
                 NormKind norm, Function function, ScaleKind scales,
                 const char *symbol) {
  Variant variant;
  variant.dtype = dtype;
  variant.ranks = ranks;
  variant.input = input;
  variant.output = output;
  variant.norm = norm;
  variant.function = function;
  variant.scales = scales;
  return {variant, symbol};
}

FusedKernel oneShot(DType dtype, int ranks, NormKind norm, ScaleKind scales,
                    const char *symbol) {
  FusedKernel kernel = rows(dtype, ranks, Input::Own, Output::Own, norm,
                            Function::None, scales, symbol);
  kernel.variant.family = Family::OneShot;
  return kernel;
}

FusedKernel rope(DType dtype, int ranks, Output output, RopeStyle style,
                 int width, const char *symbol) {
  Variant variant;
  variant.family = Family::Rope;
  variant.dtype = dtype;
  variant.ranks = ranks;
  variant.output = output;
  variant.style = style;
  variant.byElement = width == 1;
  return {variant, symbol};
}

FusedKernel bytes(Family family, DType dtype, int ranks, const char *symbol) {
  Variant variant;
  variant.family = family;
  variant.dtype = dtype;
  variant.ranks = ranks;
  return {variant, symbol};
}

FusedKernel gather(int ranks, bool isByWord, const char *symbol) {
  FusedKernel kernel = bytes(Family::GatherRows, DType::BF16, ranks, symbol);
  kernel.variant.output = Output::Everyone;
  kernel.variant.byElement = isByWord;
  return kernel;
}

} // namespace

const std::vector<FusedKernel> &fusedKernels() {
#define LAYLINE_ROWS(T, P, IN, OUT, NORM, FUNCTION, SCALES)                    \
  rows(DType::T, P, Input::IN, Output::OUT, NormKind::NORM,                    \
       Function::FUNCTION, ScaleKind::SCALES,                                  \
       LAYLINE_TEXT(                                                           \
           LAYLINE_FUSED_ROWS_SYMBOL(T, P, IN, OUT, NORM, FUNCTION, SCALES))),
#define LAYLINE_ONE_SHOT(T, P, NORM, SCALES)                                   \
  oneShot(DType::T, P, NormKind::NORM, ScaleKind::SCALES,                      \
          LAYLINE_TEXT(LAYLINE_FUSED_ONE_SHOT_SYMBOL(T, P, NORM, SCALES))),
#define LAYLINE_ROPE(T, P, OUT, STYLE, WIDTH)                                  \
  rope(DType::T, P, Output::OUT, RopeStyle::STYLE, WIDTH,                      \
       LAYLINE_TEXT(LAYLINE_FUSED_ROPE_SYMBOL(T, P, OUT, STYLE, WIDTH))),
#define LAYLINE_BROADCAST(P)                                                   \
  bytes(Family::Broadcast, DType::BF16, P, "layline_fused_broadcast_x" #P),
#define LAYLINE_GATHER(P, BY, IS_BY_WORD)                                      \
  gather(P, IS_BY_WORD, "layline_fused_gather_rows_x" #P "_by_" #BY),
#define LAYLINE_PAGES(COPY)                                                    \
  bytes(Family::COPY##Pages, DType::BF16, 1, "layline_fused_pages_" #COPY),
#define LAYLINE_SORT()                                                         \
  bytes(Family::SortByExpert, DType::BF16, 1, "layline_fused_sort_by_expert"),
#define LAYLINE_EXPERTS(FAMILY, FUNCTION, T)                                   \
  bytes(Family::FAMILY, DType::T, 1, "layline_fused_" #FUNCTION "_" #T),
  static const std::vector<FusedKernel> kernels = {
      LAYLINE_FUSED_OF_BF16(LAYLINE_ROWS, LAYLINE_ONE_SHOT)
          LAYLINE_FUSED_OF_LARGE_GROUPS(LAYLINE_ROWS, LAYLINE_ONE_SHOT)
              LAYLINE_FUSED_OF_F32(LAYLINE_ROWS, LAYLINE_ONE_SHOT)
                  LAYLINE_FUSED_OF_ONE_RANK(LAYLINE_ROWS, LAYLINE_ROPE)
                      LAYLINE_FUSED_OF_BYTES(LAYLINE_BROADCAST, LAYLINE_GATHER,
                                             LAYLINE_PAGES, LAYLINE_SORT,
                                             LAYLINE_EXPERTS)};
#undef LAYLINE_ROWS
#undef LAYLINE_ONE_SHOT
#undef LAYLINE_ROPE
#undef LAYLINE_BROADCAST
#undef LAYLINE_GATHER
#undef LAYLINE_PAGES
#undef LAYLINE_SORT
#undef LAYLINE_EXPERTS
  return kernels;
}

const FusedKernel *findFusedKernel(const Variant &variant, std::string &error) {
  for (const FusedKernel &kernel : fusedKernels())
    if (kernel.variant == variant)
      return &kernel;
  error = variant.name() + " is not compiled for cards";
  return nullptr;
}

} // namespace layline::kernels
