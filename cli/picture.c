#include "picture.h"
#include "files.h"
#include "options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SIDE_MOST = 16384 };

static bool read_side(const char *text, char end, const char **after, int64_t *side)
{
    char *stop;
    long long value = strtoll(text, &stop, 10);
    bool digits = *text >= '0' && *text <= '9';
    *side = value;
    *after = stop + (*stop != 0);
    return digits && *stop == end && value >= 2 && value <= SIDE_MOST;
}

int grid_size_read(const char *verb_name, const char *option_name, const char *text, int64_t *cols,
                   int64_t *rows)
{
    const char *after;
    bool square = !strchr(text, 'x');
    bool good = read_side(text, square ? 0 : 'x', &after, cols);
    *rows = *cols;
    if (good && !square) {
        good = read_side(after, 0, &after, rows);
    }
    return good ? OPTIONS_OK
                : usage_error(verb_name,
                              "%s is a number of points a side, or COLUMNSxROWS, each from 2 to "
                              "%d, not '%s'",
                              option_name, SIDE_MOST, text);
}

int picture_read(session *s, const char *path, int64_t cols, int64_t rows, far_frame **out)
{
    struct stat info;
    far_image_opts opts = {.size = sizeof opts, .rows = rows, .cols = cols};
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        return failure(s->verb, "%s is a folder; name one picture in it", path);
    }
    return far_image_read(s->ctx, path, &opts, out) == FAR_OK ? EXIT_DONE
                                                              : session_failure(s, path);
}

int picture_write(session *s, const char *path, int64_t cols, int64_t rows, const char *output)
{
    static char names[][5] = {"x", "y", "grey"};
    enum { COLUMNS = 3 };
    far_frame *table = NULL;
    result_column columns[COLUMNS] = {0};
    int code = picture_read(s, path, cols, rows, &table);
    if (code != EXIT_DONE) {
        return code;
    }
    int64_t points = far_frame_rows(table);
    for (int i = 0; i < COLUMNS; i++) {
        void *numbers =
            (void *)(uintptr_t)far_frame_column(table, i).numbers; /* they are only read */
        columns[i].name = names[i];
        columns[i].values = far_mat_view(numbers, points, 1, FAR_F64);
    }
    code = columns_write(s->verb, s->ctx, columns, COLUMNS, points, "image", output);
    far_frame_destroy(table);
    return code;
}
