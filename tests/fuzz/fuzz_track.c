/* Bytes are the file of a track: as they are, or, where they begin with '=', lines that stand below
 * the right line of names, with the right checksums at their ends ('=s...') or none ('=...'). It is
 * loaded with rows that are sound and saves to what loads to the same, or is refused with one line
 * that starts with the file's name. */
#define _GNU_SOURCE
#include "../../src/data/data_internal.h"
#include "../../src/measure/track.h"

#include <unistd.h>

#include "fuzz.h"

enum { ROWS = 5, INPUTS = 2 };

static far_ctx *ctx;
static far_track *track;
static char path[64], again[80];
static char names[256];

static void make_track(void)
{
    static double values[ROWS * INPUTS], targets[ROWS];
    far_net_opts opts;
    far_track_opts how;
    far_net *net;
    for (int i = 0; i < ROWS * INPUTS; i++) {
        values[i] = sin(i + 1.0);
        targets[i / INPUTS] = cos(i + 1.0);
    }
    far_mat x = far_mat_view(values, ROWS, INPUTS, FAR_F64);
    far_mat y = far_mat_view(targets, ROWS, 1, FAR_F64);
    far_net_opts_init(&opts);
    opts.inputs = INPUTS;
    require(far_net_create(ctx, "dense(3) tanh dense(1)", &opts, &net) == FAR_OK, "a network");
    far_track_opts_init(&how, NULL);
    how.measures = "lmax,kta";
    how.lr = 0.1;
    how.every = 2;
    require(far_track_create(ctx, net, &x, &y, &how, &track) == FAR_OK, "a track is made");
    far_net_destroy(net);
}

static void prepare(void)
{
    far_ctx_opts opts;
    opts = (far_ctx_opts){.size = sizeof opts};
    opts.threads = 1;
    require(far_ctx_create(&opts, &ctx) == FAR_OK, "a context opens");
    make_track();
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(path, sizeof path, "%s/farfield-fuzz-%d", folder, (int)getpid());
    snprintf(again, sizeof again, "%s-again", path);
    for (int64_t j = 0; j < far_track_describe(track).columns; j++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", j > 0 ? "," : "",
                 far_track_describe(track).names[j]);
    }
}

/* ---- files ---- */

/* As the writer does it: each line with the digits of the one above. */
static unsigned long long checksum(char digits[FAR_HASH_TEXT], const void *line, size_t length)
{
    far_sha256 h;
    char first[14];
    far_sha256_init(&h);
    far_sha256_add(&h, line, length);
    far_sha256_add(&h, digits, strlen(digits));
    far_sha256_finish(&h, digits);
    memcpy(first, digits, 13);
    first[13] = 0;
    return strtoull(first, NULL, 16);
}

static void write_lines(FILE *f, const uint8_t *data, size_t size)
{
    bool sealed = size > 0 && *data == 's';
    char digits[FAR_HASH_TEXT] = "";
    checksum(digits, names, strlen(names));
    fprintf(f, "%s%s\n", names, sealed ? ",check" : "");
    for (size_t at = sealed; at < size;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t length = end ? (size_t)(end - data) - at : size - at;
        fwrite(data + at, 1, length, f);
        if (sealed) {
            fprintf(f, ",%llu", checksum(digits, data + at, length));
        }
        fputc('\n', f);
        at += length + 1;
    }
}

static void write_input(const uint8_t *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    require(f != NULL, "the file opens");
    if (size > 0 && *data == '=') {
        write_lines(f, data + 1, size - 1);
    } else if (size > 0) {
        fwrite(data, 1, size, f);
    }
    require(fclose(f) == 0, "the file is written");
}

static size_t read_again(char *out, size_t room)
{
    FILE *f = fopen(again, "rb");
    require(f != NULL, "what was saved is there");
    size_t size = fread(out, 1, room, f);
    fclose(f);
    return size;
}

/* ---- what must hold ---- */

static void check_rows(void)
{
    far_mat t = far_track_describe(track).rows;
    double last = -1;
    for (int64_t i = 0; i < t.rows; i++) {
        const double *row = far_mat_row(&t, i);
        require(row[FAR_TRACK_STEP] > last && isfinite(row[FAR_TRACK_LOSS]),
                "steps rise, losses are finite");
        last = row[FAR_TRACK_STEP];
    }
}

static void check_again(void)
{
    static char first[1 << 16], second[1 << 16];
    require(far_track_save(ctx, track, again) == FAR_OK, "a track is saved");
    size_t size = read_again(first, sizeof first);
    require(far_track_load(ctx, track, again) == FAR_OK, "what was saved loads");
    require(far_track_save(ctx, track, again) == FAR_OK, "and is saved again");
    require(size == read_again(second, sizeof second) && memcmp(first, second, size) == 0,
            "to the same bytes");
    unlink(again);
}

static void check_refusal(far_status st)
{
    const char *message = far_ctx_message(ctx);
    require(st == FAR_ERR_FORMAT || st == FAR_ERR_VALUE || st == FAR_ERR_MEMORY,
            "it is the file's fault");
    require(strncmp(message, path, strlen(path)) == 0, "the message starts with the name");
    check_line(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!ctx) {
        prepare();
    }
    write_input(data, size);
    far_status st = far_track_load(ctx, track, path);
    if (st == FAR_OK) {
        check_rows();
        check_again();
    } else {
        check_refusal(st);
    }
    unlink(path);
    return 0;
}
