/* What an experiment has kept so far, for the report at the end. */
#ifndef FAR_EXPERIMENTS_REPRODUCE_RECORD_H
#define FAR_EXPERIMENTS_REPRODUCE_RECORD_H

#include "reproduce.h"

struct record {
    far_result *result;   /* headings, texts, tables and figures, in the order of the calls */
    int64_t tables;       /* in it */
    claim_record *claims; /* as many as the reproduction counts */
    char **files;
    int64_t file_count;
    char **words;
    int64_t word_count;
};

/* Notes a file of the folder, NAME and ENDING, as written. */
void record_file(record *k, const char *name, const char *ending);

#endif
