# The same sources as one object library, then as static and shared library.
set(FAR_SOURCES
    src/base/context.c src/base/mat.c src/base/status.c src/base/text.c
    src/arch/arch_parse.c src/arch/arch_print.c src/arch/arch_grammar.c
    src/data/table.c src/data/csv.c src/data/npy.c src/data/npz.c src/data/write.c)

add_library(far_objects OBJECT ${FAR_SOURCES})
target_include_directories(far_objects PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
target_compile_definitions(far_objects PRIVATE FAR_VERSION="${PROJECT_VERSION}")
target_link_libraries(far_objects PRIVATE far_flags OpenMP::OpenMP_C ZLIB::ZLIB PkgConfig::ZIP)
