/* What an inference engine does itself while a plan runs: its own matrix
 * products and attention, its own memory, its own paged KV cache, its own
 * streams; and the record of what ran when. docs/engine.md shows how they fit
 * together.
 *
 * Conventions
 *  - A struct that the runtime hands over begins with `size`, its size in the
 *    runtime: fields behind it are not there. A struct that the engine hands
 *    over begins with `size`, sizeof of it where the engine was compiled.
 *  - Callbacks run on the threads of the ranks, several at a time: one for
 * every rank that this process runs. They must not call a function of the
 * engine they serve (it returns LAYLINE_IN_USE), and must not throw.
 *  - A callback returns LAYLINE_OK, or any other status to fail the run;
 *    LAYLINE_DECLINED, where it is allowed, leaves the work to the runtime.
 * What it writes to `message` (0-terminated, at most `message_bytes`) is part
 * of layline_engine_error(), behind the step and the rank.
 *  - Pointers handed to a callback are valid until it returns.
 *  - Matrices and rows are row-major; strides and leading dimensions count
 *    elements.
 *  - Setting a callback twice replaces it; a null one restores the default. The
 *    functions below may be called by one thread at a time, like all others of
 *    one engine, and not while it runs.
 */
#ifndef LAYLINE_HOOKS_H
#define LAYLINE_HOOKS_H

#include "layline/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Who asks: a step of the plan on a rank. */
typedef struct layline_call {
  size_t size;
  const char *step;  /* id in plan.json: "s4" */
  const char *kind;  /* "linear", "experts", "attention" */
  const char *place; /* in the model: "layer.0.o_proj", "" if it has none */
  int64_t rank;
  /* layline_stream_set; null if none was set. On device cuda the device's own
   * stream of the step, on the rank's card: work is put into it, and need not
   * be complete when the callback returns. */
  void *stream;
  char *message;
  size_t message_bytes;
} layline_call;

/* --- Matrix products ------------------------------------------------------ */

/* c[m, n] = alpha * op(a)[m, k] op(b)[k, n] + beta * c. op(x) is x, or its
 * transpose where transpose_x is nonzero; ld* are the leading dimensions of x
 * as it is stored. With beta 0, c may hold anything, not-a-number too. m, n and
 * k are at least 1. */
typedef struct layline_gemm_call {
  size_t size;
  const layline_call *call;
  int64_t m, n, k;
  layline_dtype a_dtype, b_dtype, c_dtype;
  const void *a;
  int64_t lda;
  int32_t transpose_a;
  const void *b;
  int64_t ldb;
  int32_t transpose_b;
  void *c;
  int64_t ldc;
  double alpha, beta;
  /* safetensors key of the weight that b is the rank's slice of, for an engine
   * that keeps its own copy in another format; of stacked experts the key with
   * its "{expert}", and which of the stack; else -1. */
  const char *weight;
  int64_t expert;
} layline_gemm_call;

/* Products of `linear` and `experts` steps. May decline. On device cuda of
 * `linear` steps only, a plan with `experts` is refused; pointers are of the
 * rank's card, types F32, F16 or BF16 as the values are kept, the thread is
 * that of layline_run. */
typedef layline_status (*layline_gemm_function)(void *user,
                                                const layline_gemm_call *gemm);
layline_status layline_gemm_set(layline_engine *engine,
                                layline_gemm_function function, void *user);

/* --- Rows of a cache in memory -------------------------------------------- */

/* Row r, item i (a KV head; 1 item if rows have none) begins at
 *   base + page(r / page_rows) * page_stride + (r % page_rows) * row_stride
 *        + i * item_stride
 * with page(j) = table[j], or j if table is null. */
typedef struct layline_pages {
  size_t size;
  void *base;
  const int32_t *table;
  int64_t table_count; /* entries of the table; pages at base if it is null */
  int64_t page_rows;
  int64_t page_stride, row_stride, item_stride;
} layline_pages;

/* --- Attention ------------------------------------------------------------ */

/* The contract of the plan's `attention` step (docs/plan-format.md) on one
 * rank. Query row t and key row s at their positions: visible iff not causal or
 * key_positions[s] <= positions[t], and, with a window, positions[t] -
 * key_positions[s] < window. Rows of the step are in the cache already. */
typedef struct layline_attention_call {
  size_t size;
  const layline_call *call;
  layline_dtype dtype; /* of query, output, rows and sinks: F32 or F64 (cuda:
                          below) */
  int64_t query_rows, key_rows;
  int64_t heads;              /* that this rank has of the query */
  int64_t width, value_width; /* of a head's keys and values */
  const void *query;          /* [query_rows, heads, width], dense */
  void *output;               /* [query_rows, heads, value_width], dense */
  layline_pages keys, values; /* key_rows rows; an item is a KV head */
  /* Which item of a row of keys, and of values, a query head reads: [heads].
   * With uneven heads it is no division. */
  const int32_t *key_head, *value_head;
  const int64_t *positions;     /* [query_rows] */
  const int64_t *key_positions; /* [key_rows], dense */
  double scale;
  int32_t causal;
  int64_t window;    /* 0: none */
  double softcap;    /* 0: none; score = softcap * tanh(score / softcap) */
  const void *sinks; /* [heads]: one more logit each, without value; or null */
  /* Where key_positions lie: dense ones too, and those that an engine has in
   * pages of its own. */
  layline_pages key_position_pages;
} layline_attention_call;

/* `attention` steps; latent attention stays the runtime's. May decline.
 *
 * On device cuda the thread is that of layline_run, which asks for one rank
 * after another; the work is put into call->stream. dtype is that of the values
 * as they are kept, F32, F16 or BF16; a step whose operands are of several
 * types is refused. Of the rank's card, and as they are until the run has
 * returned: query, output, keys, values, positions, key_positions, sinks. Of
 * the host: key_head and value_head, which last until the callback returns.
 * key_positions is null where the engine has that cache in pages: see
 * key_position_pages. Rows of the step are in the cache for what is in the
 * stream. */
typedef layline_status (*layline_attention_function)(
    void *user, const layline_attention_call *attention);
layline_status layline_attention_set(layline_engine *engine,
                                     layline_attention_function function,
                                     void *user);

/* --- Memory --------------------------------------------------------------- */

typedef enum layline_memory {
  LAYLINE_MEMORY_ARENA = 0,   /* activations; of the variants that ran, on
                                 device cuda of all */
  LAYLINE_MEMORY_WEIGHTS = 1, /* slices; ranks with equal ones share them */
  LAYLINE_MEMORY_CACHE = 2    /* rows of caches that have no hooks */
} layline_memory;

typedef struct layline_allocator {
  size_t size;
  void *user;
  /* At least `bytes` at a multiple of `alignment` (a power of two), not
   * initialised; null: there are none, LAYLINE_OUT_OF_MEMORY. Weights that
   * ranks share are asked for by the lowest. */
  void *(*allocate)(void *user, size_t bytes, size_t alignment, int64_t rank,
                    layline_memory what);
  void (*release)(void *user, void *memory, size_t bytes, int64_t rank,
                  layline_memory what);
} layline_allocator;

/* On device cuda memory is of the rank's card, which the driver must know as
 * its own (cuMemAlloc, cudaMalloc, pools of them), and the thread is the one
 * that called the API. Weights and caches are asked for; arenas of ranks on one
 * card too. Arenas over several cards are not: the cards map one another's by
 * the driver's cuMemCreate and cuMemMap, which no pointer of another allocator
 * can be given to. What the device needs beside these (parameters and scratch
 * memory of kernels, flags) is its own.
 *
 * Before a plan is loaded (else LAYLINE_BAD_ARGUMENT): memory goes back to
 * where it came from, at the latest when the engine is destroyed. The struct is
 * copied. Called by one thread at a time. */
layline_status layline_allocator_set(layline_engine *engine,
                                     const layline_allocator *allocator);

/* --- KV cache ------------------------------------------------------------- */

/* Rows [first, first + rows) of one cache, of the sequence that runs, as one
 * rank holds them. */
typedef struct layline_cache_request {
  size_t size;
  const char *cache; /* id in plan.json: "layer.0.key" */
  const char *plane; /* "key", "value", "positions", "latent", ... */
  int64_t layer;     /* -1: not of one layer */
  int64_t rank;
  layline_dtype dtype; /* F32 or F64 as the engine computes, on device cuda
                          F32, F16 or BF16 as it keeps them; I64 */
  int64_t items; /* KV heads of this rank; 1 for rows without heads; may be
                    0 on a rank without heads */
  int64_t item_elements;
  int64_t first, rows;
  char *message;
  size_t message_bytes;
} layline_cache_request;

/* Either `pages`, or `append` and `read`.
 *
 * pages: the cache stays where the engine has it and is used in place. Called
 * by the thread of layline_run, before the ranks start, for rows [0, past +
 * tokens): the engine reserves pages for the rows to come and says where all of
 * them lie. They stay there until the run has returned. Rows past and on are
 * written; those before are read only.
 *
 * append, read: the cache is no memory of this process, or of another format.
 * Dense rows [rows, items, item_elements] are handed over (by the rank's
 * thread, as the step runs) and asked for (before the rows are attended to).
 *
 * On device cuda base and table are memory of the rank's card, and are read and
 * written by the device's streams: what an engine puts into them before it
 * calls layline_run must be in streams that it has handed in, or complete. Page
 * numbers of a table are not checked. append and read are refused: rows are not
 * handed to the host. */
typedef struct layline_cache_hooks {
  size_t size;
  void *user;
  layline_status (*pages)(void *user, const layline_cache_request *request,
                          layline_pages *pages);
  layline_status (*append)(void *user, const layline_cache_request *request,
                           const void *rows);
  layline_status (*read)(void *user, const layline_cache_request *request,
                         void *rows);
} layline_cache_hooks;

/* For one cache of the plan, or for all of them with a null id. The struct is
 * copied, and dropped with the plan. Past becomes 0 and all rows are dropped.
 * From then on layline_past_set() may claim any number of rows for such a
 * cache: the engine says what stands there. So an engine changes from one
 * sequence to another: past_set, and `pages` answers with that sequence's
 * table. Null hooks give the cache back to the runtime. */
layline_status layline_cache_hooks_set(layline_engine *engine,
                                       const char *cache,
                                       const layline_cache_hooks *hooks);

/* --- Streams -------------------------------------------------------------- */

/* An engine's stream for a rank and a stream of the plan ("compute", "comm");
 * null takes it back. Dropped with the plan. On a host device anything, which
 * callbacks get as `stream`. On device cuda a cudaStream_t or CUstream of the
 * rank's card: layline_run begins on the cards when all that was put into such
 * streams before is complete, and what is put into them later, also while
 * layline_run waits, begins behind the run. A stream of another card fails the
 * run; one of a rank in another process is refused. */
layline_status layline_stream_set(layline_engine *engine, int64_t rank,
                                  const char *stream, void *value);

/* --- Trace ---------------------------------------------------------------- */

/* Records every top-level step of every rank from now on; drops what was
 * recorded before. Costs two readings of the clock and 40 bytes a step. */
layline_status layline_trace_begin(layline_engine *engine);
/* Stops; what was recorded stays until the next begin or plan. */
layline_status layline_trace_end(layline_engine *engine);
/* Writes what was recorded, in the Trace Event Format that Perfetto and
 * chrome://tracing open: a process for each rank, a thread for each stream,
 * times from trace_begin on. Each step has its id, kind, run, tokens, past and
 * the bytes that it reads and writes on that rank by its contract (collectives:
 * their local operands), in the precision of the engine: 4 or 8 a number, with
 * bf16 those of the plan's types, also where a device emulates them. Integers
 * are kept in 8. */
layline_status layline_trace_write(layline_engine *engine, const char *path);

#ifdef __cplusplus
}
#endif

#endif /* LAYLINE_HOOKS_H */
