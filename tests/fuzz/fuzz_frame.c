/* Any bytes, as a file, either read as a frame whose parts agree, and which, if it was csv,
 * survives being written and read again, or fail with a message of one line that starts with the
 * name. */
#define _GNU_SOURCE
#include "../../src/data/frame_internal.h"

#include "fuzz.h"

#define MAX_WRITTEN 10000 /* values; larger frames are not written again */

/* ---- one frame ---- */

static void check_words(const far_frame *f, int64_t j)
{
    const int32_t *codes = far_frame_column(f, j).codes;
    int64_t missing = 0, levels = far_frame_column(f, j).level_count;
    require(codes && !far_frame_column(f, j).numbers, "words have codes alone");
    for (int64_t i = 0; i < far_frame_rows(f); i++) {
        require(codes[i] >= -1 && codes[i] < levels, "a code is a level");
        missing += codes[i] < 0;
    }
    for (int64_t i = 1; i < levels; i++) {
        require(strcmp(far_frame_level(f, j, i - 1), far_frame_level(f, j, i)) < 0,
                "levels are sorted");
    }
    require(missing == far_frame_column(f, j).missing, "missing words are counted");
}

static void check_numbers(const far_frame *f, int64_t j)
{
    const double *numbers = far_frame_column(f, j).numbers;
    int64_t missing = 0;
    require(numbers && !far_frame_column(f, j).codes, "numbers have no codes");
    for (int64_t i = 0; i < far_frame_rows(f); i++) {
        require(!isinf(numbers[i]), "no value is infinite");
        missing += isnan(numbers[i]);
    }
    require(missing == far_frame_column(f, j).missing, "missing numbers are counted");
}

static void check_frame(far_ctx *ctx, const far_frame *f)
{
    int64_t cols = far_frame_cols(f), col;
    require(far_frame_rows(f) > 0 && cols > 0, "there are values");
    for (int64_t j = 0; j < cols; j++) {
        require(far_frame_find(ctx, f, far_frame_column(f, j).name, &col) == FAR_OK && col == j,
                "a column is found by its name");
        if (far_frame_column(f, j).kind == FAR_COLUMN_WORD) {
            check_words(f, j);
        } else {
            check_numbers(f, j);
        }
    }
    char digest[65];
    col = cols - 1;
    require(far_frame_hash(ctx, f, &col, 1, NULL, digest) == FAR_OK && strlen(digest) == 64,
            "it has a hash");
}

/* ---- written and read again ---- */

static void write_word(FILE *out, const char *word)
{
    fputc('"', out);
    for (; *word; word++) {
        fprintf(out, *word == '"' ? "\"\"" : "%c", *word);
    }
    fputc('"', out);
}

static void write_cell(FILE *out, const far_frame *f, int64_t i, int64_t j)
{
    const double *numbers = far_frame_column(f, j).numbers;
    const int32_t *codes = far_frame_column(f, j).codes;
    if (numbers ? isnan(numbers[i]) : codes[i] < 0) {
        fprintf(out, "NA");
    } else if (numbers) {
        fprintf(out, "%.17g", numbers[i]);
    } else {
        write_word(out, far_frame_level(f, j, codes[i]));
    }
}

static void write_frame(FILE *out, const far_frame *f)
{
    int64_t cols = far_frame_cols(f);
    for (int64_t j = 0; j < cols; j++) {
        fprintf(out, "h%lld%s", (long long)j, j + 1 < cols ? "," : "\n");
    }
    for (int64_t i = 0; i < far_frame_rows(f); i++) {
        for (int64_t j = 0; j < cols; j++) {
            write_cell(out, f, i, j);
            fputc(j + 1 < cols ? ',' : '\n', out);
        }
    }
}

static void check_same(const far_frame *a, const far_frame *b)
{
    require(far_frame_rows(a) == far_frame_rows(b), "the rows stay");
    require(far_frame_cols(a) == far_frame_cols(b), "the columns stay");
    for (int64_t j = 0; j < far_frame_cols(a); j++) {
        const double *x = far_frame_column(a, j).numbers, *y = far_frame_column(b, j).numbers;
        require(far_frame_column(a, j).kind == far_frame_column(b, j).kind, "the kinds stay");
        require(far_frame_column(a, j).level_count == far_frame_column(b, j).level_count,
                "the levels stay");
        for (int64_t i = 0; i < far_frame_rows(a); i++) {
            require(x ? x[i] == y[i] || (isnan(x[i]) && isnan(y[i]))
                      : far_frame_column(a, j).codes[i] == far_frame_column(b, j).codes[i],
                    "the values stay");
        }
        for (int64_t i = 0; i < far_frame_column(a, j).level_count; i++) {
            require(strcmp(far_frame_level(a, j, i), far_frame_level(b, j, i)) == 0,
                    "the words stay");
        }
    }
}

/* Blanks around a word are not part of it, but in quotes between tabs a tab is. What may be read in
 * two ways, as 1,000, is settled by the commas that the file is written with. */
static int words_keep(const far_frame *f)
{
    for (int64_t j = 0; j < far_frame_cols(f); j++) {
        if (f->columns[j].doubtful) {
            return 0;
        }
        for (int64_t i = 0; i < far_frame_column(f, j).level_count; i++) {
            const char *word = far_frame_level(f, j, i);
            if (*word == '\t' || word[strlen(word) - 1] == '\t') {
                return 0;
            }
        }
    }
    return 1;
}

static void check_again(far_ctx *ctx, const far_frame *f)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    far_frame *again;
    require(out != NULL, "memory");
    write_frame(out, f);
    fclose(out);
    require(far_frame_parse_bytes(ctx, "again", text, (int64_t)length, NULL, &again) == FAR_OK,
            "what was written reads again");
    check_same(f, again);
    far_frame_destroy(again);
    free(text);
}

static void read_bytes(far_ctx *ctx, const uint8_t *data, size_t size, const char *member)
{
    far_frame *f;
    far_status st = far_frame_parse_bytes(ctx, "fuzz", data, (int64_t)size, member, &f);
    require((st == FAR_OK) == (f != NULL), "a frame exactly on success");
    if (st != FAR_OK) {
        check_message(far_ctx_message(ctx));
        return;
    }
    int is_csv = data[0] != 0x93 && data[0] != 'P' && data[0] != 0x1F;
    check_frame(ctx, f);
    if (is_csv && far_frame_rows(f) * far_frame_cols(f) <= MAX_WRITTEN && words_keep(f)) {
        check_again(ctx, f);
    }
    far_frame_destroy(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    far_ctx *ctx = make_context();
    read_bytes(ctx, data, size, NULL);
    if (size > 4 && memcmp(data, "PK", 2) == 0) {
        read_bytes(ctx, data, size, "a");
    }
    far_ctx_destroy(ctx);
    require(live_bytes == 0, "all memory is given back");
    return 0;
}
