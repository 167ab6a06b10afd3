/*
 * farfield/arch.h: the architecture language.
 *
 *     [dense(128) ln relu]x3 dense(1)
 *     dense(64) skip(ln relu dense(64)) dense(1)
 *     dense(128, w=1.5, b=0.05) ln(groups=8, eps=1e-5, affine) leaky_relu(0.1) dense(1)
 *
 * One text describes a network; at infinite width it is read as a kernel (farfield/kernel.h), where
 * widths may be left out. far_arch_grammar() is the full description, with every default.
 */
#ifndef FARFIELD_ARCH_H
#define FARFIELD_ARCH_H

#include <farfield/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* text in canonical form (far_text_free it): single blanks, defaults left out, arguments in a fixed
 * order, numbers in the fewest digits that read back to the same double. layers: how many there are
 * once repetitions are written out; a skip counts its body. Either may be NULL. FAR_ERR_PARSE: the
 * message holds the column, the text with a caret line under the place, and what was expected
 * (three lines). Cost: O(length). */
FAR_API FAR_NODISCARD far_status far_arch_canonical(far_ctx *ctx, const char *text, char **out,
                                                    int64_t *layers);

/* The grammar, all layers, arguments and their live defaults, and examples, as text. */
FAR_API const char *far_arch_grammar(void);

#ifdef __cplusplus
}
#endif
#endif
