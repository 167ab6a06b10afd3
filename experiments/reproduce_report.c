/* A run of an experiment, and its report. */
#include "reproduce_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const experiment *find_experiment(const char *id)
{
    for (int i = 0; i < EXPERIMENT_COUNT; i++) {
        if (strcmp(EXPERIMENTS[i].id, id) == 0) {
            return &EXPERIMENTS[i];
        }
    }
    return NULL;
}

/* ---- the report ---------------------------------------------------------------------------- */

static const char QUICK_CAUTION[] = "This is the quick form, smaller than the paper's experiment: "
                                    "it tests the claims; the paper's numbers need the full one.";

static char *verdict_of(const reproduction *r, far_status ended)
{
    const char *rest = r->interrupted    ? "; the run was interrupted"
                       : ended != FAR_OK ? "; the run failed half way"
                                         : "";
    if (r->claims == 0) {
        return text_of("No claim was tested%s.", rest);
    }
    if (r->claims == 1 && r->failed == 0) {
        return text_of("The one claim agrees with the paper%s.", rest);
    }
    if (r->claims == 2 && r->failed == 0) {
        return text_of("Both claims agree with the paper%s.", rest);
    }
    if (r->failed == 0) {
        return text_of("All %d claims agree with the paper%s.", r->claims, rest);
    }
    return text_of("%d of %d claims do%s not agree with the paper%s.", r->failed, r->claims,
                   r->failed == 1 ? "es" : "", rest);
}

static far_status add_verdict(const reproduction *r, far_page *page, far_status ended)
{
    char *text = verdict_of(r, ended);
    bool good = r->claims > 0 && r->failed == 0;
    far_status st = far_page_verdict(r->ctx, page, good ? FAR_TONE_GOOD : FAR_TONE_BAD, text);
    free(text);
    for (int i = 0; i < r->claims && st == FAR_OK; i++) {
        const claim_record *c = &r->record->claims[i];
        if (!c->agrees) {
            text = text_of("%s: the paper says %s; here it is %s.", c->what, c->paper, c->ours);
            st = far_page_verdict(r->ctx, page, FAR_TONE_BAD, text);
            free(text);
        }
    }
    if (r->quick && st == FAR_OK) {
        st = far_page_verdict(r->ctx, page, FAR_TONE_PLAIN, QUICK_CAUTION);
    }
    return st;
}

static far_status add_claims(const reproduction *r, far_page *page)
{
    static const char *const HEADS[] = {"claim", "agrees?", "paper", "ours"};
    const char **cells = ROOM(4 * r->claims, const char *);
    for (int i = 0; i < r->claims; i++) {
        const claim_record *c = &r->record->claims[i];
        const char *row[] = {c->what, c->agrees ? "yes" : "NO", c->paper, c->ours};
        memcpy(cells + 4 * i, row, sizeof row);
    }
    far_status st = r->claims > 0 ? far_page_table(r->ctx, page, "Claims, one by one.", HEADS, 4,
                                                   cells, r->claims)
                                  : FAR_OK;
    free(cells);
    return st;
}

static far_status add_figure(const reproduction *r, far_page *page, const part *p)
{
    char *name = text_of("%s.csv", p->name);
    far_status st = far_page_figure(r->ctx, page, p->figure, name, p->text);
    free(name);
    return st;
}

static far_status add_part(const reproduction *r, far_page *page, const part *p)
{
    switch (p->kind) {
    case PART_HEADING:
        return far_page_heading(r->ctx, page, p->text);
    case PART_TEXT:
        return far_page_text(r->ctx, page, p->text);
    case PART_TABLE:
        return far_page_table(r->ctx, page, p->text, (const char *const *)p->heads, p->cols,
                              (const char *const *)p->cells, p->rows);
    case PART_FIGURE:
        return add_figure(r, page, p);
    }
    return FAR_OK;
}

static far_status add_facts(const reproduction *r, far_page *page, const experiment *e,
                            double seconds)
{
    char *time_text = text_of("%.1f s on %d threads", seconds, far_ctx_threads(r->ctx));
    char *seeds_text = r->seeds == 1  ? text_of("0")
                       : r->seeds > 1 ? text_of("0 to %lld", (long long)r->seeds - 1)
                                      : text_of("from 0 on, as many as the protocol says");
    const char *facts[][2] = {
        {"command", r->command ? r->command : e->id},
        {"paper", e->paper},
        {"form", r->quick ? "quick: fewer seeds, epochs or rows than the paper's" : "full"},
        {"seeds", seeds_text},
        {"time", time_text}};
    far_status st = FAR_OK;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0] && st == FAR_OK; i++) {
        st = far_page_fact(r->ctx, page, facts[i][0], facts[i][1]);
    }
    free(time_text);
    free(seeds_text);
    return st;
}

static far_status write_report(reproduction *r, const experiment *e, far_status ended,
                               double seconds)
{
    static const char NAME[] = "report.html";
    far_page *page = NULL;
    char *path = text_of("%s/%s", r->folder, NAME);
    far_status st;
    TRY(far_page_create(r->ctx, e->title, &page));
    TRY(add_verdict(r, page, ended));
    TRY(add_claims(r, page));
    for (int64_t i = 0; i < r->record->part_count; i++) {
        TRY(add_part(r, page, &r->record->parts[i]));
    }
    TRY(add_facts(r, page, e, seconds));
    TRY(far_page_save(r->ctx, page, path));
    record_file(r->record, NAME, "");
done:
    far_page_destroy(page);
    free(path);
    return st;
}

/* ---- the run ------------------------------------------------------------------------------- */

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The message of the run counts, whatever the report says after it. */
static void hold_message(reproduction *r)
{
    if (!*r->message) {
        snprintf(r->message, sizeof r->message, "%s", far_ctx_message(r->ctx));
    }
}

far_status reproduce(reproduction *r, const experiment *e)
{
    double started = now_seconds();
    r->record = ROOM(1, record);
    far_status ended = e->run(r);
    r->interrupted = ended == FAR_ERR_CANCELLED;
    if (ended != FAR_OK) {
        hold_message(r);
    }
    far_status written = ended == FAR_OK || r->claims > 0
                             ? write_report(r, e, ended, now_seconds() - started)
                             : FAR_OK;
    return ended != FAR_OK ? ended : written;
}
