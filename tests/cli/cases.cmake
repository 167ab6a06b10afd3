# One test per case: cli/cases/VERB/NAME.sh, see cli/run.sh. What concerns no verb, or several, is
# under cli/cases/command.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT FAR_SANITIZE) # those have their own allocator
  add_library(failing_memory MODULE cli/failing_memory.c)
  add_library(old_openblas MODULE cli/old_openblas.c)
  set(failing_memory ";FARFIELD_OLD_OPENBLAS=$<TARGET_FILE:old_openblas>;FARFIELD_FAILING_MEMORY=$<TARGET_FILE:failing_memory>")
endif()
file(GLOB astray CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cli/cases/*.*)
if(astray)
  message(FATAL_ERROR "${astray}: a case belongs into the folder of its verb")
endif()
file(GLOB cases RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/cli/cases CONFIGURE_DEPENDS
     ${CMAKE_CURRENT_SOURCE_DIR}/cli/cases/*/*.sh)
foreach(case ${cases})
  string(REGEX REPLACE "(.*)/(.*)[.]sh" "\\1_\\2" name ${case})
  if(FAR_SANITIZE AND name MATCHES "^(reproduce_(ln|linear|ella|siren|edge|loss|proteins|faces|keeps|interrupted|resume|sabotaged|sequences|json)|demo|compare_(json|norms_are_bounded|report_in_a_browser)|command_(threads_do_not))")
    continue() # whole experiments and pipelines: too slow under sanitizers, and their parts have tests
  endif()
  add_test(NAME cli_${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cli/run.sh
                                      ${CMAKE_CURRENT_SOURCE_DIR}/cli/cases/${case})
  set_tests_properties(cli_${name} PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300
                       ENVIRONMENT "FARFIELD=$<TARGET_FILE:farfield>${failing_memory}")
  if(name MATCHES "^reproduce_(sabotaged|edge|ella|siren|linear|faces|loss)")
    set_tests_properties(cli_${name} PROPERTIES COST 30) # long ones first: no lane is idle at the end
  endif()
endforeach()
