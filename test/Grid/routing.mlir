// RUN: layline-opt %s | layline-opt | FileCheck %s
// RUN: layline-opt %s -mlir-print-op-generic | layline-opt | FileCheck %s

// Rows go to the ranks of their experts and come back: grid.dispatch and
// grid.combine. What is refused stands in routing-invalid.mlir.

!x = tensor<?x8xf32, #grid.layout<[block "tp", _]>>
!ids = tensor<?x2xi32, #grid.layout<[block "tp", _]>>
!w = tensor<?x2xf32, #grid.layout<[block "tp", _]>>
!rx = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>
!ri = tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>
!rw = tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>
!ro = tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
!gate = tensor<6x4x8xf32, #grid.layout<[block "tp", _, _]>>
!down = tensor<6x8x4xf32, #grid.layout<[block "tp", _, _]>>

grid.mesh @mesh ["cp", "tp"] = [2, 4]

// CHECK-LABEL: @round_trip
func.func @round_trip(%x: !x, %ids: !ids, %w: !w, %g: !gate, %u: !gate, %d: !down) -> !x {
  // CHECK: %[[R:.*]], %[[I:.*]], %[[W:.*]] = grid.dispatch %{{.*}}, %[[IDS:.*]], %{{.*}} to 6 over "tp" : {{.*}} -> (tensor<?x8xf32, #grid.layout<[routed(6) "tp", _]>>, tensor<?x2xi32, #grid.layout<[routed(6) "tp", _]>>, tensor<?x2xf32, #grid.layout<[routed(6) "tp", _]>>)
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!x, !ids, !w) -> (!rx, !ri, !rw)
  // Of the rows it has a rank computes its experts' part.
  // CHECK: %[[E:.*]] = decoder.experts %[[R]], %[[I]], %[[W]]{{.*}} -> tensor<?x8xf32, #grid.layout<[routed(6) "tp", _] owes "tp">>
  %e = decoder.experts %rx, %ri, %rw, %g, %u, %d {function = #decoder.function<silu>} : (!rx, !ri, !rw, !gate, !gate, !down) -> !ro
  // CHECK: grid.combine %[[E]] by %[[IDS]] over "tp" {site = "s"} : {{.*}} -> tensor<?x8xf32, #grid.layout<[block "tp", _]>>
  %y = grid.combine %e by %ids over "tp" {site = "s"} : (!ro, !ids) -> !x
  return %y : !x
}

// Rows that are dealt out over another axis first stay on its ranks.
!cx = tensor<?x8xf32, #grid.layout<[zigzag "cp" then block "tp", _]>>
!ci = tensor<?x2xi32, #grid.layout<[zigzag "cp" then block "tp", _]>>
!cw = tensor<?x2xf32, #grid.layout<[zigzag "cp" then block "tp", _]>>
!crx = tensor<?x8xf32, #grid.layout<[zigzag "cp" then routed(6) "tp", _]>>
!cri = tensor<?x2xi32, #grid.layout<[zigzag "cp" then routed(6) "tp", _]>>
!crw = tensor<?x2xf32, #grid.layout<[zigzag "cp" then routed(6) "tp", _]>>
!cro = tensor<?x8xf32, #grid.layout<[zigzag "cp" then routed(6) "tp", _] owes "tp">>
// CHECK-LABEL: @within
func.func @within(%x: !cx, %ids: !ci, %w: !cw, %g: !gate, %u: !gate, %d: !down) -> !cx {
  // CHECK: grid.dispatch {{.*}}<[zigzag "cp" then routed(6) "tp", _]>
  %rx, %ri, %rw = grid.dispatch %x, %ids, %w to 6 over "tp" : (!cx, !ci, !cw) -> (!crx, !cri, !crw)
  %e = decoder.experts %rx, %ri, %rw, %g, %u, %d {function = #decoder.function<silu>} : (!crx, !cri, !crw, !gate, !gate, !down) -> !cro
  // CHECK: grid.combine
  %y = grid.combine %e by %ids over "tp" : (!cro, !ci) -> !cx
  return %y : !cx
}
