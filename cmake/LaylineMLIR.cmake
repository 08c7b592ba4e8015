# Debian's LLVM/MLIR 22, used through libMLIR.so.

# Not exported by Debian's MLIRConfig (llvm/llvm-project#197175): without it our
# libraries pull the static archives in next to libMLIR.so.
option(MLIR_LINK_MLIR_DYLIB "Link against libMLIR.so" ON)
list(APPEND CMAKE_PREFIX_PATH /usr/lib/llvm-22)
# "22" alone is rejected by the version file.
find_package(MLIR 22.1 REQUIRED CONFIG)
message(STATUS "MLIR: ${MLIR_DIR}")

set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
set(MLIR_BINARY_DIR ${CMAKE_BINARY_DIR})
# Debian ships lit, not llvm-lit.
set(LLVM_EXTERNAL_LIT "${LLVM_TOOLS_BINARY_DIR}/lit" CACHE STRING "lit")
set(LLVM_LIT_ARGS "-sv" CACHE STRING "Default options for lit")

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${LLVM_DEFINITIONS_LIST})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include(HandleLLVMOptions)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})

# A library of ours: our warnings, no install rule, upstream MLIR libraries only
# through mlir_target_link_libraries (never mixed with the static archives).
function(add_layline_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK_LIBS;MLIR_LIBS" ${ARGN})
  add_mlir_library(${name} ${ARG_UNPARSED_ARGUMENTS}
    DEPENDS ${ARG_DEPENDS} LINK_LIBS PUBLIC ${ARG_LINK_LIBS}
    DISABLE_INSTALL PARTIAL_SOURCES_INTENDED EXCLUDE_FROM_LIBMLIR)
  mlir_target_link_libraries(${name} PUBLIC ${ARG_MLIR_LIBS})
  foreach(target ${name} obj.${name})
    if(TARGET ${target})
      target_compile_options(${target} PRIVATE ${LAYLINE_WARNINGS})
    endif()
  endforeach()
endfunction()

function(add_layline_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS;MLIR_LIBS" ${ARGN})
  add_llvm_executable(${name} ${ARG_UNPARSED_ARGUMENTS} PARTIAL_SOURCES_INTENDED)
  llvm_update_compile_flags(${name})
  target_compile_options(${name} PRIVATE ${LAYLINE_WARNINGS})
  mlir_target_link_libraries(${name} PRIVATE ${ARG_MLIR_LIBS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS})
endfunction()
