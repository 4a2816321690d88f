// One link of XPBD, for one scalar type: included by links_relax.c with SCALAR and NAME(x).

// d of a link (links.h) and Σ c² w.
static double NAME(link_vector)(const hk_links *t, const SCALAR *x, int link, double d[3])
{
    int attachment = link - t->spring_count - t->bend_count;
    const SCALAR *target = (const SCALAR *)t->target + 4 * (int64_t)attachment;
    double sum = 0;
    for (int i = 0; i < 3; i++) d[i] = attachment >= 0 ? -(double)target[i] : 0;
    for (int a = t->start[link]; a < t->start[link + 1]; a++) {
        const SCALAR *at = x + 4 * (int64_t)t->vertex[a];
        for (int i = 0; i < 3; i++) d[i] += t->coefficient[a] * (double)at[i];
        sum += t->coefficient[a] * t->coefficient[a] * (double)at[3];
    }
    return sum;
}

static void NAME(move_link)(const hk_links *t, int link, const double step[3], SCALAR *x)
{
    for (int a = t->start[link]; a < t->start[link + 1]; a++) {
        SCALAR *at = x + 4 * (int64_t)t->vertex[a];
        double part = t->coefficient[a] * (double)at[3];
        for (int i = 0; i < 3; i++) at[i] = (SCALAR)((double)at[i] - part * step[i]);
    }
}

static void NAME(relax)(links_relax *r, int link, double h, SCALAR *x)
{
    const hk_links *t = r->links;
    double d[3], *multiplier = r->multiplier + 3 * (int64_t)link, step[3];
    double sum = NAME(link_vector)(t, x, link, d);
    double length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), w = t->stiffness[link];
    double along = length > 1e-6 * t->rest[link] && length > 0 ? w - w * t->rest[link] / length : w;
    double part = 1 / (1 + h * h * w * sum);
    for (int i = 0; i < 3; i++) {
        double missing = part * (along * d[i] - multiplier[i]);
        multiplier[i] += missing;
        step[i] = h * h * missing;
    }
    NAME(move_link)(t, link, step, x);
}
