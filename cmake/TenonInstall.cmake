# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# The install tree: headers, libraries, plugins beside the core library, and find_package(Tenon).
include(CMakePackageConfigHelpers)

install(TARGETS tenon_abi tenon_core tenon EXPORT TenonTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Built with the path that is installed: CMake pads another one with ":", where an empty part means the current directory.
set_target_properties(tenon PROPERTIES INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
foreach(folder abi core plugins tenon sdk)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/${folder}/include/ DESTINATION include)
endforeach()
install(DIRECTORY ${CMAKE_BINARY_DIR}/gen/tenon/tenon/ DESTINATION include/tenon)
install(DIRECTORY ${CMAKE_BINARY_DIR}/gen/sdk/tenon/ DESTINATION include/tenon)
if(EXISTS ${CMAKE_SOURCE_DIR}/tenon/compat/libtorch)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/tenon/compat/libtorch/ DESTINATION include/tenon/compat/libtorch)
endif()
install(EXPORT TenonTargets NAMESPACE Tenon:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/TenonConfig.cmake.in ${CMAKE_BINARY_DIR}/TenonConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/TenonConfig.cmake ${CMAKE_BINARY_DIR}/TenonConfigVersion.cmake
              ${CMAKE_SOURCE_DIR}/cmake/TenonAddPlugin.cmake ${CMAKE_SOURCE_DIR}/cmake/plugin.map
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)
