# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# The square: cores and plugins of the kept snapshot, of today and of a next minor, each plugin in each core.
# The snapshot (tests/abi/snapshot.tar.xz) is remade by ./dev abi-snapshot.
set(square "${CMAKE_CURRENT_SOURCE_DIR}/square")
set(built "${CMAKE_BINARY_DIR}/tests/abi")
set(kept "${built}/kept")
set(next "${built}/next")
set(gen_sdk "${CMAKE_BINARY_DIR}/gen/sdk")

set(archive "${CMAKE_CURRENT_SOURCE_DIR}/snapshot.tar.xz")
add_custom_command(OUTPUT "${kept}/layout.golden" "${kept}/include/tenon/abi/plugin.h"
                   COMMAND "${CMAKE_COMMAND}" -E rm -rf "${kept}"
                   COMMAND "${CMAKE_COMMAND}" -E make_directory "${kept}"
                   COMMAND "${CMAKE_COMMAND}" -E chdir "${kept}" "${CMAKE_COMMAND}" -E tar xf "${archive}"
                   COMMAND "${CMAKE_COMMAND}" -E touch "${kept}/layout.golden" "${kept}/include/tenon/abi/plugin.h"
                   DEPENDS "${archive}" VERBATIM)
add_custom_target(abi_kept DEPENDS "${kept}/layout.golden")
set(core "${PROJECT_SOURCE_DIR}/core")
set(core_changed "${core}/registry/backend.cpp" "${core}/dispatch/host_services.cpp")
add_custom_command(OUTPUT "${next}/backend.cpp" "${next}/host_services.cpp"
                   COMMAND "${CMAKE_COMMAND}" "-DABI=${abi_include}" "-DCORE=${core}" "-DOUT=${next}"
                           -P "${square}/next_minor.cmake"
                   DEPENDS ${header_files} ${core_changed} "${square}/next_minor.cmake" VERBATIM)
add_custom_target(abi_next DEPENDS "${next}/backend.cpp" "${next}/host_services.cpp")

# square_plugin(NAME INCLUDE_DIR [definition ...])
function(square_plugin name)
  cmake_parse_arguments(P "" "HEADERS" "INCLUDE;DEFINE" ${ARGN})
  add_library(abi_square_${name} MODULE "${square}/plugin.c")
  set_target_properties(abi_square_${name} PROPERTIES PREFIX lib OUTPUT_NAME tenon_square_${name}
    LIBRARY_OUTPUT_DIRECTORY "${built}" C_VISIBILITY_PRESET hidden SKIP_BUILD_RPATH ON)
  target_include_directories(abi_square_${name} PRIVATE ${P_INCLUDE})
  target_compile_definitions(abi_square_${name} PRIVATE ${P_DEFINE})
  add_dependencies(abi_square_${name} ${P_HEADERS})
endfunction()
square_plugin(today HEADERS tenon_operators INCLUDE "${abi_include}" "${gen_sdk}")
square_plugin(kept_headers HEADERS abi_kept INCLUDE "${kept}/include")
square_plugin(next HEADERS "abi_next;tenon_operators" INCLUDE "${next}/include" "${gen_sdk}")
square_plugin(next_only HEADERS "abi_next;tenon_operators" INCLUDE "${next}/include" "${gen_sdk}" DEFINE TN_ABI_TARGET_MINOR=1)

foreach(client today kept)
  add_executable(abi_square_client_${client} "${square}/client.c")
  target_link_libraries(abi_square_client_${client} PRIVATE ${CMAKE_DL_LIBS})
endforeach()
target_include_directories(abi_square_client_today PRIVATE "${abi_include}")
target_include_directories(abi_square_client_kept PRIVATE "${kept}/include")
add_dependencies(abi_square_client_kept abi_kept)

# Core's objects, some of them recompiled.
function(core_with name pattern)
  add_library(${name} MODULE ${ARGN})
  set_target_properties(${name} PROPERTIES PREFIX lib LIBRARY_OUTPUT_DIRECTORY "${built}")
  foreach(property INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_OPTIONS)
    set_property(TARGET ${name} PROPERTY ${property} "$<TARGET_PROPERTY:tenon_core,${property}>")
  endforeach()
  target_link_libraries(${name} PRIVATE "$<FILTER:$<TARGET_OBJECTS:tenon_core>,EXCLUDE,/(${pattern})\\.cpp\\.o$>"
                        Threads::Threads ${CMAKE_DL_LIBS})
  add_dependencies(${name} tenon_core)
endfunction()
set(loader "${PROJECT_SOURCE_DIR}/plugins")
core_with(abi_core_next "backend|host_services|c_api|handshake|manifest|open" "${next}/backend.cpp"
          "${next}/host_services.cpp" "${core}/dispatch/c_api.cpp"
          "${loader}/handshake.cpp" "${loader}/manifest.cpp" "${loader}/open.cpp" "${square}/answer.cpp")
target_include_directories(abi_core_next BEFORE PRIVATE "${next}/include")
add_dependencies(abi_core_next abi_next)
core_with(abi_debug_core "c_api" "${core}/dispatch/c_api.cpp" "${square}/interface.c")
target_include_directories(abi_debug_core PRIVATE "${abi_include}")
target_compile_options(abi_debug_core PRIVATE -g)
target_link_options(abi_debug_core PRIVATE "LINKER:--version-script=${square}/c_only.map")

set(core_kept "${kept}/libtenon_core.so")
set(core_today "$<TARGET_FILE:tenon_core>")
set(core_next "$<TARGET_FILE:abi_core_next>")
set(plugin_kept "${kept}/libtenon_square.so")
foreach(name today kept_headers next next_only)
  set(plugin_${name} "$<TARGET_FILE:abi_square_${name}>")
endforeach()
foreach(c kept today next)
  foreach(p kept kept_headers today next next_only)
    set(more "")
    if("${p}" STREQUAL "next_only" AND NOT "${c}" STREQUAL "next")
      set(more refused "it needs a newer core")
    elseif("${c}" STREQUAL "next" AND "${p}" MATCHES "next")
      set(more answers 142)
    elseif("${c}" STREQUAL "next")
      set(more answers 42)
    endif()
    foreach(client today kept)
      add_test(NAME abi.square.core_${c}.plugin_${p}.client_${client}
               COMMAND abi_square_client_${client} "${core_${c}}" "${plugin_${p}}" ${more})
    endforeach()
  endforeach()
endforeach()

add_test(NAME abi.kept_layout COMMAND sh "${square}/kept_layout.sh" "${kept}/layout.golden" "${golden}")
find_program(TENON_ABIDIFF abidiff)
if(TENON_ABIDIFF)
  add_test(NAME abi.abidiff COMMAND "${TENON_ABIDIFF}" "${kept}/core.abi" $<TARGET_FILE:abi_debug_core>)
else()
  add_test(NAME abi.abidiff COMMAND sh -c "echo 'abidiff is missing: ./dev setup installs it (abigail-tools)'; exit 1")
endif()
