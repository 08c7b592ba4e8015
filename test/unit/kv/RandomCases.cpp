//===- RandomCases.cpp - more random cases than rapidcheck tries by itself ===//
#include <cstdlib>

// Before any test: rapidcheck reads it with the first property.
[[maybe_unused]] static const int set =
    setenv("RC_PARAMS", "max_success=600 seed=30", 0);
