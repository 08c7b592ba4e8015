# LAYLINE_NUMPY_PYTHON: a Python with numpy. Debian's belongs to the system's,
# so that is asked where the one found first has none; if neither has, it is the
# first, and what is run says so.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(NOT DEFINED LAYLINE_NUMPY_PYTHON)
  set(LAYLINE_NUMPY_PYTHON ${Python3_EXECUTABLE})
  foreach(candidate IN ITEMS ${Python3_EXECUTABLE} /usr/bin/python3)
    execute_process(COMMAND ${candidate} -c "import numpy"
      RESULT_VARIABLE missing OUTPUT_QUIET ERROR_QUIET)
    if(missing EQUAL 0)
      set(LAYLINE_NUMPY_PYTHON ${candidate})
      break()
    endif()
  endforeach()
endif()
