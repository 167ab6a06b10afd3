/* farfield/farfield.h: the public API of the core. Start at base.h, then kernel.h, model.h,
 * certify.h. Figures, pages, pictures and downloads: extras.h. */
#ifndef FARFIELD_H
#define FARFIELD_H

#include <farfield/arch.h>
#include <farfield/base.h>
#include <farfield/certify.h>
#include <farfield/columns.h>
#include <farfield/compare.h>
#include <farfield/data.h>
#include <farfield/frame.h>
#include <farfield/kernel.h>
#include <farfield/laplace.h>
#include <farfield/lnnet.h>
#include <farfield/measure.h>
#include <farfield/model.h>
#include <farfield/net.h>
#include <farfield/nonlinear.h>
#include <farfield/ntk.h>
#include <farfield/predictor.h>
#include <farfield/score.h>
#include <farfield/solve.h>
#include <farfield/track.h>
#include <farfield/train.h>

#endif
