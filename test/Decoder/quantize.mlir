// RUN: layline-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// Rows in a narrow format with a scale each. The scale travels with its row.

// CHECK-LABEL: @plain
func.func @plain(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  // CHECK: decoder.quantize %{{.*}} {format = #decoder.quant_format<fp8_e4m3>} : (tensor<?x64xbf16>) -> (tensor<?x64xf8E4M3FN>, tensor<?x1xf32>)
  %v, %s = decoder.quantize %x {format = #decoder.quant_format<fp8_e4m3>} : (tensor<?x64xbf16>) -> (tensor<?x64xf8E4M3FN>, tensor<?x1xf32>)
  // CHECK: decoder.dequantize %{{.*}} : (tensor<?x64xf8E4M3FN>, tensor<?x1xf32>) -> tensor<?x64xbf16>
  %y = decoder.dequantize %v, %s : (tensor<?x64xf8E4M3FN>, tensor<?x1xf32>) -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// By rows: the narrow values and their scales cross the wire, not the wide ones.
!rows = tensor<?x64xbf16, #grid.layout<[block "tp", _]>>
!v_rows = tensor<?x64xf8E5M2, #grid.layout<[block "tp", _]>>
!s_rows = tensor<?x1xf32, #grid.layout<[block "tp", _]>>
!v = tensor<?x64xf8E5M2, #grid.layout<[_, _]>>
!s = tensor<?x1xf32, #grid.layout<[_, _]>>
!y = tensor<?x64xbf16, #grid.layout<[_, _]>>
// CHECK-LABEL: @gathered
func.func @gathered(%x: !rows) -> !y {
  %v, %s = decoder.quantize %x {format = #decoder.quant_format<fp8_e5m2>} : (!rows) -> (!v_rows, !s_rows)
  // CHECK: grid.all_gather {{.*}}f8E5M2
  %0 = grid.all_gather %v dim 0 over "tp" : !v_rows -> !v
  // CHECK: grid.all_gather {{.*}}x1xf32
  %1 = grid.all_gather %s dim 0 over "tp" : !s_rows -> !s
  %2 = decoder.dequantize %0, %1 : (!v, !s) -> !y
  return %2 : !y
}

// Columns may be dealt out once they are quantised.
!v_columns = tensor<?x64xf8E5M2, #grid.layout<[_, block "tp"]>>
!y_columns = tensor<?x64xbf16, #grid.layout<[_, block "tp"]>>
// CHECK-LABEL: @columns
func.func @columns(%v: !v_columns, %s: !s) -> !y_columns {
  %0 = decoder.dequantize %v, %s : (!v_columns, !s) -> !y_columns
  return %0 : !y_columns
}

// -----

// The scale of a row needs its whole width.
!columns = tensor<?x64xbf16, #grid.layout<[_, block "tp"]>>
!v = tensor<?x64xf8E4M3FN, #grid.layout<[_, block "tp"]>>
!s = tensor<?x1xf32, #grid.layout<[_, _]>>
func.func @part_of_width(%x: !columns) {
  // expected-error @below {{needs dimension 1 (width) of operand #0 whole, but it is split over "tp"}}
  %v, %s = decoder.quantize %x {format = #decoder.quant_format<fp8_e4m3>} : (!columns) -> (!v, !s)
  return
}

// -----

// Rounding is not linear.
!owes = tensor<?x64xbf16, #grid.layout<[_, _] owes "tp">>
!v = tensor<?x64xf8E4M3FN, #grid.layout<[_, _] owes "tp">>
!s = tensor<?x1xf32, #grid.layout<[_, _] owes "tp">>
func.func @owed(%x: !owes) {
  // expected-error @below {{takes a value that owes a sum over "tp"; reduce it first}}
  %v, %s = decoder.quantize %x {format = #decoder.quant_format<fp8_e4m3>} : (!owes) -> (!v, !s)
  return
}

// -----

// Values of a rank's rows with the scales of all: row r of one is not row r of
// the other.
!v = tensor<?x64xf8E4M3FN, #grid.layout<[block "tp", _]>>
!s = tensor<?x1xf32, #grid.layout<[_, _]>>
!y = tensor<?x64xbf16, #grid.layout<[block "tp", _]>>
func.func @scales_of_other_rows(%v: !v, %s: !s) {
  // expected-error @below {{takes operands that hold different parts of 'tokens': operand #0 is split as #grid.split<block "tp">, operand #1 is whole}}
  %0 = decoder.dequantize %v, %s : (!v, !s) -> !y
  return
}

// -----

// Sums of quantised numbers are not numbers of the scale.
!v = tensor<?x64xf8E4M3FN, #grid.layout<[_, _] owes "tp">>
!s = tensor<?x1xf32, #grid.layout<[_, _]>>
!y = tensor<?x64xbf16, #grid.layout<[_, _] owes "tp">>
func.func @owed_values(%v: !v, %s: !s) {
  // expected-error @below {{takes a value that owes a sum over "tp"; reduce it first}}
  %0 = decoder.dequantize %v, %s : (!v, !s) -> !y
  return
}

// -----

func.func @twice(%x: tensor<?x64xf8E4M3FN>) {
  // expected-error @below {{quantises 'f8E4M3FN', which is quantised already}}
  %v, %s = decoder.quantize %x {format = #decoder.quant_format<fp8_e4m3>} : (tensor<?x64xf8E4M3FN>) -> (tensor<?x64xf8E4M3FN>, tensor<?x1xf32>)
  return
}

// -----

func.func @other_format(%x: tensor<?x64xf32>) {
  // expected-error @below {{gives values of 'f8E5M2' for the format fp8_e4m3, expected 'f8E4M3FN'}}
  %v, %s = decoder.quantize %x {format = #decoder.quant_format<fp8_e4m3>} : (tensor<?x64xf32>) -> (tensor<?x64xf8E5M2>, tensor<?x1xf32>)
  return
}

// -----

func.func @wide_scales(%x: tensor<?x64xf32>) {
  // expected-error @below {{has 64 columns of scales, expected 1, one for each group of 64 of the 64 features}}
  %v, %s = decoder.quantize %x {format = #decoder.quant_format<fp8_e4m3>} : (tensor<?x64xf32>) -> (tensor<?x64xf8E4M3FN>, tensor<?x64xf32>)
  return
}

// -----

func.func @narrow_scales(%x: tensor<?x64xf32>) {
  // expected-error @below {{has the scales 'tensor<?x1xbf16>', expected columns of f32, as many as groups of the 64 features}}
  %v, %s = decoder.quantize %x {format = #decoder.quant_format<fp8_e4m3>} : (tensor<?x64xf32>) -> (tensor<?x64xf8E4M3FN>, tensor<?x1xbf16>)
  return
}

// -----

func.func @heads(%x: tensor<?x4x16xf32>) {
  // expected-error @below {{operand #0 has 3 dimensions, expected 2}}
  %v, %s = decoder.quantize %x {format = #decoder.quant_format<fp8_e4m3>} : (tensor<?x4x16xf32>) -> (tensor<?x64xf8E4M3FN>, tensor<?x1xf32>)
  return
}

// -----

func.func @plain_values(%v: tensor<?x64xf32>, %s: tensor<?x1xf32>) {
  // expected-error @below {{takes values of 'f32', expected quantised ones}}
  %0 = decoder.dequantize %v, %s : (tensor<?x64xf32>, tensor<?x1xf32>) -> tensor<?x64xf32>
  return
}

// -----

func.func @still_narrow(%v: tensor<?x64xf8E4M3FN>, %s: tensor<?x1xf32>) {
  // expected-error @below {{gives 'f8E4M3FN', which is a quantised type}}
  %0 = decoder.dequantize %v, %s : (tensor<?x64xf8E4M3FN>, tensor<?x1xf32>) -> tensor<?x64xf8E4M3FN>
  return
}

// -----

// Groups of features have a scale each. A row may be split between groups.
!x = tensor<?x64xbf16, #grid.layout<[_, block "tp" x 16]>>
!v = tensor<?x64xf8E4M3FN, #grid.layout<[_, block "tp" x 16]>>
!s = tensor<?x4xf32, #grid.layout<[_, block "tp"]>>
// CHECK-LABEL: @groups
func.func @groups(%x: !x) -> !x {
  // CHECK: decoder.quantize {{.*}}group_size = 16
  %v, %s = decoder.quantize %x {format = #decoder.quant_format<fp8_e4m3>, group_size = 16} : (!x) -> (!v, !s)
  // CHECK: decoder.dequantize
  %y = decoder.dequantize %v, %s : (!v, !s) -> !x
  return %y : !x
}

// -----

// Not within one: its largest feature would be that of a part.
!x = tensor<?x64xbf16, #grid.layout<[_, block "tp" x 8]>>
!v = tensor<?x64xf8E4M3FN, #grid.layout<[_, block "tp" x 8]>>
!s = tensor<?x4xf32, #grid.layout<[_, _]>>
func.func @within_a_group(%x: !x) {
  // expected-error @below {{is split in units of 8}}
  %v, %s = decoder.quantize %x {format = #decoder.quant_format<fp8_e4m3>, group_size = 16} : (!x) -> (!v, !s)
  return
}

// -----

// The groups of a rank's features, not those of all.
!v = tensor<?x64xf8E4M3FN, #grid.layout<[_, block "tp" x 16]>>
!s = tensor<?x4xf32, #grid.layout<[_, _]>>
!y = tensor<?x64xbf16, #grid.layout<[_, block "tp" x 16]>>
func.func @scales_of_all_groups(%v: !v, %s: !s) {
  // expected-error @below {{takes operands that hold different parts of 'groups'}}
  %0 = decoder.dequantize %v, %s : (!v, !s) -> !y
  return
}

// -----

func.func @uneven_groups(%x: tensor<?x64xf32>) {
  // expected-error @below {{has groups of 48, expected a divisor of the 64 features}}
  %v, %s = decoder.quantize %x {format = #decoder.quant_format<fp8_e4m3>, group_size = 48} : (tensor<?x64xf32>) -> (tensor<?x64xf8E4M3FN>, tensor<?x1xf32>)
  return
}

// -----

func.func @no_group(%x: tensor<?x64xf32>) {
  // expected-error @below {{has groups of 0, expected a divisor of the 64 features}}
  %v, %s = decoder.quantize %x {format = #decoder.quant_format<fp8_e4m3>, group_size = 0} : (tensor<?x64xf32>) -> (tensor<?x64xf8E4M3FN>, tensor<?x1xf32>)
  return
}

// -----

func.func @other_groups(%x: tensor<?x64xf32>) {
  // expected-error @below {{has 4 columns of scales, expected 8, one for each group of 8 of the 64 features}}
  %v, %s = decoder.quantize %x {format = #decoder.quant_format<fp8_e4m3>, group_size = 8} : (tensor<?x64xf32>) -> (tensor<?x64xf8E4M3FN>, tensor<?x4xf32>)
  return
}

// -----

func.func @odd_scales(%v: tensor<?x64xf8E4M3FN>, %s: tensor<?x5xf32>) {
  // expected-error @below {{has the scales 'tensor<?x5xf32>', expected columns of f32, as many as groups of the 64 features}}
  %0 = decoder.dequantize %v, %s : (tensor<?x64xf8E4M3FN>, tensor<?x5xf32>) -> tensor<?x64xf32>
  return
}
