//===- Main.cpp - more random cases than rapidcheck tries by itself -------===//
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <cstdlib>

int main(int count, char **arguments) {
  setenv("RC_PARAMS", "max_success=600 seed=30", 0);
  return Catch::Session().run(count, arguments);
}
