/* --layers: which layers of a network are meant. */
#ifndef FAR_CLI_LAYERS_H
#define FAR_CLI_LAYERS_H

#include "cli.h"

/* From a list like 1,3 (the layers with weights, from 1; -1 is the last) one byte a layer, to be
 * freed. Returns an exit code, with a line on stderr if it is not 0. */
int layers_read(const char *verb_name, const char *list, int64_t layers, unsigned char **out);

#endif
