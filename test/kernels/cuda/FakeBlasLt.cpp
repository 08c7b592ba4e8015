// cuBLASLt on the host: float and 16-bit products, one element after another.
#include "FakeGpu.h"
#include "kernels/platform/Numeric.h"

namespace layline::test {
namespace {

struct Layout {
  BlasType type;
  std::uint64_t rows, columns;
  std::int64_t leading;
};

float numberAt(const void *data, BlasType type, std::int64_t i) {
  if (type == BlasType::F32)
    return static_cast<const float *>(data)[i];
  std::uint16_t bits = static_cast<const std::uint16_t *>(data)[i];
  return type == BlasType::BF16 ? device::to_float(device::bf16{bits})
                                : device::to_float(device::f16{bits});
}

void setNumber(void *data, BlasType type, std::int64_t i, float x) {
  if (type == BlasType::F32)
    static_cast<float *>(data)[i] = x;
  else
    static_cast<std::uint16_t *>(data)[i] =
        type == BlasType::BF16 ? device::from_float<device::bf16>(x).bits
                               : device::from_float<device::f16>(x).bits;
}

/// d = a^T b, column-major, as Gemm asks for it.
void multiply(const Layout &a, const void *aData, const Layout &b,
              const void *bData, const Layout &d, void *dData) {
  for (std::uint64_t column = 0; column < d.columns; ++column)
    for (std::uint64_t row = 0; row < d.rows; ++row) {
      double sum = 0;
      for (std::uint64_t k = 0; k < a.rows; ++k)
        sum += static_cast<double>(
                   numberAt(aData, a.type,
                            static_cast<std::int64_t>(row) * a.leading +
                                static_cast<std::int64_t>(k))) *
               numberAt(bData, b.type,
                        static_cast<std::int64_t>(column) * b.leading +
                            static_cast<std::int64_t>(k));
      setNumber(dData, d.type,
                static_cast<std::int64_t>(column) * d.leading +
                    static_cast<std::int64_t>(row),
                static_cast<float>(sum));
    }
}

} // namespace

BlasLt fakeBlasLt() {
  BlasLt b;
  b.statusName = [](BlasStatus) { return "CUBLAS_STATUS_TOLD_BY_THE_FAKE"; };
#define LAYLINE_ENTER(name)                                                    \
  if (BlasStatus status = 0; !enterBlas(name, status))                         \
    return status;
  b.create = [](BlasHandle *handle) {
    LAYLINE_ENTER("cublasLtCreate");
    *handle = reinterpret_cast<BlasHandle>(std::uintptr_t(1));
    acquiredByBlas("cublasLt handle");
    return 0;
  };
  b.destroy = [](BlasHandle) {
    releasedByBlas("cublasLt handle", "cublasLtDestroy");
    return 0;
  };
  b.descCreate = [](MatmulDesc *desc, int, BlasType) {
    LAYLINE_ENTER("cublasLtMatmulDescCreate");
    *desc = reinterpret_cast<MatmulDesc>(new int(0));
    acquiredByBlas("matmul descriptor");
    return 0;
  };
  b.descDestroy = [](MatmulDesc desc) {
    delete reinterpret_cast<int *>(desc);
    releasedByBlas("matmul descriptor", "cublasLtMatmulDescDestroy");
    return 0;
  };
  b.descSet = [](MatmulDesc desc, int attribute, const void *value,
                 std::size_t) {
    LAYLINE_ENTER("cublasLtMatmulDescSetAttribute");
    if (attribute == kMatmulTransA)
      *reinterpret_cast<int *>(desc) = *static_cast<const int *>(value);
    return 0;
  };
  b.layoutCreate = [](MatrixLayout *layout, BlasType type, std::uint64_t rows,
                      std::uint64_t columns, std::int64_t leading) {
    LAYLINE_ENTER("cublasLtMatrixLayoutCreate");
    *layout = reinterpret_cast<MatrixLayout>(
        new Layout{type, rows, columns, leading});
    acquiredByBlas("matrix layout");
    return 0;
  };
  b.layoutDestroy = [](MatrixLayout layout) {
    delete reinterpret_cast<Layout *>(layout);
    releasedByBlas("matrix layout", "cublasLtMatrixLayoutDestroy");
    return 0;
  };
  b.preferenceCreate = [](MatmulPreference *preference) {
    LAYLINE_ENTER("cublasLtMatmulPreferenceCreate");
    *preference = reinterpret_cast<MatmulPreference>(std::uintptr_t(1));
    acquiredByBlas("matmul preference");
    return 0;
  };
  b.preferenceDestroy = [](MatmulPreference) {
    releasedByBlas("matmul preference", "cublasLtMatmulPreferenceDestroy");
    return 0;
  };
  b.preferenceSet = [](MatmulPreference, int, const void *, std::size_t) {
    LAYLINE_ENTER("cublasLtMatmulPreferenceSetAttribute");
    return 0;
  };
  b.heuristic = [](BlasHandle, MatmulDesc, MatrixLayout, MatrixLayout,
                   MatrixLayout, MatrixLayout, MatmulPreference, int,
                   MatmulHeuristic *results, int *found) {
    LAYLINE_ENTER("cublasLtMatmulAlgoGetHeuristic");
    results[0] = {};
    *found = 1;
    return 0;
  };
  b.matmul = [](BlasHandle, MatmulDesc desc, const void *, const void *a,
                MatrixLayout aLayout, const void *from, MatrixLayout bLayout,
                const void *, const void *, MatrixLayout, void *d,
                MatrixLayout dLayout, const MatmulAlgorithm *, void *,
                std::size_t, Stream stream) {
    LAYLINE_ENTER("cublasLtMatmul");
    Layout left = *reinterpret_cast<Layout *>(aLayout),
           right = *reinterpret_cast<Layout *>(bLayout),
           to = *reinterpret_cast<Layout *>(dLayout);
    // Transposed on the left only, and of sizes that fit.
    if (*reinterpret_cast<int *>(desc) != kBlasTranspose ||
        left.rows != right.rows || left.columns != to.rows ||
        right.columns != to.columns)
      return 7; // CUBLAS_STATUS_INVALID_VALUE
    runProduct(stream, [=] { multiply(left, a, right, from, to, d); });
    return 0;
  };
#undef LAYLINE_ENTER
  return b;
}

} // namespace layline::test
