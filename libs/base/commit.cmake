cmake_minimum_required(VERSION 3.25)

# Writes OUTPUT with the shortened commit of SOURCE_DIR, "unknown" where that is no checkout of its own.
set(commit "unknown")
find_program(git git)
if(git)
  execute_process(COMMAND ${git} -C ${SOURCE_DIR} rev-parse --show-toplevel
    OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    file(REAL_PATH "${top}" top)
    file(REAL_PATH "${SOURCE_DIR}" source)
    # An unpacked archive inside somebody's repository must not show that repository's commit.
    if(top STREQUAL source)
      execute_process(COMMAND ${git} -C ${SOURCE_DIR} rev-parse --short=12 HEAD
        OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
      if(NOT failed)
        set(commit ${found})
      endif()
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#pragma once\n\n#define SANDBOX_COMMIT \"@commit@\"\n" @ONLY)
