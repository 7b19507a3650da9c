# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# tenon_unity(TARGET [ALONE FOLDER...]): headers are read, and what they define is instantiated, once for up to eight
# sources of a folder, which halves the time to compile. The presets asan and tidy set CMAKE_UNITY_BUILD to OFF, so that
# each file is known to include what it needs. Files of the folders ALONE are left out, and by CMake those with compile
# options or definitions of their own. Call it after the target has all its sources; for one that is compiled without
# the precompiled headers of its target set SKIP_UNITY_BUILD_INCLUSION, too.
function(tenon_unity target)
  if(DEFINED CMAKE_UNITY_BUILD)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" ALONE)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(NOT source MATCHES "[.]cpp$")
      continue()
    endif()
    get_filename_component(folder "${source}" DIRECTORY)
    get_filename_component(name "${folder}" NAME)
    if(name IN_LIST arg_ALONE)
      continue()
    endif()
    string(MAKE_C_IDENTIFIER "_${name}" name)
    list(APPEND files${name} "${source}")
    list(LENGTH files${name} n)
    math(EXPR n "(${n} - 1) / 8")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "sources${name}_${n}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
