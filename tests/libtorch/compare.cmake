# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Runs PROGRAM in the folder WORK and compares what it prints with the file GOLDEN.
file(MAKE_DIRECTORY "${WORK}")
execute_process(COMMAND "${PROGRAM}" WORKING_DIRECTORY "${WORK}" OUTPUT_FILE "${WORK}/out.txt" ERROR_VARIABLE errors
                RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${status}: ${errors}")
endif()
execute_process(COMMAND diff -u "${GOLDEN}" "${WORK}/out.txt" OUTPUT_VARIABLE difference RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the output differs from ${GOLDEN}:\n${difference}")
endif()
