/* farfield/extras.h: the core, and what libfarfield-extras adds to it: results, figures and report
 * pages of them, statistics, grey pictures as tables, data sets by name and their download. */
#ifndef FARFIELD_EXTRAS_H
#define FARFIELD_EXTRAS_H

#include <farfield/farfield.h>
#include <farfield/fetch.h>
#include <farfield/image.h>
#include <farfield/plot.h>
#include <farfield/result.h>

#endif
