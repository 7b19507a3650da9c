# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Writes the next minor of the ABI, as whoever adds to it would: a copy of the headers and of the sources that fill
# tn_host and read the descriptor, with a service, a field of the descriptor and a client function appended.
#   cmake -DABI=abi/include -DCORE=core -DOUT=folder -P next_minor.cmake
function(change file out from to)
  file(READ "${file}" text)
  string(REGEX REPLACE "${from}" "${to}" changed "${text}")
  if(changed STREQUAL text)
    message(FATAL_ERROR "${file} has nothing like '${from}': next_minor.cmake must follow it")
  endif()
  file(WRITE "${out}" "${changed}")
endfunction()

file(MAKE_DIRECTORY "${OUT}")
file(COPY "${ABI}/" DESTINATION "${OUT}/include")
set(abi "${OUT}/include/tenon/abi")
file(STRINGS "${abi}/base.h" line REGEX "^#define TN_ABI_MINOR ")
string(REGEX REPLACE "^#define TN_ABI_MINOR " "" minor "${line}")
math(EXPR next "${minor} + 1")
change("${abi}/base.h" "${abi}/base.h" "#define TN_ABI_MINOR ${minor}" "#define TN_ABI_MINOR ${next}")
change("${abi}/host.h" "${abi}/host.h" "\n} tn_host;" "\n  int32_t (*answer)(void);\n} tn_host;")
change("${abi}/plugin.h" "${abi}/plugin.h" "\n} tn_plugin;" "\n  tn_str (*motto)(void);\n} tn_plugin;")
change("${abi}/client.h" "${abi}/client.h" "\nTN_API tn_status tn_synchronize"
       "\nTN_API int32_t tn_answer(void);\nTN_API tn_status tn_synchronize")
set(host "${CORE}/dispatch/host_services.cpp" "${OUT}/host_services.cpp")
change(${host} "(const tn_host g_host = {[^}]*)};" "\\1, test_answer};")
change("${OUT}/host_services.cpp" "${OUT}/host_services.cpp" "\nnamespace tenon::core {"
       "\nint32_t test_answer();\nnamespace tenon::core {")
change("${CORE}/registry/backend.cpp" "${OUT}/backend.cpp" "\nnamespace tenon::core {"
       "\nextern int g_mottos;\nnamespace tenon::core {")
change("${OUT}/backend.cpp" "${OUT}/backend.cpp" "(register_backend\\(const tn_plugin& plugin[^{]*{)"
       "\\1\n  g_mottos += plugin.motto != nullptr;")
