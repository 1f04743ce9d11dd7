# How CMake compiles HiGHS, the only C++ here: sixteen files at once. Its headers are
# large, and to read them once for sixteen files takes a third of the time.
if(NOT CMAKE_HOST_WIN32)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
endif()
