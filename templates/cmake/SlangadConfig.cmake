# Compile slangad's descriptions as part of a CMake build. `slangad cmake-dir` prints this folder:
#
#   execute_process(COMMAND slangad cmake-dir OUTPUT_VARIABLE Slangad_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
#   find_package(Slangad REQUIRED)
#   slangad_add_library(kernels INPUTS fit.py)                    # C++ for the CPU, to link with
#   slangad_add_shaders(shaders INPUTS fit.py TARGETS spirv wgsl) # files in ${CMAKE_CURRENT_BINARY_DIR}/shaders
#
# OPTIONS are passed on to `slangad compile`. CHECK adds a test for ctest that runs `slangad check` on the inputs.

cmake_minimum_required(VERSION 3.20)

if(NOT SLANGAD_EXECUTABLE)
  find_program(SLANGAD_EXECUTABLE slangad REQUIRED)
endif()

# The manifest is touched each time. Make would touch other outputs with it, and compile what has not changed: they are
# byproducts, which no rule of Make names.
function(_slangad_command folder input byproducts)
  get_filename_component(stem "${input}" NAME_WLE)
  get_filename_component(path "${input}" ABSOLUTE)
  add_custom_command(
    OUTPUT "${folder}/${stem}.manifest.json"
    BYPRODUCTS ${byproducts}
    COMMAND "${SLANGAD_EXECUTABLE}" -q compile "${path}" -o "${folder}" --depfile-target
            "${folder}/${stem}.manifest.json" ${ARGN}
    COMMAND "${CMAKE_COMMAND}" -E touch "${folder}/${stem}.manifest.json"
    DEPENDS "${path}"
    DEPFILE "${folder}/${stem}.d"
    COMMENT "slangad ${input}"
    VERBATIM)
endfunction()

function(_slangad_check target inputs)
  set(paths "")
  foreach(input IN LISTS inputs)
    get_filename_component(path "${input}" ABSOLUTE)
    list(APPEND paths "${path}")
  endforeach()
  add_test(NAME ${target}.check COMMAND "${SLANGAD_EXECUTABLE}" check ${paths})
endfunction()

# Inputs of one name would write the same files.
function(_slangad_refuse_equal_names target inputs)
  set(stems "")
  foreach(input IN LISTS inputs)
    get_filename_component(stem "${input}" NAME_WLE)
    if(stem IN_LIST stems)
      message(FATAL_ERROR "${target} has two inputs called ${stem}. Rename one, or give each a target of its own.")
    endif()
    list(APPEND stems "${stem}")
  endforeach()
endfunction()

# A static library of the kernels, with NAME.slangad.hpp on the include path.
function(slangad_add_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CHECK" "" "INPUTS;OPTIONS")
  _slangad_refuse_equal_names(${target} "${arg_INPUTS}")
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}")
  set(sources "")
  set(manifests "")
  foreach(input IN LISTS arg_INPUTS)
    get_filename_component(stem "${input}" NAME_WLE)
    set(made "${folder}/${stem}.slangad.cpp" "${folder}/${stem}.slangad.hpp")
    _slangad_command("${folder}" "${input}" "${made}" --emit library ${arg_OPTIONS})
    list(APPEND sources ${made})
    list(APPEND manifests "${folder}/${stem}.manifest.json")
  endforeach()
  find_package(Threads REQUIRED)
  add_custom_target(${target}_slangad DEPENDS ${manifests})
  set_source_files_properties(${sources} PROPERTIES GENERATED TRUE)
  add_library(${target} STATIC ${sources})
  add_dependencies(${target} ${target}_slangad)
  target_include_directories(${target} PUBLIC "${folder}")
  target_compile_features(${target} PUBLIC cxx_std_17)
  target_link_libraries(${target} PUBLIC Threads::Threads)
  if(arg_CHECK)
    _slangad_check(${target} "${arg_INPUTS}")
  endif()
endfunction()

# A target that writes Slang, code for TARGETS, headers and manifests. Linked, it has the headers on the include path.
function(slangad_add_shaders target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CHECK" "" "INPUTS;TARGETS;OPTIONS")
  _slangad_refuse_equal_names(${target} "${arg_INPUTS}")
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}")
  set(flags --emit slang --emit artefacts --emit header ${arg_OPTIONS})
  foreach(name IN LISTS arg_TARGETS)
    list(APPEND flags -t ${name})
  endforeach()
  set(manifests "")
  foreach(input IN LISTS arg_INPUTS)
    get_filename_component(stem "${input}" NAME_WLE)
    _slangad_command("${folder}" "${input}" "${folder}/${stem}.slangad.hpp" ${flags})
    list(APPEND manifests "${folder}/${stem}.manifest.json")
  endforeach()
  add_library(${target} INTERFACE ${manifests})
  target_include_directories(${target} INTERFACE "${folder}")
  if(arg_CHECK)
    _slangad_check(${target} "${arg_INPUTS}")
  endif()
endfunction()
