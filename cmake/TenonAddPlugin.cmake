# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
#
# tenon_add_plugin(NAME x SOURCES a.cpp ...
#   DEVICE cpu                    the device its kernels serve, by name
#   [LAYOUTS sparse_coo ...]      layouts other than strided: it is then opened at the first use of one of them
#   [PRIORITY n]                  plugins of one device are opened from the highest down; default 0
#   [LINK lib ...]                libraries and targets to link privately
#   [CPU_FEATURES avx2 ...]       names of /proc/cpuinfo without which the file must not be opened
#   [THIRD_PARTY soname=version]  what it maps into the process, for messages about two copies
#   [TARGET_MINOR n]              the oldest minor of the ABI it runs with; default 0
#   [OUTPUT_DIRECTORY dir]        default: <build>/lib, beside the core library
#   [TARGET t]                    default: tenon_x
#   [ISOLATED] [NO_INSTALL])
#
# Builds the library of the target, libtenon_x.so, and writes its manifest libtenon_x.json beside it. It exports
# tenon_plugin_v1 only and imports nothing of the host: a symbol that no linked library has is an error here.
include(GNUInstallDirs)

set(_tenon_plugin_dir "${CMAKE_CURRENT_LIST_DIR}")

function(_tenon_json_list out)
  list(TRANSFORM ARGN REPLACE "^(.*)$" "\"\\1\"" OUTPUT_VARIABLE quoted)
  list(JOIN quoted ", " joined)
  set(${out} "[${joined}]" PARENT_SCOPE)
endfunction()

function(_tenon_plugin_manifest target dir)
  _tenon_json_list(layouts ${P_LAYOUTS})
  _tenon_json_list(features ${P_CPU_FEATURES})
  set(third_party "")
  foreach(item IN LISTS P_THIRD_PARTY)
    string(REGEX REPLACE "^([^=]+)=(.*)$" "\"\\1\": \"\\2\"" pair "${item}")
    list(APPEND third_party "${pair}")
  endforeach()
  list(JOIN third_party ", " third_party)
  set(isolated false)
  if(P_ISOLATED)
    set(isolated true)
  endif()
  file(GENERATE OUTPUT "${dir}/lib${target}.json" CONTENT "{
  \"name\": \"${P_NAME}\",
  \"library\": \"lib${target}.so\",
  \"abi\": {\"major\": 1, \"min_minor\": ${P_TARGET_MINOR}},
  \"arch\": \"${CMAKE_SYSTEM_PROCESSOR}\",
  \"cpu_features\": ${features},
  \"device\": \"${P_DEVICE}\",
  \"layouts\": ${layouts},
  \"third_party\": {${third_party}},
  \"priority\": ${P_PRIORITY},
  \"isolated\": ${isolated}
}
")
endfunction()

function(tenon_add_plugin)
  cmake_parse_arguments(PARSE_ARGV 0 P "ISOLATED;NO_INSTALL" "NAME;DEVICE;PRIORITY;TARGET_MINOR;OUTPUT_DIRECTORY;TARGET"
                        "SOURCES;LAYOUTS;LINK;CPU_FEATURES;THIRD_PARTY")
  if(NOT P_NAME OR NOT P_SOURCES OR NOT P_DEVICE)
    message(FATAL_ERROR "tenon_add_plugin: NAME, SOURCES and DEVICE are required")
  endif()
  if(P_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_add_plugin(${P_NAME}): unknown arguments: ${P_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT DEFINED P_PRIORITY)
    set(P_PRIORITY 0)
  endif()
  if(NOT DEFINED P_TARGET_MINOR)
    set(P_TARGET_MINOR 0)
  endif()
  if(NOT P_OUTPUT_DIRECTORY)
    set(P_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
  endif()
  if(NOT P_TARGET)
    set(P_TARGET tenon_${P_NAME})
  endif()
  set(target ${P_TARGET})
  add_library(${target} MODULE ${P_SOURCES})
  set_target_properties(${target} PROPERTIES
    PREFIX lib SUFFIX .so LIBRARY_OUTPUT_DIRECTORY "${P_OUTPUT_DIRECTORY}"
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS "${_tenon_plugin_dir}/plugin.map" INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
  target_compile_definitions(${target} PRIVATE TN_ABI_TARGET_MINOR=${P_TARGET_MINOR})
  # A GNU_UNIQUE symbol keeps a library mapped after dlclose. clang never makes one and refuses the flag.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
  target_link_options(${target} PRIVATE "LINKER:--version-script=${_tenon_plugin_dir}/plugin.map"
                      LINKER:-z,defs LINKER:--exclude-libs,ALL)
  foreach(sdk tenon_sdk Tenon::tenon_abi)  # in this tree; from an install tree, where all headers share a folder
    if(TARGET ${sdk})
      target_link_libraries(${target} PRIVATE ${sdk})
      break()
    endif()
  endforeach()
  target_link_libraries(${target} PRIVATE ${P_LINK})
  _tenon_plugin_manifest(${target} "${P_OUTPUT_DIRECTORY}")
  if(NOT P_NO_INSTALL)
    install(TARGETS ${target} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/tenon" COMPONENT plugins)
    install(FILES "${P_OUTPUT_DIRECTORY}/lib${target}.json" DESTINATION "${CMAKE_INSTALL_LIBDIR}/tenon"
            COMPONENT plugins)
  endif()
endfunction()
