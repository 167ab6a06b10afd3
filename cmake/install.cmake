# The libraries, headers, pkg-config file, CMake package, man page and shell completions.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS farfield RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS farfield_shared farfield_extras_shared EXPORT farfieldTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS farfield_static farfield_extras_static EXPORT farfieldStaticTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/farfield DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")

# The paths in the pkg-config file hang on its own place, so that the tree can be moved.
file(RELATIVE_PATH FAR_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
foreach(name farfield farfield-extras)
  configure_file(cmake/${name}.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
endforeach()
install(FILES ${CMAKE_BINARY_DIR}/farfield.pc ${CMAKE_BINARY_DIR}/farfield-extras.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(FAR_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/farfield)
configure_package_config_file(cmake/farfieldConfig.cmake.in
                              ${CMAKE_BINARY_DIR}/farfieldConfig.cmake
                              INSTALL_DESTINATION ${FAR_PACKAGE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/farfieldConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/farfieldConfig.cmake
              ${CMAKE_BINARY_DIR}/farfieldConfigVersion.cmake DESTINATION ${FAR_PACKAGE_DIR})
install(EXPORT farfieldTargets NAMESPACE farfield:: DESTINATION ${FAR_PACKAGE_DIR})
install(EXPORT farfieldStaticTargets NAMESPACE farfield:: DESTINATION ${FAR_PACKAGE_DIR})

install(FILES docs/man/farfield.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES completions/farfield.bash RENAME farfield
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES completions/_farfield DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES completions/farfield.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
