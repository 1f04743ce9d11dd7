# How CMake compiles HiGHS, the only C++ here: sixteen files at once. Its headers are
# large, and to read them once for sixteen files takes a third of the time.
if(NOT CMAKE_HOST_WIN32)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
endif()

# At -O3 the code of HiGHS is larger than at -O2. The dev profile is for tests, whose
# programmes are small: its largest batch compiles in two thirds of the time.
if("$ENV{OPT_LEVEL}" MATCHES "^[12]$" AND NOT CMAKE_HOST_WIN32)
  set(CMAKE_C_FLAGS_RELEASE "-O$ENV{OPT_LEVEL} -DNDEBUG" CACHE STRING "")
  set(CMAKE_CXX_FLAGS_RELEASE "-O$ENV{OPT_LEVEL} -DNDEBUG" CACHE STRING "")
endif()
