# For find_package(slangad): CMake looks for a package of this spelling here.
include("${CMAKE_CURRENT_LIST_DIR}/SlangadConfig.cmake")
