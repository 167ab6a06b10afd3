/* train --track: measures of the tangent kernel while networks train. */
#ifndef FAR_CLI_TRACKING_H
#define FAR_CLI_TRACKING_H

#include "options.h"

#include <farfield/result.h>
#include <farfield/track.h>

enum { LEVELS_MOST = 16 };

/* A default, as it is typed. */
#define TRACK_METRICS "lmax,kta,align:20"

/* What --track asks for, and what came of it. Zero-initialise; tracking_free is always safe. */
typedef struct tracking {
    bool wanted;
    int64_t every, points;      /* every 0: far_track_every; points 0: all rows */
    char *metrics, *file;       /* file NULL: named after the network */
    char *outputs;              /* trace, full, or a number */
    double levels[LEVELS_MOST]; /* losses to compare at */
    int level_count;
    int64_t count; /* networks */
    far_track **tracks;
    char **files;
    double *x, *y; /* the points, and their targets */
} tracking;

typedef struct training training;
typedef struct report report;

/* Bytes of path before its ending (".safetensors"), if it has one. */
int stem_length(const char *path);

/* Reads the words behind --track; OPTIONS_OK, or EXIT_USAGE with a line on stderr. */
int tracking_read(const char *verb_name, const word_list *list, tracking *k);
/* Names the files and makes a track for every network; those of a run that is resumed have their
 * earlier rows. An exit code, with a line on stderr if it is not 0. */
int tracking_open(training *t);
/* Gives the training its callback. */
void tracking_attach(training *t);
/* Writes all files, also those of runs that were cancelled or diverged. */
int tracking_save(const training *t);
void tracking_free(tracking *k);

/* For people; the fields of one run in JSON; figures of the report. */
void tracking_tell(far_result *r, const training *t);
void tracking_list(far_result *r, const training *t, int64_t run);
void tracking_report(report *r, const training *t);

#endif
