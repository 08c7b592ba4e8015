# Precompiled headers. Most of what a file takes to compile are headers that
# nearly all files of its kind include: of MLIR 5 of 8 s, of Catch2 1 of 2. They
# hold headers from outside only, and each file names what it uses: without them
# all of it compiles too.
#
#   LAYLINE_PRECOMPILED_HEADERS  OFF by itself where checkouts share a ccache
#                                (CCACHE_BASEDIR), for what is compiled with one
#                                depends on its path; with a launcher of one's own,
#                                for not all know of them; and for other compilers
#                                than clang, which ask for more options to be equal

set(default ON)
if(DEFINED ENV{CCACHE_BASEDIR} OR CMAKE_CXX_COMPILER_LAUNCHER
   OR NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(default OFF)
endif()
option(LAYLINE_PRECOMPILED_HEADERS "Precompile headers from outside" ${default})

set(headers
  <algorithm> <array> <chrono> <cmath> <condition_variable> <cstdint> <cstring>
  <filesystem> <fstream> <functional> <iostream> <map> <memory> <mutex> <numeric>
  <optional> <random> <set> <sstream> <string> <thread> <unordered_map> <vector>)
set(LAYLINE_HEADERS_json ${headers} <nlohmann/json.hpp>)
set(LAYLINE_HEADERS_test ${LAYLINE_HEADERS_json} <catch2/catch.hpp>)
set(LAYLINE_HEADERS_tool ${LAYLINE_HEADERS_json} <CLI/CLI.hpp>)
set(LAYLINE_HEADERS_mlir ${headers}
  <mlir/Bytecode/BytecodeOpInterface.h>
  <mlir/Dialect/Func/IR/FuncOps.h>
  <mlir/IR/Builders.h>
  <mlir/IR/BuiltinOps.h>
  <mlir/IR/Dialect.h>
  <mlir/IR/DialectImplementation.h>
  <mlir/IR/OpImplementation.h>
  <mlir/IR/PatternMatch.h>
  <mlir/IR/RegionKindInterface.h>
  <mlir/IR/SymbolTable.h>
  <mlir/IR/TensorEncoding.h>
  <mlir/Interfaces/ControlFlowInterfaces.h>
  <mlir/Interfaces/InferTypeOpInterface.h>
  <mlir/Interfaces/SideEffectInterfaces.h>
  <mlir/Pass/Pass.h>
  <mlir/Pass/PassManager.h>
  <llvm/ADT/STLExtras.h>
  <llvm/ADT/SetVector.h>
  <llvm/ADT/StringExtras.h>
  <llvm/ADT/TypeSwitch.h>
  <llvm/Support/JSON.h>)

# layline_precompile(<target> json|test|tool|mlir)
#
# Called when the target has all its options. Targets whose options differ by
# warnings and the rounding of products at most share a precompiled header.
function(layline_precompile target kind)
  if(NOT LAYLINE_PRECOMPILED_HEADERS)
    return()
  endif()
  if(NOT DEFINED LAYLINE_HEADERS_${kind})
    message(FATAL_ERROR "layline_precompile(${target} ${kind}): expected json, test, tool or mlir")
  endif()
  get_target_property(options ${target} COMPILE_OPTIONS)
  get_target_property(flags ${target} COMPILE_FLAGS)
  get_target_property(pic ${target} POSITION_INDEPENDENT_CODE)
  if(NOT options)
    set(options "")
  endif()
  if(NOT flags)
    set(flags "")
  endif()
  string(STRIP "${flags}" flags)
  if(NOT pic OR CMAKE_CXX_FLAGS MATCHES "-fPIC")
    set(pic OFF)
  endif()
  list(FILTER options EXCLUDE REGEX "^(-W|-ffp-contract=)")
  string(SHA256 name "${CMAKE_CXX_FLAGS} ${flags} ${options} ${pic}")
  string(SUBSTRING ${name} 0 8 name)
  set(name layline-headers-${kind}-${name})
  if(NOT TARGET ${name})
    set(source ${CMAKE_BINARY_DIR}/headers/${name}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "// Only its precompiled header is used.\n")
    add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
    set_target_properties(${name} PROPERTIES
      COMPILE_OPTIONS "${options}" COMPILE_FLAGS "${flags}" POSITION_INDEPENDENT_CODE ${pic})
    # ccache gives back one that was made before the build folder was.
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    target_precompile_headers(${name} PRIVATE ${LAYLINE_HEADERS_${kind}})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${name})
endfunction()
