/* The points a search looks at. */
#include "ln_search.h"

far_status far_sample_create(const far_labelled *p, const far_white *w, int64_t most, far_sample *s)
{
    far_status st = FAR_OK;
    *s = (far_sample){.ctx = p->ctx, .rank = w->rank, .n = far_least(p->n, most)};
    FAR_TRY(far_alloc(p->ctx, s->n * w->rank, &s->u));
    FAR_TRY(far_white_points(p, w, s->n, s->u));
    FAR_TRY(far_circle_create(p, s->n, &s->circle));
done:
    if (st != FAR_OK) {
        far_sample_clear(s);
        *s = (far_sample){.ctx = p->ctx};
    }
    return st;
}

void far_sample_clear(far_sample *s)
{
    far_circle_clear(s->ctx, &s->circle);
    far_free(s->ctx, s->u);
}
