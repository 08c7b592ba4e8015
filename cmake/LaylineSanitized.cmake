# Tests under AddressSanitizer and UndefinedBehaviorSanitizer, or under
# ThreadSanitizer.
#
# A library is built once more with them, as an object library that the tests
# which need it share. The tests themselves are the object files that the
# ordinary build has compiled already: what they check is the library, and to
# compile them again with checks takes as long as all the rest. The library's
# objects come first in the link, so that of an inline function or a template
# which both have the one with checks is kept.

set(LAYLINE_SANITIZERS -fsanitize=address,undefined -fno-sanitize-recover=undefined)
set(LAYLINE_THREAD_SANITIZER -fsanitize=thread)

# layline_sanitized_core(<name> OF <library>... [SOURCES <file>...] [OPTIMIZE]
#                        [THREADS])
#
# The sources of the libraries, or those of SOURCES only, with asserts. OPTIMIZE
# is for code that runs for longer than the optimiser takes, THREADS for
# ThreadSanitizer.
function(layline_sanitized_core name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMIZE;THREADS" "" "OF;SOURCES")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_OF)
    message(FATAL_ERROR "layline_sanitized_core(${ARGV}): expected <name> OF <library>... "
      "[SOURCES <file>...] [OPTIMIZE] [THREADS]")
  endif()
  set(sanitizers ${LAYLINE_SANITIZERS})
  if(arg_THREADS)
    set(sanitizers ${LAYLINE_THREAD_SANITIZER})
  endif()
  set(sources ${arg_SOURCES})
  if(NOT sources)
    foreach(library IN LISTS arg_OF)
      get_target_property(folder ${library} SOURCE_DIR)
      get_target_property(files ${library} SOURCES)
      foreach(file IN LISTS files)
        get_filename_component(path ${file} ABSOLUTE BASE_DIR ${folder})
        list(APPEND sources ${path})
        # Written by the build of the library, in another directory.
        if(NOT EXISTS ${path} OR path MATCHES "^${PROJECT_BINARY_DIR}/")
          set_source_files_properties(${path} PROPERTIES GENERATED ON)
        endif()
      endforeach()
    endforeach()
  endif()
  add_library(${name} OBJECT ${sources})
  foreach(library IN LISTS arg_OF)
    target_link_libraries(${name} PRIVATE ${library})
    target_include_directories(${name} PRIVATE
      $<TARGET_PROPERTY:${library},INCLUDE_DIRECTORIES>)
    target_compile_definitions(${name} PRIVATE
      $<TARGET_PROPERTY:${library},COMPILE_DEFINITIONS>)
  endforeach()
  target_compile_options(${name} PRIVATE ${sanitizers} -fno-omit-frame-pointer
    -gline-tables-only -UNDEBUG $<IF:$<BOOL:${arg_OPTIMIZE}>,-O1,-O0>)
  layline_precompile(${name} json)
endfunction()

# layline_sanitized_tests(<name> CORE <core>... TESTS <target>... [THREADS])
#
# An executable of the objects of TESTS. What they link beside the libraries of
# CORE is for the caller to say.
function(layline_sanitized_tests name)
  cmake_parse_arguments(PARSE_ARGV 1 arg THREADS "" "CORE;TESTS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_CORE OR NOT arg_TESTS)
    message(FATAL_ERROR "layline_sanitized_tests(${ARGV}): expected <name> CORE <core>... "
      "TESTS <target>... [THREADS]")
  endif()
  set(sanitizers ${LAYLINE_SANITIZERS})
  if(arg_THREADS)
    set(sanitizers ${LAYLINE_THREAD_SANITIZER})
  endif()
  set(objects "")
  foreach(target IN LISTS arg_CORE arg_TESTS)
    list(APPEND objects $<TARGET_OBJECTS:${target}>)
  endforeach()
  add_executable(${name} ${objects})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_options(${name} PRIVATE ${sanitizers})
endfunction()
