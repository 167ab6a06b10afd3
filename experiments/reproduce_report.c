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
    int tested = r->claims - r->constructed;
    if (r->sabotage) {
        return text_of("SABOTAGED: the mechanism was taken out, and claims ought to fail%s.", rest);
    }
    if (r->claims == 0) {
        return text_of("No claim was tested%s.", rest);
    }
    if (tested == 1 && r->failed == 0) {
        return text_of("The one tested claim holds%s.", rest);
    }
    if (tested == 2 && r->failed == 0) {
        return text_of("Both tested claims hold%s.", rest);
    }
    if (r->failed == 0) {
        return text_of("All %d tested claims hold%s.", tested, rest);
    }
    return text_of("%d of %d claims do%s not hold%s.", r->failed, r->claims,
                   r->failed == 1 ? "es" : "", rest);
}

static void add_verdict(const reproduction *r, far_result *page, far_status ended)
{
    char *text = verdict_of(r, ended);
    bool good = r->claims > 0 && r->failed == 0 && !r->sabotage;
    far_result_verdict(page, good ? FAR_TONE_GOOD : FAR_TONE_BAD, "%s", text);
    free(text);
    for (int i = 0; i < r->claims; i++) {
        const claim_record *c = &r->record->claims[i];
        if (!c->agrees && !r->sabotage) {
            char *paper = claim_paper(c);
            far_result_verdict(page, FAR_TONE_BAD, "%s: the paper has %s; here it is %s.", c->what,
                               paper, c->ours);
            free(paper);
        }
    }
    if (r->quick) {
        far_result_verdict(page, FAR_TONE_PLAIN, "%s", QUICK_CAUTION);
    }
}

static void add_claim(const claim_record *c, far_result *page)
{
    char *paper = claim_paper(c), *tested = claim_tested(c);
    far_result_cell_text(page, "%s", c->what);
    far_result_cell_text(page, c->agrees ? "yes" : "NO");
    far_result_cell_text(page, "%s", paper);
    far_result_cell_text(page, tested ? "%s" : "as stated", tested);
    far_result_cell_text(page, "%s", c->ours);
    far_result_cell_text(page, c->seeds > 0 ? "%lld" : "-", (long long)c->seeds);
    free(paper);
    free(tested);
}

static void add_claims(const reproduction *r, far_result *page, bool by_construction)
{
    static const far_result_column COLUMNS[] = {
        {"claim", "claim", NULL}, {"agrees", "holds?", NULL},
        {"paper", "paper", NULL}, {"tested", "tested as (ours)", NULL},
        {"ours", "ours", NULL},   {"seeds", "seeds", NULL}};
    if ((by_construction ? r->constructed : r->claims - r->constructed) == 0) {
        return;
    }
    far_result_table(
        page, by_construction ? "constructed" : "claims",
        by_construction
            ? "By construction: these hold whatever the networks do, and are not counted."
            : "Tested, one by one. The column \"paper\" has what the paper states and "
              "where; thresholds are ours.",
        COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int i = 0; i < r->claims; i++) {
        if (r->record->claims[i].by_construction == by_construction) {
            add_claim(&r->record->claims[i], page);
        }
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
    add_claims(r, page, false);
    add_claims(r, page, true);
    if (e->note) {
        far_result_say(page, NULL, "%s", e->note);
    }
    far_result_append(page, r->record->result);
    r->record->result = NULL;
    add_origin(r, page, e, seconds);
    TRY(far_result_save(r->ctx, page, path));
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
