// Links seen from one of their vertices.
#include <math.h>

#include "term/links.h"

// The force of a link is across × d, its block across I + along d dᵀ (links.h).
typedef struct link_force {
    double across, along;
} link_force;

static link_force force_of_link(const hk_links *t, int link, double length, double stretch)
{
    double w = t->stiffness[link], r = t->rest[link];
    bool directed = length > 1e-6 * r && length > 0 && r > 0;
    double across = directed ? w * stretch / length : w;
    return (link_force){across, directed ? (w - across) / (length * length) : 0};
}

static const double g_nowhere[3];

#define SCALAR  float
#define NAME(x) x##_f32
#include "term/links_one.inl"
#include "term/links_vertex_kernels.inl"
#undef SCALAR
#undef NAME
#define SCALAR  double
#define NAME(x) x##_f64
#include "term/links_one.inl"
#include "term/links_vertex_kernels.inl"
#undef SCALAR
#undef NAME

bool hk_links_vertex(const hk_links *t, int vertex, const void *x, double gradient[3],
                     double block[6])
{
    int user = t->user_of[vertex];
    if (user < 0) return false;
    if (t->precision == HK_SINGLE)
        push_f32(t, user, x, gradient, block);
    else
        push_f64(t, user, x, gradient, block);
    return true;
}

double hk_links_vertex_energy(const hk_links *t, int vertex, const void *x, const double step[3])
{
    int user = t->user_of[vertex];
    if (user < 0) return 0;
    return t->precision == HK_SINGLE ? moved_energy_f32(t, user, x, step)
                                     : moved_energy_f64(t, user, x, step);
}
