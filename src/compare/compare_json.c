/* A comparison as JSON text. */
#include "compare_internal.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* JSON has no infinities and no NaN: "inf", "-inf" and null. */
static json_t *number(double value)
{
    if (isnan(value)) {
        return json_null();
    }
    return isinf(value) ? json_string(value > 0 ? "inf" : "-inf") : json_real(value);
}

static json_t *text(const char *value)
{
    return value ? json_string(value) : json_null();
}

static json_t *average(far_compare_average a)
{
    json_t *o = json_object();
    json_object_set_new(o, "mean", number(a.mean));
    json_object_set_new(o, "ci95", number(a.ci95));
    return o;
}

/* {"F1": 0.93, ...} */
static json_t *direction(const far_compare_verdict *v)
{
    if (!v->direction) {
        return json_null();
    }
    json_t *o = json_object();
    for (int64_t i = 0; i < v->input_count; i++) {
        json_object_set_new(o, v->input[i], number(v->direction[i]));
    }
    return o;
}

static json_t *certificate(const far_compare_verdict *v)
{
    json_t *o = json_object();
    const char *verdict = v->bounded ? "bounded" : "unbounded";
    json_object_set_new(o, "verdict", text(v->known ? verdict : NULL));
    json_object_set_new(o, "tightest", v->known ? number(v->tightest) : json_null());
    json_object_set_new(o, "sup_found", v->known ? number(v->sup_found) : json_null());
    json_object_set_new(o, "slope", v->known ? number(v->slope) : json_null());
    json_object_set_new(o, "order", v->known ? number(v->order) : json_null());
    json_object_set_new(o, "direction", direction(v));
    json_object_set_new(o, "reason", text(v->reason));
    json_object_set_new(o, "seed", v->known ? json_integer((json_int_t)v->seed) : json_null());
    return o;
}

static json_t *run(const far_compare_run *r)
{
    json_t *o = json_object();
    json_object_set_new(o, "seed", json_integer((json_int_t)r->seed));
    json_object_set_new(o, "arch", text(r->arch));
    json_object_set_new(o, "ridge", number(r->ridge));
    json_object_set_new(o, "r2_in", number(r->r2_in));
    json_object_set_new(o, "r2_out", number(r->r2_out));
    json_object_set_new(o, "rmse_in", number(r->rmse_in));
    json_object_set_new(o, "rmse_out", number(r->rmse_out));
    json_object_set_new(o, "max_in", number(r->max_in));
    json_object_set_new(o, "max_out", number(r->max_out));
    json_object_set_new(o, "seconds_fit", number(r->seconds_fit));
    json_object_set_new(o, "seconds_predict", number(r->seconds_predict));
    json_object_set_new(o, "error", text(r->message));
    return o;
}

static json_t *runs(const far_comparison *c, int64_t model)
{
    json_t *list = json_array();
    for (int64_t i = 0; list && i < c->info.seeds; i++) {
        json_array_append_new(list, run(far_comparison_run(c, model, i)));
    }
    return list;
}

static double both_seconds(const far_compare_row *r)
{
    return r->seconds_fit + (isnan(r->seconds_predict) ? 0 : r->seconds_predict);
}

static json_t *row(const far_comparison *c, int64_t model)
{
    const far_compare_row *r = far_comparison_row(c, model);
    json_t *o = json_object();
    json_object_set_new(o, "model", text(r->model));
    json_object_set_new(o, "arch", text(r->arch));
    json_object_set_new(o, "status", text(far_compare_state_text(r->state)));
    json_object_set_new(o, "error", text(r->message));
    json_object_set_new(o, "r2_in", average(r->r2_in));
    json_object_set_new(o, "r2_out", average(r->r2_out));
    json_object_set_new(o, "rmse_in", number(r->rmse_in.mean));
    json_object_set_new(o, "rmse_out", number(r->rmse_out.mean));
    json_object_set_new(o, "max_in", number(r->max_in));
    json_object_set_new(o, "max_out", number(r->max_out));
    json_object_set_new(o, "ridge", number(r->ridge));
    json_object_set_new(o, "seconds", number(both_seconds(r)));
    json_object_set_new(o, "certificate", certificate(&r->verdict));
    json_object_set_new(o, "runs", runs(c, model));
    return o;
}

static json_t *comparison(const far_comparison *c)
{
    const far_comparison_info *i = &c->info;
    json_t *o = json_object(), *rows = json_array();
    json_object_set_new(o, "target", text(i->target));
    json_object_set_new(o, "shift", text(i->shift));
    json_object_set_new(o, "rows_in", json_integer(i->rows_in));
    json_object_set_new(o, "rows_out", json_integer(i->rows_out));
    json_object_set_new(o, "train_rows", json_integer(i->train_rows));
    json_object_set_new(o, "test_rows", json_integer(i->test_rows));
    json_object_set_new(o, "seeds", json_integer(i->seeds));
    json_object_set_new(o, "first_seed", json_integer((json_int_t)i->first_seed));
    json_object_set_new(o, "best", text(i->best >= 0 ? c->rows[i->best].model : NULL));
    json_object_set_new(o, "largest_in", number(i->largest_in));
    json_object_set_new(o, "largest_out", number(i->largest_out));
    json_object_set_new(o, "seconds", number(i->seconds));
    for (int64_t k = 0; rows && k < i->models; k++) {
        json_array_append_new(rows, row(c, k));
    }
    json_object_set_new(o, "rows", rows);
    return o;
}

far_status far_comparison_json(far_ctx *ctx, const far_comparison *c, char **out)
{
    *out = NULL;
    json_t *o = comparison(c);
    char *dump = o ? json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
    far_status st = dump ? far_copy_text(ctx, dump, (int64_t)strlen(dump), out)
                         : far_fail(ctx, FAR_ERR_MEMORY, "out of memory writing the comparison");
    free(dump);
    json_decref(o);
    return st;
}
