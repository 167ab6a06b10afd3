/* Shared inside src/data: what is known of each data set, and the steps that bring one here. */
#ifndef FAR_FETCH_INTERNAL_H
#define FAR_FETCH_INTERNAL_H

#include "../data/data_internal.h"

#include <farfield/fetch.h>

#define FAR_PATH_BYTES 4096
#define FAR_SOURCE_FILES 6
#define FAR_SOURCE_ADDRESSES 3
#define FAR_SET_FILES 5
#define FAR_SET_SOURCES 2

/* ---- what is known ---- */

typedef enum far_pack { FAR_PACK_NONE, FAR_PACK_ZIP, FAR_PACK_TAR_GZ, FAR_PACK_GZ } far_pack;

/* A file of an archive that is kept. */
typedef struct far_member {
    const char *path;   /* in the archive; its last part is its name here */
    const char *sha256; /* NULL: not known */
    int64_t bytes;      /* 0: not known */
} far_member;

/* One file to download. */
typedef struct far_source {
    const char *folder;                          /* here, and below a mirror */
    const char *addresses[FAR_SOURCE_ADDRESSES]; /* tried in this order; NULL: no more */
    const char *sha256; /* NULL: of an archive, its members are checked instead; of a file, none
                           is known */
    int64_t bytes;      /* 0: not known */
    far_pack pack;
    far_member members[FAR_SOURCE_FILES]; /* of an archive; path NULL: no more */
} far_source;

/* How the files of a data set become a table. */
typedef enum far_form {
    FAR_FORM_CSV,    /* with a header of its own */
    FAR_FORM_BARE,   /* csv; the names are ours */
    FAR_FORM_BLANKS, /* numbers between blanks; the names are ours */
    FAR_FORM_IDX,    /* images and their labels */
    FAR_FORM_CIFAR   /* label and pixels of an image, one behind the other */
} far_form;

/* about comes first: a far_dataset of the registry is one of these. */
typedef struct far_dataset_entry {
    far_dataset about;
    const char *folder;
    far_form form;
    const char *columns; /* "a,b,c"; NULL: p1, p2, ..., label */
    const char *files[FAR_SET_FILES];
    const far_source *sources[FAR_SET_SOURCES];
} far_dataset_entry;

static inline const far_dataset_entry *far_dataset_entry_of(const far_dataset *set)
{
    return (const far_dataset_entry *)(const void *)set;
}

/* What stands behind the last slash. */
const char *far_last_part(const char *path);

/* ---- paths ---- */

/* Joins with a slash; FAR_ERR_ARG if that is too long. out holds FAR_PATH_BYTES. */
far_status far_path_join(far_ctx *ctx, const char *folder, const char *name, char *out);
/* Where the file of that name is, gzipped or not; false if it is not here. */
bool far_path_find(const char *folder, const char *name, char *out);
/* Makes a folder and those above it. *made: the length of the part of path that was there. */
far_status far_folder_make(far_ctx *ctx, const char *path, size_t *made);
/* Removes again what far_folder_make made, as far as it is empty. */
void far_folder_unmake(const char *path, size_t made);

/* ---- a file on its way ---- */

/* FILE.part, locked. Zero-initialise; close when done. */
typedef struct far_download {
    far_ctx *ctx;
    char path[FAR_PATH_BYTES];
    int fd;
    int64_t size;  /* bytes that are here */
    int64_t most;  /* more are refused */
    int64_t total; /* as far as it is known, for the progress bar */
    int64_t came;  /* over the network, in all */
    bool ranges;   /* the server can send the rest of a file */
    bool broken;   /* the last transfer ended early, and might be taken up again */
    bool resumed;  /* what is here came in more than one transfer */
    bool full;     /* the last transfer failed because it could not be written here */
} far_download;

far_status far_download_open(far_ctx *ctx, const char *path, far_download *d);
/* Appends; on failure d->full is set. */
far_status far_download_put(far_download *d, const void *data, size_t bytes);
/* Forgets what is here. */
far_status far_download_restart(far_download *d);
/* SHA-256 of what is here. */
far_status far_download_hash(far_download *d, char out[65]);
/* keep: as FILE.part. A file that was renamed is not touched. */
void far_download_close(far_download *d, bool keep);

/* "812 bytes", "62.1 MiB" */
#define FAR_BYTES_TEXT 32
const char *far_bytes_text(int64_t bytes, char out[FAR_BYTES_TEXT]);

/* Gets url, from byte d->size on if the server can. FAR_ERR_IO: the message says why, without the
 * name of the data set. */
far_status far_http_get(far_ctx *ctx, const char *url, far_download *d);
/* The host of an address. */
void far_http_host(const char *url, char *out, size_t capacity);

/* ---- what is here against what is known ---- */

/* Whether the file that stands for name may be the publisher's, by its size: true also where that
 * is not known. */
bool far_file_has_size(const far_dataset_entry *set, const char *name, const char *path);

typedef struct far_file_check {
    char path[FAR_PATH_BYTES];
    char wanted[65], found[65]; /* wanted "": no SHA-256 is known */
    bool same;
} far_file_check;

/* SHA-256 of the file that stands for name in folder, as the publisher has it. Where the registry
 * has none it is that of FAR_RECORD_NAME, which lies beside the files of an archive that was
 * verified as a whole, in the form that sha256sum -c reads. */
#define FAR_RECORD_NAME "SHA256SUMS"
far_status far_file_hash(far_ctx *ctx, const far_dataset_entry *set, const char *folder,
                         const char *name, far_file_check *out);
/* FAR_ERR_FORMAT, in words, of a file that is not the same. */
far_status far_file_fail(far_ctx *ctx, const far_file_check *c);
void far_hash_bytes(const void *data, int64_t size, char out[65]);

/* ---- formats ---- */

/* The content of the regular file called path in a tar; *data is NULL if there is none. It borrows
 * from the input. */
far_status far_tar_find(const far_input *in, const char *path, const unsigned char **data,
                        int64_t *size);

/* An idx array of bytes: the first dimension is the rows, all others are the columns. */
far_status far_idx_open(const far_input *in, far_stored *out);

int64_t far_dataset_count(void);

#endif
