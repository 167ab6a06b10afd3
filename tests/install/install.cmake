# What is installed works for others; what is exported is ours; the examples run.
foreach(name kernel network regress)
  add_executable(example_${name} ${CMAKE_SOURCE_DIR}/examples/${name}.c)
  target_link_libraries(example_${name} PRIVATE far_flags farfield_static m)
  add_test(NAME example_${name} COMMAND example_${name})
  set_tests_properties(example_${name} PROPERTIES LABELS example TIMEOUT 60)
endforeach()

add_test(NAME rooms COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/install/rooms.sh ${CMAKE_SOURCE_DIR})
add_test(NAME install_goals COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/install/goals.sh ${CMAKE_SOURCE_DIR})
set_tests_properties(rooms install_goals PROPERTIES LABELS install)

add_executable(example_predictor ${CMAKE_SOURCE_DIR}/examples/predictor.c)
target_link_libraries(example_predictor PRIVATE far_flags farfield_static m)
add_test(NAME example_predictor COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/install/predictor.sh
                                        $<TARGET_FILE:farfield> $<TARGET_FILE:example_predictor>)
set_tests_properties(example_predictor PROPERTIES LABELS example TIMEOUT 60)

# A sanitized library needs the sanitizer's runtime in its user, so these two are for release.
if(NOT FAR_SANITIZE)
  add_test(NAME exported_symbols COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/install/symbols.sh
                                         $<TARGET_FILE:farfield_shared>
                                         $<TARGET_FILE:farfield_extras_shared>)
  add_test(NAME installed_tree COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/install/install.sh
                                       ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
  set_tests_properties(exported_symbols installed_tree
                       PROPERTIES LABELS install SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()
