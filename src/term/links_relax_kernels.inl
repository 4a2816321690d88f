// One link of XPBD, for one scalar type: included by links_relax.c with SCALAR and NAME(x).

// Σ c² w of a link.
static double NAME(mobility)(const hk_links *t, const SCALAR *x, int link)
{
    double sum = 0;
    for (int a = t->start[link]; a < t->start[link + 1]; a++)
        sum += t->coefficient[a] * t->coefficient[a] * (double)x[4 * (int64_t)t->vertex[a] + 3];
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
    double *multiplier = r->multiplier + 3 * (int64_t)link, step[3], w = t->stiffness[link];
    NAME(link_state) s = NAME(link_at)(t, x, link, 0, g_nowhere);
    bool directed = s.length > 1e-6 * t->rest[link] && s.length > 0;
    double along = directed ? w * s.stretch / s.length : w;
    double part = 1 / (1 + h * h * w * NAME(mobility)(t, x, link));
    for (int i = 0; i < 3; i++) {
        double missing = part * (along * s.d[i] - multiplier[i]);
        multiplier[i] += missing;
        step[i] = h * h * missing;
    }
    NAME(move_link)(t, link, step, x);
}
