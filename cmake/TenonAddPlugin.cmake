# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
#
# tenon_add_plugin(NAME x SOURCES a.cpp ...
#   DEVICE cpu                    the device its kernels serve, by name
#   [LANGUAGES CXX ...]           of the sources: C, CXX, CUDA; default: those of the sources' names
#   [LAYOUTS sparse_coo ...]      layouts other than strided: it is then opened at the first use of one of them, and not
#                                 before the device is used, unless that is any or cpu
#   [OPERATORS _loop_program_ ...] at whose first call it is opened, of those whose definition says `ondemand`; with
#                                 another it is opened with the device. Errors about an unknown operator name the plugin
#                                 that has it here
#   [PRIORITY n]                  plugins of one device are opened from the highest down; default 0
#   [VARIANT x]                   of the plugins of one device with the same x only the best that this processor can run
#                                 is opened: highest PRIORITY, or named in TENON_PLUGINS_PREFER
#   [LINK lib ...]                libraries and targets to link privately
#   [CPU_FEATURES avx2 ...]       names of /proc/cpuinfo without which the file must not be opened
#   [THIRD_PARTY soname=version]  what it maps into the process, for messages about two copies
#   [TARGET_MINOR n]              the oldest minor of the ABI it runs with; default 0
#   [OUTPUT_DIRECTORY dir]        default: <build>/lib
#   [TARGET t]                    default: tenon_x
#   [ISOLATED] [NO_INSTALL]
#   [RESIDENT]                    it is never unloaded and may have thread_local objects with destructors
#   [NO_HASH])                    leaves the library's digest out of the manifest: the loader then opens the library in a
#                                 child process first, which costs more than a digest except for very large files
#
# Builds the library of the target, libtenon_x.so, and writes its manifest libtenon_x.json beside it, with its SHA-256;
# in Tenon's own tree with the faster digest that `tenon manifest` writes. Whoever changes the library afterwards, other
# than by `strip` in Tenon's own tree, renews the manifest by `tenon manifest libtenon_x.json`.
# It exports tenon_plugin_v1 only and imports nothing of the host: a symbol that no linked library has is an error here,
# and so, without RESIDENT, is a thread_local object with a destructor, which would keep the library mapped after it is
# closed.
include(GNUInstallDirs)

set(_tenon_plugin_dir "${CMAKE_CURRENT_LIST_DIR}")

function(_tenon_json_list out)
  list(TRANSFORM ARGN REPLACE "^(.+)$" "\"\\1\"" OUTPUT_VARIABLE quoted)
  list(JOIN quoted ", " joined)
  set(${out} "[${joined}]" PARENT_SCOPE)
endfunction()

# The manifest but for the hash, which TenonPluginManifest.cmake adds when the library is there.
function(_tenon_plugin_manifest target template)
  _tenon_json_list(layouts ${P_LAYOUTS})
  _tenon_json_list(operators ${P_OPERATORS})
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
  set(hash "")
  if(NOT P_NO_HASH)
    set(hash "  @hash@,\n")
  endif()
  file(GENERATE OUTPUT "${template}" CONTENT "{
  \"name\": \"${P_NAME}\",
  \"library\": \"lib${target}.so\",
${hash}  \"abi\": {\"major\": 1, \"min_minor\": ${P_TARGET_MINOR}},
  \"arch\": \"${CMAKE_SYSTEM_PROCESSOR}\",
  \"cpu_features\": ${features},
  \"device\": \"${P_DEVICE}\",
  \"layouts\": ${layouts},
  \"operators\": ${operators},
  \"third_party\": {${third_party}},
  \"priority\": ${P_PRIORITY},
  \"variant\": \"${P_VARIANT}\",
  \"isolated\": ${isolated}
}
")
endfunction()

function(_tenon_plugin_languages target)
  foreach(source IN LISTS P_SOURCES)
    if(NOT P_LANGUAGES AND source MATCHES "\\.(c|cpp|cc|cxx|cu)$")
      string(REGEX REPLACE "^c(pp|c|xx)$" "CXX" language "${CMAKE_MATCH_1}")
      string(REPLACE "cu" "CUDA" language "${language}")
      string(REGEX REPLACE "^c$" "C" language "${language}")
      list(APPEND found ${language})
    endif()
  endforeach()
  list(APPEND found ${P_LANGUAGES})
  list(REMOVE_DUPLICATES found)
  get_property(enabled GLOBAL PROPERTY ENABLED_LANGUAGES)
  foreach(language IN LISTS found)
    if(NOT language IN_LIST enabled)
      message(FATAL_ERROR "tenon_add_plugin(${P_NAME}): its sources are ${language}, which project() has not enabled; "
                          "write project(... LANGUAGES ${found})")
    endif()
    set_property(TARGET ${target} PROPERTY ${language}_VISIBILITY_PRESET hidden)
    if(language STREQUAL "C")
      target_compile_features(${target} PRIVATE c_std_11)
    elseif(language STREQUAL "CXX")
      target_compile_features(${target} PRIVATE cxx_std_17)
      # A GNU_UNIQUE symbol keeps a library mapped after dlclose. clang never makes one and refuses the flag.
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
    elseif(language STREQUAL "CUDA")
      target_compile_features(${target} PRIVATE cuda_std_17)
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fno-gnu-unique>)
    endif()
  endforeach()
endfunction()

function(tenon_add_plugin)
  cmake_parse_arguments(PARSE_ARGV 0 P "ISOLATED;NO_INSTALL;RESIDENT;NO_HASH"
                        "NAME;DEVICE;PRIORITY;VARIANT;TARGET_MINOR;OUTPUT_DIRECTORY;TARGET"
                        "SOURCES;LANGUAGES;LAYOUTS;OPERATORS;LINK;CPU_FEATURES;THIRD_PARTY")
  if(NOT P_NAME OR NOT P_SOURCES OR NOT P_DEVICE)
    message(FATAL_ERROR "tenon_add_plugin: NAME, SOURCES and DEVICE are required")
  endif()
  if(P_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_add_plugin(${P_NAME}): unknown arguments: ${P_UNPARSED_ARGUMENTS}")
  endif()
  foreach(field NAME DEVICE)
    if(NOT P_${field} MATCHES "^[A-Za-z0-9_.-]+$")
      message(FATAL_ERROR "tenon_add_plugin: ${field} '${P_${field}}' must have letters, digits, '_', '-' or '.' only")
    endif()
  endforeach()
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
    PREFIX lib SUFFIX .so OUTPUT_NAME ${target} LIBRARY_OUTPUT_DIRECTORY "${P_OUTPUT_DIRECTORY}"
    VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON
    LINK_DEPENDS "${_tenon_plugin_dir}/plugin.map" INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
  _tenon_plugin_languages(${target})
  target_compile_definitions(${target} PRIVATE TN_ABI_TARGET_MINOR=${P_TARGET_MINOR})
  target_link_options(${target} PRIVATE "LINKER:--version-script=${_tenon_plugin_dir}/plugin.map"
                      LINKER:-z,defs LINKER:--exclude-libs,ALL)
  if(TARGET tenon_sdk)  # in this tree
    target_link_libraries(${target} PRIVATE tenon_sdk)
  else()
    target_link_libraries(${target} PRIVATE Tenon::tenon_sdk)
  endif()
  target_link_libraries(${target} PRIVATE ${P_LINK})
  set(template "${CMAKE_CURRENT_BINARY_DIR}/lib${target}.json.in")
  _tenon_plugin_manifest(${target} "${template}")
  set(script "${_tenon_plugin_dir}/TenonPluginManifest.cmake")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${template}" "${script}")
  set(digest "")
  if(TARGET tenon_digest)  # in this tree
    set(digest "${CMAKE_CROSSCOMPILING_EMULATOR};$<TARGET_FILE:tenon_digest>")
    add_dependencies(${target} tenon_digest)
  endif()
  set(nm "${CMAKE_NM}")
  if(P_RESIDENT)
    set(nm "")
  endif()
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND ${CMAKE_COMMAND} "-DLIBRARY=$<TARGET_FILE:${target}>" "-DTEMPLATE=${template}" "-DNM=${nm}"
            "-DDIGEST=${digest}" -P "${script}")
  if(NOT P_NO_INSTALL)
    set(folder "${CMAKE_INSTALL_LIBDIR}/tenon")
    install(TARGETS ${target} LIBRARY DESTINATION "${folder}" COMPONENT plugins)
    # Written again, as --strip changes the library.
    install(CODE "
      set(DIGEST \"${digest}\")
      set(LIBRARY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}/lib${target}.so\")
      set(TEMPLATE \"${template}\")
      include(\"${script}\")" COMPONENT plugins)
  endif()
endfunction()
