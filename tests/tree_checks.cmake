# Tests of the tree itself: style, and the configuration that docs and operators start from.

foreach(part format layers)
  add_test(NAME style.${part} COMMAND ${PROJECT_SOURCE_DIR}/tests/check_style.sh --${part})
  set_tests_properties(style.${part} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()

# The example names the folder of an installation; here the policies stand in the build folder.
set(PD_EXAMPLE_CONFIGURATION ${PROJECT_SOURCE_DIR}/examples/configurations/pd.toml)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PD_EXAMPLE_CONFIGURATION})
file(READ ${PD_EXAMPLE_CONFIGURATION} example)
string(REPLACE "\"/usr/lib/pd/plugins\"" "\"${PROJECT_BINARY_DIR}/plugins\"" checked "${example}")
if(checked STREQUAL example)
  message(FATAL_ERROR "examples/configurations/pd.toml no longer names /usr/lib/pd/plugins")
endif()
file(WRITE ${PROJECT_BINARY_DIR}/configurations/pd.toml "${checked}")
add_test(NAME examples.configuration_is_accepted
  COMMAND pd-host check --config ${PROJECT_BINARY_DIR}/configurations/pd.toml)
# The check can fail: the same file with one misspelt key is refused, by name.
string(REPLACE "min_spread = 8" "min_spraed = 8" misspelt "${checked}")
file(WRITE ${PROJECT_BINARY_DIR}/configurations/misspelt.toml "${misspelt}")
add_test(NAME examples.misspelt_configuration_is_refused
  COMMAND pd-host check --config ${PROJECT_BINARY_DIR}/configurations/misspelt.toml)
set_tests_properties(examples.misspelt_configuration_is_refused PROPERTIES
  PASS_REGULAR_EXPRESSION "min_spraed.*min_spread")

# The unit tests that have threads, on their own: what ThreadSanitizer looks at in continuous integration.
if(PD_SANITIZE MATCHES "thread")
  file(GLOB_RECURSE unit_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/*_test.cpp)
  set(threaded_tests "")
  foreach(test ${unit_tests})
    file(STRINGS ${test} threads REGEX "std::(jthread|thread|async)" LIMIT_COUNT 1)
    if(threads AND test MATCHES "/unit/(load|prefix)/")
      list(APPEND threaded_tests ${test})
    endif()
  endforeach()
  add_executable(pd_concurrency_tests EXCLUDE_FROM_ALL ${threaded_tests})
  target_link_libraries(pd_concurrency_tests PRIVATE pd_framework GTest::gmock_main PkgConfig::xxhash)
  gtest_discover_tests(pd_concurrency_tests DISCOVERY_MODE PRE_TEST TEST_PREFIX threads.)
endif()
