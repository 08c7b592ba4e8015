#include "capi/Border.h"

#include <algorithm>

namespace layline::runtime {

void toC(const Shape &shape, layline_shape &result) {
  if (shape.size() > LAYLINE_MAX_DIMS)
    fail(LAYLINE_INTERNAL, "a shape has ", shape.size(), " dimensions");
  result = {};
  result.rank = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), result.dims);
}

const char *dtypeText(layline_dtype dtype) {
  switch (dtype) {
  case LAYLINE_F32:
    return "F32";
  case LAYLINE_F64:
    return "F64";
  case LAYLINE_I64:
    return "I64";
  case LAYLINE_F16:
    return "F16";
  case LAYLINE_BF16:
    return "BF16";
  case LAYLINE_I32:
    return "I32";
  }
  return "unknown";
}

void copyOut(const GlobalValue &value, const std::string &what,
             layline_dtype dtype, void *data, std::int64_t room) {
  auto count = static_cast<std::int64_t>(value.isInteger ? value.integers.size()
                                                         : value.floats.size());
  if (room < count)
    fail(LAYLINE_BAD_ARGUMENT, what, " has shape ", print(value.shape), ", ",
         count, " elements; there is room for ", room);
  if (count > 0)
    notNull(data);
  if (value.isInteger && dtype == LAYLINE_I64)
    std::copy(value.integers.begin(), value.integers.end(),
              static_cast<std::int64_t *>(data));
  else if (!value.isInteger && dtype == LAYLINE_F64)
    std::copy(value.floats.begin(), value.floats.end(),
              static_cast<double *>(data));
  else if (!value.isInteger && dtype == LAYLINE_F32)
    std::transform(value.floats.begin(), value.floats.end(),
                   static_cast<float *>(data),
                   [](double x) { return static_cast<float>(x); });
  else
    fail(LAYLINE_BAD_ARGUMENT, what, " is read as ", dtypeText(dtype), "; ",
         value.isInteger ? "I64" : "F32 or F64", " is expected");
  if (!value.disagreement.empty())
    fail(LAYLINE_REPLICAS_DIFFER, what, ": ", value.disagreement);
}

} // namespace layline::runtime
