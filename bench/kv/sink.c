/* Takes a batch as a transfer engine does, and lets go of it. */
#include "layline/kv.h"

int layline_bench_take(void *context, const layline_kv_batch *batch,
                       int64_t first, int64_t count, const uint64_t *source,
                       const uint64_t *target, const uint64_t *bytes) {
  (void)context, (void)batch, (void)first, (void)count;
  (void)source, (void)target, (void)bytes;
  return 0;
}
