// RUN: layline-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// A norm over features that ranks share out: each sums the squares of its own,
// the sum over the ranks is the row's statistic.

// CHECK-LABEL: @plain
func.func @plain(%x: tensor<?x64xbf16>, %w: tensor<64xbf16>) -> tensor<?x64xbf16> {
  // CHECK: decoder.row_squares %{{.*}} : (tensor<?x64xbf16>) -> tensor<?x1xf32>
  %s = decoder.row_squares %x : (tensor<?x64xbf16>) -> tensor<?x1xf32>
  // CHECK: decoder.norm_by %{{.*}} {eps = {{.*}} : f64, width = 64 : i64} : (tensor<?x64xbf16>, tensor<?x1xf32>, tensor<64xbf16>) -> tensor<?x64xbf16>
  %y = decoder.norm_by %x, %s, %w {eps = 1.0e-6 : f64, width = 64 : i64} : (tensor<?x64xbf16>, tensor<?x1xf32>, tensor<64xbf16>) -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

!x = tensor<?x64xf32, #grid.layout<[_, block "tp" x 16]>>
!w = tensor<64xf32, #grid.layout<[block "tp" x 16]>>
!owes = tensor<?x1xf32, #grid.layout<[_, _] owes "tp">>
!s = tensor<?x1xf32, #grid.layout<[_, _]>>
// CHECK-LABEL: @split
func.func @split(%x: !x, %w: !w) -> !x {
  // CHECK: decoder.row_squares {{.*}} -> tensor<?x1xf32, #grid.layout<[_, _] owes "tp">>
  %0 = decoder.row_squares %x : (!x) -> !owes
  %s = grid.all_reduce %0 over ["tp"] : !owes -> !s
  %y = decoder.norm_by %x, %s, %w {eps = 1.0e-6 : f64, width = 64 : i64} : (!x, !s, !w) -> !x
  return %y : !x
}

// KV heads that several ranks hold: the first of them counts.
!k = tensor<?x64xf32, #grid.layout<[_, readers(8) "tp" x 16]>>
!first = tensor<?x64xf32, #grid.layout<[_, first_readers(8) "tp" x 16]>>
!wk = tensor<64xf32, #grid.layout<[readers(8) "tp" x 16]>>
// CHECK-LABEL: @replicated_heads
func.func @replicated_heads(%k: !k, %w: !wk) -> !k {
  // CHECK: grid.slice %{{.*}} dim 1 over "tp" : tensor<?x64xf32, #grid.layout<[_, readers(8) "tp" x 16]>> -> tensor<?x64xf32, #grid.layout<[_, first_readers(8) "tp" x 16]>>
  %0 = grid.slice %k dim 1 over "tp" : !k -> !first
  %1 = decoder.row_squares %0 : (!first) -> !owes
  %s = grid.all_reduce %1 over ["tp"] : !owes -> !s
  %y = decoder.norm_by %k, %s, %w {eps = 1.0e-6 : f64, width = 64 : i64} : (!k, !s, !wk) -> !k
  return %y : !k
}

// By rows too, like every row-wise op.
!rows = tensor<?x64xf32, #grid.layout<[block "tp", _]>>
!s_rows = tensor<?x1xf32, #grid.layout<[block "tp", _]>>
!w_all = tensor<64xf32, #grid.layout<[_]>>
// CHECK-LABEL: @by_rows
func.func @by_rows(%x: !rows, %w: !w_all) -> !rows {
  %s = decoder.row_squares %x : (!rows) -> !s_rows
  %y = decoder.norm_by %x, %s, %w {eps = 1.0e-6 : f64, width = 64 : i64} : (!rows, !s_rows, !w_all) -> !rows
  return %y : !rows
}

// -----

// Each rank's norm of its own features is not the norm of the row.
!x = tensor<?x64xf32, #grid.layout<[_, block "tp" x 16]>>
!w = tensor<64xf32, #grid.layout<[block "tp" x 16]>>
func.func @norm_of_own_features(%x: !x, %w: !w) {
  // expected-error @below {{needs dimension 1 (width) of operand #0 whole, but it is split over "tp"}}
  %y = decoder.norm %x, %w {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (!x, !w) -> !x
  return
}

// -----

// ... and a rank's sum of squares is not the row's statistic.
!x = tensor<?x64xf32, #grid.layout<[_, block "tp" x 16]>>
!w = tensor<64xf32, #grid.layout<[block "tp" x 16]>>
!owes = tensor<?x1xf32, #grid.layout<[_, _] owes "tp">>
func.func @own_statistic(%x: !x, %w: !w) {
  // expected-note @below {{the sum is owed since here}}
  %s = decoder.row_squares %x : (!x) -> !owes
  // expected-error @below {{takes a value that owes a sum over "tp"; reduce it first}}
  %y = decoder.norm_by %x, %s, %w {eps = 1.0e-6 : f64, width = 64 : i64} : (!x, !owes, !w) -> !x
  return
}

// -----

!x = tensor<?x64xf32, #grid.layout<[_, block "tp" x 16]>>
!s = tensor<?x1xf32, #grid.layout<[_, _]>>
func.func @statistic_that_owes_nothing(%x: !x) {
  // expected-error @below {{result #0 has the layout #grid.layout<[_, _]>, but its operands give #grid.layout<[_, _] owes "tp">}}
  %s = decoder.row_squares %x : (!x) -> !s
  return
}

// -----

// A head that two ranks hold would be in the sum twice.
!k = tensor<?x64xf32, #grid.layout<[_, readers(8) "tp" x 16]>>
!owes = tensor<?x1xf32, #grid.layout<[_, _] owes "tp">>
func.func @heads_counted_twice(%k: !k) {
  // expected-error @below {{sums over 'features', which is split as #grid.split<readers(8) "tp" x 16>: items held by several ranks would count more than once}}
  %s = decoder.row_squares %k : (!k) -> !owes
  return
}

// -----

// A square is not linear.
!owes = tensor<?x64xf32, #grid.layout<[_, _] owes "tp">>
!s = tensor<?x1xf32, #grid.layout<[_, _] owes "tp">>
func.func @squares_of_addends(%x: !owes) {
  // expected-error @below {{takes a value that owes a sum over "tp"; reduce it first}}
  %s = decoder.row_squares %x : (!owes) -> !s
  return
}

// -----

// A row's statistic is no other row's.
!x = tensor<?x64xf32, #grid.layout<[block "tp", _]>>
!s = tensor<?x1xf32, #grid.layout<[_, _]>>
!w = tensor<64xf32, #grid.layout<[_]>>
func.func @statistics_of_other_rows(%x: !x, %s: !s, %w: !w) {
  // expected-error @below {{takes operands that hold different parts of 'tokens'}}
  %y = decoder.norm_by %x, %s, %w {eps = 1.0e-6 : f64, width = 64 : i64} : (!x, !s, !w) -> !x
  return
}

// -----

!x = tensor<?x64xf32, #grid.layout<[_, readers(8) "tp" x 16]>>
!s = tensor<?x1xf32, #grid.layout<[_, _]>>
!w = tensor<64xf32, #grid.layout<[first_readers(8) "tp" x 16]>>
func.func @weights_of_other_heads(%x: !x, %s: !s, %w: !w) {
  // expected-error @below {{takes operands that hold different parts of 'features'}}
  %y = decoder.norm_by %x, %s, %w {eps = 1.0e-6 : f64, width = 64 : i64} : (!x, !s, !w) -> !x
  return
}

// -----

func.func @narrow_statistic(%x: tensor<?x64xbf16>) {
  // expected-error @below {{'decoder.row_squares' op has the sums 'tensor<?x1xbf16>', expected one of f32 for each row}}
  %s = decoder.row_squares %x : (tensor<?x64xbf16>) -> tensor<?x1xbf16>
  return
}

// -----

func.func @two_statistics(%x: tensor<?x64xf32>, %s: tensor<?x2xf32>, %w: tensor<64xf32>) {
  // expected-error @below {{'decoder.norm_by' op has the statistics 'tensor<?x2xf32>', expected one of f32 for each row}}
  %y = decoder.norm_by %x, %s, %w {eps = 1.0e-6 : f64, width = 64 : i64} : (tensor<?x64xf32>, tensor<?x2xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  return
}

// -----

func.func @wide(%x: tensor<?x64xf32>, %s: tensor<?x1xf32>, %w: tensor<64xf32>) {
  // expected-error @below {{is over a width of 65, expected 1 to its 64 features}}
  %y = decoder.norm_by %x, %s, %w {eps = 1.0e-6 : f64, width = 65 : i64} : (tensor<?x64xf32>, tensor<?x1xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  return
}

// -----

func.func @no_eps(%x: tensor<?x64xf32>, %s: tensor<?x1xf32>, %w: tensor<64xf32>) {
  // expected-error @below {{has eps 0.000000e+00, expected a positive number}}
  %y = decoder.norm_by %x, %s, %w {eps = 0.0 : f64, width = 64 : i64} : (tensor<?x64xf32>, tensor<?x1xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  return
}
