// RUN: layline-opt %s -split-input-file -verify-diagnostics -lower-to-launch

// There are variants.
// expected-error @below {{has no function with 'grid.tokens': plan its variants first}}
module attributes {decoder.source = {max_positions = 128 : i64}, grid.target = "cpu"} {
  grid.mesh @mesh ["tp"] = [2]
  func.func @v(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"}) -> tensor<?x4xf32, #grid.layout<[_, _]>> attributes {} {
    %t = decoder.weight {key = "t", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #grid.layout<[_, _]>>
    %x = decoder.embedding %ids, %t : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #grid.layout<[_, _]>>) -> tensor<?x4xf32, #grid.layout<[_, _]>>
    return %x : tensor<?x4xf32, #grid.layout<[_, _]>>
  }
}

// -----

// A token range is two numbers.
module attributes {decoder.source = {max_positions = 128 : i64}, grid.target = "cpu"} {
  grid.mesh @mesh ["tp"] = [2]
  // expected-error @below {{has 'grid.tokens' = array<i64: 1>, expected array<i64: min, max>}}
  func.func @v(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"}) -> tensor<?x4xf32, #grid.layout<[_, _]>> attributes {grid.tokens = array<i64: 1>} {
    %t = decoder.weight {key = "t", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #grid.layout<[_, _]>>
    %x = decoder.embedding %ids, %t : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #grid.layout<[_, _]>>) -> tensor<?x4xf32, #grid.layout<[_, _]>>
    return %x : tensor<?x4xf32, #grid.layout<[_, _]>>
  }
}

// -----

// The module says what it is compiled for.
// expected-error @below {{has no 'grid.target'}}
module attributes {decoder.source = {max_positions = 128 : i64}} {
  grid.mesh @mesh ["tp"] = [2]
  func.func @v(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"}) -> tensor<?x4xf32, #grid.layout<[_, _]>> attributes {grid.tokens = array<i64: 1, 64>} {
    %t = decoder.weight {key = "t", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #grid.layout<[_, _]>>
    %x = decoder.embedding %ids, %t : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #grid.layout<[_, _]>>) -> tensor<?x4xf32, #grid.layout<[_, _]>>
    return %x : tensor<?x4xf32, #grid.layout<[_, _]>>
  }
}

// -----

// ... where it comes from.
// expected-error @below {{has no 'decoder.source' with max_positions}}
module attributes {grid.target = "cpu"} {
  grid.mesh @mesh ["tp"] = [2]
  func.func @v(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"}) -> tensor<?x4xf32, #grid.layout<[_, _]>> attributes {grid.tokens = array<i64: 1, 64>} {
    %t = decoder.weight {key = "t", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #grid.layout<[_, _]>>
    %x = decoder.embedding %ids, %t : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #grid.layout<[_, _]>>) -> tensor<?x4xf32, #grid.layout<[_, _]>>
    return %x : tensor<?x4xf32, #grid.layout<[_, _]>>
  }
}

// -----

// ... and has a mesh.
// expected-error @below {{has no 'grid.mesh'}}
module attributes {decoder.source = {max_positions = 128 : i64}, grid.target = "cpu"} {
  func.func @v(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"}) -> tensor<?x4xf32, #grid.layout<[_, _]>> attributes {grid.tokens = array<i64: 1, 64>} {
    %t = decoder.weight {key = "t", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #grid.layout<[_, _]>>
    %x = decoder.embedding %ids, %t : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #grid.layout<[_, _]>>) -> tensor<?x4xf32, #grid.layout<[_, _]>>
    return %x : tensor<?x4xf32, #grid.layout<[_, _]>>
  }
}

// -----

// The model has weights: their type is that of the plan.
module attributes {decoder.source = {max_positions = 128 : i64}, grid.target = "cpu"} {
  grid.mesh @mesh ["tp"] = [2]
  // expected-error @below {{has no weights}}
  func.func @v(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"}) -> tensor<?xi64, #grid.layout<[_]>> attributes {grid.tokens = array<i64: 1, 64>} {
    return %ids : tensor<?xi64, #grid.layout<[_]>>
  }
}

// -----

// Arguments are named inputs.
module attributes {decoder.source = {max_positions = 128 : i64}, grid.target = "cpu"} {
  grid.mesh @mesh ["tp"] = [2]
  // expected-error @below {{argument #0 is no input: it needs a tensor type and the attribute 'decoder.input'}}
  func.func @v(%ids: tensor<?xi64, #grid.layout<[_]>>) -> tensor<?x4xf32, #grid.layout<[_, _]>> attributes {grid.tokens = array<i64: 1, 64>} {
    %t = decoder.weight {key = "t", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #grid.layout<[_, _]>>
    %x = decoder.embedding %ids, %t : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #grid.layout<[_, _]>>) -> tensor<?x4xf32, #grid.layout<[_, _]>>
    return %x : tensor<?x4xf32, #grid.layout<[_, _]>>
  }
}

// -----

// Values are placed.
module attributes {decoder.source = {max_positions = 128 : i64}, grid.target = "cpu"} {
  grid.mesh @mesh ["tp"] = [2]
  // expected-error @below {{a value has the type 'tensor<?xi64>', expected a layout: place the program first}}
  func.func @v(%ids: tensor<?xi64> {decoder.input = "ids"}) -> tensor<?x4xf32> attributes {grid.tokens = array<i64: 1, 64>} {
    %t = decoder.weight {key = "t", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32>
    %x = decoder.embedding %ids, %t : (tensor<?xi64>, tensor<8x4xf32>) -> tensor<?x4xf32>
    return %x : tensor<?x4xf32>
  }
}

// -----

// Owners have no closed form.
module attributes {decoder.source = {max_positions = 128 : i64}, grid.target = "cpu"} {
  grid.mesh @mesh ["tp"] = [2]
  func.func @v(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"}) -> tensor<?x4xf32, #grid.layout<[_, owner(0, 1, 1, 0) "tp"]>> attributes {grid.tokens = array<i64: 1, 64>} {
    %t = decoder.weight {key = "t", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #grid.layout<[_, _]>>
    %x = decoder.embedding %ids, %t : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #grid.layout<[_, _]>>) -> tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{a layout is split by 'owner', which the plan format has no range for}}
    %z = grid.slice %x dim 1 over "tp" : tensor<?x4xf32, #grid.layout<[_, _]>> -> tensor<?x4xf32, #grid.layout<[_, owner(0, 1, 1, 0) "tp"]>>
    return %z : tensor<?x4xf32, #grid.layout<[_, owner(0, 1, 1, 0) "tp"]>>
  }
}

// -----

// Layouts are over axes of the mesh.
module attributes {decoder.source = {max_positions = 128 : i64}, grid.target = "cpu"} {
  grid.mesh @mesh ["tp"] = [2]
  func.func @v(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"}) -> tensor<?x4xf32, #grid.layout<[block "cp", _]>> attributes {grid.tokens = array<i64: 1, 64>} {
    %t = decoder.weight {key = "t", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #grid.layout<[_, _]>>
    %x = decoder.embedding %ids, %t : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #grid.layout<[_, _]>>) -> tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{a layout splits over "cp", which is no axis of the mesh}}
    %z = grid.slice %x dim 0 over "cp" : tensor<?x4xf32, #grid.layout<[_, _]>> -> tensor<?x4xf32, #grid.layout<[block "cp", _]>>
    return %z : tensor<?x4xf32, #grid.layout<[block "cp", _]>>
  }
}

// -----

// Outputs have names, unless there is one.
module attributes {decoder.source = {max_positions = 128 : i64}, grid.target = "cpu"} {
  grid.mesh @mesh ["tp"] = [2]
  // expected-error @below {{result #0 has no name: it needs the attribute 'decoder.output'}}
  func.func @v(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"}) -> (tensor<?x4xf32, #grid.layout<[_, _]>>, tensor<?x4xf32, #grid.layout<[_, _]>>) attributes {grid.tokens = array<i64: 1, 64>} {
    %t = decoder.weight {key = "t", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #grid.layout<[_, _]>>
    %x = decoder.embedding %ids, %t : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #grid.layout<[_, _]>>) -> tensor<?x4xf32, #grid.layout<[_, _]>>
    return %x, %x : tensor<?x4xf32, #grid.layout<[_, _]>>, tensor<?x4xf32, #grid.layout<[_, _]>>
  }
}

// -----

// Outputs are values that steps write.
module attributes {decoder.source = {max_positions = 128 : i64}, grid.target = "cpu"} {
  grid.mesh @mesh ["tp"] = [2]
  func.func @v(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"}) -> tensor<?xi64, #grid.layout<[_]>> attributes {grid.tokens = array<i64: 1, 64>} {
    %t = decoder.weight {key = "t", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #grid.layout<[_, _]>>
    %x = decoder.embedding %ids, %t : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #grid.layout<[_, _]>>) -> tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{returns as "logits" an input, a weight, a cache or a view, expected a value that a step writes}}
    return %ids : tensor<?xi64, #grid.layout<[_]>>
  }
}

// -----

// ... under their own shape.
module attributes {decoder.source = {max_positions = 128 : i64}, grid.target = "cpu"} {
  grid.mesh @mesh ["tp"] = [2]
  func.func @v(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"}) -> tensor<?x2x2xf32, #grid.layout<[_, _, _]>> attributes {grid.tokens = array<i64: 1, 64>} {
    %t = decoder.weight {key = "t", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #grid.layout<[_, _]>>
    %x = decoder.embedding %ids, %t : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #grid.layout<[_, _]>>) -> tensor<?x4xf32, #grid.layout<[_, _]>>
    %h = decoder.split_heads %x : (tensor<?x4xf32, #grid.layout<[_, _]>>) -> tensor<?x2x2xf32, #grid.layout<[_, _, _]>>
    // expected-error @below {{returns as "logits" an input, a weight, a cache or a view, expected a value that a step writes}}
    return %h : tensor<?x2x2xf32, #grid.layout<[_, _, _]>>
  }
}

// -----

// A cache is laid out alike in all variants.
module attributes {decoder.source = {max_positions = 128 : i64}, grid.target = "cpu"} {
  grid.mesh @mesh ["tp"] = [2]
  func.func @v(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"}) -> tensor<?x4xf32, #grid.layout<[_, _]>> attributes {grid.tokens = array<i64: 1, 8>} {
    %t = decoder.weight {key = "t", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #grid.layout<[_, _]>>
    %x = decoder.embedding %ids, %t : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #grid.layout<[_, _]>>) -> tensor<?x4xf32, #grid.layout<[_, _]>>
    %h = decoder.split_heads %x : (tensor<?x4xf32, #grid.layout<[_, _]>>) -> tensor<?x2x2xf32, #grid.layout<[_, _, _]>>
    // expected-note @below {{that one is here}}
    %c = decoder.cache %h {layer = 0 : si64, plane = #decoder.plane<key>} : (tensor<?x2x2xf32, #grid.layout<[_, _, _]>>) -> tensor<?x2x2xf32, #grid.layout<[_, _, _]>>
    return %x : tensor<?x4xf32, #grid.layout<[_, _]>>
  }
  func.func @w(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"}) -> tensor<?x4xf32, #grid.layout<[_, block "tp" x 2]>> attributes {grid.tokens = array<i64: 9, 64>} {
    %t = decoder.weight {key = "t", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #grid.layout<[_, block "tp" x 2]>>
    %x = decoder.embedding %ids, %t : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #grid.layout<[_, block "tp" x 2]>>) -> tensor<?x4xf32, #grid.layout<[_, block "tp" x 2]>>
    %h = decoder.split_heads %x : (tensor<?x4xf32, #grid.layout<[_, block "tp" x 2]>>) -> tensor<?x2x2xf32, #grid.layout<[_, block "tp", _]>>
    // expected-error @below {{in the cache 'layer.0.key', but}}
    %c = decoder.cache %h {layer = 0 : si64, plane = #decoder.plane<key>} : (tensor<?x2x2xf32, #grid.layout<[_, block "tp", _]>>) -> tensor<?x2x2xf32, #grid.layout<[_, block "tp", _]>>
    return %x : tensor<?x4xf32, #grid.layout<[_, block "tp" x 2]>>
  }
}

// -----

// A sum is paid in one place.
module attributes {decoder.source = {max_positions = 128 : i64}, grid.target = "cpu"} {
  grid.mesh @mesh ["tp"] = [2]
  func.func @v(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"}) -> tensor<?x4xf32, #grid.layout<[_, _]>> attributes {grid.tokens = array<i64: 1, 64>} {
    %t = decoder.weight {key = "t", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #grid.layout<[_, _]>>
    %x = decoder.embedding %ids, %t : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #grid.layout<[_, _]>>) -> tensor<?x4xf32, #grid.layout<[_, _]>>
    %w = decoder.weight {key = "w", stored_shape = array<i64: 4, 4>} : () -> tensor<4x4xf32, #grid.layout<[_, block "tp"]>>
    %p = grid.slice %x dim 1 over "tp" : tensor<?x4xf32, #grid.layout<[_, _]>> -> tensor<?x4xf32, #grid.layout<[_, block "tp"]>>
    %o = decoder.linear %p, %w : (tensor<?x4xf32, #grid.layout<[_, block "tp"]>>, tensor<4x4xf32, #grid.layout<[_, block "tp"]>>) -> tensor<?x4xf32, #grid.layout<[_, _] owes "tp">>
    %y = grid.all_reduce %o over ["tp"] {site = "s"} : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">> -> tensor<?x4xf32, #grid.layout<[_, _]>>
    // expected-error @below {{pays the sum of the site "s", which another op has paid}}
    %z = grid.all_reduce %o over ["tp"] {site = "s"} : tensor<?x4xf32, #grid.layout<[_, _] owes "tp">> -> tensor<?x4xf32, #grid.layout<[_, _]>>
    return %z : tensor<?x4xf32, #grid.layout<[_, _]>>
  }
}

// -----

// Sites have an id, a status and what was.
module attributes {decoder.source = {max_positions = 128 : i64}, grid.target = "cpu"} {
  grid.mesh @mesh ["tp"] = [2]
  // expected-error @below {{'grid.sites' has the entry {id = "s"}, expected a dictionary with id, status and was}}
  func.func @v(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "ids"}) -> tensor<?x4xf32, #grid.layout<[_, _]>> attributes {grid.tokens = array<i64: 1, 64>, grid.sites = [{id = "s"}]} {
    %t = decoder.weight {key = "t", stored_shape = array<i64: 8, 4>} : () -> tensor<8x4xf32, #grid.layout<[_, _]>>
    %x = decoder.embedding %ids, %t : (tensor<?xi64, #grid.layout<[_]>>, tensor<8x4xf32, #grid.layout<[_, _]>>) -> tensor<?x4xf32, #grid.layout<[_, _]>>
    return %x : tensor<?x4xf32, #grid.layout<[_, _]>>
  }
}
