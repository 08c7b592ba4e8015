// RUN: layline-opt %s -split-input-file -verify-diagnostics

// One case for each line of the verifiers of splits, layouts and grid ops. The
// rules for ops on placed values are in rules.mlir.

//===----------------------------------------------------------------------===//
// Splits
//===----------------------------------------------------------------------===//

// A split names the axis that it is over.
// expected-error @below {{a split needs the name of a mesh axis, found ""}}
func.func private @axis_without_name() attributes {s = #grid.split<block "">}

// -----

// Items have at least one element.
// expected-error @below {{the unit of a split is 0, expected at least 1}}
func.func private @unit_of_nothing() attributes {s = #grid.split<block "tp" x 0>}

// -----

// expected-error @below {{the unit of a split is -4, expected at least 1}}
func.func private @negative_unit() attributes {s = #grid.split<block "tp" x -4>}

// -----

// Items are interleaved by one at least.
// expected-error @below {{'cyclic' has the argument 0, expected at least 1}}
func.func private @cyclic_by_nothing() attributes {s = #grid.split<cyclic(0) "cp">}

// -----

// KV heads without a query head have no place.
// expected-error @below {{'readers' has the argument -1, expected at least 1}}
func.func private @no_readers() attributes {s = #grid.split<readers(-1) "tp">}

// -----

// What is dealt out again goes to the ranks of another axis.
// expected-error @below {{axis "cp" splits one dimension twice: a rank would hold its part of its own part only}}
func.func private @twice_over_one_axis() attributes {s = #grid.split<zigzag "cp" then block "tp" then block "cp">}

// -----

// expected-error @below {{'zigzag' is followed by 'readers': only block, zigzag and cyclic parts are dealt out again}}
func.func private @readers_of_a_part() attributes {s = #grid.split<zigzag "cp" then readers(8) "tp">}

// -----

// expected-error @below {{'owner' is followed by 'block': only block, zigzag and cyclic parts are dealt out again}}
func.func private @owners_parts() attributes {s = #grid.split<owner(0, 1) "cp" then block "tp">}

// -----

// expected-error @below {{axis "tp" splits dimensions 0 and 1: that covers only the diagonal blocks of the two}}
func.func private @diagonal_inside(tensor<?x8xf32, #grid.layout<[zigzag "cp" then block "tp", block "tp"]>>)

// -----

// expected-error @below {{axis "tp" splits dimension 0 and cannot owe a sum at the same time}}
func.func private @owes_inside(tensor<?x8xf32, #grid.layout<[zigzag "cp" then block "tp", _] owes "tp">>)

// -----

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

// expected-error @below {{rows are padded to 8: every row stands for a token}}
func.func private @padded_rows(tensor<?x8xf32, #grid.layout<[_ pad 8, _]>>)

// -----

// expected-error @below {{a part is padded to a negative number of elements}}
func.func private @padded_to_less(tensor<?x8xf32, #grid.layout<[_, _ pad -8]>>)

// -----

// expected-error @below {{dimension 1 has 8 elements and is padded to only 4}}
func.func private @padded_below(tensor<?x8xf32, #grid.layout<[_, _ pad 4]>>)

// -----

// expected-error @below {{dimension 1 is padded to 6 elements, which cut items of 4}}
func.func private @padded_items(tensor<?x8xf32, #grid.layout<[_, block "tp" x 4 pad 6]>>)

// -----

// An owner for every item.
// expected-error @below {{'owner' lists 0 owners, expected one per item}}
func.func private @no_owner() attributes {s = #grid.split<owner() "pp">}

// -----

// expected-error @below {{owners are ranks of "pp", found a negative one}}
func.func private @negative_owner() attributes {s = #grid.split<owner(0, -1) "pp">}

// -----

// expected-error @below {{unknown partition kind 'striped', expected block, zigzag, cyclic, owner, readers, first_readers or routed}}
func.func private @unknown_kind() attributes {s = #grid.split<striped "cp">}

// -----

// Only cyclic and readers have an argument.
// expected-error @below {{expected string}}
func.func private @argument_of_block() attributes {s = #grid.split<block(2) "tp">}

// -----

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

// An entry for every dimension.
// expected-error @below {{the layout has 1 dimensions, but the tensor has 2}}
func.func private @dimensions(tensor<?x64xf32, #grid.layout<[_]>>)

// -----

// One axis, one dimension: rank k of p would hold block (k, k) of p x p only.
// expected-error @below {{axis "tp" splits dimensions 0 and 2: that covers only the diagonal blocks of the two}}
func.func private @diagonal(tensor<?x8x64xf32, #grid.layout<[block "tp", _, block "tp"]>>)

// -----

// Ranks hold either parts of one value or addends of one value.
// expected-error @below {{axis "tp" splits dimension 0 and cannot owe a sum at the same time}}
func.func private @split_and_owed(tensor<?x64xf32, #grid.layout<[block "tp", _] owes "tp">>)

// -----

// One spelling of a layout: owed axes in alphabetical order ...
// expected-error @below {{owed axes stand once each in alphabetical order, found "tp" before "ep"}}
func.func private @owed_order(tensor<?x64xf32, #grid.layout<[_, _] owes "tp", "ep">>)

// -----

// ... once each ...
// expected-error @below {{owed axes stand once each in alphabetical order, found "tp" before "tp"}}
func.func private @owed_twice(tensor<?x64xf32, #grid.layout<[_, _] owes "tp", "tp">>)

// -----

// ... by name.
// expected-error @below {{an owed sum needs the name of a mesh axis, found ""}}
func.func private @owed_over_nothing(tensor<?x64xf32, #grid.layout<[_, _] owes "">>)

// -----

// Whole items only.
// expected-error @below {{dimension 1 has 20 elements, which is no multiple of the unit 16 of its split}}
func.func private @cut_item(tensor<?x20xf32, #grid.layout<[_, block "tp" x 16]>>)

// -----

// expected-error @below {{dimension 0 has 3 items, but 2 owners are listed}}
func.func private @too_few_owners(tensor<12xf32, #grid.layout<[owner(0, 1) "pp" x 4]>>)

// -----

// Every KV head is read by as many query heads.
// expected-error @below {{6 query heads cannot share 4 KV heads evenly}}
func.func private @uneven_groups(tensor<?x4x16xf32, #grid.layout<[_, readers(6) "tp", _]>>)

// -----

// expected-error @below {{6 query heads cannot share 0 KV heads evenly}}
func.func private @nothing_to_read(tensor<?x0x16xf32, #grid.layout<[_, readers(6) "tp", _]>>)

// -----

// KV heads are counted when the program is compiled, unlike tokens.
// expected-error @below {{dimension 0 is dynamic, but 'readers' needs its number of items}}
func.func private @unknown_kv_heads(tensor<?x16xf32, #grid.layout<[readers(6) "tp", _]>>)

// -----

// Owners are listed for each item, so the items are known.
// expected-error @below {{dimension 0 is dynamic, but 'owner' needs its number of items}}
func.func private @owners_of_unknown(tensor<?x16xf32, #grid.layout<[owner(0, 1) "pp", _]>>)

// -----

// Positions and expert numbers are not addends of anything.
// expected-error @below {{only floating-point values can owe a sum, found 'i64'}}
func.func private @integers_owe(tensor<?xi64, #grid.layout<[_] owes "tp">>)

// -----

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

// expected-error @below {{names 2 axes but gives 1 sizes}}
grid.mesh @mesh ["cp", "tp"] = [2]

// -----

// expected-error @below {{has an axis without a name}}
grid.mesh @mesh [""] = [2]

// -----

// expected-error @below {{names the axis "tp" twice}}
grid.mesh @mesh ["tp", "tp"] = [2, 2]

// -----

// expected-error @below {{axis "tp" has the size 0, expected at least 1}}
grid.mesh @mesh ["tp"] = [0]

// -----

//===----------------------------------------------------------------------===//
// Collectives: the same global tensor before and after
//===----------------------------------------------------------------------===//

func.func @unplaced(%x: tensor<?x64xf32>) {
  // expected-error @below {{needs a layout on its operand and its result}}
  %0 = grid.all_gather %x dim 0 over "tp" : tensor<?x64xf32> -> tensor<?x64xf32>
  return
}

// -----

func.func @unplaced_result(%x: tensor<?x64xf32, #grid.layout<[_, _] owes "tp">>) {
  // expected-error @below {{needs a layout on its operand and its result}}
  %0 = grid.all_reduce %x over ["tp"] : tensor<?x64xf32, #grid.layout<[_, _] owes "tp">> -> tensor<?x64xf32>
  return
}

// -----

func.func @other_shape(%x: tensor<?x64xf32, #grid.layout<[block "tp", _]>>) {
  // expected-error @below {{changes the global tensor from 'tensor<?x64xf32>' to 'tensor<?x32xf32>'}}
  %0 = grid.all_gather %x dim 0 over "tp"
     : tensor<?x64xf32, #grid.layout<[block "tp", _]>> -> tensor<?x32xf32, #grid.layout<[_, _]>>
  return
}

// -----

func.func @other_element(%x: tensor<?x64xf32, #grid.layout<[_, _]>>) {
  // expected-error @below {{changes the global tensor from 'tensor<?x64xf32>' to 'tensor<?x64xbf16>'}}
  %0 = grid.slice %x dim 0 over "tp"
     : tensor<?x64xf32, #grid.layout<[_, _]>> -> tensor<?x64xbf16, #grid.layout<[block "tp", _]>>
  return
}

// -----

//===----------------------------------------------------------------------===//
// all_reduce
//===----------------------------------------------------------------------===//

func.func @sum_over_nothing(%x: tensor<?x64xf32, #grid.layout<[_, _] owes "tp">>) {
  // expected-error @below {{sums over no axis}}
  %0 = grid.all_reduce %x over []
     : tensor<?x64xf32, #grid.layout<[_, _] owes "tp">> -> tensor<?x64xf32, #grid.layout<[_, _] owes "tp">>
  return
}

// -----

// What is not owed is not paid: the copies would be added up.
func.func @sum_of_copies(%x: tensor<?x64xf32, #grid.layout<[_, _] owes "tp">>) {
  // expected-note @below {{the sum over "tp" is paid here}}
  %0 = grid.all_reduce %x over ["tp"]
     : tensor<?x64xf32, #grid.layout<[_, _] owes "tp">> -> tensor<?x64xf32, #grid.layout<[_, _]>>
  // expected-error @below {{sums over "tp", but the value owes no sum over it}}
  %1 = grid.all_reduce %0 over ["tp"]
     : tensor<?x64xf32, #grid.layout<[_, _]>> -> tensor<?x64xf32, #grid.layout<[_, _]>>
  return
}

// -----

// The result owes what is not paid here.
func.func @unpaid_axis(%x: tensor<?x64xf32, #grid.layout<[_, _] owes "ep", "tp">>) {
  // expected-error @below {{pays a sum owed over "ep" and "tp" over "tp" alone: the rest is still owed}}
  %0 = grid.all_reduce %x over ["tp"]
     : tensor<?x64xf32, #grid.layout<[_, _] owes "ep", "tp">> -> tensor<?x64xf32, #grid.layout<[_, _]>>
  return
}

// -----

// A value that stays split is not whole because it was summed.
func.func @sum_is_no_gather(%x: tensor<?x64xf32, #grid.layout<[block "cp", _] owes "tp">>) {
  // expected-error @below {{gives the layout #grid.layout<[_, _]>, expected #grid.layout<[block "cp", _]>}}
  %0 = grid.all_reduce %x over ["tp"]
     : tensor<?x64xf32, #grid.layout<[block "cp", _] owes "tp">> -> tensor<?x64xf32, #grid.layout<[_, _]>>
  return
}

// -----

//===----------------------------------------------------------------------===//
// reduce_scatter
//===----------------------------------------------------------------------===//

func.func @scatter_dimension(%x: tensor<?x64xf32, #grid.layout<[_, _] owes "tp">>) {
  // expected-error @below {{works on dimension 2, but the tensor has 2}}
  %0 = grid.reduce_scatter %x dim 2 over "tp"
     : tensor<?x64xf32, #grid.layout<[_, _] owes "tp">> -> tensor<?x64xf32, #grid.layout<[block "tp", _]>>
  return
}

// -----

func.func @scatter_copies(%x: tensor<?x64xf32, #grid.layout<[_, _]>>) {
  // expected-error @below {{sums over "tp", but the value owes no sum over it}}
  %0 = grid.reduce_scatter %x dim 0 over "tp"
     : tensor<?x64xf32, #grid.layout<[_, _]>> -> tensor<?x64xf32, #grid.layout<[block "tp", _]>>
  return
}

// -----

func.func @scatter_parts(%x: tensor<?x64xf32, #grid.layout<[block "cp", _] owes "tp">>) {
  // expected-error @below {{splits dimension 0 of its result as #grid.split<block "tp">, expected #grid.split<block "cp"> and then over "tp"}}
  %0 = grid.reduce_scatter %x dim 0 over "tp"
     : tensor<?x64xf32, #grid.layout<[block "cp", _] owes "tp">> -> tensor<?x64xf32, #grid.layout<[block "tp", _]>>
  return
}

// -----

func.func @scatter_to_nobody(%x: tensor<?x64xf32, #grid.layout<[_, _] owes "tp">>) {
  // expected-error @below {{must split dimension 0 of its result over "tp"}}
  %0 = grid.reduce_scatter %x dim 0 over "tp"
     : tensor<?x64xf32, #grid.layout<[_, _] owes "tp">> -> tensor<?x64xf32, #grid.layout<[_, _]>>
  return
}

// -----

func.func @scatter_over_other_axis(%x: tensor<?x64xf32, #grid.layout<[_, _] owes "tp">>) {
  // expected-error @below {{must split dimension 0 of its result over "tp"}}
  %0 = grid.reduce_scatter %x dim 0 over "tp"
     : tensor<?x64xf32, #grid.layout<[_, _] owes "tp">> -> tensor<?x64xf32, #grid.layout<[block "cp", _]>>
  return
}

// -----

// Each item of the sum goes to one rank.
func.func @scatter_to_several(%x: tensor<8x64xf32, #grid.layout<[_, _] owes "tp">>) {
  // expected-error @below {{scatters by 'readers', whose parts overlap}}
  %0 = grid.reduce_scatter %x dim 0 over "tp"
     : tensor<8x64xf32, #grid.layout<[_, _] owes "tp">> -> tensor<8x64xf32, #grid.layout<[readers(16) "tp", _]>>
  return
}

// -----

func.func @scatter_and_gather(%x: tensor<?x64xf32, #grid.layout<[_, block "cp"] owes "tp">>) {
  // expected-error @below {{gives the layout #grid.layout<[block "tp", _]>, expected #grid.layout<[block "tp", block "cp"]>}}
  %0 = grid.reduce_scatter %x dim 0 over "tp"
     : tensor<?x64xf32, #grid.layout<[_, block "cp"] owes "tp">> -> tensor<?x64xf32, #grid.layout<[block "tp", _]>>
  return
}

// -----

//===----------------------------------------------------------------------===//
// all_gather
//===----------------------------------------------------------------------===//

func.func @gather_dimension(%x: tensor<?x64xf32, #grid.layout<[block "tp", _]>>) {
  // expected-error @below {{works on dimension -1, but the tensor has 2}}
  %0 = grid.all_gather %x dim -1 over "tp"
     : tensor<?x64xf32, #grid.layout<[block "tp", _]>> -> tensor<?x64xf32, #grid.layout<[_, _]>>
  return
}

// -----

func.func @gather_whole(%x: tensor<?x64xf32, #grid.layout<[_, _]>>) {
  // expected-error @below {{gathers dimension 0 over "tp", but the value is not split so}}
  %0 = grid.all_gather %x dim 0 over "tp"
     : tensor<?x64xf32, #grid.layout<[_, _]>> -> tensor<?x64xf32, #grid.layout<[_, _]>>
  return
}

// -----

func.func @gather_outer_first(%x: tensor<?x64xf32, #grid.layout<[zigzag "cp" then block "tp", _]>>) {
  // expected-error @below {{gathers dimension 0 over "cp", but its parts are split again over "tp"; gather that first}}
  %0 = grid.all_gather %x dim 0 over "cp"
     : tensor<?x64xf32, #grid.layout<[zigzag "cp" then block "tp", _]>> -> tensor<?x64xf32, #grid.layout<[block "tp", _]>>
  return
}

// -----

func.func @gather_gives_other_parts(%x: tensor<?x64xf32, #grid.layout<[zigzag "cp" then block "tp", _]>>) {
  // expected-error @below {{gives the layout #grid.layout<[block "cp", _]>, expected #grid.layout<[zigzag "cp", _]>}}
  %0 = grid.all_gather %x dim 0 over "tp"
     : tensor<?x64xf32, #grid.layout<[zigzag "cp" then block "tp", _]>> -> tensor<?x64xf32, #grid.layout<[block "cp", _]>>
  return
}

// -----

func.func @gather_padded(%x: tensor<?x64xf32, #grid.layout<[_, block "tp" pad 64]>>) {
  // expected-error @below {{works on dimension 1, whose parts are padded to 64 elements; take the padding off first}}
  %0 = grid.all_gather %x dim 1 over "tp"
     : tensor<?x64xf32, #grid.layout<[_, block "tp" pad 64]>> -> tensor<?x64xf32, #grid.layout<[_, _]>>
  return
}

// -----

func.func @scatter_over_outer(%x: tensor<?x64xf32, #grid.layout<[block "tp", _] owes "cp">>) {
  // expected-error @below {{must split dimension 0 of its result over "cp" last}}
  %0 = grid.reduce_scatter %x dim 0 over "cp"
     : tensor<?x64xf32, #grid.layout<[block "tp", _] owes "cp">> -> tensor<?x64xf32, #grid.layout<[block "cp" then block "tp", _]>>
  return
}

// -----

func.func @gather_over_other_axis(%x: tensor<?x64xf32, #grid.layout<[block "cp", _]>>) {
  // expected-error @below {{gathers dimension 0 over "tp", but the value is not split so}}
  %0 = grid.all_gather %x dim 0 over "tp"
     : tensor<?x64xf32, #grid.layout<[block "cp", _]>> -> tensor<?x64xf32, #grid.layout<[_, _]>>
  return
}

// -----

// Gathering addends is no sum.
func.func @gather_addends(%x: tensor<?x64xf32, #grid.layout<[_, _] owes "ep", "tp">>) {
  // expected-note @below {{the sum is owed since here}}
  %0 = grid.reduce_scatter %x dim 0 over "tp"
     : tensor<?x64xf32, #grid.layout<[_, _] owes "ep", "tp">> -> tensor<?x64xf32, #grid.layout<[block "tp", _] owes "ep">>
  // expected-error @below {{gathers a value that owes a sum over "ep"; reduce it first}}
  %1 = grid.all_gather %0 dim 0 over "tp"
     : tensor<?x64xf32, #grid.layout<[block "tp", _] owes "ep">> -> tensor<?x64xf32, #grid.layout<[_, _] owes "ep">>
  return
}

// -----

func.func @gather_everything(%x: tensor<?x64xf32, #grid.layout<[block "tp", block "cp"]>>) {
  // expected-error @below {{gives the layout #grid.layout<[_, _]>, expected #grid.layout<[_, block "cp"]>}}
  %0 = grid.all_gather %x dim 0 over "tp"
     : tensor<?x64xf32, #grid.layout<[block "tp", block "cp"]>> -> tensor<?x64xf32, #grid.layout<[_, _]>>
  return
}

// -----

//===----------------------------------------------------------------------===//
// broadcast
//===----------------------------------------------------------------------===//

func.func @broadcast_from_nobody(%x: tensor<?x8xi32, #grid.layout<[_, _]>>) {
  // expected-error @below {{has the root -1, expected a rank}}
  %0 = grid.broadcast %x root -1 over "tp" : tensor<?x8xi32, #grid.layout<[_, _]>>
  return
}

// -----

// The ranks hold different parts: the root's is not the others'.
func.func @broadcast_parts(%x: tensor<?x8xi32, #grid.layout<[block "tp", _]>>) {
  // expected-error @below {{broadcasts over "tp", over which the value is split or owes a sum}}
  %0 = grid.broadcast %x root 0 over "tp" : tensor<?x8xi32, #grid.layout<[block "tp", _]>>
  return
}

// -----

func.func @broadcast_addends(%x: tensor<?x8xf32, #grid.layout<[_, _] owes "tp">>) {
  // expected-error @below {{broadcasts over "tp", over which the value is split or owes a sum}}
  %0 = grid.broadcast %x root 0 over "tp" : tensor<?x8xf32, #grid.layout<[_, _] owes "tp">>
  return
}

// -----

//===----------------------------------------------------------------------===//
// slice
//===----------------------------------------------------------------------===//

func.func @slice_dimension(%x: tensor<?xi64, #grid.layout<[_]>>) {
  // expected-error @below {{works on dimension 1, but the tensor has 1}}
  %0 = grid.slice %x dim 1 over "tp" : tensor<?xi64, #grid.layout<[_]>> -> tensor<?xi64, #grid.layout<[block "tp"]>>
  return
}

// -----

func.func @slice_parts(%x: tensor<?xi64, #grid.layout<[block "cp"]>>) {
  // expected-error @below {{splits dimension 0 of its result as #grid.split<block "tp">, expected #grid.split<block "cp"> and then over "tp"}}
  %0 = grid.slice %x dim 0 over "tp"
     : tensor<?xi64, #grid.layout<[block "cp"]>> -> tensor<?xi64, #grid.layout<[block "tp"]>>
  return
}

// -----

func.func @slice_keeps_all(%x: tensor<?xi64, #grid.layout<[_]>>) {
  // expected-error @below {{must split dimension 0 of its result over "tp"}}
  %0 = grid.slice %x dim 0 over "tp" : tensor<?xi64, #grid.layout<[_]>> -> tensor<?xi64, #grid.layout<[_]>>
  return
}

// -----

// A rank's rows of its own addend lack the other ranks' addends.
func.func @slice_addends(%x: tensor<?x64xf32, #grid.layout<[_, _] owes "tp">>) {
  // expected-note @below {{the sum is owed since here}}
  %0 = decoder.scale %x {factor = 2.0 : f64}
     : (tensor<?x64xf32, #grid.layout<[_, _] owes "tp">>) -> tensor<?x64xf32, #grid.layout<[_, _] owes "tp">>
  // expected-error @below {{slices a value that owes a sum over "tp"; reduce it first}}
  %1 = grid.slice %0 dim 0 over "tp"
     : tensor<?x64xf32, #grid.layout<[_, _] owes "tp">> -> tensor<?x64xf32, #grid.layout<[block "tp", _]>>
  return
}

// -----

func.func @slice_is_no_sum(%x: tensor<?x64xf32, #grid.layout<[_, _] owes "ep">>) {
  // expected-error @below {{gives the layout #grid.layout<[block "tp", _]>, expected #grid.layout<[block "tp", _] owes "ep">}}
  %0 = grid.slice %x dim 0 over "tp"
     : tensor<?x64xf32, #grid.layout<[_, _] owes "ep">> -> tensor<?x64xf32, #grid.layout<[block "tp", _]>>
  return
}

// -----

//===----------------------------------------------------------------------===//
// fused
//===----------------------------------------------------------------------===//

func.func @yields_too_few(%x: tensor<?x64xf32>) {
  // expected-error @below {{has 2 results, but 1 values are yielded}}
  %0:2 = grid.fused "scale" {
    %1 = decoder.scale %x {factor = 2.0 : f64} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    grid.yield %1 : tensor<?x64xf32>
  } : tensor<?x64xf32>, tensor<?x64xf32>
  return
}

// -----

func.func @yields_other_type(%x: tensor<?x64xf32>) {
  // expected-error @below {{yields 'tensor<?x64xf32>' as a result of type 'tensor<?x32xf32>'}}
  %0 = grid.fused "scale" {
    %1 = decoder.scale %x {factor = 2.0 : f64} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    grid.yield %1 : tensor<?x64xf32>
  } : tensor<?x32xf32>
  return
}

// -----

func.func @yields_nothing(%x: tensor<?x64xf32>) {
  // expected-error @below {{yields nothing: its work would be lost}}
  grid.fused "scale" {
    %1 = decoder.scale %x {factor = 2.0 : f64} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    grid.yield
  }
  return
}

// -----

func.func @runs_nothing(%x: tensor<?x64xf32>) {
  // expected-error @below {{runs no op}}
  %0 = grid.fused "nothing" {
    grid.yield %x : tensor<?x64xf32>
  } : tensor<?x64xf32>
  return
}

// -----

// A kernel does not launch a kernel.
func.func @nested(%x: tensor<?x64xf32>) {
  %0 = grid.fused "outer" {
    // expected-error @below {{stands inside a fused region}}
    %1 = grid.fused "inner" {
      %2 = decoder.scale %x {factor = 2.0 : f64} : (tensor<?x64xf32>) -> tensor<?x64xf32>
      grid.yield %2 : tensor<?x64xf32>
    } : tensor<?x64xf32>
    grid.yield %1 : tensor<?x64xf32>
  } : tensor<?x64xf32>
  return
}

// -----

// Only a fused region yields.
func.func @yield_outside(%x: tensor<?x64xf32>) {
  // expected-error @below {{expects parent op 'grid.fused'}}
  grid.yield %x : tensor<?x64xf32>
}

// -----

// Whoever asks for the mesh of a module must not get one of two.
// expected-note @below {{the first is here}}
grid.mesh @first ["tp"] = [2]
// expected-error @below {{is a second mesh; a module has one}}
grid.mesh @second ["tp"] = [4]
