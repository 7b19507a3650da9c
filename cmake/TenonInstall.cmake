# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# The install tree: headers, libraries, plugins beside the core library, and find_package(Tenon).
include(CMakePackageConfigHelpers)

# TenonSDK is what a plugin needs (component sdk: headers and CMake files); Tenon is everything.
install(TARGETS tenon_abi tenon_sdk EXPORT TenonSDKTargets COMPONENT sdk)
install(TARGETS tenon_core tenon tenon_jit EXPORT TenonTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Built with the path that is installed: CMake pads another one with ":", where an empty part means the current directory.
set_target_properties(tenon tenon_jit PROPERTIES INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
foreach(folder abi sdk)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/${folder}/include/ DESTINATION include COMPONENT sdk)
endforeach()
foreach(folder runtime core plugins tenon jit)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/${folder}/include/ DESTINATION include)
endforeach()
install(DIRECTORY ${CMAKE_BINARY_DIR}/gen/sdk/tenon/ DESTINATION include/tenon COMPONENT sdk)
# With the comments that the headers of the build go without (tools/opgen).
install(DIRECTORY ${CMAKE_BINARY_DIR}/gen/tenon_docs/tenon/ DESTINATION include/tenon)
foreach(folder tenon jit)
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
