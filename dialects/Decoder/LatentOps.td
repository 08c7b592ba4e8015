//===- LatentOps.td - latent and sparse attention ----------*- tablegen -*-===//
//
// Included by DecoderOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_DECODER_LATENT_OPS
#define LAYLINE_DECODER_LATENT_OPS

def Decoder_LatentAttentionOp : Decoder_SplitOp<"latent_attention", "heads", [Positioned]> {
  let summary = "Attention over keys and values that are made of one latent row per token (MLA).";
  let description = [{
    Of a cached row s head h has the key (key_up_h latent[s], rope_key[s]) and the
    value value_up_h latent[s]: key_up is [heads * nope, latent], value_up
    [heads * value width, latent]. The score is scale * (query_nope . key_up_h
    latent[s] + query_rope . rope_key[s]); the softmax is over the rows that the
    query sees, by positions as in `attention`, and, with a selection, over those
    of the rows that it names. Entries of a selection below 0 name none.

    Products with key_up and value_up may be taken on the side of the query (the
    absorbed form) or of the keys: all of it is linear.

    Query rows and heads may be split; all rows of the latent and of the rope key
    are needed, and no head's part of them is less than the whole.

    Example:

    ```mlir
    %o = decoder.latent_attention %qn, %qr, %latent, %rk, %ku, %vu, %positions, %key_positions {scale = 0.25 : f64, causal = true}
       : (tensor<?x8x12xbf16>, tensor<?x8x8xbf16>, tensor<?x24xbf16>, tensor<?x8xbf16>, tensor<96x24xbf16>, tensor<80x24xbf16>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x8x10xbf16>
    ```

    Constraints:
    * the scale is finite and positive.
  }];
  let arguments = (ins Decoder_Float:$query_nope, Decoder_Float:$query_rope,
                       Decoder_Float:$latent, Decoder_Float:$rope_key,
                       Decoder_Float:$key_up, Decoder_Float:$value_up,
                       Decoder_Index:$positions, Decoder_Index:$key_positions,
                       Optional<Decoder_Index>:$selection, F64Attr:$scale, BoolAttr:$causal);
  let hasVerifier = 1;
}

def Decoder_IndexerOp : Decoder_Op<"indexer", [Positioned]> {
  let summary = "The top_k cached rows that each query row is to attend to (DSA).";
  let description = [{
    score[t, s] = sum_h weights[t, h] * scale * max(0, query[t, h] . keys[s]) for
    the rows s that query row t sees, by positions as in `attention`. The top_k
    largest are selected, largest first, ties by the lower row; where a query
    sees fewer, -1 follows, with the score 0.

    Query rows may be split; all rows of the keys are needed, and all heads.

    Example:

    ```mlir
    %rows, %scores = decoder.indexer %q, %keys, %weights, %positions, %key_positions {top_k = 8, scale = 0.25 : f64, causal = true}
       : (tensor<?x4x16xbf16>, tensor<?x16xbf16>, tensor<?x4xbf16>, tensor<?xi64>, tensor<?xi64>) -> (tensor<?x8xi32>, tensor<?x8xbf16>)
    ```

    Constraints:
    * top_k is at least 1 and the results' width.
    * the scale is finite and positive.
  }];
  let arguments = (ins Decoder_Float:$query, Decoder_Float:$keys, Decoder_Float:$weights,
                       Decoder_Index:$positions, Decoder_Index:$key_positions,
                       I64Attr:$top_k, F64Attr:$scale, BoolAttr:$causal);
  let results = (outs Decoder_Index:$selection, Decoder_Float:$scores);
  let hasVerifier = 1;
}

#endif // LAYLINE_DECODER_LATENT_OPS
