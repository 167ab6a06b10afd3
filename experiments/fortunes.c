#define _GNU_SOURCE
#include "fortunes.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FORTUNES "/usr/share/games/fortunes"

/* False: it cannot be read. Empty ones are left out. */
static bool add_book(const char *path, const char *name, shelf *s)
{
    struct stat about;
    FILE *file = fopen(path, "rb");
    bool good = file && fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode);
    if (good && about.st_size > 0) {
        book b = {text_of("%s", name), ROOM(about.st_size, unsigned char), 0};
        b.length = (int64_t)fread(b.bytes, 1, (size_t)about.st_size, file);
        good = !ferror(file);
        s->books = room_for_one_more(s->books, s->count, sizeof *s->books);
        s->books[s->count++] = b;
        s->length += b.length;
    }
    if (file) {
        fclose(file);
    }
    return good;
}

/* Files without an ending, as fortunes has them (.dat are its indices, .u8 links), and .txt. */
static int is_text(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return !dot || (dot != entry->d_name && strcmp(dot, ".txt") == 0);
}

/* All of them, in the order of their names. */
static far_status read_folder(reproduction *r, const char *folder, shelf *out)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_text, alphasort);
    far_status st = FAR_OK;
    for (int i = 0; i < count; i++) {
        char *path = text_of("%s/%s", folder, entries[i]->d_name);
        struct stat about;
        if (st == FAR_OK && stat(path, &about) == 0 && S_ISREG(about.st_mode) &&
            !add_book(path, entries[i]->d_name, out)) {
            st = fail(r, FAR_ERR_IO, "%s: cannot be read", path);
        }
        free(path);
        free(entries[i]);
    }
    free(entries);
    return st;
}

far_status shelf_open(reproduction *r, shelf *out)
{
    char *inside = r->data ? text_of("%s/fortunes", r->data) : NULL;
    const char *places[] = {inside, r->data ? r->data : FORTUNES};
    far_status st = FAR_OK;
    *out = (shelf){0};
    for (int i = 0; i < 2 && st == FAR_OK && out->length == 0; i++) {
        st = places[i] ? read_folder(r, places[i], out) : FAR_OK;
        out->from = out->length > 0 ? words(r, "%s", places[i]) : NULL;
    }
    free(inside);
    if (st == FAR_OK && out->length == 0) {
        st = fail(r, FAR_ERR_IO,
                  "no text in %s: install Debian's package fortunes (it has " FORTUNES
                  "), or say with --data DIR in which folder text files lie",
                  places[1]);
    }
    return st;
}

void shelf_free(shelf *s)
{
    for (int64_t i = 0; i < s->count; i++) {
        free(s->books[i].name);
        free(s->books[i].bytes);
    }
    free(s->books);
    *s = (shelf){0};
}
