//===- ColumnOps.td - columns of values and scales of rows -*- tablegen -*-===//
//
// Included by DecoderOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_DECODER_COLUMN_OPS
#define LAYLINE_DECODER_COLUMN_OPS

def Decoder_SliceColumnsOp : Decoder_Op<"slice_columns", [Rowwise, PartialLinear]> {
  let summary = "A window of the last dimension.";
  let description = [{
    y[..., i] = x[..., begin + i]; of [tokens, heads, width] the window of every
    head. As many columns as the result has.

    Both sides hold their columns whole: a window is no part of a split.

    Example:

    ```mlir
    %k = decoder.slice_columns %x {begin = 512} : (tensor<?x576xbf16>) -> tensor<?x64xbf16>
    ```

    Constraints:
    * the operand has 2 or 3 dimensions.
    * the window lies in the operand and is not empty.
    * operand and result have one element type.
  }];
  let arguments = (ins Decoder_Float:$input, I64Attr:$begin);
  let hasVerifier = 1;
}

def Decoder_ConcatColumnsOp : Decoder_Op<"concat_columns", [Rowwise, PartialLinearSum]> {
  let summary = "The columns of several values side by side.";
  let description = [{
    The last dimensions one behind another; the others are the same in all
    operands: nothing is repeated.

    Example:

    ```mlir
    %y = decoder.concat_columns %a, %b : (tensor<?x512xbf16>, tensor<?x64xbf16>) -> tensor<?x576xbf16>
    ```

    Constraints:
    * at least 2 operands, of 2 or 3 dimensions.
    * the operands have as many columns as the result, together.
    * all hold the same rows and heads and owe the same sums.
    * all have one element type.
  }];
  let arguments = (ins Variadic<Decoder_Float>:$inputs);
  let hasVerifier = 1;
}

def Decoder_RowScaleOp : Decoder_Op<"row_scale", [Rowwise, PartialLinear]> {
  let summary = "y[t, i] = input[t, i] * scales[t]";
  let description = [{
    Linear in the input, which may owe a sum: the gate of a shared expert scales
    the partial result, and the sum is taken afterwards. The scales owe nothing.

    Example:

    ```mlir
    %y = decoder.row_scale %x, %s : (tensor<?x64xbf16>, tensor<?x1xbf16>) -> tensor<?x64xbf16>
    ```

    Constraints:
    * input and scales hold the same rows.
    * the scales are one column.
  }];
  let arguments = (ins Decoder_Float:$input, Decoder_Float:$scales);
  let hasVerifier = 1;
}

#endif // LAYLINE_DECODER_COLUMN_OPS
