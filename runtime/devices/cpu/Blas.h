// The matrix products that the kernels use, for both precisions. All matrices
// are row-major; ld* are distances between rows.
#ifndef LAYLINE_RUNTIME_DEVICES_CPU_BLAS_H
#define LAYLINE_RUNTIME_DEVICES_CPU_BLAS_H

#include <cstdint>

namespace layline::runtime {

/// c[m, n] = factor * a[m, k] b[n, k]^T
void multiplyTransposed(std::int64_t m, std::int64_t n, std::int64_t k,
                        double factor, const float *a, std::int64_t lda,
                        const float *b, std::int64_t ldb, float *c,
                        std::int64_t ldc);
void multiplyTransposed(std::int64_t m, std::int64_t n, std::int64_t k,
                        double factor, const double *a, std::int64_t lda,
                        const double *b, std::int64_t ldb, double *c,
                        std::int64_t ldc);
/// c[m, n] = a[m, k] b[k, n]
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float *a,
              std::int64_t lda, const float *b, std::int64_t ldb, float *c,
              std::int64_t ldc);
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const double *a,
              std::int64_t lda, const double *b, std::int64_t ldb, double *c,
              std::int64_t ldc);

/// Ranks are threads already: BLAS must not start its own.
void useOneBlasThread();

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_CPU_BLAS_H
