/* What an experiment has kept so far, for the report at the end. */
#ifndef FAR_EXPERIMENTS_REPRODUCE_RECORD_H
#define FAR_EXPERIMENTS_REPRODUCE_RECORD_H

#include "reproduce.h"

typedef enum part_kind { PART_HEADING, PART_TEXT, PART_FIGURE, PART_TABLE } part_kind;

typedef struct part {
    part_kind kind;
    char *name; /* of the files, without ending */
    char *text; /* or the caption */
    far_figure *figure;
    char **heads, **cells;
    int64_t cols, rows;
} part;

struct record {
    part *parts;
    int64_t part_count;
    claim_record *claims; /* as many as the reproduction counts */
    char **files;
    int64_t file_count;
};

/* Notes a file of the folder, NAME and ENDING, as written. */
void record_file(record *k, const char *name, const char *ending);

#endif
