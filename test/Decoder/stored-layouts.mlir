// RUN: layline-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// Weights that are stored as one tensor of all experts, or transposed.

// CHECK-LABEL: @gpt_oss
func.func @gpt_oss() {
  // Columns of gate and up in turns, rows behind columns.
  // CHECK: decoder.weight {key = "gate_up", period = 2 : i64, rows = array<i64: 1, 2>, stored_shape = array<i64: 8, 64, 32>, stored_stack, transposed} : () -> tensor<8x16x64xbf16>
  %u = decoder.weight {key = "gate_up", stored_shape = array<i64: 8, 64, 32>, stored_stack, transposed, rows = array<i64: 1, 2>, period = 2} : () -> tensor<8x16x64xbf16>
  %d = decoder.weight {key = "down", stored_shape = array<i64: 8, 16, 64>, stored_stack, transposed} : () -> tensor<8x64x16xbf16>
  %b = decoder.weight {key = "gate_up_bias", stored_shape = array<i64: 8, 32>, stored_stack, rows = array<i64: 0, 1>, period = 2} : () -> tensor<8x16xbf16>
  // One matrix, and a stack as it is.
  %t = decoder.weight {key = "w", stored_shape = array<i64: 64, 32>, transposed} : () -> tensor<32x64xbf16>
  %s = decoder.weight {key = "s", stored_shape = array<i64: 8, 16, 64>, stored_stack} : () -> tensor<8x16x64xbf16>
  return
}

// -----

func.func @not_transposed() {
  // expected-error @below {{"w" has the shape [64, 32], expected [32, 64] from the stored tensor}}
  %0 = decoder.weight {key = "w", stored_shape = array<i64: 64, 32>, transposed} : () -> tensor<64x32xbf16>
  return
}

// -----

func.func @transposed_row() {
  // expected-error @below {{"w" is stored as [64], expected rows and columns}}
  %0 = decoder.weight {key = "w", stored_shape = array<i64: 64>, transposed} : () -> tensor<64xbf16>
  return
}

// -----

func.func @stack_of_nothing() {
  // expected-error @below {{"w" is stored as [8], expected experts and rows}}
  %0 = decoder.weight {key = "w", stored_shape = array<i64: 8>, stored_stack} : () -> tensor<8xbf16>
  return
}

// -----

func.func @stack_of_each() {
  // expected-error @below {{has all experts and is one of each}}
  %0 = decoder.weight {key = "experts.{expert}.w", stored_shape = array<i64: 8, 16>, stored_stack} : () -> tensor<8x16xbf16>
  return
}

// -----

// Rows are those of an expert, not the experts.
func.func @rows_of_the_stack() {
  // expected-error @below {{"w" takes the rows [16, 24] of 16, expected a window [begin, end) inside}}
  %0 = decoder.weight {key = "w", stored_shape = array<i64: 32, 16>, stored_stack, rows = array<i64: 16, 24>} : () -> tensor<32x8xbf16>
  return
}
