# `cmake --install`: what an engine needs of the runtime (component "runtime").
# The tool is installed where it is built (component "tool"). Included by
# runtime/, whose version is the package's.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Layline)
set(python_dir ${CMAKE_INSTALL_LIBDIR}/layline/python)
set(schema_dir ${CMAKE_INSTALL_DATADIR}/layline/schema)

# Layline::runtime and Layline::kv are shared; Layline::runtime_static is for
# programs that want no shared library.
set_target_properties(layline_runtime PROPERTIES EXPORT_NAME runtime)
set_target_properties(layline_kv PROPERTIES EXPORT_NAME kv)
set_target_properties(LaylineRuntime PROPERTIES
  EXPORT_NAME runtime_static OUTPUT_NAME layline_runtime)
set_target_properties(LaylineJson PROPERTIES EXPORT_NAME json OUTPUT_NAME layline_json)
set_target_properties(LaylineKernelCatalogue PROPERTIES
  EXPORT_NAME kernel_catalogue OUTPUT_NAME layline_kernel_catalogue)
install(TARGETS layline_runtime layline_kv LaylineRuntime LaylineKernelCatalogue LaylineJson
  EXPORT LaylineTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT LaylineTargets NAMESPACE Layline:: DESTINATION ${package_dir}
  COMPONENT runtime)
# Loaded by name, from beside the runtime.
if(TARGET layline_mpi)
  install(TARGETS layline_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/LaylineConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/LaylineConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS python_dir schema_dir)
# Before 1.0 a new minor version may change the API.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/LaylineConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/LaylineConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/LaylineConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT runtime)

# An installed tree may be moved.
file(RELATIVE_PATH to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
foreach(name IN ITEMS layline layline_kv)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in
    ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT runtime)
endforeach()

# The C headers. safetensors.h is C++ and of the tools.
set(headers ${LAYLINE_ROOT}/runtime/include/layline)
install(FILES ${headers}/runtime.h ${headers}/hooks.h ${headers}/kv.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/layline COMPONENT runtime)
set(python ${LAYLINE_ROOT}/runtime/python)
install(FILES ${python}/layline.py ${python}/layline_hooks.py
              ${python}/layline_library.py ${python}/layline_kv.py
              ${python}/layline_kv_engines.py
  DESTINATION ${python_dir} COMPONENT runtime)
install(DIRECTORY ${LAYLINE_ROOT}/data/schema/ DESTINATION ${schema_dir}
  COMPONENT runtime FILES_MATCHING PATTERN "*.json")
