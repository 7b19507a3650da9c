# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# A stand-in of OpenCV for programs that read pictures: opencv2/opencv.hpp beside this file.
add_library(opencv_stand_in INTERFACE)
target_include_directories(opencv_stand_in INTERFACE ${CMAKE_CURRENT_LIST_DIR})
set(OpenCV_INCLUDE_DIRS ${CMAKE_CURRENT_LIST_DIR})
set(OpenCV_LIBS opencv_stand_in)
