/* A comparison as JSON text. */
#include "../data/json_text.h"
#include "compare_internal.h"

#include <math.h>

static json_t *average(far_json_out *w, far_compare_average a)
{
    json_t *o = json_object();
    far_json_put(w, o, "mean", far_json_real(a.mean));
    far_json_put(w, o, "ci95", far_json_real(a.ci95));
    return o;
}

/* {"F1": 0.93, ...} */
static json_t *direction(far_json_out *w, const far_certificate *c, const far_bound *b)
{
    if (!b || !b->direction) {
        return json_null();
    }
    json_t *o = json_object();
    for (int64_t i = 0; i < c->input_count; i++) {
        json_t *name = far_json_word(w, c->inputs[i]); /* keys are UTF-8 too */
        far_json_put(w, o, json_string_value(name), far_json_real(b->direction[i]));
        json_decref(name);
    }
    return o;
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *certificate(far_json_out *w, const far_compare_row *r)
{
    json_t *o = json_object();
    const far_bound *b = r->certificate ? &r->certificate->bounds[0] : NULL;
    far_json_put(w, o, "verdict", far_json_word(w, b ? far_verdict_text(b->verdict) : NULL));
    far_json_put(w, o, "tightest", number(b ? b->tightest : NAN));
    far_json_put(w, o, "sup_found", number(b && b->verdict == FAR_BOUNDED ? r->found : NAN));
    far_json_put(w, o, "slope", number(b ? b->slope : NAN));
    far_json_put(w, o, "order", number(b ? b->order : NAN));
    far_json_put(w, o, "direction", direction(w, r->certificate, b));
    far_json_put(w, o, "reason", far_json_word(w, r->reason));
    far_json_put(w, o, "seed", b ? json_integer((json_int_t)r->certificate_seed) : json_null());
    return o;
}

static json_t *run(far_json_out *w, const far_compare_run *r)
{
    json_t *o = json_object();
    far_json_put(w, o, "seed", json_integer((json_int_t)r->seed));
    far_json_put(w, o, "arch", far_json_word(w, r->arch));
    far_json_put(w, o, "ridge", far_json_real(r->ridge));
    far_json_put(w, o, "r2_in", far_json_real(r->r2_in));
    far_json_put(w, o, "r2_out", far_json_real(r->r2_out));
    far_json_put(w, o, "rmse_in", far_json_real(r->rmse_in));
    far_json_put(w, o, "rmse_out", far_json_real(r->rmse_out));
    far_json_put(w, o, "max_in", far_json_real(r->max_in));
    far_json_put(w, o, "max_out", far_json_real(r->max_out));
    far_json_put(w, o, "seconds_fit", far_json_real(r->seconds_fit));
    far_json_put(w, o, "seconds_predict", far_json_real(r->seconds_predict));
    far_json_put(w, o, "error", far_json_word(w, r->message));
    return o;
}

static json_t *runs(far_json_out *w, const far_comparison *c, int64_t model)
{
    json_t *list = json_array();
    for (int64_t i = 0; list && i < c->info.seeds; i++) {
        far_json_append(w, list, run(w, far_comparison_run(c, model, i)));
    }
    return list;
}

static double both_seconds(const far_compare_row *r)
{
    return r->seconds_fit + (isnan(r->seconds_predict) ? 0 : r->seconds_predict);
}

static json_t *row(far_json_out *w, const far_comparison *c, int64_t model)
{
    const far_compare_row *r = far_comparison_row(c, model);
    json_t *o = json_object();
    far_json_put(w, o, "model", far_json_word(w, r->model));
    far_json_put(w, o, "arch", far_json_word(w, r->arch));
    far_json_put(w, o, "status", far_json_word(w, far_compare_state_text(r->state)));
    far_json_put(w, o, "error", far_json_word(w, r->message));
    far_json_put(w, o, "r2_in", average(w, r->r2_in));
    far_json_put(w, o, "r2_out", average(w, r->r2_out));
    far_json_put(w, o, "rmse_in", far_json_real(r->rmse_in.mean));
    far_json_put(w, o, "rmse_out", far_json_real(r->rmse_out.mean));
    far_json_put(w, o, "max_in", far_json_real(r->max_in));
    far_json_put(w, o, "max_out", far_json_real(r->max_out));
    far_json_put(w, o, "ridge", far_json_real(r->ridge));
    far_json_put(w, o, "seconds", far_json_real(both_seconds(r)));
    far_json_put(w, o, "certificate", certificate(w, r));
    far_json_put(w, o, "runs", runs(w, c, model));
    return o;
}

static json_t *comparison(far_json_out *w, const far_comparison *c)
{
    const far_comparison_info *i = &c->info;
    json_t *o = json_object(), *rows = json_array();
    far_json_put(w, o, "target", far_json_word(w, i->target));
    far_json_put(w, o, "shift", far_json_word(w, i->shift));
    far_json_put(w, o, "rows_in", json_integer(i->rows_in));
    far_json_put(w, o, "rows_out", json_integer(i->rows_out));
    far_json_put(w, o, "train_rows", json_integer(i->train_rows));
    far_json_put(w, o, "test_rows", json_integer(i->test_rows));
    far_json_put(w, o, "seeds", json_integer(i->seeds));
    far_json_put(w, o, "first_seed", json_integer((json_int_t)i->first_seed));
    far_json_put(w, o, "best", far_json_word(w, i->best >= 0 ? c->rows[i->best].model : NULL));
    far_json_put(w, o, "largest_in", far_json_real(i->largest_in));
    far_json_put(w, o, "largest_out", far_json_real(i->largest_out));
    far_json_put(w, o, "seconds", far_json_real(i->seconds));
    for (int64_t k = 0; rows && k < i->models; k++) {
        far_json_append(w, rows, row(w, c, k));
    }
    far_json_put(w, o, "rows", rows);
    return o;
}

far_status far_comparison_json(far_ctx *ctx, const far_comparison *c, char **out)
{
    far_json_out w = {.ctx = ctx};
    far_text text = {.ctx = ctx};
    far_status st = far_json_print(&w, comparison(&w, c), JSON_INDENT(1), "the comparison", &text);
    *out = st == FAR_OK ? text.data : NULL;
    if (st != FAR_OK) {
        far_free(ctx, text.data);
    }
    return st;
}
