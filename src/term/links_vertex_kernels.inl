// The links of one vertex, for one scalar type: included by links_vertex.c with SCALAR and NAME(x).

static inline void NAME(link_vector)(const hk_links *t, const SCALAR *x, int link, double d[3])
{
    int attachment = link - t->spring_count - t->bend_count;
    const SCALAR *target = (const SCALAR *)t->target + 4 * (int64_t)attachment;
    for (int i = 0; i < 3; i++) d[i] = attachment >= 0 ? -(double)target[i] : 0;
    for (int a = t->start[link]; a < t->start[link + 1]; a++)
        for (int i = 0; i < 3; i++)
            d[i] += t->coefficient[a] * (double)x[4 * (int64_t)t->vertex[a] + i];
}

static void NAME(push)(const hk_links *t, int user, const SCALAR *x, double g[3], double h[6])
{
    for (int k = t->use_start[user]; k < t->use_start[user + 1]; k++) {
        int link = t->use_link[k];
        double c = (double)((const SCALAR *)t->use_coefficient)[k], d[3];
        NAME(link_vector)(t, x, link, d);
        link_force f = force_of_link(t, link, d);
        for (int i = 0, q = 0; i < 3; i++) {
            g[i] += c * f.across * d[i];
            for (int j = i; j < 3; j++, q++)
                h[q] += c * c * (f.along * d[i] * d[j] + (i == j ? f.across : 0));
        }
    }
}

static double NAME(moved_energy)(const hk_links *t, int user, const SCALAR *x,
                                 const double step[3])
{
    double sum = 0;
    for (int k = t->use_start[user]; k < t->use_start[user + 1]; k++) {
        int link = t->use_link[k];
        double c = (double)((const SCALAR *)t->use_coefficient)[k], d[3];
        NAME(link_vector)(t, x, link, d);
        for (int i = 0; i < 3; i++) d[i] += c * step[i];
        double stretch = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) - t->rest[link];
        sum += 0.5 * t->stiffness[link] * stretch * stretch;
    }
    return sum;
}
