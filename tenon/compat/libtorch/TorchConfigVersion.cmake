# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# find_package(Torch 2.3): the libtorch whose frontend this is. Like libtorch, it serves those that ask for an older one.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/torch/macros.h" PACKAGE_VERSION REGEX "define TORCH_VERSION ")
string(REGEX REPLACE ".*\"([0-9.]+).*" "\\1" PACKAGE_VERSION "${PACKAGE_VERSION}")
if(PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
