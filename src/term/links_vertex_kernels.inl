// The links of one vertex, for one scalar type: included by links_vertex.c with SCALAR and NAME(x).

static void NAME(push)(const hk_links *t, int user, const SCALAR *x, double g[3], double h[6])
{
    for (int k = t->use_start[user]; k < t->use_start[user + 1]; k++) {
        int link = t->use_link[k];
        double c = (double)((const SCALAR *)t->use_coefficient)[k];
        NAME(link_state) s = NAME(link_at)(t, x, link, 0, g_nowhere);
        link_force f = force_of_link(t, link, s.length, s.stretch);
        for (int i = 0, q = 0; i < 3; i++) {
            g[i] += c * f.across * s.d[i];
            for (int j = i; j < 3; j++, q++)
                h[q] += c * c * (f.along * s.d[i] * s.d[j] + (i == j ? f.across : 0));
        }
    }
}

static double NAME(moved_energy)(const hk_links *t, int user, const SCALAR *x,
                                 const double step[3])
{
    double sum = 0;
    for (int k = t->use_start[user]; k < t->use_start[user + 1]; k++) {
        int link = t->use_link[k];
        double c = (double)((const SCALAR *)t->use_coefficient)[k];
        double stretch = NAME(link_at)(t, x, link, c, step).stretch;
        sum += 0.5 * t->stiffness[link] * stretch * stretch;
    }
    return sum;
}
