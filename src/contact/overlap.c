#include "contact/overlap.h"

#include <stdio.h>

#include "contact/meet.h"

// ---------------------------------------------------------------- the surface of everything

void hk_contact_proof_free(hk_contact_proof *proof)
{
    if (!proof) return;
    hk_certificate_free(proof->certificate);
    hk_surface_free(proof->surface);
    hk_pairs_free(&proof->pairs);
    hk_free(proof->boxes);
    hk_free(proof);
}

hk_status hk_contacts_need_proof(hk_contacts *c)
{
    if (c->proof) return HK_OK;
    hk_contact_proof *p = HK_NEW(hk_contact_proof);
    if (!p) return HK_NO_MEMORY;
    hk_surface_def def = {.vertex_count = c->point_count,
                          .triangle_count = c->triangle_count,
                          .triangles = c->triangles,
                          .bodies = c->side};
    hk_status status = hk_surface_create(&def, &p->surface);
    if (status == HK_OK) status = hk_certificate_create(p->surface, c->threads, &p->certificate);
    p->boxes = HK_ARRAY(hk_box, c->line_count);
    if (status == HK_OK && !p->boxes) status = HK_NO_MEMORY;
    if (status != HK_OK) {
        hk_contact_proof_free(p);
        return status;
    }
    c->proof = p;
    return HK_OK;
}

// ---------------------------------------------------------------- what meets

static bool can_meet(const hk_contacts *c, int a, int b)
{
    int bodies = c->settings->body_count;
    return (a < bodies || b < bodies) && hk_contact_touches(c->settings, a, b);
}

static bool counts(const void *context, int32_t first, int32_t second)
{
    const hk_contacts *c = context;
    const hk_surface *s = c->proof->surface;
    return can_meet(c, hk_triangle_body(s, first), hk_triangle_body(s, second));
}

static hk_status find_crossings(hk_contacts *c, hk_overlap_found *found)
{
    hk_findings findings;
    HK_TRY(hk_certificate_run(c->proof->certificate, c->x, counts, c, &findings));
    found->count += findings.count;
    if (findings.count == 0) return HK_OK;
    hk_intersection first;
    hk_certificate_describe(c->proof->certificate, c->x, &findings, 0, &first);
    for (int k = 0; k < 2; k++) {
        found->sides[k] = first.bodies[k];
        memcpy(found->faces[k], first.faces[k], sizeof found->faces[k]);
    }
    memcpy(found->place, first.place, sizeof found->place);
    return HK_OK;
}

static void note(hk_overlap_found *found, const int32_t sides[2], const double place[3])
{
    if (found->count++ > 0) return;
    memcpy(found->sides, sides, sizeof found->sides);
    memset(found->faces, 0xff, sizeof found->faces);
    memcpy(found->place, place, sizeof found->place);
}

static bool line_counts(const void *context, int32_t line, int32_t triangle)
{
    const hk_contacts *c = context;
    const hk_surface *s = c->proof->surface;
    return can_meet(c, c->side[c->lines[2 * (size_t)line]], hk_triangle_body(s, triangle));
}

// Lines of ropes that meet triangles, over the tree that find_crossings left.
static hk_status find_pierced(hk_contacts *c, hk_overlap_found *found)
{
    hk_contact_proof *p = c->proof;
    if (c->line_count == 0 || p->surface->triangle_count == 0) return HK_OK;
    hk_primitive_boxes(c->x, c->line_count, 2, c->lines, c->threads, p->boxes);
    HK_TRY(hk_bvh_box_pairs(p->boxes, c->line_count, &p->certificate->tree, 0, line_counts, c,
                            c->threads, &p->pairs));
    const uint64_t *keys = hk_pairs_keys(&p->pairs);
    for (size_t k = 0; k < p->pairs.count; k++) {
        const int32_t *l = c->lines + 2 * (size_t)hk_key_first(keys[k]);
        const int32_t *t = p->surface->triangles + 3 * (size_t)hk_key_second(keys[k]);
        const double *x[5];
        for (int i = 0; i < 5; i++) x[i] = c->x + 3 * (size_t)(i < 2 ? l[i] : t[i - 2]);
        if (hk_segment_triangle(x[0], x[1], x[2], x[3], x[4]) == HK_APART) continue;
        const int32_t sides[2] = {c->side[l[0]], c->side[t[0]]};
        note(found, sides, x[0]);
    }
    return HK_OK;
}

// Points that are not strictly in front of a plane.
static void find_behind_planes(const hk_contacts *c, hk_overlap_found *found)
{
    for (int o = 0; o < c->settings->obstacle_count; o++) {
        if (c->plane_of[o] < 0) continue;
        const double *plane = c->x + 3 * (size_t)c->plane_of[o];
        int32_t side = c->settings->body_count + o;
        for (int32_t p = 0; p < c->body_points; p++) {
            const double *x = c->x + 3 * (size_t)p;
            if (!hk_contacts_counts(c, p)) continue;
            if (!hk_contact_touches(c->settings, c->side[p], side)) continue;
            if (hk_dot_sign(plane, plane + 3, x) > 0) continue;
            note(found, (const int32_t[2]){c->side[p], side}, x);
        }
    }
}

// Pairs that are nearer than their thickness.
static hk_status find_gaps(hk_contacts *c, const double *x, bool thickness, hk_overlap_found *found)
{
    int bodies = c->settings->body_count;
    HK_TRY(hk_contacts_see(c, x));
    for (size_t k = 0; k < c->count; k++) {
        const hk_contact *at = &c->list[k];
        bool round = at->sides[0] >= bodies || at->sides[1] >= bodies;
        if (!(at->pair.thickness > 0) || !(thickness || round)) continue;
        double corners[4][3];
        hk_contact_corners(c->x, at->point, corners);
        hk_closest closest = pair_closest(at->pair.kind, (const double(*)[3])corners);
        double gap = pair_distance(at->pair.kind, &closest, (const double(*)[3])corners);
        if (!(gap > at->pair.thickness)) note(found, at->sides, corners[0]);
    }
    return HK_OK;
}

hk_status hk_contacts_find_overlap(hk_contacts *c, const double *x, bool thickness,
                                   hk_overlap_found *found)
{
    double start = hk_now(), detected = c->detect_s;
    hk_overlap_found none = {0};
    *found = none;
    HK_TRY(hk_contacts_need_proof(c));
    hk_contacts_gather(c, x);
    HK_TRY(find_crossings(c, found));
    HK_TRY(find_pierced(c, found));
    find_behind_planes(c, found);
    hk_status status = find_gaps(c, x, thickness, found);
    c->proof->seconds += hk_now() - start - (c->detect_s - detected);
    return status;
}

// ---------------------------------------------------------------- words

// As users count the vertices of a body.
static int number_in_body(const hk_model *m, int32_t vertex, int body)
{
    const hk_partition *g = m->partition;
    return g ? g->vertex[vertex] - g->first[2 * body] : vertex - m->bodies[body].vertex_start;
}

// "face (1, 5, 2) of body 0 (bar)" or "obstacle floor"
static void describe_side(const hk_contacts *c, int side, const int32_t face[3], char *text,
                          size_t size)
{
    const hk_model *m = c->model;
    int bodies = c->settings->body_count;
    if (side >= bodies) {
        snprintf(text, size, "obstacle %.24s", c->settings->obstacles[side - bodies].name);
    } else if (face[0] < 0) {
        snprintf(text, size, "body %d (%.24s)", side, m->bodies[side].name);
    } else {
        int v[3];
        for (int k = 0; k < 3; k++) v[k] = number_in_body(m, m->order[c->vertex[face[k]]], side);
        snprintf(text, size, "face (%d, %d, %d) of body %d (%.24s)", v[0], v[1], v[2], side,
                 m->bodies[side].name);
    }
}

void hk_contacts_describe_overlap(const hk_contacts *c, const hk_overlap_found *f, char *text,
                                  size_t size)
{
    char first[96], second[96];
    describe_side(c, f->sides[0], f->faces[0], first, sizeof first);
    describe_side(c, f->sides[1], f->faces[1], second, sizeof second);
    snprintf(text, size, "%s and %s near (%.4g, %.4g, %.4g)", first, second, f->place[0],
             f->place[1], f->place[2]);
}

hk_status hk_contacts_check(hk_contacts *c, const double *x)
{
    hk_overlap_found found;
    char text[256];
    if (c->settings->law == HK_CONTACT_PENALTY) return HK_OK;
    HK_TRY(hk_contacts_find_overlap(c, x, true, &found));
    if (found.count == 0) return HK_OK;
    hk_contacts_describe_overlap(c, &found, text, sizeof text);
    return hk_fail(HK_BAD_INPUT,
                   "contact: %s overlap: move them apart, let them be pushed apart (\"overlap\": "
                   "\"recover\"), or let them ignore each other (\"between\")",
                   text);
}
