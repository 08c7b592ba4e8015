/* Layline KV: what to send where when a request's KV cache moves from ranks of
 * one layout to ranks of another. Reads a plan (kv.json, docs/kv.md), binds it
 * to the buffers and page tables of a request, and writes descriptors: source
 * address, target address, bytes. It never sends anything itself and, packing
 * apart, never touches the memory behind an address.
 *
 *   layline_kv_plan_load      once
 *   layline_kv_bind           per request, chunk and pair of ranks
 *   layline_kv_fill           as often as wanted
 *
 * Conventions
 *  - Every function returns a layline_status unless it says otherwise. On
 *    failure layline_kv_error() gives the text: where, what was found, what was
 *    expected; results are then not written, but handles are set to null. No
 *    exception leaves this API.
 *  - Handles are immutable. Any number of threads may use the same one at the
 *    same time; only destroying one excludes its other uses. A binding does not
 *    need its plan any more, nor a packing its binding: each may be destroyed
 * in any order.
 *  - Arrays belong to the caller. What a bind is given is not kept, except for
 *    the addresses themselves. const char * and const int64_t * results belong
 *    to the plan and are valid until it is destroyed.
 *  - Addresses are numbers: of the machine that the rank runs on, host or
 *    device. Sizes are bytes, positions in a request are tokens, everything
 * else counts things.
 *  - Ranks are numbered as in the plan, from 0, each side by itself.
 *  - Structs that callers fill begin with `size`, sizeof of the struct: later
 *    versions append fields.
 */
#ifndef LAYLINE_KV_H
#define LAYLINE_KV_H

#include "layline/runtime.h" /* layline_status */

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LAYLINE_KV_API __attribute__((visibility("default")))
#else
#define LAYLINE_KV_API
#endif

typedef struct layline_kv_plan layline_kv_plan;
typedef struct layline_kv_binding layline_kv_binding;
typedef struct layline_kv_packing layline_kv_packing;

/* Text of the last failure of this thread in this API, "" if the last call was
 * good. Never null. Valid until the thread's next call. */
LAYLINE_KV_API const char *layline_kv_error(void);

/* "ok", "bad argument", ...; never null. */
LAYLINE_KV_API const char *layline_kv_status_name(layline_status status);

/* Latest version of the format that is read, "1.1"; earlier ones are too. */
LAYLINE_KV_API const char *layline_kv_format_version(void);

/* --- Plan ----------------------------------------------------------------- */

/* Reads and checks a plan. */
LAYLINE_KV_API layline_status layline_kv_plan_load(const char *path,
                                                   layline_kv_plan **plan);

/* The same from memory; `name` stands in for the file in messages. */
LAYLINE_KV_API layline_status layline_kv_plan_load_memory(
    const char *text, size_t bytes, const char *name, layline_kv_plan **plan);

LAYLINE_KV_API void
layline_kv_plan_destroy(layline_kv_plan *plan); /* or null */

typedef struct layline_kv_plan_info {
  const char *model;
  const char *profile; /* "optimised", "sglang-compat" */
  int64_t planes;
  int64_t transfers;
  int64_t max_descriptors; /* of a batch; 0: no limit */
  int64_t slot_bytes;      /* most of a slot to pack into */
  /* Nonzero: what lies behind the last token is sent too, up to the end of its
   * page. */
  int32_t rounds_to_pages;
} layline_kv_plan_info;

LAYLINE_KV_API layline_status layline_kv_plan_get(const layline_kv_plan *plan,
                                                  layline_kv_plan_info *info);

/* What is kept of every token, or once per request, in some layers. */
typedef struct layline_kv_plane_info {
  const char *name;   /* "k", "v", "latent", "index_key", ... */
  const char *dtype;  /* "bf16", "f16", "f32", "fp8", "u8" */
  int64_t heads;      /* of the model; 1 where there are none */
  int64_t head_bytes; /* one head of one token; of a state: of the request */
  int64_t window;     /* only so many last tokens are kept; 0: all */
  int32_t is_state;   /* nonzero: one item per request, not per token */
  int64_t layers;
  const int64_t *layer_ids; /* of the model, ascending */
} layline_kv_plane_info;

LAYLINE_KV_API layline_status layline_kv_plan_plane(
    const layline_kv_plan *plan, int64_t index, layline_kv_plane_info *info);

/* Which ranks: the `side` of what follows. */
typedef enum layline_kv_side {
  LAYLINE_KV_SOURCE = 0,
  LAYLINE_KV_TARGET = 1
} layline_kv_side;

typedef struct layline_kv_side_info {
  const char *spec; /* "tp4,cp4,page64" */
  int64_t page_tokens;
  int64_t ranks;
  int64_t tables; /* page tables of a request */
} layline_kv_side_info;

LAYLINE_KV_API layline_status layline_kv_plan_side(const layline_kv_plan *plan,
                                                   int32_t side,
                                                   layline_kv_side_info *info);

typedef struct layline_kv_rank_info {
  int64_t pp, dp, cp, tp; /* coordinates */
  int64_t buffers;        /* addresses that it has to give, in the order of
                             layline_kv_plan_buffer */
} layline_kv_rank_info;

LAYLINE_KV_API layline_status layline_kv_plan_rank(const layline_kv_plan *plan,
                                                   int32_t side, int64_t rank,
                                                   layline_kv_rank_info *info);

/* One buffer of a rank: the pages of one layer. */
typedef struct layline_kv_buffer_info {
  const char *name;   /* "k", "index", ... */
  int64_t layer;      /* of the model */
  int64_t table;      /* the page table that numbers its pages */
  int64_t page_bytes; /* page p begins at address + p * page_bytes */
} layline_kv_buffer_info;

LAYLINE_KV_API layline_status
layline_kv_plan_buffer(const layline_kv_plan *plan, int32_t side, int64_t rank,
                       int64_t index, layline_kv_buffer_info *info);

/* Of a rank that keeps the pages whose number modulo `parts` is `index`, page n
 * of its group as its own page n / parts; 1 and 0 of other ranks. */
LAYLINE_KV_API layline_status
layline_kv_plan_page_parts(const layline_kv_plan *plan, int32_t side,
                           int64_t rank, int64_t *parts, int64_t *index);

/* The name of a page table: "kv", "window", "state". */
LAYLINE_KV_API layline_status layline_kv_plan_table(const layline_kv_plan *plan,
                                                    int32_t side, int64_t table,
                                                    const char **name);

/* Transfers are ordered by target, then source, so those of a pair follow one
 * another. A pair that exchanges nothing has none. */
LAYLINE_KV_API layline_status layline_kv_plan_pair(const layline_kv_plan *plan,
                                                   int64_t source,
                                                   int64_t target,
                                                   int64_t *first,
                                                   int64_t *count);

/* Where small blocks are put side by side to be sent as large ones. */
typedef enum layline_kv_packing_place {
  LAYLINE_KV_PACK_NOWHERE = 0,
  LAYLINE_KV_PACK_AT_SOURCE = 1, /* copied into a slot, sent into place */
  LAYLINE_KV_PACK_AT_TARGET = 2, /* sent into a slot, copied into place */
  LAYLINE_KV_PACK_AT_BOTH = 3    /* from slot to slot */
} layline_kv_packing_place;

typedef struct layline_kv_transfer_info {
  int64_t source, target; /* ranks */
  layline_kv_packing_place packing;
  int32_t batches_by_layer; /* nonzero: a batch per plane and layer; else as
                               few as the limit of descriptors allows */
  int32_t with_last_chunk;  /* nonzero: once, with the last chunk */
} layline_kv_transfer_info;

LAYLINE_KV_API layline_status layline_kv_plan_transfer(
    const layline_kv_plan *plan, int64_t index, layline_kv_transfer_info *info);

/* The source ranks that must have reported before a request is ready at a
 * target rank, ascending, those with nothing to send included: their number,
 * and up to `room` of them. `ranks` may be null if `room` is 0. */
LAYLINE_KV_API layline_status
layline_kv_plan_responders(const layline_kv_plan *plan, int64_t target,
                           int64_t *ranks, int64_t room, int64_t *count);

/* What a responder reports of a request: a set of bits. */
typedef enum layline_kv_report {
  LAYLINE_KV_REPORT_MAIN = 1,     /* keys, values, latents */
  LAYLINE_KV_REPORT_INDEX = 2,    /* index keys and scales */
  LAYLINE_KV_REPORT_STATE = 4,    /* of the request */
  LAYLINE_KV_REPORT_AUXILIARY = 8 /* what goes with it beside its cache */
} layline_kv_report;

/* A request is ready at a target when each of its responders has reported, by
 * its key and naming the request, `completions` times: once for each of its
 * transfers to the target, when the last byte of the last chunk has arrived,
 * and once, behind these, for what is auxiliary. A report that comes twice
 * counts once. One that says that a write has failed fails the request for
 * good. */
typedef struct layline_kv_responder_info {
  int64_t source;  /* rank */
  const char *key; /* "pp0.dp0.cp1.tp2": of no other rank */
  int64_t completions;
  uint32_t reports; /* of layline_kv_report */
} layline_kv_responder_info;

/* The responder `index` of those of layline_kv_plan_responders. */
LAYLINE_KV_API layline_status
layline_kv_plan_responder(const layline_kv_plan *plan, int64_t target,
                          int64_t index, layline_kv_responder_info *info);

/* From when until when buffers of a kind are pinned, in the words of kv.json
 * (docs/kv.md, Ready, and free again). */
typedef struct layline_kv_lifetime_info {
  const char *store; /* "source_pages", "target_pages", "broadcast_scratch",
                        "source_slots", "target_slots" */
  const char *name;  /* page table or buffer; "" of slots */
  const char *from, *until;
  const char *after_failure; /* until then, of a request that has failed */
  const char *reuse; /* who may have it next: "any_request", "next_round",
                        "next_layer" */
} layline_kv_lifetime_info;

LAYLINE_KV_API layline_status
layline_kv_plan_lifetimes(const layline_kv_plan *plan, int64_t *count);
LAYLINE_KV_API layline_status layline_kv_plan_lifetime(
    const layline_kv_plan *plan, int64_t index, layline_kv_lifetime_info *info);

/* Memory of a rank that packed blocks of one pair go through. Rounds of one
 * lane go one after the other, those of different lanes beside each other. */
typedef struct layline_kv_slot_info {
  int32_t at;             /* layline_kv_side: whose memory it is */
  int64_t source, target; /* ranks */
  int64_t lane;
  int64_t bytes;
  int64_t max_descriptors; /* of a round; 0: no limit */
} layline_kv_slot_info;

LAYLINE_KV_API layline_status layline_kv_plan_slots(const layline_kv_plan *plan,
                                                    int64_t *count);
LAYLINE_KV_API layline_status layline_kv_plan_slot(const layline_kv_plan *plan,
                                                   int64_t index,
                                                   layline_kv_slot_info *info);

/* --- Keys for stores of pages --------------------------------------------- */

/* Hexadecimal digits of a digest and the zero behind them. */
#define LAYLINE_KV_DIGEST_SIZE 65

/* SHA-256 of all that decides the bytes of a page of buffer `index` of a rank
 * (layline_kv_plan_buffer): model, layer, planes with their element types,
 * heads and places in the page, page size, and the rank's share of heads and
 * tokens. Equal for replicas and equal layouts, different for others; so it
 * belongs into the key of every page in a store that layouts share, beside the
 * revision of the weights and the tokens up to the page. */
LAYLINE_KV_API layline_status layline_kv_plan_page_digest(
    const layline_kv_plan *plan, int32_t side, int64_t rank, int64_t index,
    char digest[LAYLINE_KV_DIGEST_SIZE]);

/* The same of the pages of all layers that the rank has of a buffer, where a
 * store keeps them as one: `buffer` is its name, "k". Of kv.json. */
LAYLINE_KV_API layline_status layline_kv_plan_layers_digest(
    const layline_kv_plan *plan, int32_t side, int64_t rank, const char *buffer,
    char digest[LAYLINE_KV_DIGEST_SIZE]);

/* --- Binding -------------------------------------------------------------- */

typedef struct layline_kv_request {
  size_t size;                    /* sizeof(layline_kv_request) */
  int64_t tokens;                 /* all of the request */
  int64_t chunk_begin, chunk_end; /* what is sent now */
  int32_t is_last;                /* nonzero: no chunk follows */
  int64_t prefix;                 /* first tokens that the target has already */
  int64_t room; /* number that both sides know the request by, >= 0 */
} layline_kv_request;

/* The pages that a rank needs in a table for all tokens of a request: entries
 * beyond are ignored. */
LAYLINE_KV_API layline_status layline_kv_plan_pages(
    const layline_kv_plan *plan, const layline_kv_request *request,
    int32_t side, int64_t rank, int64_t table, int64_t *pages);

/* The first of them that what lies behind the prefix needs, or lies in a
 * window: a table may begin there (layline_kv_memory.first_pages). */
LAYLINE_KV_API layline_status layline_kv_plan_first_page(
    const layline_kv_plan *plan, const layline_kv_request *request,
    int32_t side, int64_t rank, int64_t table, int64_t *page);

/* What a rank has for a request. */
typedef struct layline_kv_memory {
  size_t size;             /* sizeof(layline_kv_memory) */
  const uint64_t *buffers; /* addresses, in the order of the rank's buffers */
  int64_t buffer_count;
  /* By table of the side: page numbers of the request in the order of its slots
   * at this rank, and how many are given. Of ranks that keep pages by their
   * numbers (layline_kv_plan_page_parts): the table that all of their group
   * share, each page with the number that the group knows it by. */
  const int32_t *const *tables;
  const int64_t *table_pages;
  int64_t table_count;
  /* By table: pages of a buffer, so that page numbers can be checked; 0, or a
   * null pointer for all: not known. */
  const int64_t *pool_pages;
  /* Appended; not read if `size` says that it is not there. By table: how many
   * pages of the request are in front of entry 0, because a prefix lies in them
   * that the target has; a null pointer: none. Where one of them is needed the
   * bind fails. */
  const int64_t *first_pages;
} layline_kv_memory;

/* What `source` sends to `target` for a chunk of a request. Checks the request,
 * the addresses and the tables: a negative page, one beyond its pool, one that
 * stands twice and a table that is too short are errors. The time it takes
 * grows with the number of pages, not of tokens or descriptors. */
LAYLINE_KV_API layline_status layline_kv_bind(
    const layline_kv_plan *plan, const layline_kv_request *request,
    int64_t source, int64_t target, const layline_kv_memory *source_memory,
    const layline_kv_memory *target_memory, layline_kv_binding **binding);

LAYLINE_KV_API void
layline_kv_binding_destroy(layline_kv_binding *binding); /* or null */

typedef struct layline_kv_counts {
  int64_t descriptors;
  int64_t regions;
  int64_t batches;
  int64_t parts; /* transfers that have something for this chunk or none */
  int64_t bytes;
} layline_kv_counts;

LAYLINE_KV_API layline_status layline_kv_binding_counts(
    const layline_kv_binding *binding, layline_kv_counts *counts);

/* Bytes of every descriptor; 0 if they differ, or there are none. */
LAYLINE_KV_API layline_status layline_kv_binding_equal_bytes(
    const layline_kv_binding *binding, int64_t *bytes);

/* What an engine is given in one call: descriptors [first, first +
 * descriptors). Batches follow one another without a gap. */
typedef struct layline_kv_batch {
  int64_t first, descriptors;
  int64_t bytes;
  int32_t with_last_chunk;
} layline_kv_batch;

/* Batches [first, first + count). */
LAYLINE_KV_API layline_status
layline_kv_binding_batches(const layline_kv_binding *binding, int64_t first,
                           int64_t count, layline_kv_batch *batches);

/* The descriptors of one transfer. Those of a part that packs are the blocks
 * that are copied; they, and its batches, may also be sent as they are. */
typedef struct layline_kv_part {
  int64_t first, descriptors;
  int64_t first_batch, batches;
  layline_kv_packing_place packing;
  int32_t with_last_chunk;
} layline_kv_part;

LAYLINE_KV_API layline_status layline_kv_binding_part(
    const layline_kv_binding *binding, int64_t index, layline_kv_part *part);

/* What a round of a part that packs may have, and its lane: what its slots
 * hold. LAYLINE_BAD_ARGUMENT if the part does not pack. */
typedef struct layline_kv_part_slot {
  int64_t bytes, max_descriptors; /* 0 descriptors: no limit */
  int64_t lane;
} layline_kv_part_slot;

LAYLINE_KV_API layline_status
layline_kv_binding_part_slot(const layline_kv_binding *binding, int64_t index,
                             layline_kv_part_slot *slot);

/* --- Page tables as engines have them ------------------------------------- */

/* Pages of token slots (page * page_tokens + slot in the page), in the order of
 * the request's tokens, of which `count` are given: their number, and, unless
 * `room` is 0, all of them. Fails if the slots of a page do not follow one
 * another from its first on, and if `room` is too small. `pages` may be null if
 * `room` is 0. */
LAYLINE_KV_API layline_status layline_kv_pages_of_slots(
    const int64_t *slots, int64_t count, int64_t page_tokens, int32_t *pages,
    int64_t room, int64_t *number);

/* Of `count` pages of a cache whose page numbers are divided among `ranks`
 * ranks (page n is page n / ranks of rank n mod ranks), those of one rank: its
 * own numbers, and which entries they were, ascending. A bind does this itself
 * where the plan says so (layline_kv_plan_page_parts); this is for other
 * tables. */
LAYLINE_KV_API layline_status layline_kv_striped_pages(
    const int32_t *pages, int64_t count, int64_t ranks, int64_t rank,
    int32_t *own, int64_t *positions, int64_t room, int64_t *number);

/* --- Descriptors ---------------------------------------------------------- */

/* Writes descriptors [first, first + count) to three arrays of `count`. Up to
 * `threads` threads share the work, where it is enough for them; 0: one per
 * processor. Nothing is allocated but threads. `bytes` may be null where all
 * have the same length (layline_kv_binding_equal_bytes), which a caller need
 * not have written again for each request: writing is most of the time. */
LAYLINE_KV_API layline_status layline_kv_fill(const layline_kv_binding *binding,
                                              int64_t first, int64_t count,
                                              uint64_t *source,
                                              uint64_t *target, uint64_t *bytes,
                                              int32_t threads);

/* The same as two arrays of count rows (address, bytes, device), which is what
 * NIXL takes. */
LAYLINE_KV_API layline_status layline_kv_fill_rows(
    const layline_kv_binding *binding, int64_t first, int64_t count,
    uint64_t source_device, uint64_t target_device, uint64_t *source_rows,
    uint64_t *target_rows, int32_t threads);

/* outer x inner blocks of `bytes`: block (j, i) lies at
 * address + j * jump + i * step. Steps and jumps may be negative. */
typedef struct layline_kv_region {
  uint64_t source, target, bytes;
  int64_t inner, source_step, target_step;
  int64_t outer, source_jump, target_jump;
} layline_kv_region;

/* Regions [first, first + count): their blocks, one after the other, are the
 * descriptors. How many there are depends on how regular the pages are, not on
 * the number of tokens. */
LAYLINE_KV_API layline_status
layline_kv_regions(const layline_kv_binding *binding, int64_t first,
                   int64_t count, layline_kv_region *regions);

/* Receives `count` descriptors of one batch; arrays are valid during the call.
 * `batch` is the whole batch, `first` the number of the first descriptor. A
 * value other than 0 ends the walk. */
typedef int (*layline_kv_visit)(void *context, const layline_kv_batch *batch,
                                int64_t first, int64_t count,
                                const uint64_t *source, const uint64_t *target,
                                const uint64_t *bytes);

/* Visits all descriptors, batch by batch, at most `most` at a time. With
 * threads > 1 (0: one per processor) `visit` is called from several threads at
 * once, each with batches of its own, in any order. LAYLINE_RUN_FAILURE if a
 * visit ended it. */
LAYLINE_KV_API layline_status layline_kv_for_each_batch(
    const layline_kv_binding *binding, int64_t most, int32_t threads,
    layline_kv_visit visit, void *context);

/* --- Packing -------------------------------------------------------------- */

/* The rounds of a part: what fits into one slot at a time. Both sides find the
 * same rounds. `slot_bytes` 0: the limits of the part's own slots, both of
 * them; else at most so many bytes and, if not 0, descriptors. Fails if a block
 * is larger than a slot. */
LAYLINE_KV_API layline_status layline_kv_packing_create(
    const layline_kv_binding *binding, int64_t part, int64_t slot_bytes,
    int64_t max_descriptors, layline_kv_packing **packing);

LAYLINE_KV_API void
layline_kv_packing_destroy(layline_kv_packing *packing); /* or null */

typedef struct layline_kv_round {
  int64_t first_block, blocks; /* descriptors of the binding */
  int64_t bytes;               /* of the slot */
  int64_t descriptors;         /* that are sent */
} layline_kv_round;

LAYLINE_KV_API layline_status
layline_kv_packing_rounds(const layline_kv_packing *packing, int64_t *count);

LAYLINE_KV_API layline_status layline_kv_packing_round(
    const layline_kv_packing *packing, int64_t index, layline_kv_round *round);

/* Where the source packs, copies the round's blocks to `slot`; where it does
 * not, does nothing. The source's addresses must be those of this process.
 * `threads` as in layline_kv_fill. */
LAYLINE_KV_API layline_status layline_kv_pack(const layline_kv_packing *packing,
                                              int64_t round, void *slot,
                                              size_t slot_bytes,
                                              int32_t threads);

/* Where the target unpacks, copies the round's blocks out of `slot`. */
LAYLINE_KV_API layline_status
layline_kv_unpack(const layline_kv_packing *packing, int64_t round,
                  const void *slot, size_t slot_bytes, int32_t threads);

/* What is sent in a round, `descriptors` of it: from the slot at `source_slot`
 * or the source's buffers, to the slot at `target_slot` or the target's. An
 * address that is not used is ignored. */
LAYLINE_KV_API layline_status layline_kv_packing_descriptors(
    const layline_kv_packing *packing, int64_t round, uint64_t source_slot,
    uint64_t target_slot, uint64_t *source, uint64_t *target, uint64_t *bytes,
    int64_t room);

#ifdef __cplusplus
}
#endif

#endif /* LAYLINE_KV_H */
