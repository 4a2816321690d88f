#include "contact/certificate.h"

#include "contact/meet.h"
#include "core/vector.h"

void hk_certificate_free(hk_certificate *c)
{
    if (!c) return;
    hk_bvh_free(&c->tree);
    hk_free(c->boxes);
    hk_free(c->findings);
    hk_free(c);
}

hk_status hk_certificate_create(const hk_surface *surface, int threads,
                                hk_certificate **certificate)
{
    hk_certificate *c = HK_NEW(hk_certificate);
    if (!c) return HK_NO_MEMORY;
    c->surface = surface;
    c->threads = threads;
    c->boxes = HK_ARRAY(hk_box, surface->triangle_count);
    c->findings = HK_ARRAY(hk_findings, threads);
    if (!c->boxes || !c->findings) {
        hk_certificate_free(c);
        return HK_NO_MEMORY;
    }
    *certificate = c;
    return HK_OK;
}

// ---------------------------------------------------------------- finding

// Keeps the lowest keys, in order.
static void list(hk_findings *f, uint64_t key, bool touches)
{
    if (f->listed == HK_DEFECT_LIST && key > f->first[f->listed - 1]) return;
    if (f->listed < HK_DEFECT_LIST) f->listed++;
    int at = f->listed - 1;
    for (; at > 0 && f->first[at - 1] > key; at--) {
        f->first[at] = f->first[at - 1];
        f->first_touches[at] = f->first_touches[at - 1];
    }
    f->first[at] = key;
    f->first_touches[at] = touches;
}

static void test_pair(void *context, int thread, int32_t first, int32_t second)
{
    hk_findings *f = (hk_findings *)context + thread;
    const int32_t *triangles = f->certificate->surface->triangles;
    hk_meeting met =
        hk_triangles_meet(f->x, triangles + 3 * (size_t)first, triangles + 3 * (size_t)second);
    if (met == HK_APART) return;
    if (f->filter && !f->filter(f->filter_context, first, second)) return;
    f->count++;
    f->touching += met == HK_TOUCHING;
    list(f, (uint64_t)(uint32_t)first << 32 | (uint32_t)second, met == HK_TOUCHING);
}

static hk_status check_positions(const hk_surface *s, const double *x)
{
    for (int64_t k = 0; k < 3 * (int64_t)s->triangle_count; k++)
        if (!hk_is_finite3(x + 3 * (size_t)s->triangles[k]))
            return hk_fail(HK_BAD_INPUT, "vertex %d is not finite", s->triangles[k]);
    return HK_OK;
}

hk_status hk_certificate_run(hk_certificate *c, const double *x, hk_pair_filter *filter,
                             const void *context, hk_findings *findings)
{
    const hk_surface *s = c->surface;
    HK_TRY(check_positions(s, x));
    hk_primitive_boxes(x, s->triangle_count, 3, s->triangles, c->threads, c->boxes);
    HK_TRY(hk_bvh_build(&c->tree, c->boxes, s->triangle_count, c->threads));
    const hk_findings none = {
        .certificate = c, .x = x, .filter = filter, .filter_context = context};
    for (int t = 0; t < c->threads; t++) c->findings[t] = none;
    hk_bvh_visit_self(&c->tree, 0, test_pair, c->findings, c->threads);
    *findings = none;
    for (int t = 0; t < c->threads; t++) {
        const hk_findings *f = &c->findings[t];
        findings->count += f->count;
        findings->touching += f->touching;
        for (int k = 0; k < f->listed; k++) list(findings, f->first[k], f->first_touches[k]);
    }
    return HK_OK;
}
