#include "contact/rows.h"

#include <math.h>

#include "contact/contacts.h"

static void take_vertices(const hk_contacts *c, const int32_t point[4], const double weight[4],
                          hk_contact_row *row)
{
    for (int k = 0; k < 4; k++) {
        bool body = point[k] < c->body_points && weight[k] != 0;
        row->vertex[k] = body ? c->vertex[point[k]] : -1;
        row->c[k] = body ? weight[k] : 0;
    }
}

static void visit_contact(const hk_contacts *c, const hk_contact *k, hk_contact_row_fn *visit,
                          void *context)
{
    double x[4][3];
    hk_contact_corners(c->x, k->point, x);
    hk_pair_state at = pair_state(&k->pair, (const double(*)[3])x);
    for (int n = 0; n < at.parts; n++) {
        const hk_pair_part *part = &at.part[n];
        hk_contact_row row = {.stiffness = k->pair.stiffness * at.m.energy * part->coefficient *
                                           part->b.curvature};
        if (part->distance == 0 || !(row.stiffness > 0) || !isfinite(row.stiffness)) continue;
        take_vertices(c, k->point, part->closest.c, &row);
        for (int i = 0; i < 3; i++) row.n[i] = part->closest.w[i] / part->distance;
        visit(context, &row);
    }
}

// Of the penalty law: a vertex inside another body, along the way out.
static void visit_press(const hk_contacts *c, const hk_slide *s, hk_contact_row_fn *visit,
                        void *context)
{
    double x[4][3], from[4][3];
    hk_contact_row row = {.stiffness = s->friction.most};
    hk_contact_corners(c->x, s->point, x);
    hk_contact_corners(c->from, s->point, from);
    if (!(press_missing(&s->friction, (const double(*)[3])x, (const double(*)[3])from) > 0)) return;
    take_vertices(c, s->point, s->friction.c, &row);
    memcpy(row.n, s->friction.normal, sizeof row.n);
    visit(context, &row);
}

// Along the slide, across it, and along the normal: the eigenvectors of friction_block.
static void visit_slide(const hk_contacts *c, const hk_slide *s, hk_contact_row_fn *visit,
                        void *context)
{
    double x[4][3], from[4][3], slide[3], along[3], across[3];
    const hk_friction *f = &s->friction;
    hk_contact_corners(c->x, s->point, x);
    hk_contact_corners(c->from, s->point, from);
    double nearer = friction_slide(f, (const double(*)[3])x, (const double(*)[3])from, slide);
    double length = sqrt(closest_dot(slide, slide));
    // Any tangent will do where nothing slides.
    int least = fabs(f->normal[0]) < fabs(f->normal[1]) ? 0 : 1;
    if (fabs(f->normal[2]) < fabs(f->normal[least])) least = 2;
    double any[3] = {least == 0, least == 1, least == 2};
    closest_cross(f->normal, length > 0 ? slide : any, across);
    double size = sqrt(closest_dot(across, across));
    if (!(size > 0)) return;
    for (int i = 0; i < 3; i++) across[i] /= size;
    closest_cross(across, f->normal, along);
    hk_contact_row row;
    take_vertices(c, s->point, f->c, &row);
    row.stiffness = f->most * contact_slip_ratio(f->slip, length);
    memcpy(row.n, across, sizeof row.n);
    if (row.stiffness > 0) visit(context, &row);
    row.stiffness = f->most * contact_slip(f->slip, length).curvature;
    memcpy(row.n, along, sizeof row.n);
    if (row.stiffness > 0) visit(context, &row);
    row.stiffness = nearer < 0 ? f->damping : 0;
    memcpy(row.n, f->normal, sizeof row.n);
    if (row.stiffness > 0) visit(context, &row);
}

void hk_contacts_visit_rows(hk_contacts *c, const double *x, hk_contact_row_fn *visit,
                            void *context)
{
    c->status = hk_contacts_see(c, x);
    if (c->status != HK_OK) return;
    double nearer = hk_contacts_nearer(c);
    for (size_t k = 0; k < c->count; k++)
        if (!hk_contacts_apart(c, k, nearer)) visit_contact(c, &c->list[k], visit, context);
    for (size_t k = 0; k < c->slide_count; k++)
        (c->slides[k].press ? visit_press : visit_slide)(c, &c->slides[k], visit, context);
}
