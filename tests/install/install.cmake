# What is installed works for others; what is exported is ours; the examples run.
add_executable(example_kernel ${CMAKE_SOURCE_DIR}/examples/kernel.c)
target_link_libraries(example_kernel PRIVATE far_flags farfield_static)
add_test(NAME example_kernel COMMAND example_kernel)
set_tests_properties(example_kernel PROPERTIES LABELS example TIMEOUT 60)

# A sanitized library needs the sanitizer's runtime in its user, so these two are for release.
if(NOT FAR_SANITIZE)
  add_test(NAME exported_symbols COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/install/symbols.sh
                                         $<TARGET_FILE:farfield_shared>)
  add_test(NAME installed_tree COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/install/install.sh
                                       ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
  set_tests_properties(exported_symbols installed_tree
                       PROPERTIES LABELS install SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()
