/* The device "simt" for engines of this process: collectives and row-wise steps
 * of a plan run as the kernels of a GPU on an emulator of the ranks' GPUs, which
 * checks them (docs/kernels.md); what is the engine's own, products, attention
 * and experts, runs as on "cpu". It is for checks, not for speed.
 *
 * In the library LaylineSimtDevice, which stands beside the static runtime.
 */
#ifndef LAYLINE_SIMT_H
#define LAYLINE_SIMT_H

#include "layline/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes "simt" a device that layline_engine_create takes, with the precisions
 * f32 and bf16 and the transport "threads". `options`, null for none, are words
 * with commas between them, for engines whose plans are loaded from now on:
 *   plain, weak, race, starve, residency   what the emulator makes hard
 *   seed=N                                 who runs when; 1 if it is not there
 * On failure *error (may be null) receives the text; free it with
 * layline_string_free. Safe to be called from several threads. */
layline_status layline_simt_enable(const char *options, char **error);

#ifdef __cplusplus
}
#endif

#endif /* LAYLINE_SIMT_H */
