# HiGHS for a 32-bit ARM, by Debian's cross compiler.
include("${CMAKE_CURRENT_LIST_DIR}/highs.cmake")
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-linux-gnueabihf-gcc)
set(CMAKE_CXX_COMPILER arm-linux-gnueabihf-g++)
# The program is linked statically, but HiGHS comes with a shared library that nothing here loads.
foreach(language C CXX)
  string(REPLACE "-static" "" flags "${CMAKE_${language}_FLAGS}")
  set(CMAKE_${language}_FLAGS "${flags}" CACHE STRING "" FORCE)
endforeach()
