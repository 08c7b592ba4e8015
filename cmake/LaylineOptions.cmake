# Flags of our own code. Third-party headers come in as SYSTEM includes.
set(LAYLINE_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
    -Woverloaded-virtual -Wno-unused-parameter -Werror)

if(LAYLINE_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

include(LaylinePrecompiled)

find_program(LAYLINE_CCACHE ccache)
if(LAYLINE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${LAYLINE_CCACHE})
  if(LAYLINE_PRECOMPILED_HEADERS AND NOT DEFINED ENV{CCACHE_SLOPPINESS})
    # Without these it keeps nothing that a precompiled header is used for.
    list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros)
  endif()
endif()
