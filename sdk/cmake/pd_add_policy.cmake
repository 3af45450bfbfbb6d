# pd_add_policy(NAME SOURCES file...)
#
# Builds libpd_NAME.so, a policy plugin: one exported symbol, nothing undefined, hardened, no RPATH, dynamic TLS only
# (static TLS is a small pool of the process that reloads use up), and floating point as the standard says.
set(PD_SDK_VERSION_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/pd_plugin.map)

function(pd_add_policy name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "pd_add_policy(${name}): SOURCES is missing")
  endif()
  if(CMAKE_CXX_FLAGS MATCHES "-ffast-math|-Ofast" OR CMAKE_C_FLAGS MATCHES "-ffast-math|-Ofast")
    message(WARNING "pd_add_policy(${name}): -ffast-math is switched off for policies, which must tell NaN from numbers")
  endif()

  add_library(pd_${name} MODULE ${arg_SOURCES})
  target_link_libraries(pd_${name} PRIVATE pd::sdk)
  set_target_properties(pd_${name} PROPERTIES
    PREFIX "lib" OUTPUT_NAME pd_${name}
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON SKIP_BUILD_RPATH ON SKIP_INSTALL_RPATH ON
    LINK_DEPENDS ${PD_SDK_VERSION_SCRIPT})
  target_compile_options(pd_${name} PRIVATE -fno-fast-math -ftls-model=global-dynamic
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fno-gnu-unique>)
  target_link_options(pd_${name} PRIVATE
    -Wl,--version-script=${PD_SDK_VERSION_SCRIPT}
    -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack -Wl,--build-id)
  if(NOT PD_SANITIZE)
    # A sanitizer's runtime is provided by the executable, so its symbols are undefined here.
    target_link_options(pd_${name} PRIVATE -Wl,-z,defs)
  endif()
endfunction()
