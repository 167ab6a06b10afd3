/*
 * farfield/fetch.h: published data sets by name: from their publishers into a folder, and from
 * there as tables.
 *
 * Data sets lie in a folder of the user's, each in one of its own: the folder that is asked for,
 * else FARFIELD_DATA, else XDG_CACHE_HOME/farfield, else HOME/.cache/farfield. A file stands there
 * under its own name only once it is whole and its SHA-256 is the one that is known; until then it
 * is NAME.part.
 */
#ifndef FARFIELD_FETCH_H
#define FARFIELD_FETCH_H

#include <farfield/frame.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is known of a data set; belongs to the library, for ever. */
typedef struct far_dataset {
    const char *name;    /* "protein" */
    const char *title;   /* as the publisher calls it */
    const char *purpose; /* what it is good for, in a few words */
    const char *target;  /* the column that is predicted as a rule */
    const char *shift; /* rows that lie out of the range of the others, as an expression; or NULL */
    const char *page;  /* the publisher's address for people */
    int64_t rows, cols; /* of the table, the target among the columns */
    int64_t bytes;      /* of its files once they are here */
} far_dataset;

/* The i-th of them, from 0; NULL beyond. */
FAR_API const far_dataset *far_dataset_at(int64_t i);
/* The one of that name, or NULL. */
FAR_API const far_dataset *far_dataset_find(const char *name);

/* The folder that data sets lie in, into out (capacity bytes): folder, unless it is NULL; it need
 * not exist. FAR_ERR_ARG: none of the variables above is set, or the path is too long. */
FAR_API FAR_NODISCARD far_status far_dataset_folder(far_ctx *ctx, const char *folder, char *out,
                                                    size_t capacity);

typedef enum far_dataset_state {
    FAR_DATASET_ABSENT = 0,
    FAR_DATASET_BEGUN = 1, /* part of it is downloaded: far_dataset_get goes on from there */
    FAR_DATASET_HERE = 2,
    FAR_DATASET_OTHER = 3 /* here, but a file has not the size of the publisher's: another edition,
                             kept unverified, or damaged */
} far_dataset_state;

/* Whether the data set is here, judged by the names and sizes of its files, and its path (capacity
 * bytes): of its file, or of the folder of its files if they are several; where it would be if it
 * is not here. A file may be gzipped or not, whatever the publisher does. folder as above. */
FAR_API FAR_NODISCARD far_status far_dataset_where(far_ctx *ctx, const far_dataset *set,
                                                   const char *folder, far_dataset_state *state,
                                                   char *path, size_t capacity);

typedef struct far_fetch_opts {
    size_t size;        /* sizeof(far_fetch_opts); all other defaults are 0 */
    const char *folder; /* default NULL: as above */
    const char *mirror; /* an http, https or file address to take the files from, as
                           MIRROR/FOLDER/FILE, instead of the publishers'. Default NULL:
                           FARFIELD_DATA_URL if it is set */
    int32_t unverified; /* 1: keep also files whose SHA-256 is not the known one */
} far_fetch_opts;

/* What far_dataset_get did. */
typedef struct far_fetch_report {
    int64_t bytes;    /* that came over the network; 0: the data set was here */
    int32_t resumed;  /* 1: a download that had been begun was finished */
    int32_t verified; /* 1: every file has the SHA-256 that is known */
    char from[256];   /* the host it came from, "" if it was here */
    char file[256]; /* of the first file that is not verified: its name and its SHA-256; else "" */
    char sha256[65];
} far_fetch_report;

/* Downloads a data set, checks and unpacks it; one that is here is verified. Redirects are
 * followed, a connection that breaks is taken up again where it broke, proxies (http_proxy,
 * https_proxy) and certificates are the system's (or those of CURL_CA_BUNDLE or SSL_CERT_FILE).
 * opts may be NULL, and report, too. Calls the progress function with bytes. On failure nothing is
 * left behind, but for what the next call can go on from: of a download that broke or was
 * cancelled, from a server that can send the rest; the message then says so. FAR_ERR_IO: no
 * network, no such file there, no room or permission here; a build without libcurl. FAR_ERR_FORMAT:
 * a SHA-256 that is not the known one (the message has both; a file that was here is left alone), a
 * damaged archive. FAR_ERR_CANCELLED. */
FAR_API FAR_NODISCARD far_status far_dataset_get(far_ctx *ctx, const far_dataset *set,
                                                 const far_fetch_opts *opts,
                                                 far_fetch_report *report);

/* Reads every file of a data set that is here, and compares its SHA-256 (of its content, where it
 * is gzipped here and not at the publisher's) with the one that is known. FAR_OK: they are the
 * same. FAR_ERR_FORMAT: one is not, or none is known; the message has the path. FAR_ERR_IO: it is
 * not here, or cannot be read. */
FAR_API FAR_NODISCARD far_status far_dataset_verify(far_ctx *ctx, const far_dataset *set,
                                                    const char *folder);

/* Reads a data set that is here as a table of numbers with column names. Images are one row each:
 * p1, p2, ... are their bytes in the publisher's order, and label is the last column.
 * FAR_ERR_IO: it is not here; FAR_ERR_FORMAT and others: as far_frame_read. */
FAR_API FAR_NODISCARD far_status far_dataset_read(far_ctx *ctx, const far_dataset *set,
                                                  const char *folder, far_frame **out);

#ifdef __cplusplus
}
#endif
#endif
