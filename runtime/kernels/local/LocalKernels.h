// The list of local kernels: what is compiled, what the host looks up, what the
// emulator runs. X(symbol, params, device function)
#ifndef LAYLINE_RUNTIME_KERNELS_LOCAL_LOCALKERNELS_H
#define LAYLINE_RUNTIME_KERNELS_LOCAL_LOCALKERNELS_H

#define LAYLINE_LOCAL_KERNELS(X)                                               \
  X(layline_elementwise, ElementwiseParams, elementwise)                       \
  X(layline_group_barrier, BarrierParams, groupBarrier)                        \
  X(layline_move, MoveParams, move)                                            \
  X(layline_append_rows, AppendParams, appendRows)                             \
  X(layline_embedding, EmbeddingParams, embedding)                             \
  X(layline_norm, NormParams, norm)                                            \
  X(layline_row_squares, RowSquaresParams, rowSquares)                         \
  X(layline_norm_by, NormByParams, normBy)                                     \
  X(layline_rope, RopeParams, rope)                                            \
  X(layline_quantize, QuantizeParams, quantize)                                \
  X(layline_dequantize, DequantizeParams, dequantize)                          \
  X(layline_attention, AttentionParams, attention)                             \
  X(layline_latent_attention, LatentAttentionParams, latentAttention)          \
  X(layline_indexer, IndexerParams, indexer)                                   \
  X(layline_router, RouterParams, router)                                      \
  X(layline_experts, ExpertsParams, experts)                                   \
  X(layline_choices, ChoicesParams, choices)                                   \
  X(layline_sorted_experts, SortedExpertsParams, sortedExperts)                \
  X(layline_expert_bias, ExpertBiasParams, expertBias)                         \
  X(layline_dispatch, DispatchParams, dispatch)                                \
  X(layline_combine, CombineParams, combine)

#endif // LAYLINE_RUNTIME_KERNELS_LOCAL_LOCALKERNELS_H
