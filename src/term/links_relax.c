// The constraints of links for XPBD: ‖d‖ − r of compliance 1/w, one after the other, with the force
// that has acted so far for multiplier.
#include <math.h>

#include "term/links.h"

typedef struct links_relax {
    const hk_links *links;
    double *multiplier;  // [link_count][3] N
} links_relax;

static void release(void *state)
{
    links_relax *r = state;
    if (!r) return;
    hk_free(r->multiplier);
    hk_free(r);
}

static hk_status create(hk_term *term, void **state)
{
    const hk_links *links = (const hk_links *)term;
    links_relax *r = HK_NEW(links_relax);
    if (!r) return HK_NO_MEMORY;
    r->links = links;
    r->multiplier = HK_ZEROS(double, 3 * (size_t)links->link_count);
    if (!r->multiplier) {
        release(r);
        return HK_NO_MEMORY;
    }
    *state = r;
    return HK_OK;
}

static void begin(void *state, bool several)
{
    (void)several;
    links_relax *r = state;
    memset(r->multiplier, 0, 3 * sizeof(double) * (size_t)r->links->link_count);
}

static const double g_nowhere[3];

#define SCALAR  float
#define NAME(x) x##_f32
#include "term/links_one.inl"
#include "term/links_relax_kernels.inl"
#undef SCALAR
#undef NAME
#define SCALAR  double
#define NAME(x) x##_f64
#include "term/links_one.inl"
#include "term/links_relax_kernels.inl"
#undef SCALAR
#undef NAME

static void sweep(void *state, void *x, double h, bool several)
{
    (void)several;
    links_relax *r = state;
    for (int link = 0; link < r->links->link_count; link++)
        if (r->links->precision == HK_SINGLE)
            relax_f32(r, link, h, x);
        else
            relax_f64(r, link, h, x);
}

const hk_relax_ops hk_links_relax = {
    .create = create, .free = release, .begin = begin, .sweep = sweep};
