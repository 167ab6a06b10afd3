/* How much memory there is: the machine's, and what a control group leaves of it. */
#define _GNU_SOURCE
#include "base_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USED_OF_AVAILABLE 0.9 /* the rest is for buffers we do not count, and for others */
#define ALWAYS_THERE 1e6      /* asking the system takes a millisecond, filling this takes less */

/* The number behind `name` in a file of lines "name value"; NAN if there is none. */
static double value_in(const char *path, const char *name)
{
    char line[256];
    double value = NAN;
    FILE *file = fopen(path, "r");
    while (file && isnan(value) && fgets(line, sizeof line, file)) {
        if (strncmp(line, name, strlen(name)) == 0) {
            char *end, *text = line + strlen(name);
            double read = strtod(text, &end);
            value = end > text ? read : NAN;
        }
    }
    if (file) {
        fclose(file);
    }
    return value;
}

/* Where the two generations of control groups keep a group's numbers. */
typedef struct group_files {
    const char *root, *limit, *usage, *cache;
} group_files;

/* NAN without a limit. Pages of files that were not touched lately are given back when asked. */
static double room_in_group(const group_files *g, const char *group)
{
    char limit[512], usage[512], stat[512];
    snprintf(limit, sizeof limit, "%s%s/%s", g->root, group, g->limit);
    snprintf(usage, sizeof usage, "%s%s/%s", g->root, group, g->usage);
    snprintf(stat, sizeof stat, "%s%s/memory.stat", g->root, group);
    double cache = value_in(stat, g->cache);
    return value_in(limit, "") - value_in(usage, "") + (isnan(cache) ? 0 : cache);
}

/* A group's limit holds for the groups inside it, so up to the root. */
static double room_in_groups(const group_files *g, char *group)
{
    double room = INFINITY;
    for (;;) {
        room = fmin(room, room_in_group(g, group)); /* fmin passes over NAN */
        char *slash = strrchr(group, '/');
        if (!slash) {
            return room;
        }
        *slash = 0;
    }
}

/* A line of /proc/self/cgroup: "4:memory:/path", or "0::/path" in the newer generation. */
static double room_by_line(char *line)
{
    static const group_files first = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                      "memory.usage_in_bytes", "total_inactive_file "};
    static const group_files second = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                       "inactive_file "};
    line[strcspn(line, "\n")] = 0;
    char *memory = strstr(line, ":memory:"), *unified = strstr(line, "0::");
    if (memory) {
        return room_in_groups(&first, memory + strlen(":memory:"));
    }
    return unified == line ? room_in_groups(&second, line + strlen("0::")) : INFINITY;
}

static double room_in_control_group(void)
{
    char line[384];
    double room = INFINITY;
    FILE *file = fopen("/proc/self/cgroup", "r");
    while (file && fgets(line, sizeof line, file)) {
        room = fmin(room, room_by_line(line));
    }
    if (file) {
        fclose(file);
    }
    return room;
}

double far_memory_available(void)
{
    double kilobytes = value_in("/proc/meminfo", "MemAvailable:");
    return fmin(isnan(kilobytes) ? INFINITY : 1024 * kilobytes, room_in_control_group());
}

double far_budget(double memory)
{
    return memory > 0 ? memory : USED_OF_AVAILABLE * far_memory_available();
}

/* "6.24 GiB", "10 KiB" */
static const char *show_bytes(double bytes, char out[32])
{
    static const char *const UNITS[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    int unit = 0;
    while (bytes >= 1000 && unit < 5) {
        bytes /= 1024;
        unit++;
    }
    snprintf(out, 32, "%.3g %s", bytes, UNITS[unit]);
    return out;
}

far_status far_budget_check(far_ctx *ctx, const char *what, double bytes, double memory)
{
    if (memory <= 0 && bytes <= ALWAYS_THERE) {
        return FAR_OK;
    }
    double budget = far_budget(memory);
    if (bytes <= budget) {
        return FAR_OK;
    }
    char needed[32], there[32];
    return far_fail(ctx, FAR_ERR_BUDGET, "%s needs %s but %s are %s", what,
                    show_bytes(bytes, needed), show_bytes(budget, there),
                    memory > 0 ? "allowed" : "available");
}

void far_free_each(far_ctx *ctx, void *const *pointers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        far_free(ctx, pointers[i]);
    }
}

void far_texts_free(far_ctx *ctx, char **texts, int64_t count)
{
    for (int64_t i = 0; texts && i < count; i++) {
        far_free(ctx, texts[i]);
    }
    far_free(ctx, texts);
}
