// RUN: not layline-opt %s -pass-pipeline='builtin.module(place-parallel{tp=4 ep=2})' 2>&1 | FileCheck %s

// CHECK: error: expert parallelism over 2 ranks, expected 1 or the 4 of tensor parallelism
module {
}
