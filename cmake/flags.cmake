# Interface targets carry the warnings and sanitizers of our own code.
add_library(far_warnings INTERFACE)
target_compile_options(far_warnings INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wvla
                                              -Wmissing-prototypes -Wpointer-arith -fno-math-errno)
if(FAR_WERROR)
  target_compile_options(far_warnings INTERFACE -Werror)
endif()
add_library(far_flags INTERFACE)
target_link_libraries(far_flags INTERFACE far_warnings)
if(FAR_SANITIZE)
  target_compile_options(far_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
                                             -fno-omit-frame-pointer)
  target_link_options(far_flags INTERFACE -fsanitize=address,undefined)
endif()

# far_inner_flags(TARGET ISA): for a source that is compiled once per instruction set. Undefined
# behaviour is that of the source, so one of them is watched for it, all of them for addresses.
function(far_inner_flags target isa)
  if(FAR_SANITIZE AND NOT isa STREQUAL baseline)
    target_link_libraries(${target} PRIVATE far_warnings)
    target_compile_options(${target} PRIVATE -fsanitize=address -fno-omit-frame-pointer)
  else()
    target_link_libraries(${target} PRIVATE far_flags)
  endif()
endfunction()
