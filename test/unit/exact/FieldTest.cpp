#define CATCH_CONFIG_MAIN
#include "layline/Exact/Field.h"
#include <catch2/catch.hpp>
