/* A folder of its own for a test program, with nothing left in it at the end. Include it behind
 * cmocka.h. */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/farfield-test-XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    return !mkdtemp(folder) || chdir(folder) != 0;
}

static int leave_folder(void **state)
{
    (void)state;
    return chdir("/") != 0 || rmdir(folder) != 0; /* rmdir: only if tests cleaned up */
}

static inline int count_files(void)
{
    int count = 0;
    DIR *d = opendir(".");
    assert_non_null(d);
    while (readdir(d)) {
        count++;
    }
    closedir(d);
    return count - 2;
}

static inline void write_file(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

#endif
