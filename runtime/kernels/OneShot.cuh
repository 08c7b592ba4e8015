// all_reduce of few rows with row-wise work behind it, in one exchange and
// without flags: every rank stores its addends into a mailbox on every rank,
// and a word that is no longer what an empty box holds has arrived (a Lamport
// mailbox). Every rank sums all rows, in rank order: the same bits everywhere.
//
// Boxes are used in turn. A launch fills box n mod 3 of its peers and empties
// box n - 1 mod 3 of its own, which the last launch read. That box is filled
// again in launch n + 2, by peers who have all of this rank's launch n + 1 and
// so all of its launch n behind them.
#ifndef LAYLINE_RUNTIME_KERNELS_ONESHOT_CUH
#define LAYLINE_RUNTIME_KERNELS_ONESHOT_CUH

#include "Flags.cuh"
#include "RowChain.cuh"

namespace layline::kernels {

template <typename T>
constexpr std::uint32_t kPoison = sizeof(T) == 2 ? kPoison16 : kPoison32;

/// Mailbox of `sender` in box `box` of a rank.
template <int P>
__device__ __forceinline__ Vec16 *mailbox(const OneShotParams<P> &p,
                                          std::uint32_t rank, std::uint32_t box,
                                          std::uint32_t sender) {
  return static_cast<Vec16 *>(p.boxes[rank]) +
         (static_cast<std::int64_t>(box) * P + sender) * p.capacity;
}

/// Own addends of the rows that this block sums on all ranks.
template <typename T, int P, typename Protocol>
__device__ __forceinline__ void push_rows(const OneShotParams<P> &p,
                                          std::uint32_t box, int vectors) {
  constexpr std::uint32_t poison = kPoison<T>;
  for (std::int64_t t = blockIdx.x; t < p.tokens; t += gridDim.x)
    for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
      Vec16 v = ld_v4(vector_of<T, Protocol>(p.addends, t, p.width, i));
      v = {Protocol::payload(v.x, poison), Protocol::payload(v.y, poison),
           Protocol::payload(v.z, poison), Protocol::payload(v.w, poison)};
      LAYLINE_UNROLL
      for (std::uint32_t step = 0; step < P; ++step)
        st_relaxed_v4(
            mailbox(p, (p.rank + step) % P, box, p.rank) + t * vectors + i, v);
    }
}

/// What the last launch read, whatever its sizes were.
template <typename T, int P, typename Protocol>
__device__ __forceinline__ void
empty_box(const OneShotParams<P> &p, std::uint32_t box, std::int64_t vectors) {
  constexpr std::uint32_t poison = kPoison<T>;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i =
      static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < vectors; i += step)
    for (std::uint32_t sender = 0; sender < P; ++sender)
      st_relaxed_v4(mailbox(p, p.rank, box, sender) + i,
                    {poison, poison, poison, poison});
}

/// Looks at all mailboxes until every word of vector `at` has come; false if
/// that takes too long.
template <typename T, int P, typename Protocol>
__device__ __forceinline__ bool
sum_arrivals(const OneShotParams<P> &p, std::uint32_t epoch, std::int64_t at,
             float (&x)[kWidth<T>]) {
  const std::uint32_t box = epoch % Protocol::kBoxes;
  Deadline deadline(p.watch);
  Vec16 of[P];
  for (bool all = false; !all;) {
    all = true;
    std::uint32_t missing = 0;
    LAYLINE_UNROLL
    for (std::uint32_t sender = 0; sender < P; ++sender) {
      of[sender] = ld_relaxed_v4(mailbox(p, p.rank, box, sender) + at);
      if (!Protocol::complete(of[sender], kPoison<T>)) {
        all = false;
        missing = sender;
      }
    }
    if (!all && deadline.passed()) {
      report_late(p.watch, FlagKind::OneShotWord, p.rank, missing, epoch,
                  kPoison<T>);
      return false;
    }
  }
  LAYLINE_UNROLL
  for (int place = 0; place < P; ++place) {
    float a[kWidth<T>];
    widen<T>(of[Protocol::addend(place, static_cast<int>(p.rank), P)], a);
    LAYLINE_IN_REGISTERS
    for (int j = 0; j < kWidth<T>; ++j)
      x[j] = place == 0 ? a[j] : x[j] + a[j];
  }
  return true;
}

template <typename T, int P, typename C, int VPT, typename Protocol>
__device__ __forceinline__ void run_one_shot(const OneShotParams<P> &p) {
  Protocol::begin();
  if (!Protocol::counts(p.tokens))
    return;
  Protocol::before_work();
  const std::uint32_t epoch = ld(&p.state->epoch);
  const std::uint64_t filled = ld(&p.state->vectors);
  const int vectors = p.width / kWidth<T>;
  const std::int64_t now = p.tokens * vectors;

  Protocol::before_push();
  push_rows<T, P, Protocol>(p, epoch % Protocol::kBoxes, vectors);
  empty_box<T, P, Protocol>(p,
                            (epoch + Protocol::kBoxes - 1) % Protocol::kBoxes,
                            Protocol::to_empty(filled, now));

  for (std::int64_t t = blockIdx.x; t < p.tokens; t += gridDim.x) {
    Row<T, VPT> row;
    row.width = p.width;
    row.vectors = vectors;
    bool late = !is_on_time(p.watch);
    for_each_vector<Protocol>(row, [&](float(&x)[kWidth<T>], int vector) {
      late = late ||
             !sum_arrivals<T, P, Protocol>(p, epoch, t * vectors + vector, x);
    });
    if (__syncthreads_or(late))
      return;
    run_chain<C, Protocol>(
        row, p.operands, t,
        RowSink<T, 1, Output::Own, Protocol>(
            p.out, 0, t, p.width, scale_columns<C>(p.operands, p.width)));
  }

  Protocol::after_poll();
  __syncthreads();
  if (threadIdx.x == 0 &&
      Protocol::arrive(&p.state->arrived) == gridDim.x - 1) {
    st(&p.state->arrived, 0U);
    st(&p.state->epoch, Protocol::next_epoch(epoch));
    st(&p.state->vectors, static_cast<std::uint64_t>(now));
  }
  Protocol::end();
}

template <typename T, int P, typename C, int THREADS, int VPT,
          typename Protocol = Sound>
LAYLINE_KERNEL(THREADS, 1, one_shot(const __grid_constant__ OneShotParams<P> p),
               run_one_shot<T, P, C, VPT, Protocol>(p))

/// P ranks on one card, for tests: the grid's y is the rank, `all` has the
/// parameters of each. All blocks must be resident: one cooperative launch.
template <typename T, int P, typename C, int THREADS, int VPT,
          typename Protocol = Sound>
LAYLINE_KERNEL(THREADS, 1, virtual_one_shot(const OneShotParams<P> *all),
               run_one_shot<T, P, C, VPT, Protocol>(all[blockIdx.y]))

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_ONESHOT_CUH
