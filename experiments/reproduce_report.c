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

static void add_verdict(const reproduction *r, far_result *page, far_status ended)
{
    char *text = verdict_of(r, ended);
    bool good = r->claims > 0 && r->failed == 0;
    far_result_verdict(page, good ? FAR_TONE_GOOD : FAR_TONE_BAD, "%s", text);
    free(text);
    for (int i = 0; i < r->claims; i++) {
        const claim_record *c = &r->record->claims[i];
        if (!c->agrees) {
            far_result_verdict(page, FAR_TONE_BAD, "%s: the paper says %s; here it is %s.", c->what,
                               c->paper, c->ours);
        }
    }
    if (r->quick) {
        far_result_verdict(page, FAR_TONE_PLAIN, "%s", QUICK_CAUTION);
    }
}

static void add_claims(const reproduction *r, far_result *page)
{
    static const far_result_column COLUMNS[] = {{"claim", "claim", NULL},
                                                {"agrees", "agrees?", NULL},
                                                {"paper", "paper", NULL},
                                                {"ours", "ours", NULL}};
    if (r->claims > 0) {
        far_result_table(page, "claims", "Claims, one by one.", COLUMNS, 4);
    }
    for (int i = 0; i < r->claims; i++) {
        const claim_record *c = &r->record->claims[i];
        far_result_cell_text(page, "%s", c->what);
        far_result_cell_text(page, c->agrees ? "yes" : "NO");
        far_result_cell_text(page, "%s", c->paper);
        far_result_cell_text(page, "%s", c->ours);
    }
}

static void add_origin(const reproduction *r, far_result *page, const experiment *e, double seconds)
{
    far_result_origin(page, "command", "%s", r->command ? r->command : e->id);
    far_result_origin(page, "paper", "%s", e->paper);
    far_result_origin(page, "form", "%s",
                      r->quick ? "quick: fewer seeds, epochs or rows than the paper's" : "full");
    if (r->seeds > 1) {
        far_result_origin(page, "seeds", "0 to %lld", (long long)r->seeds - 1);
    } else {
        far_result_origin(page, "seeds",
                          r->seeds == 1 ? "0" : "from 0 on, as many as the protocol says");
    }
    far_result_origin(page, "time", "%.1f s on %d threads", seconds, far_ctx_threads(r->ctx));
}

static far_status write_report(reproduction *r, const experiment *e, far_status ended,
                               double seconds)
{
    static const char NAME[] = "report.html";
    far_result *page = NULL;
    char *path = text_of("%s/%s", r->folder, NAME);
    far_status st;
    TRY(far_result_create(r->ctx, e->title, &page));
    add_verdict(r, page, ended);
    add_claims(r, page);
    far_result_append(page, r->record->result);
    r->record->result = NULL;
    add_origin(r, page, e, seconds);
    TRY(far_result_save_page(r->ctx, page, path));
    record_file(r->record, NAME, "");
done:
    far_result_destroy(page);
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
    far_status ended = far_result_create(r->ctx, e->title, &r->record->result);
    ended = ended == FAR_OK ? e->run(r) : ended;
    r->interrupted = ended == FAR_ERR_CANCELLED;
    if (ended != FAR_OK) {
        hold_message(r);
    }
    far_status written = ended == FAR_OK || r->claims > 0
                             ? write_report(r, e, ended, now_seconds() - started)
                             : FAR_OK;
    return ended != FAR_OK ? ended : written;
}
