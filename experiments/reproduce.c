/* What experiments keep: claims, words, tables, figures; and where their data lie. */
#define _GNU_SOURCE
#include "reproduce_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- memory and messages ------------------------------------------------------------------- */

static void *must_have(void *memory)
{
    if (!memory) {
        fputs("farfield reproduce: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    return memory;
}

void *room(int64_t count, size_t size)
{
    return must_have(calloc(count > 0 ? (size_t)count : 1, size));
}

/* They grow by doubling, whenever count is a power of two. */
void *room_for_one_more(void *items, int64_t count, size_t size)
{
    bool full = (count & (count - 1)) == 0;
    return full ? must_have(realloc(items, size * (size_t)(count > 0 ? 2 * count : 1))) : items;
}

void *room_for_more(void *items, int64_t count, int64_t more, size_t size)
{
    int64_t all = count + more;
    return must_have(realloc(items, size * (size_t)(all > 0 ? all : 1)));
}

char *text_of_args(const char *format, va_list args)
{
    char *text = NULL;
    return must_have(vasprintf(&text, format, args) < 0 ? NULL : text);
}

char *text_of(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = text_of_args(format, args);
    va_end(args);
    return text;
}

far_status fail(reproduction *r, far_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->message, sizeof r->message, format, args);
    va_end(args);
    return status;
}

const char *reproduction_message(const reproduction *r)
{
    return *r->message ? r->message : far_ctx_message(r->ctx);
}

int64_t seeds_of(const reproduction *r, int64_t quick, int64_t full)
{
    return r->seeds > 0 ? r->seeds : r->quick ? quick : full;
}

int64_t epochs_of(const reproduction *r, int64_t quick, int64_t full)
{
    return r->epochs > 0 ? r->epochs : r->quick ? quick : full;
}

/* ---- the terminal -------------------------------------------------------------------------- */

/* A progress bar may stand where the next line goes. */
static void clear_line(void)
{
    if (isatty(STDERR_FILENO)) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}

void tell(const reproduction *r, const char *format, ...)
{
    if (r->quiet || !isatty(STDERR_FILENO)) {
        return;
    }
    va_list args;
    va_start(args, format);
    clear_line();
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

static bool colours(void)
{
    const char *plain = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && (!plain || !*plain);
}

char *claim_paper(const claim_record *c)
{
    return !c->paper  ? text_of("not stated")
           : c->place ? text_of("%s (%s)", c->paper, c->place)
                      : text_of("%s", c->paper);
}

char *claim_tested(const claim_record *c)
{
    static const char LATE[] = "settled after results were seen";
    return c->tested && c->late ? text_of("%s; %s", c->tested, LATE)
           : c->tested          ? text_of("%s", c->tested)
           : c->late            ? text_of("%s", LATE)
                                : NULL;
}

const char *claim_verdict(const claim_record *c)
{
    if (c->by_construction) {
        return c->agrees ? "by construction" : "DOES NOT HOLD";
    }
    return c->agrees ? "agrees" : "DOES NOT AGREE";
}

static void print_claim(const claim_record *c)
{
    bool colour = colours();
    char *paper = claim_paper(c), *tested = claim_tested(c);
    clear_line();
    printf("%s: paper %s / ", c->what, paper);
    if (tested) {
        printf("tested as (ours) %s / ", tested);
    }
    printf("ours %s", c->ours);
    if (c->seeds > 0) {
        printf(", %lld seed%s", (long long)c->seeds, c->seeds == 1 ? "" : "s");
    }
    printf(" / %s%s%s\n",
           !colour     ? ""
           : c->agrees ? "\033[32m"
                       : "\033[31m",
           claim_verdict(c), colour ? "\033[0m" : "");
    fflush(stdout);
    free(paper);
    free(tested);
}

/* ---- the record ---------------------------------------------------------------------------- */

void record_file(record *k, const char *name, const char *ending)
{
    k->files = room_for_one_more(k->files, k->file_count, sizeof *k->files);
    k->files[k->file_count++] = text_of("%s%s", name, ending);
}

const char *words(reproduction *r, const char *format, ...)
{
    record *k = r->record;
    va_list args;
    va_start(args, format);
    k->words = room_for_one_more(k->words, k->word_count, sizeof *k->words);
    k->words[k->word_count] = text_of_args(format, args);
    va_end(args);
    return k->words[k->word_count++];
}

static void free_texts(char **texts, int64_t count)
{
    for (int64_t i = 0; texts && i < count; i++) {
        free(texts[i]);
    }
    free(texts);
}

static void free_claim(claim_record *c)
{
    FREE(c->what, c->paper, c->place, c->tested, c->ours);
}

void reproduction_close(reproduction *r)
{
    record *k = r->record;
    if (!k) {
        return;
    }
    far_result_destroy(k->result);
    for (int i = 0; i < r->claims; i++) {
        free_claim(&k->claims[i]);
    }
    free_texts(k->files, k->file_count);
    free_texts(k->words, k->word_count);
    free(k->claims);
    free(k);
    r->record = NULL;
    r->claims = r->constructed = r->failed = 0;
}

const claim_record *reproduction_claim(const reproduction *r, int i)
{
    return i >= 0 && i < r->claims ? &r->record->claims[i] : NULL;
}

const char *reproduction_file(const reproduction *r, int i)
{
    return r->record && i >= 0 && i < r->record->file_count ? r->record->files[i] : NULL;
}

/* ---- keeping ------------------------------------------------------------------------------- */

static char *copy_of(const char *text)
{
    return text ? text_of("%s", text) : NULL;
}

far_status claim(reproduction *r, const claim_of *of, const char *ours, ...)
{
    va_list args;
    record *k = r->record;
    k->claims = room_for_one_more(k->claims, r->claims, sizeof *k->claims);
    claim_record *c = &k->claims[r->claims++];
    va_start(args, ours);
    *c = (claim_record){.what = copy_of(of->what),
                        .paper = copy_of(of->paper),
                        .place = copy_of(of->place),
                        .tested = copy_of(of->tested),
                        .ours = text_of_args(ours, args),
                        .seeds = of->seeds,
                        .by_construction = of->by_construction,
                        .late = of->late,
                        .agrees = of->agrees};
    va_end(args);
    r->failed += !of->agrees;
    r->constructed += of->by_construction;
    if (!r->silent) {
        print_claim(c);
    }
    return FAR_OK;
}

far_status keep_heading(reproduction *r, const char *text)
{
    far_result_heading(r->record->result, text);
    return FAR_OK;
}

static far_status keep_args(reproduction *r, const char *format, va_list args)
{
    char *text = text_of_args(format, args);
    far_result_say(r->record->result, NULL, "%s", text);
    free(text);
    return FAR_OK;
}

far_status keep_text(reproduction *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    far_status st = keep_args(r, format, args);
    va_end(args);
    return st;
}

far_status keep_section(reproduction *r, const char *heading, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    far_status st = keep_heading(r, heading);
    st = st == FAR_OK ? keep_args(r, format, args) : st;
    va_end(args);
    return st;
}

static char *path_in(const reproduction *r, const char *name, const char *ending)
{
    return text_of("%s/%s%s", r->folder, name, ending);
}

static far_status save_figure(reproduction *r, const far_figure *figure, const char *name,
                              const char *ending)
{
    char *path = path_in(r, name, ending);
    far_status st = far_figure_save(r->ctx, figure, path);
    if (st == FAR_OK) {
        record_file(r->record, name, ending);
    }
    free(path);
    return st;
}

far_status keep_figure(reproduction *r, far_figure *figure, const char *name, const char *caption)
{
    static const char *const ENDINGS[] = {".svg", ".png", ".csv"};
    far_status st = FAR_OK;
    for (int i = 0; i < 3 && st == FAR_OK; i++) {
        st = save_figure(r, figure, name, ENDINGS[i]);
        bool no_png = st == FAR_ERR_ARG && strcmp(ENDINGS[i], ".png") == 0;
        st = no_png ? FAR_OK : st; /* a build without librsvg: the others are there */
    }
    far_result_figure(r->record->result, figure, name, caption);
    return st;
}

/* The table that was kept last, as a file that is whole or not there. */
static far_status save_table(reproduction *r, const char *name)
{
    char *path = path_in(r, name, ".csv"), *csv = NULL;
    far_file *file = NULL;
    far_status st;
    TRY(far_result_csv(r->ctx, r->record->result, r->record->tables++, &csv));
    TRY(far_file_create(r->ctx, path, &file));
    TRY(far_file_put(file, csv, strlen(csv)));
    st = far_file_close(file, 1);
    file = NULL;
    TRY(st);
    record_file(r->record, name, ".csv");
done:
    far_file_close(file, 0);
    far_text_free(r->ctx, csv);
    free(path);
    return st;
}

far_status keep_table(reproduction *r, const char *name, const char *caption,
                      const char *const *heads, int64_t cols, const char *const *cells,
                      int64_t rows)
{
    far_result *result = r->record->result;
    far_result_column *columns = ROOM(cols, far_result_column);
    for (int64_t j = 0; j < cols; j++) {
        columns[j] = (far_result_column){.key = heads[j], .head = heads[j]};
    }
    far_result_table(result, NULL, caption, columns, cols);
    for (int64_t i = 0; i < rows * cols; i++) {
        far_result_cell_text(result, cells[i] && *cells[i] ? "%s" : NULL, cells[i]);
    }
    free(columns);
    return save_table(r, name);
}

/* ---- data ---------------------------------------------------------------------------------- */

enum { PATH_BYTES = 4096 };

static char *existing(char *path)
{
    if (path && access(path, R_OK) != 0) {
        free(path);
        path = NULL;
    }
    return path;
}

/* A set that farfield data knows, in the folder given or in its own. */
static far_status find_known(reproduction *r, const far_dataset *set, char **path)
{
    char place[PATH_BYTES];
    far_dataset_state state;
    far_status st = far_dataset_where(r->ctx, set, r->data, &state, place, sizeof place);
    if (st == FAR_OK && state >= FAR_DATASET_HERE) {
        *path = text_of("%s", place);
    }
    return st;
}

far_status find_data(reproduction *r, const char *name, char **path)
{
    char folder[PATH_BYTES];
    const far_dataset *set = far_dataset_find(name);
    far_status st = far_dataset_folder(r->ctx, r->data, folder, sizeof folder);
    *path = NULL;
    if (st == FAR_OK && set) {
        st = find_known(r, set, path);
    } else if (st == FAR_OK) {
        *path = existing(text_of("%s/%s", folder, name));
    }
    if (st != FAR_OK || *path) {
        return st;
    }
    if (set) {
        return fail(
            r, FAR_ERR_IO,
            "the data set %s is not in %s: get it with 'farfield data get %s', or say where "
            "it lies with --data DIR",
            name, folder, name);
    }
    return fail(r, FAR_ERR_IO, "%s is not in %s: say where it lies with --data DIR", name, folder);
}
