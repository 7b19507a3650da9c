# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# The install tree: headers, libraries, plugins beside the core library, and find_package(Tenon).
include(CMakePackageConfigHelpers)

# TenonSDK is what a plugin needs (component sdk: headers and CMake files); Tenon is everything.
install(TARGETS tenon_abi tenon_sdk EXPORT TenonSDKTargets COMPONENT sdk)
install(TARGETS tenon_core tenon tenon_jit tenon_distributed EXPORT TenonTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Built with the path that is installed: CMake pads another one with ":", where an empty part means the current directory.
if(TARGET tenon_onnx)
  install(TARGETS tenon_onnx EXPORT TenonTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  set_target_properties(tenon_onnx PROPERTIES INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/onnx/include/ DESTINATION include)
endif()
set_target_properties(tenon tenon_jit tenon_distributed PROPERTIES INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
foreach(folder abi sdk)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/${folder}/include/ DESTINATION include COMPONENT sdk)
endforeach()
foreach(folder runtime core plugins tenon jit distributed)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/${folder}/include/ DESTINATION include)
endforeach()
install(DIRECTORY ${CMAKE_BINARY_DIR}/gen/sdk/tenon/ DESTINATION include/tenon COMPONENT sdk)
# With the comments that the headers of the build go without (tools/opgen).
install(DIRECTORY ${CMAKE_BINARY_DIR}/gen/tenon_docs/tenon/ DESTINATION include/tenon)
foreach(folder tenon jit distributed)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/${folder}/compat/libtorch/ DESTINATION include/tenon/compat/libtorch)
endforeach()

# tenon_package(NAME COMPONENT files...): find_package(NAME), from <NAME>Targets and cmake/<NAME>Config.cmake.in
function(tenon_package name component)
  set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
  install(EXPORT ${name}Targets NAMESPACE Tenon:: DESTINATION ${folder} COMPONENT ${component})
  configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/${name}Config.cmake.in ${CMAKE_BINARY_DIR}/${name}Config.cmake
                                INSTALL_DESTINATION ${folder})
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/${name}ConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/${name}Config.cmake ${CMAKE_BINARY_DIR}/${name}ConfigVersion.cmake ${ARGN}
          DESTINATION ${folder} COMPONENT ${component})
endfunction()
tenon_package(TenonSDK sdk ${CMAKE_SOURCE_DIR}/cmake/TenonAddPlugin.cmake
              ${CMAKE_SOURCE_DIR}/cmake/TenonPluginManifest.cmake ${CMAKE_SOURCE_DIR}/cmake/plugin.map)
tenon_package(Tenon Unspecified)

# tenon_pkg_config(NAME COMPONENT DESCRIPTION REQUIRES LIBS): NAME.pc, for builds without CMake.
function(tenon_pkg_config name component TENON_PC_DESCRIPTION TENON_PC_REQUIRES TENON_PC_LIBS)
  set(folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH TENON_PC_TO_PREFIX "/${folder}" "/")
  string(REGEX REPLACE "/$" "" TENON_PC_TO_PREFIX "${TENON_PC_TO_PREFIX}")
  set(TENON_PC_NAME ${name})
  configure_file(${CMAKE_SOURCE_DIR}/cmake/tenon.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${folder} COMPONENT ${component})
endfunction()
tenon_pkg_config(tenon Unspecified "Tensors, autograd and neural networks, with backends as plugins" ""
                 "-L\${libdir} -ltenon -ltenon_core")
tenon_pkg_config(tenon_jit Unspecified "Programs saved by torch, for Tenon" "tenon = ${PROJECT_VERSION}"
                 "-L\${libdir} -ltenon_jit")
if(TARGET tenon_onnx)
  tenon_pkg_config(tenon_onnx Unspecified "ONNX models, for Tenon" "tenon_jit = ${PROJECT_VERSION}"
                   "-L\${libdir} -ltenon_onnx")
endif()
