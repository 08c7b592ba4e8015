/* Layline runtime: executes a launch plan (docs/plan-format.md) and nothing
 * else. It never sees the model that the plan was compiled from.
 *
 * One engine holds one plan, its weights, its caches and its device. Different
 * engines are independent and may be used by different threads at once.
 *
 * Conventions
 *  - Every function returns a layline_status unless it says otherwise. On
 *    failure layline_engine_error() gives the text: where (file, JSON path or
 *    id), what was found, what was expected. No exception leaves this API.
 *  - Tensors cross this border as *global* values, dense and row-major, in
 *    host memory owned by the caller. The engine copies what it is given and
 *    copies out what is read, so no pointer is kept after a call returns.
 *  - Sizes are counts of elements unless a name says `bytes`.
 *  - Threads: one call on an engine at a time, of whichever thread. A call that
 *    finds another one under way, of another thread or the one whose callback
 * it is made from, does nothing and returns LAYLINE_IN_USE at once: calls are
 *    not queued. The call under way goes on undisturbed. One that is turned
 * away has a text of its own, which layline_engine_error() gives its thread.
 *    layline_engine_destroy() has no status and must be the last call.
 *  - Processes: with the transport "mpi" every process makes the same calls in
 *    the same order, with the same plan and inputs, and may give each its own
 *    weights file as long as its slices are in it. Loading a plan, running and
 *    reading wait for the other processes. What is read is assembled from all
 *    of them and is the same in all. A process that fails destroys its engine
 *    to tell the others why; an engine whose wait for another rank failed is of
 *    no more use, and the process should end.
 *  - const char * results belong to the engine and stay valid until the next
 *    plan load or the engine's destruction.
 */
#ifndef LAYLINE_RUNTIME_H
#define LAYLINE_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct layline_engine layline_engine;

typedef enum layline_status {
  LAYLINE_OK = 0,
  LAYLINE_BAD_ARGUMENT = 1, /* null pointer, unknown id, wrong size or dtype */
  LAYLINE_UNREADABLE_FILE = 2, /* missing, cut short, or not of its format */
  LAYLINE_INVALID_PLAN = 3,    /* the plan contradicts itself or the schema */
  LAYLINE_REFUSED_FEATURE =
      4, /* newer plan version, unknown feature or device */
  LAYLINE_MISSING_WEIGHT = 5,  /* a tensor of the plan was not given */
  LAYLINE_WRONG_WEIGHT = 6,    /* a tensor has another shape or dtype */
  LAYLINE_NOT_BOUND = 7,       /* no plan, an input or past rows not given */
  LAYLINE_RUN_FAILURE = 8,     /* a rank failed during the run */
  LAYLINE_REPLICAS_DIFFER = 9, /* ranks that must agree bit for bit do not */
  LAYLINE_OUT_OF_MEMORY = 10,
  LAYLINE_INTERNAL = 11,
  LAYLINE_DECLINED = 12, /* of callbacks: the runtime is to do it (hooks.h) */
  LAYLINE_IN_USE = 13    /* another call on the engine has not returned */
} layline_status;

/* "ok", "bad argument", ...; never null. */
const char *layline_status_name(layline_status status);

typedef enum layline_precision {
  LAYLINE_PRECISION_F32 = 0,
  LAYLINE_PRECISION_F64 = 1, /* double throughout: tables, softmax, norms too */
  /* An engine in bfloat16, emulated: a step computes in float, and what leaves
   * it is rounded where the plan has it as bf16 (docs/numerics.md). Plans of a
   * model in bf16 only. */
  LAYLINE_PRECISION_BF16 = 2
} layline_precision;

typedef enum layline_dtype {
  LAYLINE_F32 = 0,
  LAYLINE_F64 = 1,
  LAYLINE_I64 = 2,
  LAYLINE_F16 = 3,
  LAYLINE_BF16 = 4,
  LAYLINE_I32 = 5
} layline_dtype;

/* Tensors have at most this many dimensions. */
#define LAYLINE_MAX_DIMS 8

typedef struct layline_shape {
  int32_t rank;
  int64_t dims[LAYLINE_MAX_DIMS];
} layline_shape;

/* --- Engine --------------------------------------------------------------- */

typedef struct layline_options {
  size_t size; /* sizeof(layline_options): later versions append fields */
  layline_precision precision;
  const char *device; /* "cpu": one thread per rank; "cuda": this machine's
                         GPUs, docs/cuda.md; "simt": emulated GPUs,
                         layline/simt.h; null means "cpu" */
  int32_t taps;       /* nonzero: keep every named step output of a run */
  int32_t poison;     /* nonzero: fill arenas with NaN before every run, so
                         that a read of unwritten memory shows */
  /* "threads": all ranks in this process. "mpi": this process is one rank of as
   * many as mpirun started, or with device "cuda" as many ranks of the plan as
   * every other process; see "Processes" above. Null means "threads". */
  const char *transport;
  /* Seconds that a rank waits for another one before the call fails with
   * LAYLINE_RUN_FAILURE and its number; 0: the default, 300. */
  double timeout;
  /* nonzero: on device "cuda" reductions and gathers between cards are summed
   * and replicated by their switch (NVLink SHARP, multimem) where cards,
   * kernels and the plan allow: a third to half of the traffic. All ranks of a
   * run then still have the same bits, but sums are in the switch's order and
   * not in that of the ranks; other devices and transports give other last
   * bits. layline_run_kernels says which steps are not by it, and why. Refused
   * by other devices. */
  int32_t by_switch;
} layline_options;

/* Sets every field to its default: f32, "cpu", no taps, no poison, "threads",
 * 300 s, not by the switch. */
void layline_options_init(layline_options *options);

/* Null options mean the defaults. On failure *engine is null, and
 * layline_engine_create_error() gives the text. */
layline_status layline_engine_create(const layline_options *options,
                                     layline_engine **engine);
/* Why this thread's last layline_engine_create failed, "" if it did not. Never
 * null. Valid until the next one. */
const char *layline_engine_create_error(void);
void layline_engine_destroy(layline_engine *engine); /* null is fine */

/* Text of the last failure of this engine, "" if none. Never null. Valid until
 * the next call on this engine. A thread whose last call got LAYLINE_IN_USE is
 * given the text of that, and may ask while the engine is in use. */
const char *layline_engine_error(const layline_engine *engine);

/* --- Plan ----------------------------------------------------------------- */

/* Reads, validates and checks a plan, and makes it the engine's plan. Weights,
 * inputs and caches of an earlier plan are dropped. On failure the engine has
 * no plan. */
layline_status layline_plan_load(layline_engine *engine, const char *path);

/* The same from memory; `name` stands in for the file in messages. */
layline_status layline_plan_load_memory(layline_engine *engine,
                                        const char *text, size_t bytes,
                                        const char *name);

/* All checks of a load, without an engine. *report (may be null) receives one
 * line per finding, or "" when the plan is good; free it with
 * layline_string_free. */
layline_status layline_plan_check(const char *path, char **report);
layline_status layline_plan_check_memory(const char *text, size_t bytes,
                                         const char *name, char **report);
void layline_string_free(char *text);

/* Product of the mesh axes. */
layline_status layline_plan_ranks(const layline_engine *engine, int64_t *ranks);

/* The ranks of this process: `count` from `first` on. All of them, or with the
 * transport "mpi" one, on device "cuda" as many as in every other process. */
layline_status layline_plan_local_ranks(const layline_engine *engine,
                                        int64_t *first, int64_t *count);

/* Range of "tokens" or "past", both ends included. */
layline_status layline_plan_symbol(const layline_engine *engine,
                                   const char *symbol, int64_t *min,
                                   int64_t *max);

/* Id of the variant that runs this many tokens. */
layline_status layline_plan_variant(const layline_engine *engine,
                                    int64_t tokens, const char **id);

typedef enum layline_plan_list {
  LAYLINE_PLAN_INPUTS = 0,
  LAYLINE_PLAN_CACHES = 1,
  LAYLINE_PLAN_OUTPUTS = 2,     /* of the first variant; equal in all of them */
  LAYLINE_PLAN_WEIGHT_KEYS = 3, /* distinct safetensors keys, sorted */
  LAYLINE_PLAN_VARIANTS = 4
} layline_plan_list;

/* How many there are, and the id of one of them. */
layline_status layline_plan_count(const layline_engine *engine,
                                  layline_plan_list list, int64_t *count);
layline_status layline_plan_id(const layline_engine *engine,
                               layline_plan_list list, int64_t index,
                               const char **id);

typedef struct layline_cache_info {
  const char *id;
  const char *plane; /* "key", "value", "positions" */
  int64_t layer;     /* -1: not of one layer */
  int32_t is_integer;
  layline_shape row_shape; /* global shape of one row */
} layline_cache_info;

layline_status layline_plan_cache(const layline_engine *engine, int64_t index,
                                  layline_cache_info *info);

/* --- Weights -------------------------------------------------------------- */

/* Takes from a safetensors file every tensor that the plan names. Sharded
 * models: call once per file. Tensors of the file that the plan does not name
 * are ignored. Stored F32, F64, F16 and BF16 are converted to the engine's
 * precision; each rank keeps its slice only. */
layline_status layline_weights_load(layline_engine *engine, const char *path);

/* Gives one tensor by its safetensors key, in its stored (global) shape. */
layline_status layline_weight_bind(layline_engine *engine, const char *key,
                                   layline_dtype dtype,
                                   const layline_shape *shape,
                                   const void *data);

/* LAYLINE_MISSING_WEIGHT if a tensor is still missing; layline_run asks too. */
layline_status layline_weights_check(layline_engine *engine);

/* Bytes of stored tensors that this process has looked at for its ranks'
 * slices. */
layline_status layline_weights_bytes_read(const layline_engine *engine,
                                          int64_t *bytes);

/* --- Inputs --------------------------------------------------------------- */

/* Global value of an input, e.g. "input_ids" or "positions": [tokens]. It stays
 * bound for later runs with the same number of tokens. */
layline_status layline_input_bind(layline_engine *engine, const char *id,
                                  const int64_t *data, int64_t count);

/* --- Caches --------------------------------------------------------------- */

/* Replaces the rows of a cache by `rows` global rows: [rows, row_shape...].
 * Floating-point caches take F32 or F64, integer ones I64. */
layline_status layline_cache_bind(layline_engine *engine, const char *id,
                                  layline_dtype dtype, const void *data,
                                  int64_t rows);

/* States how many rows stand before the next run. Every cache must hold at
 * least as many; further rows are dropped. So this also rewinds. */
layline_status layline_past_set(layline_engine *engine, int64_t past);
layline_status layline_past_get(const layline_engine *engine, int64_t *past);

/* past = 0 and no rows anywhere. */
layline_status layline_caches_reset(layline_engine *engine);

/* Copies all rows of a cache out, assembled: [rows, row_shape...]. F32, F64 or,
 * for an integer cache, I64. `count` is the room in elements. */
layline_status layline_cache_read(layline_engine *engine, const char *id,
                                  layline_dtype dtype, void *data,
                                  int64_t count);

/* --- Run ------------------------------------------------------------------ */

/* One forward step over `tokens` rows. Needs all weights and inputs, and as
 * many rows in every cache as the past says. Afterwards past has grown by
 * `tokens`: the next run continues the sequence. After a failed run past is
 * unchanged and outputs and taps are empty; the engine stays usable. */
layline_status layline_run(layline_engine *engine, int64_t tokens);

/* --- Outputs -------------------------------------------------------------- */

/* Shape and value of an output of the last run, assembled from all ranks. The
 * value is converted to `dtype` (F32 or F64; I64 for integer outputs); `count`
 * is the room in elements. LAYLINE_REPLICAS_DIFFER still fills `data`, with the
 * lowest rank's value. */
layline_status layline_output_shape(layline_engine *engine, const char *id,
                                    layline_shape *shape);
layline_status layline_output_read(layline_engine *engine, const char *id,
                                   layline_dtype dtype, void *data,
                                   int64_t count);
/* The same of rows [first, first + rows) of dimension 0: the last token's
 * logits of a prefill are one row of many. Replicas are compared in these rows
 * only where every rank holds the value whole. */
layline_status layline_output_read_rows(layline_engine *engine, const char *id,
                                        int64_t first, int64_t rows,
                                        layline_dtype dtype, void *data,
                                        int64_t count);

/* --- Kernels -------------------------------------------------------------- */

/* What the steps of the last run ran as, where a device has several ways: a
 * JSON list of {"step": kinds, "kernel": name, "reason": text, "steps":
 * number}, of a rank. The kernel is one of the catalogue (docs/kernels.md),
 * "row_collective bf16 x8 owed->everyone rms", or what device cuda does a step
 * by without one, "layline_norm", "nccl+layline_move", "cublasLt". An empty one
 * is the cpu's, or of a fused step its body's, whose steps are listed too. The
 * reason says why it is none of the catalogue, or with options.by_switch why
 * one of the catalogue is "not by the switch", and is empty where none is
 * looked for. "[]" of the device "cpu". */
layline_status layline_run_kernels(const layline_engine *engine,
                                   const char **json);

/* --- Taps ----------------------------------------------------------------- */

/* With options.taps, every step output that the plan names (`names` of a step,
 * also inside fused steps) is kept right after the step ran. Its global value:
 * split dimensions placed at their ranges, owed sums summed in rank order,
 * replicas compared bit for bit. Taps are those of the last run. */
layline_status layline_tap_count(const layline_engine *engine, int64_t *count);
layline_status layline_tap_name(const layline_engine *engine, int64_t index,
                                const char **name);
layline_status layline_tap_find(const layline_engine *engine, const char *name,
                                int64_t *index);
layline_status layline_tap_shape(layline_engine *engine, int64_t index,
                                 layline_shape *shape);
layline_status layline_tap_read(layline_engine *engine, int64_t index,
                                layline_dtype dtype, void *data, int64_t count);

#ifdef __cplusplus
}
#endif

#endif /* LAYLINE_RUNTIME_H */
