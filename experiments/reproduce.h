/*
 * Experiments: figures and tables of papers as short programs over the public API. Each is one
 * function; farfield reproduce runs it, keeps its claims, and writes what it made into a folder.
 *
 * The report is put together at the end: verdict, claims, then headings, texts, tables and figures
 * in the order of the calls.
 */
#ifndef FAR_EXPERIMENTS_REPRODUCE_H
#define FAR_EXPERIMENTS_REPRODUCE_H

#include "try.h"

#include <farfield/extras.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

enum { REPRODUCTION_MESSAGE = 512 };

typedef struct experiment experiment;
typedef struct record record; /* what an experiment has kept so far */

/* A run of one experiment. */
typedef struct reproduction {
    far_ctx *ctx;
    far_progress_fn progress; /* that of the context, for waits of our own; may be NULL */
    void *progress_user;
    const char *folder;  /* where files go; exists */
    const char *data;    /* folder with data sets, or NULL */
    bool quick;          /* under a minute, with the claim still tested */
    int64_t seeds;       /* 0: the experiment's own number; see seeds_of */
    int64_t epochs;      /* the same; see epochs_of */
    bool cifar2;         /* linearized: on images of CIFAR-10 */
    const char *images;  /* ln-table2: a folder of photographs, and */
    const char *weights; /* the network that makes features of them; or NULL, both */
    bool resume;         /* go on from what an interrupted run has left in the folder */
    bool quiet;          /* no progress */
    bool silent;         /* claims are not printed as they come */
    const char *command; /* for the report */
    bool sabotage;       /* the mechanism is taken out: no tested claim may hold */
    int claims;          /* all of them */
    int constructed;     /* of these, by construction */
    int failed;
    bool interrupted; /* Ctrl-C: what is done is kept, --resume goes on */
    record *record;
    char message[REPRODUCTION_MESSAGE]; /* of fail */
} reproduction;

struct experiment {
    const char *id;                /* "ln-fig1" */
    const char *title;             /* "Toy predictions far outside the data (Figure 1)" */
    const char *paper;             /* short: authors, year, arXiv */
    const char *needs;             /* data sets, "protein"; NULL: none */
    double quick_seconds, seconds; /* on two cores */
    far_status (*run)(reproduction *r);
    const char *note; /* what the page must say of the paper, or NULL */
};

extern const experiment EXPERIMENTS[];
extern const int EXPERIMENT_COUNT;

typedef enum coverage_state {
    COVERAGE_TESTED,
    COVERAGE_CONSTRUCTED,   /* holds by construction */
    COVERAGE_NOT_DONE,      /* not reproduced */
    COVERAGE_NOT_AVAILABLE, /* to us */
    COVERAGE_STATES
} coverage_state;
extern const char *const COVERAGE_WORDS[COVERAGE_STATES];

/* A figure, a table, a theorem or a section of a paper, and what has become of it. */
typedef struct coverage {
    const char *paper, *part;
    coverage_state state;
    const char *id;   /* the experiment, or NULL */
    const char *note; /* or NULL */
} coverage;
extern const coverage COVERAGE[];
extern const int COVERAGE_COUNT;

/* What is claimed and how it was tested. What the paper states and what we made of it stand apart:
 * paper has its words or numbers and nothing of ours, tested has our thresholds. */
typedef struct claim_of {
    const char *what;
    const char *paper;    /* NULL: it states nothing of the kind */
    const char *place;    /* where it does: "Figure 1", "Theorem 3.2", "abstract" */
    const char *tested;   /* NULL: as stated */
    int64_t seeds;        /* that the number rests on; 0: nothing in it is random */
    bool by_construction; /* would hold whatever the networks do: listed, not counted */
    bool late;            /* what is tested was settled after results were seen */
    bool agrees;
} claim_of;

/* Of statements whose figure or section we have no record of. */
#define UNPLACED "place not recorded"
/* Of the paper on layer norm as a nonlinearity we had the abstract and accounts of its figures. */
#define LNNET_NOT_READ "as told to us, "

/* One line "claim: paper / tested as / ours / agrees", on standard output and in the report. ours:
 * what was found. */
__attribute__((format(printf, 3, 4))) far_status claim(reproduction *r, const claim_of *c,
                                                       const char *ours, ...);
/* folder/NAME.svg, .png and .csv, and the figure in the report. Destroys the figure. */
far_status keep_figure(reproduction *r, far_figure *figure, const char *name, const char *caption);
/* folder/NAME.csv, and the table in the report; cells as in far_page_table. */
far_status keep_table(reproduction *r, const char *name, const char *caption,
                      const char *const *heads, int64_t cols, const char *const *cells,
                      int64_t rows);
/* Words in the report: what the protocol is, what differs from the paper's. */
far_status keep_heading(reproduction *r, const char *text);
__attribute__((format(printf, 2, 3))) far_status keep_text(reproduction *r, const char *format,
                                                           ...);
/* A heading and the first words under it. */
__attribute__((format(printf, 3, 4))) far_status keep_section(reproduction *r, const char *heading,
                                                              const char *format, ...);
/* A line of progress on standard error, if that is a terminal. */
__attribute__((format(printf, 2, 3))) void tell(const reproduction *r, const char *format, ...);
/* A data set: folder/file in r->data, or in the cache of farfield data. FAR_ERR_IO says how to get
 * it. The caller frees the path. */
far_status find_data(reproduction *r, const char *name, char **path);

/* The number that was asked for, else that of the quick or the full form. */
int64_t seeds_of(const reproduction *r, int64_t quick, int64_t full);
int64_t epochs_of(const reproduction *r, int64_t quick, int64_t full);

/* Failures of our own, with a message; those of the library have theirs in the context. */
__attribute__((format(printf, 3, 4))) far_status fail(reproduction *r, far_status status,
                                                      const char *format, ...);

/* Zeroed; free it. Without memory an experiment has nothing left to do: the program ends. */
void *room(int64_t count, size_t size);
#define ROOM(count, type) ((type *)room(count, sizeof(type)))
/* An array of count items with room for one more, which is not zeroed; it may have moved. */
void *room_for_one_more(void *items, int64_t count, size_t size);
/* The same for many more, of an array that room_for_one_more has not made. */
void *room_for_more(void *items, int64_t count, int64_t more, size_t size);
/* A text of its own; free it. */
__attribute__((format(printf, 1, 2))) char *text_of(const char *format, ...);
__attribute__((format(printf, 1, 0))) char *text_of_args(const char *format, va_list args);
/* A text that the run keeps to its end: labels, and what is claimed. Not for side_by_side. */
__attribute__((format(printf, 2, 3))) const char *words(reproduction *r, const char *format, ...);

/* ---- for the command ---- */

/* As claim_of; texts that were not given are NULL. */
typedef struct claim_record {
    char *what, *paper, *place, *tested, *ours;
    int64_t seeds;
    bool by_construction, late, agrees;
} claim_record;

/* "not stated", or what the paper states with its place; tested as, with what is to be known of it
 * (NULL: nothing); "agrees". Free the first two. */
char *claim_paper(const claim_record *c);
char *claim_tested(const claim_record *c);
const char *claim_verdict(const claim_record *c);

/* The experiment of that id, or NULL. */
const experiment *find_experiment(const char *id);
/* Runs it and writes folder/report.html, also of a run that was interrupted or failed half way, if
 * there is anything in it. */
far_status reproduce(reproduction *r, const experiment *e);
/* What went wrong. */
const char *reproduction_message(const reproduction *r);
const claim_record *reproduction_claim(const reproduction *r, int i);
/* The i-th file that was written, as a name in the folder; NULL beyond. */
const char *reproduction_file(const reproduction *r, int i);
void reproduction_close(reproduction *r);

#endif
