# The kernels of device 'cuda', compiled where a CUDA toolkit is there. Nothing
# else of a toolkit is used: the driver, NCCL and cuBLASLt are opened at run time.
#
#   LAYLINE_CUDA        AUTO: with kernels if a toolkit is found; ON: a toolkit
#                       must be found; OFF: without kernels
#   CUDAToolkit_ROOT    where it is (also in the environment, as CUDA_HOME and
#                       CUDA_PATH); then /usr/local/cuda and PATH
#
# Sets LAYLINE_NVCC (empty: no kernels) and LAYLINE_CUDA_REASON, why not.
set(LAYLINE_CUDA AUTO CACHE STRING "Kernels of device 'cuda': AUTO, ON or OFF")
set_property(CACHE LAYLINE_CUDA PROPERTY STRINGS AUTO ON OFF)
if(NOT LAYLINE_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "LAYLINE_CUDA is '${LAYLINE_CUDA}'; AUTO, ON or OFF is expected")
endif()

# Hopper and Blackwell; the architectures with an a have the instructions of that
# chip alone. No kernel uses one, nor any that Hopper has not: all machine code is
# of one PTX text, which costs a third less than one for each. 12.8 is the first
# toolkit with Blackwell.
set(LAYLINE_CUDA_VIRTUAL_ARCHITECTURE 90)
set(LAYLINE_CUDA_ARCHITECTURES 90 90a 100 100a)
set(LAYLINE_CUDA_OLDEST 12.8)

# nvcc of a toolkit that can compile: its headers and its host compiler are seen
# only when something is compiled.
function(layline_find_nvcc out reason)
  set(${out} "" PARENT_SCOPE)
  set(roots ${CUDAToolkit_ROOT} $ENV{CUDAToolkit_ROOT} $ENV{CUDA_HOME} $ENV{CUDA_PATH})
  if(roots)
    # Who names a toolkit means that one.
    find_program(nvcc nvcc PATHS ${roots} PATH_SUFFIXES bin NO_DEFAULT_PATH NO_CACHE)
    set(looked "in ${roots}")
  else()
    find_program(nvcc nvcc PATHS /usr/local/cuda PATH_SUFFIXES bin NO_CACHE)
    set(looked "in PATH and /usr/local/cuda")
  endif()
  if(NOT nvcc)
    set(${reason} "no nvcc ${looked}" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE text ERROR_QUIET)
  if(NOT text MATCHES "release ([0-9.]+)")
    set(${reason} "'${nvcc} --version' names no release" PARENT_SCOPE)
    return()
  endif()
  set(version ${CMAKE_MATCH_1})
  if(version VERSION_LESS ${LAYLINE_CUDA_OLDEST})
    set(${reason} "${nvcc} is of CUDA ${version}; ${LAYLINE_CUDA_OLDEST} or later is expected"
      PARENT_SCOPE)
    return()
  endif()
  set(probe ${CMAKE_CURRENT_BINARY_DIR}/cuda-probe)
  file(WRITE ${probe}.cu "#include <cuda_fp8.h>\n__global__ void probe(float *x) { *x = 1; }\n")
  execute_process(COMMAND ${nvcc} -std=c++17 -arch=sm_90 -cubin -o ${probe}.cubin ${probe}.cu
    RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(failed)
    string(STRIP "${text}" text)
    set(${reason} "${nvcc} does not compile: ${text}" PARENT_SCOPE)
    return()
  endif()
  set(${out} ${nvcc} PARENT_SCOPE)
  set(${reason} "CUDA ${version}, ${nvcc}" PARENT_SCOPE)
  # Images of many kernels that are much alike: a tenth of their size. An nvcc
  # that does not know the option is not asked for it.
  execute_process(COMMAND ${nvcc} --help OUTPUT_VARIABLE text ERROR_QUIET)
  set(LAYLINE_NVCC_COMPRESS "" PARENT_SCOPE)
  if(text MATCHES "--compress-mode")
    set(LAYLINE_NVCC_COMPRESS --compress-mode=size PARENT_SCOPE)
  endif()
endfunction()

set(LAYLINE_NVCC "")
if(LAYLINE_CUDA STREQUAL "OFF")
  set(LAYLINE_CUDA_REASON "LAYLINE_CUDA is OFF")
else()
  layline_find_nvcc(LAYLINE_NVCC LAYLINE_CUDA_REASON)
  if(LAYLINE_CUDA STREQUAL "ON" AND NOT LAYLINE_NVCC)
    message(FATAL_ERROR "LAYLINE_CUDA is ON, but there is no CUDA toolkit: ${LAYLINE_CUDA_REASON}")
  endif()
endif()
if(LAYLINE_NVCC)
  message(STATUS "CUDA kernels: ${LAYLINE_CUDA_REASON}")
else()
  message(STATUS "CUDA kernels: none (${LAYLINE_CUDA_REASON})")
endif()

# Compiles SOURCE for all architectures into DIRECTORY/<name>.fatbin, with
# <name>.ptx and <name>.log, what ptxas says of each kernel, beside it. `compiled`
# receives the fat binary's path. More arguments are options.
function(layline_compile_kernels source directory compiled)
  get_filename_component(name ${source} NAME_WE)
  set(targets ${LAYLINE_CUDA_ARCHITECTURES})
  list(TRANSFORM targets PREPEND sm_)
  list(JOIN targets "," targets)
  set(fatbin ${directory}/${name}.fatbin)
  add_custom_command(OUTPUT ${fatbin}
    BYPRODUCTS ${directory}/${name}.log
    COMMAND ${CMAKE_COMMAND} -E make_directory ${directory}
    # What ptxas says goes to the log.
    COMMAND ${LAYLINE_ROOT}/cmake/run_logged.sh ${directory}/${name}.log
      ${LAYLINE_NVCC} -std=c++17 -O3 -I${LAYLINE_ROOT}/runtime ${ARGN}
      -gencode arch=compute_${LAYLINE_CUDA_VIRTUAL_ARCHITECTURE},code=[${targets}]
      -fatbin ${LAYLINE_NVCC_COMPRESS}
      -Werror all-warnings -Xptxas -v --keep --keep-dir ${directory}
      -MD -MF ${fatbin}.d -MT ${fatbin} -o ${fatbin} ${source}
    DEPENDS ${source} DEPFILE ${fatbin}.d
    WORKING_DIRECTORY ${directory}
    COMMENT "CUDA kernels of ${name}" VERBATIM)
  set(${compiled} ${fatbin} PARENT_SCOPE)
endfunction()
