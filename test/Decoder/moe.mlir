// RUN: layline-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// Routers that choose by groups and with a bias, experts with biases and limits.

// CHECK-LABEL: @router
func.func @router(%x: tensor<?x8xf32>, %b: tensor<8xf32>) {
  // CHECK: decoder.router %{{.*}}, %{{.*}} {chosen_groups = 2 : i64, group_score = #decoder.group_score<top2_sum>, groups = 4 : i64, renormalize = true, scale = 2.500000e+00 : f64, scoring = #decoder.scoring<sigmoid>, top_k = 2 : i64} : (tensor<?x8xf32>, tensor<8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  %0:2 = decoder.router %x, %b {top_k = 2, scoring = #decoder.scoring<sigmoid>, renormalize = true, groups = 4, chosen_groups = 2, group_score = #decoder.group_score<top2_sum>, scale = 2.5 : f64}
     : (tensor<?x8xf32>, tensor<8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  // One group of all, and groups of one, of which the best expert counts.
  // CHECK: group_score = #decoder.group_score<max>, groups = 1
  %1:2 = decoder.router %x {top_k = 8, scoring = #decoder.scoring<softmax>, renormalize = false, groups = 1, chosen_groups = 1, group_score = #decoder.group_score<max>}
     : (tensor<?x8xf32>) -> (tensor<?x8xi32>, tensor<?x8xf32>)
  %2:2 = decoder.router %x {top_k = 3, scoring = #decoder.scoring<softmax>, renormalize = false, groups = 8, chosen_groups = 3, group_score = #decoder.group_score<max>}
     : (tensor<?x8xf32>) -> (tensor<?x3xi32>, tensor<?x3xf32>)
  return
}

// CHECK-LABEL: @experts
func.func @experts(%x: tensor<?x16xf32>, %i: tensor<?x2xi32>, %w: tensor<?x2xf32>, %u: tensor<8x6x16xf32>, %d: tensor<8x16x6xf32>, %ub: tensor<8x6xf32>, %db: tensor<8x16xf32>) {
  // CHECK: decoder.experts {{.*}} {alpha = 1.702000e+00 : f64, function = #decoder.function<silu>, limit = 7.000000e+00 : f64, up_offset = 1.000000e+00 : f64}
  %y = decoder.experts %x, %i, %w, %u, %u, %d, %ub, %ub {function = #decoder.function<silu>, limit = 7.0 : f64, alpha = 1.702 : f64, up_offset = 1.0 : f64}
     : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, tensor<8x6x16xf32>, tensor<8x6x16xf32>, tensor<8x16x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<?x16xf32>
  // CHECK: decoder.add_expert_bias %{{.*}} : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, tensor<8x16xf32>) -> tensor<?x16xf32>
  %z = decoder.add_expert_bias %y, %i, %w, %db : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, tensor<8x16xf32>) -> tensor<?x16xf32>
  return
}

// Experts dealt out over "ep", their features over "tp": the result owes both.
#whole = #grid.layout<[_, _]>
!x = tensor<?x16xf32, #whole>
!i = tensor<?x2xi32, #whole>
!w = tensor<?x2xf32, #whole>
!u = tensor<8x6x16xf32, #grid.layout<[block "ep", block "tp", _]>>
!d = tensor<8x16x6xf32, #grid.layout<[block "ep", _, block "tp"]>>
!b = tensor<8x6xf32, #grid.layout<[block "ep", block "tp"]>>
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "ep", "tp">>
// CHECK-LABEL: @dealt_out
func.func @dealt_out(%x: !x, %i: !i, %w: !w, %u: !u, %d: !d, %b: !b) -> !owes {
  // CHECK: decoder.experts {{.*}} owes "ep", "tp"
  %y = decoder.experts %x, %i, %w, %u, %u, %d, %b, %b {function = #decoder.function<silu>} : (!x, !i, !w, !u, !u, !d, !b, !b) -> !owes
  return %y : !owes
}

// Row-wise: by rows with the rows' own choice.
!rows = tensor<?x16xf32, #grid.layout<[block "tp", _]>>
!irows = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!wrows = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!lrows = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!cbias = tensor<8xf32, #grid.layout<[_]>>
!dbias = tensor<8x16xf32, #whole>
// CHECK-LABEL: @by_rows
func.func @by_rows(%x: !rows, %l: !lrows, %cb: !cbias, %db: !dbias) -> !rows {
  %i, %w = decoder.router %l, %cb {top_k = 2, scoring = #decoder.scoring<sigmoid>, renormalize = true} : (!lrows, !cbias) -> (!irows, !wrows)
  %y = decoder.add_expert_bias %x, %i, %w, %db : (!rows, !irows, !wrows, !dbias) -> !rows
  return %y : !rows
}

// -----

func.func @groups_alone(%x: tensor<?x8xf32>) {
  // expected-error @below {{has some of groups, chosen_groups and group_score, expected all or none}}
  %0:2 = decoder.router %x {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true, groups = 4} : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @groups_that_do_not_divide(%x: tensor<?x8xf32>) {
  // expected-error @below {{has 8 experts in 3 groups, expected groups that divide them}}
  %0:2 = decoder.router %x {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true, groups = 3, chosen_groups = 1, group_score = #decoder.group_score<max>} : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

// Three experts are not in one group of two.
func.func @too_few_groups(%x: tensor<?x8xf32>) {
  // expected-error @below {{takes the top 3 of 1 of 4 groups of 2 experts}}
  %0:2 = decoder.router %x {top_k = 3, scoring = #decoder.scoring<softmax>, renormalize = true, groups = 4, chosen_groups = 1, group_score = #decoder.group_score<max>} : (tensor<?x8xf32>) -> (tensor<?x3xi32>, tensor<?x3xf32>)
  return
}

// -----

func.func @more_groups_than_there_are(%x: tensor<?x8xf32>) {
  // expected-error @below {{takes the top 2 of 5 of 4 groups of 2 experts}}
  %0:2 = decoder.router %x {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true, groups = 4, chosen_groups = 5, group_score = #decoder.group_score<max>} : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @two_of_one(%x: tensor<?x8xf32>) {
  // expected-error @below {{adds the two best of groups of 1 expert}}
  %0:2 = decoder.router %x {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true, groups = 8, chosen_groups = 2, group_score = #decoder.group_score<top2_sum>} : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @biases_of_other_experts(%x: tensor<?x8xf32>, %b: tensor<7xf32>) {
  // expected-error @below {{'experts' is 8 in operand #0, but 7 in operand #1}}
  %0:2 = decoder.router %x, %b {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true} : (tensor<?x8xf32>, tensor<7xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @scale_without_value(%x: tensor<?x8xf32>) {
  // expected-error @below {{has a scale that is not finite}}
  %0:2 = decoder.router %x {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true, scale = 0x7FF0000000000000 : f64} : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @one_bias(%x: tensor<?x16xf32>, %i: tensor<?x2xi32>, %w: tensor<?x2xf32>, %u: tensor<8x6x16xf32>, %d: tensor<8x16x6xf32>, %b: tensor<8x6xf32>) {
  // expected-error @below {{has 1 bias, expected those of gate and of up, or none}}
  %y = decoder.experts %x, %i, %w, %u, %u, %d, %b {function = #decoder.function<silu>}
     : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, tensor<8x6x16xf32>, tensor<8x6x16xf32>, tensor<8x16x6xf32>, tensor<8x6xf32>) -> tensor<?x16xf32>
  return
}

// -----

func.func @alpha_of_gelu(%x: tensor<?x16xf32>, %i: tensor<?x2xi32>, %w: tensor<?x2xf32>, %u: tensor<8x6x16xf32>, %d: tensor<8x16x6xf32>) {
  // expected-error @below {{has the alpha 1.702000e+00 of gelu, which only silu has}}
  %y = decoder.experts %x, %i, %w, %u, %u, %d {function = #decoder.function<gelu>, alpha = 1.702 : f64}
     : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, tensor<8x6x16xf32>, tensor<8x6x16xf32>, tensor<8x16x6xf32>) -> tensor<?x16xf32>
  return
}

// -----

func.func @limit_zero(%x: tensor<?x16xf32>, %i: tensor<?x2xi32>, %w: tensor<?x2xf32>, %u: tensor<8x6x16xf32>, %d: tensor<8x16x6xf32>) {
  // expected-error @below {{has the limit 0.000000e+00, expected a positive number}}
  %y = decoder.experts %x, %i, %w, %u, %u, %d {function = #decoder.function<silu>, limit = 0.0 : f64}
     : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, tensor<8x6x16xf32>, tensor<8x6x16xf32>, tensor<8x16x6xf32>) -> tensor<?x16xf32>
  return
}

// -----

func.func @offset_without_value(%x: tensor<?x16xf32>, %i: tensor<?x2xi32>, %w: tensor<?x2xf32>, %u: tensor<8x6x16xf32>, %d: tensor<8x16x6xf32>) {
  // expected-error @below {{has an alpha or up_offset that is not finite}}
  %y = decoder.experts %x, %i, %w, %u, %u, %d {function = #decoder.function<silu>, up_offset = 0x7FF0000000000000 : f64}
     : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, tensor<8x6x16xf32>, tensor<8x6x16xf32>, tensor<8x16x6xf32>) -> tensor<?x16xf32>
  return
}

// -----

// A bias before the sum is taken would count once per rank.
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "tp">>
!i = tensor<?x2xi32, #grid.layout<[_, _]>>
!w = tensor<?x2xf32, #grid.layout<[_, _]>>
!b = tensor<8x16xf32, #grid.layout<[_, _]>>
func.func @bias_of_a_part(%y: !owes, %i: !i, %w: !w, %b: !b) {
  // expected-error @below {{takes a value that owes a sum over "tp"; reduce it first}}
  %z = decoder.add_expert_bias %y, %i, %w, %b : (!owes, !i, !w, !b) -> !owes
  return
}

// -----

// Biases of a part of the experts: rows of others would go without.
!x = tensor<?x16xf32, #grid.layout<[_, _]>>
!i = tensor<?x2xi32, #grid.layout<[_, _]>>
!w = tensor<?x2xf32, #grid.layout<[_, _]>>
!b = tensor<8x16xf32, #grid.layout<[block "ep", _]>>
func.func @bias_of_some_experts(%y: !x, %i: !i, %w: !w, %b: !b) {
  // expected-error @below {{needs dimension 0 (experts) of operand #3 whole, but it is split over "ep"}}
  %z = decoder.add_expert_bias %y, %i, %w, %b : (!x, !i, !w, !b) -> !x
  return
}

// -----

// One stack holds the experts of a rank, the other all.
#whole = #grid.layout<[_, _]>
!x = tensor<?x16xf32, #whole>
!i = tensor<?x2xi32, #whole>
!w = tensor<?x2xf32, #whole>
!u = tensor<8x6x16xf32, #grid.layout<[block "ep", _, _]>>
!d = tensor<8x16x6xf32, #grid.layout<[_, _, _]>>
!owes = tensor<?x16xf32, #grid.layout<[_, _] owes "ep">>
func.func @other_experts(%x: !x, %i: !i, %w: !w, %u: !u, %d: !d) {
  // expected-error @below {{takes operands that hold different parts of 'experts'}}
  %y = decoder.experts %x, %i, %w, %u, %u, %d {function = #decoder.function<silu>} : (!x, !i, !w, !u, !u, !d) -> !owes
  return
}

// -----

// Experts and features over one axis are the diagonal blocks only.
#whole = #grid.layout<[_, _]>
!x = tensor<?x16xf32, #whole>
!i = tensor<?x2xi32, #whole>
!w = tensor<?x2xf32, #whole>
// expected-error @below {{axis "tp" splits dimensions 0 and 1: that covers only the diagonal blocks of the two}}
!u = tensor<8x6x16xf32, #grid.layout<[block "tp", block "tp", _]>>
