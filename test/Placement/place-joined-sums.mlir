// RUN: layline-opt %s -split-input-file -pass-pipeline='builtin.module(place-parallel{tp=4},func.func(verify-sums))' | FileCheck %s

// Two products that owe the same and are added have one sum between them.
// CHECK-LABEL: func.func @added(
func.func @added(%x: tensor<?x16xf32>, %y: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %a = decoder.weight {key = "a", stored_shape = array<i64: 16, 16>} : () -> tensor<16x16xf32>
  %b = decoder.weight {key = "b", stored_shape = array<i64: 16, 16>} : () -> tensor<16x16xf32>
  %up = decoder.weight {key = "up", stored_shape = array<i64: 16, 16>} : () -> tensor<16x16xf32>
  %x0 = decoder.linear %x, %up : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %u = decoder.activation %x0 {function = #decoder.function<gelu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %vp = decoder.weight {key = "vp", stored_shape = array<i64: 16, 16>} : () -> tensor<16x16xf32>
  %y0 = decoder.linear %y, %vp : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %v = decoder.activation %y0 {function = #decoder.function<gelu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  // CHECK: %[[P:.*]] = decoder.linear {{.*}} owes "tp">>
  %p = decoder.linear %u, %a : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32> loc("p")
  // CHECK-NEXT: %[[Q:.*]] = decoder.linear {{.*}} owes "tp">>
  %q = decoder.linear %v, %b : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32> loc("q")
  // CHECK-NEXT: %[[S:.*]] = decoder.add %[[P]], %[[Q]] : {{.*}} owes "tp">>
  // CHECK-NEXT: %[[R:.*]] = grid.all_reduce %[[S]] over ["tp"] {site = "both"}
  // CHECK-NEXT: return %[[R]]
  %s = decoder.add %p, %q : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32> loc("both")
  return %s : tensor<?x16xf32>
}

// -----

// A value that owes nothing would be added once per rank: the product's sum is
// paid before.
// CHECK-LABEL: func.func @residual(
func.func @residual(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %a = decoder.weight {key = "a", stored_shape = array<i64: 16, 16>} : () -> tensor<16x16xf32>
  %up = decoder.weight {key = "up", stored_shape = array<i64: 16, 16>} : () -> tensor<16x16xf32>
  %x0 = decoder.linear %x, %up : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %u = decoder.activation %x0 {function = #decoder.function<gelu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  // CHECK: %[[P:.*]] = decoder.linear {{.*}} owes "tp">>
  // CHECK-NEXT: %[[R:.*]] = grid.all_reduce %[[P]]
  %p = decoder.linear %u, %a : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  // CHECK-NEXT: decoder.add {{.*}}, %[[R]] : {{.*}} -> tensor<?x16xf32, #grid.layout<[_, _]>>
  %s = decoder.add %x, %p : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  return %s : tensor<?x16xf32>
}

// -----

// A product with another reader is paid by itself: two readers would pay twice.
// CHECK-LABEL: func.func @two_readers(
func.func @two_readers(%x: tensor<?x16xf32>, %y: tensor<?x16xf32>) -> (tensor<?x16xf32>, tensor<?x16xf32>) {
  %a = decoder.weight {key = "a", stored_shape = array<i64: 16, 16>} : () -> tensor<16x16xf32>
  %b = decoder.weight {key = "b", stored_shape = array<i64: 16, 16>} : () -> tensor<16x16xf32>
  %up = decoder.weight {key = "up", stored_shape = array<i64: 16, 16>} : () -> tensor<16x16xf32>
  %x0 = decoder.linear %x, %up : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %u = decoder.activation %x0 {function = #decoder.function<gelu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %vp = decoder.weight {key = "vp", stored_shape = array<i64: 16, 16>} : () -> tensor<16x16xf32>
  %y0 = decoder.linear %y, %vp : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %v = decoder.activation %y0 {function = #decoder.function<gelu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  // CHECK: %[[P:.*]] = decoder.linear {{.*}} owes "tp">>
  // CHECK-NEXT: %[[PR:.*]] = grid.all_reduce %[[P]]
  %p = decoder.linear %u, %a : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  // CHECK-NEXT: %[[Q:.*]] = decoder.linear {{.*}} owes "tp">>
  // CHECK-NEXT: %[[QR:.*]] = grid.all_reduce %[[Q]]
  %q = decoder.linear %v, %b : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  // CHECK-NEXT: decoder.add %[[PR]], %[[QR]]
  %s = decoder.add %p, %q : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  return %s, %p : tensor<?x16xf32>, tensor<?x16xf32>
}

// -----

// Both addends are one value: it has two readers, which are one op.
// CHECK-LABEL: func.func @twice(
func.func @twice(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %a = decoder.weight {key = "a", stored_shape = array<i64: 16, 16>} : () -> tensor<16x16xf32>
  %up = decoder.weight {key = "up", stored_shape = array<i64: 16, 16>} : () -> tensor<16x16xf32>
  %x0 = decoder.linear %x, %up : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %u = decoder.activation %x0 {function = #decoder.function<gelu>} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  // CHECK: %[[P:.*]] = decoder.linear {{.*}} owes "tp">>
  // CHECK-NEXT: %[[R:.*]] = grid.all_reduce %[[P]]
  %p = decoder.linear %u, %a : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  // CHECK-NEXT: decoder.add %[[R]], %[[R]]
  %s = decoder.add %p, %p : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  return %s : tensor<?x16xf32>
}
