// RUN: layline-opt %S/program-faults.mlir --pass-pipeline='builtin.module(layline-place{tp=2 cp=2},layline-plan{boundaries=rows},layline-lower)' -o %t
// RUN: layline-opt %t --verify-each=0 --mlir-print-assume-verified --test-inject-fault=spec=remainder-rows-lost,0 | FileCheck %s --check-prefix=REMAINDER
// RUN: layline-opt %t --verify-each=0 --mlir-print-assume-verified --test-inject-fault=spec=zigzag-halves-swapped,0 | FileCheck %s --check-prefix=HALVES
// RUN: layline-opt %t --verify-each=0 --mlir-print-assume-verified --test-inject-fault=spec=wrong-flag,0 | FileCheck %s --check-prefix=FLAG
// RUN: not layline-opt %t --pass-pipeline='builtin.module(test-inject-fault{kind=collective-order},launch.plan(launch-verify))' 2>&1 | FileCheck %s --check-prefix=COLLECTIVE
// RUN: not layline-opt %t --pass-pipeline='builtin.module(test-inject-fault{kind=buffer-reused-while-live},launch.plan(launch-verify))' 2>&1 | FileCheck %s --check-prefix=REUSED
// RUN: not layline-opt %t --pass-pipeline='builtin.module(test-inject-fault{kind=life-too-short},launch.plan(launch-verify))' 2>&1 | FileCheck %s --check-prefix=LIFE

// What remains of a division is held by nobody.
// REMAINDER: launch.range @"zigzag.tokens/cp/tp" block {{.*}} begin ["mul", "rank.tp", ["floordiv", ["size", "zigzag.tokens/cp"], 2]] size ["floordiv", ["size", "zigzag.tokens/cp"], 2]

// The later segment comes first.
// HALVES: launch.range @"zigzag.tokens/cp" zigzag {{.*}} begin ["add", ["mul", ["sub", 3, "rank.cp"],

// FLAG: reduce_scatter {{.*}}group = @tp{{.*}} flag @f.cp

// COLLECTIVE: error: 'launch.step' op "s{{[0-9]+}}" reads "b{{[0-9]+}}" but does not wait for
// REUSED: error: 'launch.buffer' op "b{{[0-9]+}}" shares bytes with "b{{[0-9]+}}" while both live
// LIFE: error: 'launch.step' op "s{{[0-9]+}}" reads "b{{[0-9]+}}" outside its life
