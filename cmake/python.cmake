# What the Python package holds beside its own files: the library, with figures, and the declarations
# of its functions. python/farfield has the rest. In a build for tests the library alone is made.
add_library(farfield_python MODULE $<TARGET_OBJECTS:far_objects> ${FAR_TILE_OBJECTS}
                                   $<TARGET_OBJECTS:far_report_objects>)
set_target_properties(farfield_python PROPERTIES OUTPUT_NAME farfield LINKER_LANGUAGE C
                                                 LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python)
target_link_libraries(farfield_python PRIVATE ${FAR_LIBRARIES})
if(NOT FAR_PYTHON)
  return()
endif()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
file(GLOB FAR_HEADERS ${CMAKE_SOURCE_DIR}/include/farfield/*.h)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/_cdef.py
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/python/cdef.py ${CMAKE_C_COMPILER}
          ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/_cdef.py
  DEPENDS ${CMAKE_SOURCE_DIR}/python/cdef.py ${FAR_HEADERS}
  VERBATIM)
add_custom_target(farfield_cdef DEPENDS ${CMAKE_BINARY_DIR}/_cdef.py)
add_dependencies(farfield_python farfield_cdef)
install(TARGETS farfield_python LIBRARY DESTINATION farfield COMPONENT python)
install(FILES ${CMAKE_BINARY_DIR}/_cdef.py DESTINATION farfield COMPONENT python)
