# One interface target carries the warnings and sanitizers of our own code.
add_library(far_flags INTERFACE)
target_compile_options(far_flags INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wvla
                                           -Wmissing-prototypes -Wpointer-arith -fno-math-errno)
if(FAR_WERROR)
  target_compile_options(far_flags INTERFACE -Werror)
endif()
if(FAR_SANITIZE)
  target_compile_options(far_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
                                             -fno-omit-frame-pointer)
  target_link_options(far_flags INTERFACE -fsanitize=address,undefined)
endif()
