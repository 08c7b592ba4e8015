// RUN: layline-opt %s -verify-diagnostics -pass-pipeline='builtin.module(place-parallel{tp=0})'

// expected-error @below {{tensor parallelism over 0 ranks, expected at least 1}}
module {}
