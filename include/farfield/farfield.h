/* farfield/farfield.h: the whole public API. Start at base.h, then arch.h, data.h, kernel.h. */
#ifndef FARFIELD_H
#define FARFIELD_H

#include <farfield/arch.h>
#include <farfield/base.h>
#include <farfield/data.h>
#include <farfield/kernel.h>

#endif
