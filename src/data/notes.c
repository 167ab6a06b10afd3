/* Notes: arrays of one text or whole number beside the array of an npz. */
#include "data_internal.h"

#include <string.h>

#define PREFIX "farfield."
#define PREFIX_LENGTH ((int64_t)sizeof PREFIX - 1)
#define HEADER_BYTES 128
#define MOST_BYTES (FAR_NOTE_BYTES - HEADER_BYTES)
#define UTF32_BYTES 4

bool far_note_is(const char *name, int64_t length)
{
    return length > PREFIX_LENGTH && length <= PREFIX_LENGTH + FAR_NOTE_NAME &&
           memcmp(name, PREFIX, PREFIX_LENGTH) == 0;
}

/* ---- in ---- */

static far_status fail_note(const far_input *array)
{
    return far_input_fail(
        array, FAR_ERR_FORMAT,
        "must hold one text, or one whole number from 0, as the arrays farfield.* "
        "of a header do");
}

/* The one element of it. */
static far_status open_note(far_input *array, far_stored *a)
{
    far_status st = far_npy_open(array, true, a);
    if (st != FAR_OK) {
        return st;
    }
    bool one = a->dims == 0 || (a->dims == 1 && a->rows == 1);
    bool known = a->kind == 'U' || a->kind == 'S' || a->kind == 'i' || a->kind == 'u';
    bool whole = array->data + array->size - a->data == a->size && a->size <= MOST_BYTES;
    a->rows = a->cols = 1;
    return one && known && whole ? FAR_OK : fail_note(array);
}

static far_status keep_text(const far_input *array, const far_stored *a, far_note *out)
{
    far_status st;
    char *text = NULL;
    FAR_TRY(far_alloc(array->ctx, a->size + 1, &text));
    out->text = text;
    int64_t length = far_stored_text(a, 0, 0, text);
    if (length < 0) {
        return fail_note(array);
    }
    text[length] = 0;
done:
    return st;
}

static far_status keep_value(const far_input *array, const far_stored *a, far_note *out)
{
    double number;
    if (a->kind == 'U' || a->kind == 'S') {
        return keep_text(array, a, out);
    }
    far_stored_numbers(a, &number, 1, 1);
    if (!(number >= 0 && number <= 0x1p53)) {
        return fail_note(array);
    }
    out->number = (int64_t)number;
    return FAR_OK;
}

far_status far_note_take(far_input *array, const char *name, int64_t length, far_array *t)
{
    far_status st;
    far_stored a;
    if (t->note_count == FAR_NOTES) {
        return far_input_fail(array, FAR_ERR_FORMAT,
                              "is one array farfield.* too many; a header has at most %d",
                              FAR_NOTES);
    }
    if (!t->notes) {
        FAR_TRY(far_alloc(t->ctx, FAR_NOTES, &t->notes));
    }
    FAR_TRY(open_note(array, &a));
    far_note_kept *n = &t->notes[t->note_count++];
    *n = (far_note_kept){.note = {.name = n->name, .number = -1}};
    memcpy(n->name, name + PREFIX_LENGTH, (size_t)(length - PREFIX_LENGTH));
    FAR_TRY(keep_value(array, &a, &n->note));
done:
    return st;
}

void far_notes_free(far_array *t)
{
    for (int64_t i = 0; i < t->note_count; i++) {
        far_free(t->ctx, (char *)t->notes[i].note.text);
    }
    far_free(t->ctx, t->notes);
}

const far_note *far_array_note(const far_array *array, const char *name)
{
    for (int64_t i = 0; i < array->note_count; i++) {
        if (strcmp(array->notes[i].name, name) == 0) {
            return &array->notes[i].note;
        }
    }
    return NULL;
}

/* ---- out ---- */

/* The code point at *p, which moves behind it; bytes that are none become the replacement mark. */
static uint32_t take_utf8(const unsigned char **p)
{
    unsigned char first = *(*p)++;
    int more = first < 0x80 ? 0 : first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : -1;
    uint32_t c = more > 0 ? first & (0x3Fu >> more) : first;
    for (int i = 0; i < more; i++) {
        if ((**p & 0xC0) != 0x80) {
            return 0xFFFD;
        }
        c = c << 6 | (*(*p)++ & 0x3F);
    }
    return more < 0 || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000) ? 0xFFFD : c;
}

/* Version 1.0, of no dimension. */
static void make_header(const char *descr, unsigned char out[HEADER_BYTES])
{
    char text[HEADER_BYTES];
    int used = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (), }",
                        descr);
    memset(out, ' ', HEADER_BYTES);
    memcpy(out, "\x93NUMPY\1\0", 8);
    out[8] = HEADER_BYTES - 10;
    out[9] = 0;
    memcpy(out + 10, text, (size_t)used);
    out[HEADER_BYTES - 1] = '\n';
}

static void put_little(unsigned char *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        out[i] = (unsigned char)(value >> (8 * i));
    }
}

/* The array of a note in npy format; room: HEADER_BYTES, and 8 or 4 a byte of text. */
static size_t make_note(const far_note *note, unsigned char *out)
{
    char descr[32] = "<i8";
    size_t used = HEADER_BYTES;
    if (!note->text) {
        put_little(out + used, (uint64_t)note->number, 8);
        used += 8;
    } else {
        const unsigned char *p = (const unsigned char *)note->text;
        for (; *p; used += UTF32_BYTES) {
            put_little(out + used, take_utf8(&p), UTF32_BYTES);
        }
        snprintf(descr, sizeof descr, "<U%zu", (used - HEADER_BYTES) / UTF32_BYTES);
    }
    make_header(descr, out);
    return used;
}

far_status far_note_put(far_zip *z, const far_note *note)
{
    far_status st;
    far_ctx *ctx = z->output->ctx;
    unsigned char *bytes = NULL;
    char name[FAR_ZIP_NAME_BYTES];
    size_t length = note->text ? strlen(note->text) : 2;
    if (length > MOST_BYTES / UTF32_BYTES) {
        return far_fail(ctx, FAR_ERR_ARG, "note %s has %zu bytes; at most %d fit", note->name,
                        length, MOST_BYTES / UTF32_BYTES);
    }
    FAR_TRY(far_alloc(ctx, HEADER_BYTES + UTF32_BYTES * (int64_t)length, &bytes));
    snprintf(name, sizeof name, PREFIX "%s.npy", note->name);
    far_zip_put_bytes(z, name, bytes, make_note(note, bytes));
done:
    far_free(ctx, bytes);
    return st;
}
