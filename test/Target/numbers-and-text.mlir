// RUN: layline-translate %s -launch-to-plan-json | FileCheck %s

// Numbers print with the fewest digits that read back as the same double, and
// with a fraction; text is escaped. Optional keys are absent where not needed.

// CHECK: "source": {"config": "a\"b\\c\u000a.json"},
// CHECK: "tables": [
// CHECK-NEXT: {"id": "rope.0", "attention_factor": 1.0, "inv_freq": [0.1, 0.3333333333333333, 1e-07, 123456.789]},
// CHECK-NEXT: {"id": "rope.1", "attention_factor": 1.190238, "inv_freq": [1.0], "long": {"above": 4096, "attention_factor": 1.2, "inv_freq": [0.5]}}
// CHECK: "weights": [
// CHECK-NEXT: {"id": "w0", "key": "experts.{expert}.up", "dtype": "f16", "stored_shape": [4, 8], "rows": [2, 4], "stack": {"name": "expert", "count": 3}, "shape": [3, 2, 8], "layout": {"dims": [null, null, null]}, "bytes_per_rank": 96}
// CHECK: "flags": [],
// CHECK-NEXT: "kernels": [
// CHECK-NEXT: {"id": "k0", "ops": ["norm"], "dtype": "f32", "cooperative": false}
// CHECK-NEXT: ],
// CHECK-NEXT: "streams": [],
// CHECK-NEXT: "variants": [
// CHECK-NEXT: {"id": "v0", "tokens": {"min": 1, "max": 8},
// CHECK-NEXT: "arenas": [],
// CHECK-NEXT: "buffers": [],
// CHECK-NEXT: "steps": [],
// CHECK-NEXT: "outputs": [],
// CHECK-NEXT: "sites": [
// CHECK-NEXT: {"id": "x", "status": "missed", "was": ["all_reduce"]}
// CHECK-NEXT: ]}
launch.plan @plan target "t" dtype f32 mesh ["tp"] = [2] source {config = "a\22b\\c\0A.json"} requires [] {
  launch.table @rope.0 frequencies [0.1, 0.3333333333333333, 1.0e-7, 123456.789] factor 1.0
  launch.table @rope.1 frequencies [1.0] factor 1.190238 above 4096 frequencies [0.5] factor 1.2
  launch.weight @w0 "experts.{expert}.up" stored [4, 8] rows [2, 4] bytes 96 : tensor<3x2x8xf16, #grid.layout<[_, _, _]>>
  launch.kernel @k0 ["norm"] dtype f32
  launch.variant @v0 tokens 1 to 8 {
    launch.site "x" "missed" was ["all_reduce"]
  }
}
