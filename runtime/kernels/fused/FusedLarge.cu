// Of 4 and 8 ranks: by the switch, and rows in FP8.
#include "kernels/fused/Fused.cuh"

LAYLINE_FUSED_OF_LARGE_GROUPS(LAYLINE_FUSED_ROWS_ENTRY,
                              LAYLINE_FUSED_ONE_SHOT_ENTRY)
