# How every target of the project is made: one set of flags, one function per kind of target.

add_library(sandbox_warnings INTERFACE)
target_compile_options(sandbox_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align
  -Wnull-dereference -Wimplicit-fallthrough -Werror
  # A designated initializer names what differs from the defaults, also beside members that are strings.
  $<IF:$<CXX_COMPILER_ID:GNU>,-Wno-missing-field-initializers,-Wno-missing-designated-field-initializers>)

add_library(sandbox_flags INTERFACE)
target_link_libraries(sandbox_flags INTERFACE sandbox_warnings)
target_compile_features(sandbox_flags INTERFACE cxx_std_23)
target_compile_options(sandbox_flags INTERFACE -ffunction-sections -fdata-sections)
# Libraries and programs alike, since a precompiled header serves only users of its own code model.
target_compile_options(sandbox_flags INTERFACE -fPIE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # The precompiled header must not depend on when it was made.
  target_compile_options(sandbox_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()
target_compile_definitions(sandbox_flags INTERFACE
  BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_BOOST_COROUTINE BOOST_BEAST_USE_STD_STRING_VIEW
  JSON_USE_IMPLICIT_CONVERSIONS=0)
target_link_options(sandbox_flags INTERFACE -Wl,--gc-sections -Wl,--as-needed)
if(SANDBOX_SANITIZERS)
  target_compile_options(sandbox_flags INTERFACE -fsanitize=${SANDBOX_SANITIZERS} -fno-omit-frame-pointer)
  target_link_options(sandbox_flags INTERFACE -fsanitize=${SANDBOX_SANITIZERS})
  if(SANDBOX_SANITIZERS MATCHES "undefined")
    target_compile_options(sandbox_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()
if(SANDBOX_FUZZ)
  target_compile_options(sandbox_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(SANDBOX_COVERAGE)
  target_compile_options(sandbox_flags INTERFACE -fprofile-instr-generate -fcoverage-mapping)
  target_link_options(sandbox_flags INTERFACE -fprofile-instr-generate)
endif()

# Two precompiled headers, each made once: JSON alone, and JSON with Asio.
function(sandbox_precompiled_header kind header)
  set(target sandbox_pch_${kind})
  set(stub ${CMAKE_BINARY_DIR}/pch/${target}.cpp)
  file(CONFIGURE OUTPUT ${stub} CONTENT "// the home of a precompiled header\n")
  add_library(${target} OBJECT ${stub})
  target_link_libraries(${target} PRIVATE sandbox_flags Boost::headers nlohmann_json::nlohmann_json spdlog::spdlog OpenSSL::SSL Threads::Threads)
  target_precompile_headers(${target} PRIVATE ${header})
  # ccache reads this file in place of the compiled header (CCACHE_PCH_EXTSUM), which holds the folder's name.
  file(SHA256 ${header} sum)
  set(pch ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.pch)
  file(CONFIGURE OUTPUT ${pch}.sum CONTENT
    "${sum} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${SANDBOX_SANITIZERS} ${SANDBOX_FUZZ} ${SANDBOX_COVERAGE} ${Boost_VERSION} ${nlohmann_json_VERSION} ${spdlog_VERSION}\n")
endfunction()
sandbox_precompiled_header(json ${CMAKE_SOURCE_DIR}/scripts/cmake/pch_json.hpp)
sandbox_precompiled_header(asio ${CMAKE_SOURCE_DIR}/scripts/cmake/pch_asio.hpp)

# The dependencies that a precompiled header was built with, so that its flags and its users' agree.
function(sandbox_use_precompiled_header target kind)
  if(NOT kind STREQUAL "none")
    target_link_libraries(${target} PRIVATE Boost::headers nlohmann_json::nlohmann_json spdlog::spdlog OpenSSL::SSL Threads::Threads)
    target_precompile_headers(${target} REUSE_FROM sandbox_pch_${kind})
  endif()
endfunction()

# sandbox_library(NAME SOURCES f... [DEPENDS sandbox::x...] [PRIVATE_DEPENDS y...] [PCH json|asio|none])
# A static library sandbox::NAME with its public headers in include/.
function(sandbox_library name)
  cmake_parse_arguments(A "" "PCH" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(sandbox_${name} STATIC ${A_SOURCES})
  add_library(sandbox::${name} ALIAS sandbox_${name})
  target_include_directories(sandbox_${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(sandbox_${name} PUBLIC ${A_DEPENDS} PRIVATE sandbox_flags ${A_PRIVATE_DEPENDS})
  if(NOT A_PCH)
    set(A_PCH json)
  endif()
  sandbox_use_precompiled_header(sandbox_${name} ${A_PCH})
endfunction()

# sandbox_program(NAME SOURCES f... DEPENDS x... [PCH …])
function(sandbox_program name)
  cmake_parse_arguments(A "" "PCH" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE sandbox_flags ${A_DEPENDS})
  if(NOT A_PCH)
    set(A_PCH none)
  endif()
  sandbox_use_precompiled_header(${name} ${A_PCH})
endfunction()

# One target for each kind of test: ninja -C build/dev unit_tests.
foreach(label unit contract integration e2e)
  add_custom_target(${label}_tests)
endforeach()

# sandbox_test(NAME LABEL unit|contract|integration|e2e SOURCES f... DEPENDS x... [PCH …] [TIMEOUT s] [SERIAL])
# A GoogleTest executable and one CTest test of the same name.
function(sandbox_test name)
  cmake_parse_arguments(A "SERIAL" "LABEL;PCH;TIMEOUT" "SOURCES;DEPENDS" ${ARGN})
  sandbox_program(${name} SOURCES ${A_SOURCES} DEPENDS ${A_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main PCH ${A_PCH})
  add_test(NAME ${name} COMMAND ${name})
  add_dependencies(${A_LABEL}_tests ${name})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 120)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${A_LABEL} TIMEOUT ${A_TIMEOUT})
  if(A_SERIAL)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# sandbox_fuzz_target(NAME SOURCES f... DEPENDS x... [PCH …] [SECONDS s]): only with the fuzz preset.
# A libFuzzer program, and a CTest test that runs it for a while (5 s unless said otherwise) from the corpus and the
# dictionary beside it. What it finds stays in the build folder.
add_custom_target(fuzz_targets)
function(sandbox_fuzz_target name)
  if(NOT SANDBOX_FUZZ)
    return()
  endif()
  cmake_parse_arguments(A "" "SECONDS" "" ${ARGN})
  sandbox_program(${name} ${A_UNPARSED_ARGUMENTS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz_targets ${name})
  if(NOT A_SECONDS)
    set(A_SECONDS 5)
  endif()
  set(found ${CMAKE_BINARY_DIR}/fuzz/${name})
  file(MAKE_DIRECTORY ${found})
  get_filename_component(kind ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  set(dictionary ${CMAKE_CURRENT_SOURCE_DIR}/${kind}.dict)
  if(EXISTS ${dictionary})
    set(dictionary -dict=${dictionary})
  else()
    set(dictionary)
  endif()
  add_test(NAME ${name} COMMAND ${name} -max_total_time=${A_SECONDS} -timeout=10 -verbosity=0
    -artifact_prefix=${found}/ ${dictionary} ${found} ${CMAKE_CURRENT_SOURCE_DIR}/corpus)
  set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT 300)
endfunction()
