// One link in double precision from positions (or displacements, links.h) in another: included with
// SCALAR and NAME(x) by the files that take links one by one.

typedef struct NAME(link_state) {
    double d[3];
    double length, stretch;  // ‖d‖, ‖d‖ − r
} NAME(link_state);

static inline NAME(link_state)
    NAME(link_at)(const hk_links *t, const SCALAR *x, int link, double c, const double step[3])
{
    int attachment = link - t->spring_count - t->bend_count;
    const SCALAR *target = (const SCALAR *)t->target + 4 * (int64_t)attachment;
    bool displaced = t->has_base && attachment < 0;
    double moved[3], r = t->rest[link];
    for (int i = 0; i < 3; i++) moved[i] = c * step[i] - (attachment >= 0 ? (double)target[i] : 0);
    for (int a = t->start[link]; a < t->start[link + 1]; a++)
        for (int i = 0; i < 3; i++)
            moved[i] += t->coefficient[a] * (double)x[4 * (int64_t)t->vertex[a] + i];
    NAME(link_state) s;
    const float *base = t->base_d + 4 * (int64_t)link;
    double more = displaced ? (double)base[3] : 0, square = 0;
    for (int i = 0; i < 3; i++) {
        double d0 = displaced ? (double)base[i] : 0;
        more += (2 * d0 + moved[i]) * moved[i];
        s.d[i] = d0 + moved[i];
        square += s.d[i] * s.d[i];
    }
    s.length = sqrt(square);
    s.stretch = displaced && s.length + r > 0 ? more / (s.length + r) : s.length - r;
    return s;
}
