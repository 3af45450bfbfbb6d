# Warnings and sanitizers of every target of this tree; what a policy author needs lives in sdk/cmake.

set(PD_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
add_library(pd_warnings INTERFACE)
target_compile_options(pd_warnings INTERFACE ${PD_WARNINGS}
                       $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(PD_WARNINGS_AS_ERRORS)
  target_compile_options(pd_warnings INTERFACE -Werror)
endif()
# Every file of this tree includes by its path from the top ("framework/fleet/fleet.h").
target_include_directories(pd_warnings INTERFACE ${PROJECT_SOURCE_DIR})

if(PD_SANITIZE)
  add_compile_options(-fsanitize=${PD_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PD_SANITIZE})
  if(PD_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Asio has fences, which ThreadSanitizer does not see; what they order, Asio's locks order too.
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)
  endif()
endif()
