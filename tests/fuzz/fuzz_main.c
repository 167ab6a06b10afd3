/* Runs a libFuzzer target without libFuzzer, so that the fuzz is part of every test run:
 *
 *     fuzz_arch [seconds | RUNSx] [seed] [corpus file or folder ...]
 *     fuzz_arch 5 1 tests/fuzz/corpus/arch      five seconds of mutations
 *     fuzz_arch 20000x 7 tests/fuzz/corpus/arch the same 20000 inputs every time
 *     fuzz_arch 0 1 crash-1-4711                replays one file
 *
 * Every corpus file is first run as it is. The i-th mutated input depends on the seed, the corpus
 * and i only. An input that ends the process is written to crash-SEED-RUN in the current folder. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "chance.h"

#define INPUT_MOST 8192 /* mutated inputs; corpus files run as they are at any size */
#define FILES_MOST 1024
#define RUNS_BETWEEN_CLOCKS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* There only with a sanitizer. */
extern void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

static bytes corpus[FILES_MOST];
static int corpus_count;

/* The input being run, for the crash file. */
static bytes current;
static unsigned long long seed = 1, run_number;

static void die(const char *what, const char *name)
{
    fprintf(stderr, "%s: %s\n", what, name);
    exit(2);
}

/* ---- crashes ---- */

static void save_current(void)
{
    char name[64];
    snprintf(name, sizeof name, "crash-%llu-%llu", seed, run_number);
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file >= 0 && write(file, current.data, current.size) == (ssize_t)current.size) {
        fprintf(stderr, "the input is in %s; replay it with: 0 1 %s\n", name, name);
    }
}

static void on_signal(int number)
{
    signal(number, SIG_DFL);
    save_current();
    raise(number);
}

static void catch_crashes(void)
{
    signal(SIGABRT, on_signal);
    if (__sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(save_current);
    } else {
        signal(SIGSEGV, on_signal);
        signal(SIGFPE, on_signal);
    }
}

static void run_one(bytes input)
{
    current = input;
    LLVMFuzzerTestOneInput(input.data, input.size);
    run_number++;
}

/* ---- the corpus ---- */

static void add_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    struct stat info;
    if (!file || fstat(fileno(file), &info) != 0 || corpus_count == FILES_MOST) {
        die("cannot read the corpus file", name);
    }
    bytes *b = &corpus[corpus_count++];
    b->size = (size_t)info.st_size;
    b->data = malloc(b->size + 1);
    if (!b->data || fread(b->data, 1, b->size, file) != b->size) {
        die("cannot read the corpus file", name);
    }
    fclose(file);
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Sorted, because the order of the files is part of what the inputs depend on. */
static void add_folder(const char *name)
{
    struct dirent **entries;
    int count = scandir(name, &entries, visible, alphasort);
    if (count < 0) {
        die("cannot list the corpus folder", name);
    }
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", name, entries[i]->d_name);
        add_file(path);
        free(entries[i]);
    }
    free(entries);
}

static void add_corpus(const char *name)
{
    struct stat info;
    if (stat(name, &info) == 0 && S_ISDIR(info.st_mode)) {
        add_folder(name);
    } else {
        add_file(name);
    }
}

static void free_corpus(void)
{
    for (int i = 0; i < corpus_count; i++) {
        free(corpus[i].data);
    }
}

/* ---- mutations ---- */

static uint64_t random_state;

/* splitmix64 */
static size_t draw(size_t below)
{
    uint64_t bits = roll(&random_state);
    return below ? (size_t)(bits % below) : 0;
}

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Replaces removed bytes at a place by count others, as far as there is room. */
static void replace(bytes *b, size_t at, size_t removed, const uint8_t *from, size_t count)
{
    removed = least_of(removed, b->size - at);
    count = least_of(count, INPUT_MOST - (b->size - removed));
    memmove(b->data + at + count, b->data + at + removed, b->size - at - removed);
    memcpy(b->data + at, from, count);
    b->size = b->size - removed + count;
}

/* A piece of some corpus file: whole words and numbers come from there. */
static void insert_from_corpus(bytes *b)
{
    const bytes *other = &corpus[draw((size_t)corpus_count)];
    size_t start = draw(other->size + 1);
    size_t count = draw(least_of(other->size - start, 64) + 1);
    replace(b, draw(b->size + 1), draw(2) ? count : 0, other->data + start, count);
}

static void repeat_piece(bytes *b)
{
    uint8_t piece[64];
    size_t start = draw(b->size + 1);
    size_t count = draw(least_of(b->size - start, sizeof piece) + 1);
    memcpy(piece, b->data + start, count);
    for (size_t times = 1 + draw(draw(8) ? 3 : 80); times > 0; times--) {
        replace(b, start, 0, piece, count);
    }
}

static uint8_t draw_byte(void)
{
    static const uint8_t edge[] = {0, 1, 0x7f, 0x80, 0xff, ' ', '\n', '\t', '0', '9', '-', '.'};
    return draw(2) ? edge[draw(sizeof edge)] : (uint8_t)draw(256);
}

static void mutate(bytes *b)
{
    uint8_t byte = draw_byte();
    size_t at = draw(b->size + 1);
    switch (draw(6)) {
    case 0:
        replace(b, at, 1, &byte, 1);
        break;
    case 1:
        replace(b, at, 0, &byte, 1);
        break;
    case 2:
        replace(b, at, 1 + draw(draw(4) ? 4 : 64), &byte, 0);
        break;
    case 3:
        if (at < b->size) {
            b->data[at] ^= (uint8_t)(1u << draw(8));
        }
        break;
    case 4:
        repeat_piece(b);
        break;
    default:
        insert_from_corpus(b);
    }
}

static void run_mutated(uint8_t *buffer)
{
    const bytes *parent = &corpus[draw((size_t)corpus_count)];
    bytes b = {buffer, least_of(parent->size, INPUT_MOST)};
    memcpy(buffer, parent->data, b.size);
    for (size_t mutations = 1 + draw(6); mutations > 0; mutations--) {
        mutate(&b);
    }
    run_one(b);
}

/* ---- the limit and the loop ---- */

typedef struct limit {
    double seconds;
    unsigned long long runs; /* 0: seconds count */
} limit;

static limit parse_limit(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || value < 0 || (*end && strcmp(end, "x") != 0)) {
        die("expected seconds, or a number of runs such as 20000x, found", text);
    }
    return *end ? (limit){.runs = (unsigned long long)value} : (limit){.seconds = value};
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run_all(limit most)
{
    static uint8_t buffer[INPUT_MOST];
    double start = now();
    for (int i = 0; i < corpus_count; i++) {
        run_one(corpus[i]);
    }
    if (corpus_count == 0) {
        corpus[corpus_count++] = (bytes){.data = calloc(1, 1)};
    }
    random_state = seed;
    for (unsigned long long i = 0; most.runs ? i < most.runs : most.seconds > 0; i++) {
        if (!most.runs && i % RUNS_BETWEEN_CLOCKS == 0 && now() - start >= most.seconds) {
            break;
        }
        run_mutated(buffer);
    }
    printf("%llu runs in %.1f s, seed %llu\n", run_number, now() - start, seed);
}

int main(int argc, char **argv)
{
    limit most = parse_limit(argc > 1 ? argv[1] : "5");
    if (argc > 2) {
        char *end;
        seed = strtoull(argv[2], &end, 10);
        if (end == argv[2] || *end) {
            die("expected a seed, found", argv[2]);
        }
    }
    for (int i = 3; i < argc; i++) {
        add_corpus(argv[i]);
    }
    catch_crashes();
    run_all(most);
    free_corpus();
    return 0;
}
