// RUN: layline-opt %s -layline-lower | FileCheck %s

// A rank quantises its rows; payload and scales cross the wire. Numbers of 8
// bits have an arena of their own, and the plan says that its reader must know
// them.

#rows = #grid.layout<[block "tp", _]>
#whole = #grid.layout<[_, _]>

// CHECK-LABEL: launch.plan @plan
// CHECK-SAME:  requires ["quantized_rows"]
// CHECK-DAG:   launch.arena "float"
// CHECK-DAG:   launch.arena "narrow"
// CHECK-DAG:   %[[VALUES:.*]] = launch.buffer "{{b[0-9]+}}" symmetric {{.*}}"narrow"{{.*}} : tensor<?x8xf8E4M3FN, #grid.layout<[block "tp", _]>>
// CHECK-DAG:   %[[SCALES:.*]] = launch.buffer "{{b[0-9]+}}" symmetric {{.*}}"float"{{.*}} : tensor<?x2xf32, #grid.layout<[block "tp", _]>>
// CHECK:       launch.step "s1" quantize (input = %{{.*}}, values = %[[VALUES]], scales = %[[SCALES]]) with {format = "fp8_e4m3", group_size = 4 : i64}
// CHECK:       launch.step "s2" all_gather (input = %[[VALUES]], output = %[[ALL:.*]])
// CHECK:       launch.step "s3" all_gather (input = %[[SCALES]], output = %[[EACH:.*]])
// CHECK:       launch.step "s4" dequantize (values = %[[ALL]], scales = %[[EACH]], output = %{{.*}})
module attributes {
  decoder.source = {config = "c.json", digest = "d", model_type = "test", layers = 1 : i64, max_positions = 128 : i64},
  grid.target = "cpu"
} {
grid.mesh @mesh ["tp"] = [2]
func.func @rows(%ids: tensor<?xi64, #grid.layout<[block "tp"]>> {decoder.input = "ids"}) -> (tensor<?x8xf32, #whole> {decoder.output = "y"})
    attributes {grid.tokens = array<i64: 1, 64>} {
  %e = decoder.weight {key = "e", stored_shape = array<i64: 16, 8>} : () -> tensor<16x8xf32, #whole>
  %x = decoder.embedding %ids, %e : (tensor<?xi64, #grid.layout<[block "tp"]>>, tensor<16x8xf32, #whole>) -> tensor<?x8xf32, #rows>
  %v, %s = decoder.quantize %x {format = #decoder.quant_format<fp8_e4m3>, group_size = 4} : (tensor<?x8xf32, #rows>) -> (tensor<?x8xf8E4M3FN, #rows>, tensor<?x2xf32, #rows>)
  %0 = grid.all_gather %v dim 0 over "tp" : tensor<?x8xf8E4M3FN, #rows> -> tensor<?x8xf8E4M3FN, #whole>
  %1 = grid.all_gather %s dim 0 over "tp" : tensor<?x2xf32, #rows> -> tensor<?x2xf32, #whole>
  %y = decoder.dequantize %0, %1 : (tensor<?x8xf8E4M3FN, #whole>, tensor<?x2xf32, #whole>) -> tensor<?x8xf32, #whole>
  return %y : tensor<?x8xf32, #whole>
}
}
