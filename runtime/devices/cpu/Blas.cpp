#include "devices/cpu/Blas.h"

#include "plan/Error.h"

#include <algorithm>
#include <cblas.h>
#include <limits>
#include <mutex>

namespace layline::runtime {
namespace {

blasint narrow(std::int64_t size) {
  if (size > std::numeric_limits<blasint>::max())
    fail(LAYLINE_RUN_FAILURE, "a matrix dimension of ", size,
         " is too large for BLAS");
  return static_cast<blasint>(size);
}

// BLAS wants a distance of at least 1 also for empty rows.
blasint distance(std::int64_t ld) {
  return narrow(std::max<std::int64_t>(ld, 1));
}

template <typename T>
void zero(std::int64_t m, std::int64_t n, T *c, std::int64_t ldc) {
  for (std::int64_t i = 0; i < m; ++i)
    std::fill_n(c + i * ldc, n, T(0));
}

} // namespace

void multiplyTransposed(std::int64_t m, std::int64_t n, std::int64_t k,
                        double factor, const float *a, std::int64_t lda,
                        const float *b, std::int64_t ldb, float *c,
                        std::int64_t ldc) {
  if (m == 0 || n == 0 || k == 0)
    return zero(m, n, c, ldc);
  // One row: reading b is all there is to do, and gemm copies it first.
  if (m == 1)
    return cblas_sgemv(CblasRowMajor, CblasNoTrans, narrow(n), narrow(k),
                       static_cast<float>(factor), b, distance(ldb), a, 1, 0.0F,
                       c, 1);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, narrow(m), narrow(n),
              narrow(k), static_cast<float>(factor), a, distance(lda), b,
              distance(ldb), 0.0F, c, distance(ldc));
}

void multiplyTransposed(std::int64_t m, std::int64_t n, std::int64_t k,
                        double factor, const double *a, std::int64_t lda,
                        const double *b, std::int64_t ldb, double *c,
                        std::int64_t ldc) {
  if (m == 0 || n == 0 || k == 0)
    return zero(m, n, c, ldc);
  if (m == 1)
    return cblas_dgemv(CblasRowMajor, CblasNoTrans, narrow(n), narrow(k),
                       factor, b, distance(ldb), a, 1, 0.0, c, 1);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, narrow(m), narrow(n),
              narrow(k), factor, a, distance(lda), b, distance(ldb), 0.0, c,
              distance(ldc));
}

void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float *a,
              std::int64_t lda, const float *b, std::int64_t ldb, float *c,
              std::int64_t ldc) {
  if (m == 0 || n == 0 || k == 0)
    return zero(m, n, c, ldc);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, narrow(m), narrow(n),
              narrow(k), 1.0F, a, distance(lda), b, distance(ldb), 0.0F, c,
              distance(ldc));
}

void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const double *a,
              std::int64_t lda, const double *b, std::int64_t ldb, double *c,
              std::int64_t ldc) {
  if (m == 0 || n == 0 || k == 0)
    return zero(m, n, c, ldc);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, narrow(m), narrow(n),
              narrow(k), 1.0, a, distance(lda), b, distance(ldb), 0.0, c,
              distance(ldc));
}

void useOneBlasThread() {
  static std::once_flag once;
  std::call_once(once, [] { openblas_set_num_threads(1); });
}

} // namespace layline::runtime
