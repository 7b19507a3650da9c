# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Writes the manifest of LIBRARY beside it, from TEMPLATE and the file's hash: what the program DIGEST says, or its
# SHA-256. With NM it also refuses a library that registers destructors of threads. Run by tenon_add_plugin() after linking and after installing.
cmake_minimum_required(VERSION 3.22)  # a list keeps its empty elements
if(NM)
  execute_process(COMMAND "${NM}" -D --undefined-only "${LIBRARY}" OUTPUT_VARIABLE imports RESULT_VARIABLE failed)
  if(NOT failed AND imports MATCHES "__cxa_thread_atexit")
    file(REMOVE "${LIBRARY}")
    message(FATAL_ERROR "${LIBRARY} has a thread_local object with a destructor (it imports __cxa_thread_atexit): while "
                        "a thread that used it lives, the library cannot be unloaded. Give the object no destructor.")
  endif()
endif()
if(DIGEST)
  list(REMOVE_ITEM DIGEST "")  # no emulator
  execute_process(COMMAND ${DIGEST} "${LIBRARY}" OUTPUT_VARIABLE digest RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${LIBRARY}: ${DIGEST} failed")
  endif()
  set(hash "\"digest\": \"${digest}\"")
else()
  file(SHA256 "${LIBRARY}" sha256)
  set(hash "\"sha256\": \"${sha256}\"")
endif()
string(REGEX REPLACE "\\.so$" ".json" manifest "${LIBRARY}")
configure_file("${TEMPLATE}" "${manifest}" @ONLY)
