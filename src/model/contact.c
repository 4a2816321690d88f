// From the definitions of contact and obstacles to what the model keeps of them.
#include "model/contact.h"

#include <math.h>

#include "contact/damping.h"
#include "core/def.h"

// ---------------------------------------------------------------- laws and defaults

static const struct {
    const char *name, *summary;
} g_laws[HK_CONTACT_LAWS] = {
    [HK_CONTACT_TWO_STAGE] = {"two_stage",
                              "a spring that becomes a barrier at half the distance (OGC)"},
    [HK_CONTACT_LOG] = {"log", "a logarithmic barrier (IPC)"},
    [HK_CONTACT_PENALTY] = {"penalty", "a spring, which can be pressed through"},
    [HK_CONTACT_SPRING_DAMPER] = {"spring_damper",
                                  "springs, dampers and drag at vertices inside obstacles, for "
                                  "linear_implicit (Extreme eq. 33)"},
};

int hk_contact_law_count(void)
{
    return HK_CONTACT_LAWS;
}
const char *hk_contact_law_name(int law)
{
    return law >= 0 && law < HK_CONTACT_LAWS ? g_laws[law].name : "";
}
const char *hk_contact_law_summary(int law)
{
    return law >= 0 && law < HK_CONTACT_LAWS ? g_laws[law].summary : "";
}

void hk_fill_contact_def(hk_contact_def *def, size_t size)
{
    const hk_contact_def standard = {.friction_passes = 1,
                                     .self = 1,
                                     .law = g_laws[HK_CONTACT_TWO_STAGE].name,
                                     .normal_stiffness = 1e6,
                                     .normal_damping = 1e4,
                                     .drag = 1e7};
    hk_def_fill(&hk_def_contact, &standard, def, size);
}

// ---------------------------------------------------------------- settings

static hk_status find_law(const char *name, hk_contact_law *law)
{
    *law = HK_CONTACT_TWO_STAGE;
    if (!name) return HK_OK;
    for (int k = 0; k < HK_CONTACT_LAWS; k++)
        if (strcmp(name, g_laws[k].name) == 0) {
            *law = (hk_contact_law)k;
            return HK_OK;
        }
    return hk_fail(HK_BAD_INPUT,
                   "unknown law %s (known: two_stage, log, penalty, "
                   "spring_damper)",
                   name);
}

static hk_status check_not_negative(const char *field, const char *unit, double value)
{
    if (isfinite(value) && value >= 0) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "its %s must be 0 or more (is %g%s)", field, value, unit);
}

static hk_status take_settings(const hk_contact_def *def, hk_model_contact *c)
{
    HK_TRY(check_not_negative("distance", " m", def->distance));
    HK_TRY(check_not_negative("stiffness", " Pa", def->stiffness));
    HK_TRY(check_not_negative("friction", "", def->friction));
    HK_TRY(check_not_negative("slip_speed", " m/s", def->slip_speed));
    HK_TRY(check_not_negative("normal_stiffness", " N/m", def->normal_stiffness));
    HK_TRY(check_not_negative("normal_damping", " N s/m", def->normal_damping));
    HK_TRY(check_not_negative("drag", " N s/m²", def->drag));
    if (!(def->restitution >= 0 && def->restitution <= 1))
        return hk_fail(HK_BAD_INPUT, "its restitution must be 0 to 1 (is %g)", def->restitution);
    if (def->friction_passes < 0)
        return hk_fail(HK_BAD_INPUT, "its friction_passes must be 0 or more (is %d)",
                       def->friction_passes);
    HK_TRY(find_law(def->law, &c->law));
    if ((unsigned)def->overlap > HK_OVERLAP_RECOVER)
        return hk_fail(HK_BAD_INPUT, "its overlap is unknown (%d)", (int)def->overlap);
    if ((unsigned)def->when > HK_CONTACT_AFTER)
        return hk_fail(HK_BAD_INPUT, "its when is unknown (%d)", (int)def->when);
    c->given_distance = def->distance;
    c->stiffness = def->stiffness;
    c->friction = def->friction;
    c->given_slip = def->slip_speed;
    c->restitution = def->restitution;
    c->normal_stiffness = def->normal_stiffness;
    c->normal_damping = def->normal_damping;
    c->drag = def->drag;
    c->damping_ratio = contact_damping_ratio(def->restitution);
    c->friction_passes = def->friction_passes;
    c->self = def->self != 0;
    c->certify = def->certify != 0;
    c->overlap = def->overlap;
    c->when = def->when;
    return HK_OK;
}

static hk_status take_obstacles(const hk_model_def *def, hk_model_contact *c)
{
    c->obstacles = HK_ZEROS(hk_obstacle, def->obstacle_count);
    if (!c->obstacles) return HK_NO_MEMORY;
    for (int k = 0; k < def->obstacle_count; k++) {
        const hk_obstacle_def *d = &def->obstacles[k];
        hk_status status = hk_obstacle_take(d, &c->obstacles[k]);
        if (status != HK_OK)
            return hk_fail_within(status, "obstacle %d (%s)", k, d->name ? d->name : "unnamed");
        c->obstacle_count++;
    }
    return HK_OK;
}

// ---------------------------------------------------------------- pairs

bool hk_contact_name_matches(const char *pattern, const char *name)
{
    size_t length = strlen(pattern);
    if (length > 0 && pattern[length - 1] == '*') return strncmp(pattern, name, length - 1) == 0;
    return strcmp(pattern, name) == 0;
}

static int side_count(const hk_model_contact *c)
{
    return c->body_count + c->obstacle_count;
}

static const char *side_name(const hk_model *m, const hk_model_contact *c, int side)
{
    return side < m->body_count ? m->bodies[side].name : c->obstacles[side - m->body_count].name;
}

// Whether each side is meant by the first and by the second name of each entry.
typedef struct memberships {
    int entries;
    uint8_t *of;  // [sides][entries][2]
} memberships;

static uint8_t *row_of(const memberships *m, int side)
{
    return m->of + 2 * (size_t)m->entries * (size_t)side;
}

static hk_status find_members(const hk_model *m, const hk_model_contact *c,
                              const hk_between_def *entry, int number, const memberships *in)
{
    const char *names[2] = {entry->a, entry->b};
    for (int end = 0; end < 2; end++) {
        int count = 0;
        if (!names[end]) return hk_fail(HK_BAD_INPUT, "it needs two names");
        for (int s = 0; s < side_count(c); s++) {
            bool meant = hk_contact_name_matches(names[end], side_name(m, c, s));
            row_of(in, s)[2 * number + end] = meant;
            count += meant;
        }
        if (count == 0)
            return hk_fail(HK_BAD_INPUT, "there is no body and no obstacle \"%s\"", names[end]);
    }
    if (!isnan(entry->friction)) HK_TRY(check_not_negative("friction", "", entry->friction));
    if (!hk_is_zero(entry, offsetof(hk_between_def, reserved_int), sizeof *entry))
        return hk_fail(HK_UNSUPPORTED,
                       "hk_between_def sets a field that the library (%s) does not know",
                       hk_version());
    return HK_OK;
}

// Sides of equal rows are of one kind; first[kind] is the first of them.
static void find_kinds(hk_model_contact *c, const memberships *in, int32_t *first)
{
    size_t bytes = 2 * (size_t)in->entries;
    for (int s = 0; s < side_count(c); s++) {
        int kind = 0;
        while (kind < c->kind_count && memcmp(row_of(in, first[kind]), row_of(in, s), bytes) != 0)
            kind++;
        if (kind == c->kind_count) first[c->kind_count++] = s;
        c->sides[s].kind = kind;
    }
}

static double entry_for(const hk_between_def *entries, const memberships *in, int a, int b)
{
    const uint8_t *p = row_of(in, a), *q = row_of(in, b);
    for (int k = in->entries - 1; k >= 0; k--)
        if ((p[2 * k] && q[2 * k + 1]) || (q[2 * k] && p[2 * k + 1]))
            return entries[k].ignore ? -1 : entries[k].friction;
    return NAN;
}

static hk_status fill_between(const hk_model *m, const hk_between_def *entries,
                              const memberships *in, int32_t *first, hk_model_contact *c)
{
    for (int k = 0; k < in->entries; k++) {
        hk_status status = find_members(m, c, &entries[k], k, in);
        if (status != HK_OK) return hk_fail_within(status, "between %d", k);
    }
    find_kinds(c, in, first);
    size_t kinds = (size_t)c->kind_count;
    c->between = HK_ARRAY(double, kinds *kinds);
    if (!c->between) return HK_NO_MEMORY;
    for (size_t i = 0; i < kinds; i++)
        for (size_t j = 0; j < kinds; j++)
            c->between[i * kinds + j] = entry_for(entries, in, first[i], first[j]);
    return HK_OK;
}

static hk_status take_pairs(const hk_model *m, const hk_contact_def *def, hk_model_contact *c)
{
    if (def->between_count < 0 || (def->between_count > 0 && !def->between))
        return hk_fail(HK_BAD_INPUT, "its list between is NULL, or its count negative (%d)",
                       def->between_count);
    memberships in = {.entries = def->between_count};
    in.of = hk_calloc((size_t)side_count(c), 2 * (size_t)in.entries);
    int32_t *first = HK_ARRAY(int32_t, side_count(c));
    hk_status status = in.of && first ? fill_between(m, def->between, &in, first, c) : HK_NO_MEMORY;
    hk_free(in.of);
    hk_free(first);
    return status;
}

double hk_contact_friction(const hk_model_contact *c, int a, int b)
{
    double entry = hk_contact_entry(c, a, b), p = c->sides[a].friction, q = c->sides[b].friction;
    if (!isnan(entry)) return entry;
    if (isnan(p) && isnan(q)) return c->friction;
    if (isnan(p) || isnan(q)) return isnan(p) ? q : p;
    return p == q ? p : sqrt(p * q);
}

double hk_contact_modulus(const hk_model_contact *c, int a, int b)
{
    if (c->stiffness > 0) return c->stiffness;
    double least = INFINITY;
    if (a < c->body_count) least = c->bodies[a].young;
    if (b < c->body_count) least = fmin(least, c->bodies[b].young);
    return fmin(least, c->hardest);
}

// Of a body's face its diagonal says little more than a size: a cube's is a third of the square.
static double weight_of(const hk_contact_body *b)  // kg/m²
{
    return b->diagonal > 0 ? 3 * b->mass / (b->diagonal * b->diagonal) : 0;
}

double hk_contact_frequency(const hk_model_contact *c, int a, int b)
{
    double first = a < c->body_count ? weight_of(&c->bodies[a]) : INFINITY;
    double second = b < c->body_count ? weight_of(&c->bodies[b]) : INFINITY;
    double both = 1 / (1 / first + 1 / second);
    return both > 0 ? sqrt(hk_contact_modulus(c, a, b) / (c->distance * both)) : INFINITY;
}

double hk_contact_slowest(const hk_model_contact *c, int body)
{
    double least = INFINITY;
    for (int b = 0; b < c->body_count; b++) least = fmin(least, c->bodies[b].young);
    double modulus = c->stiffness > 0 ? c->stiffness : fmin(least, c->hardest);
    double weight = weight_of(&c->bodies[body]);
    return weight > 0 ? sqrt(modulus / (c->distance * weight)) : INFINITY;
}

// ---------------------------------------------------------------- what follows from rest shapes

// The mean side of triangles, m.
static double mean_side(const double *positions, int count, const int32_t *triangles)
{
    double sum = 0;
    for (int t = 0; t < count; t++)
        for (int k = 0; k < 3; k++) {
            const double *p = positions + 3 * (int64_t)triangles[3 * (int64_t)t + k];
            const double *q = positions + 3 * (int64_t)triangles[3 * (int64_t)t + (k + 1) % 3];
            sum += sqrt((p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1]) +
                        (p[2] - q[2]) * (p[2] - q[2]));
        }
    return count > 0 ? sum / (3.0 * count) : 0;
}

static double mean_line(const hk_mesh *mesh)
{
    double sum = 0;
    for (int k = 0; k < mesh->line_count; k++) {
        const double *p = mesh->positions + 3 * (int64_t)mesh->lines[2 * (int64_t)k];
        const double *q = mesh->positions + 3 * (int64_t)mesh->lines[2 * (int64_t)k + 1];
        sum += sqrt((p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1]) +
                    (p[2] - q[2]) * (p[2] - q[2]));
    }
    return sum / mesh->line_count;
}

static hk_status measure_edge(const hk_model *m, int number, double *edge)
{
    hk_mesh *mesh;
    int count;
    const int32_t *triangles;
    HK_TRY(hk_model_body_mesh(m, number, &mesh));
    if (mesh->line_count > 0) {
        *edge = mean_line(mesh);
        hk_mesh_free(mesh);
        return HK_OK;
    }
    hk_status status = hk_mesh_surface(mesh, &count, &triangles, NULL);
    if (status == HK_OK) *edge = mean_side(mesh->positions, count, triangles);
    hk_mesh_free(mesh);
    return status;
}

// Vertices of no element do not count.
static double measure_diagonal(const hk_model *m, const hk_body *body)
{
    double low[3], high[3], square = 0;
    for (int i = 0; i < 3; i++) {
        low[i] = INFINITY;
        high[i] = -INFINITY;
    }
    for (int v = body->vertex_start; v < body->vertex_start + body->vertex_count; v++)
        for (int i = 0; i < 3 && m->mass[v] > 0; i++) {
            low[i] = fmin(low[i], m->rest[3 * (int64_t)v + i]);
            high[i] = fmax(high[i], m->rest[3 * (int64_t)v + i]);
        }
    for (int i = 0; i < 3; i++) square += (high[i] - low[i]) * (high[i] - low[i]);
    return sqrt(square);
}

static double softest(const hk_model *m, const hk_body *body)
{
    double least = INFINITY;
    for (int t = body->tet_start; t < body->tet_start + body->tet_count; t++)
        least = fmin(least, m->materials[m->tet_material[t]].young);
    return least;
}

// A sheet of stretching stiffness k and edges of length l pushes as hard as a body of modulus k/l,
// a rope of stiffness k, which shows l times its diameter, as one of modulus k/(l 2r): of all,
// contact is l/d̂ times as stiff as an element.
static hk_status measure_body(const hk_model *m, int number, bool edges, hk_contact_body *to)
{
    const hk_body *body = &m->bodies[number];
    bool sheet = body->tet_count == 0;
    to->diagonal = measure_diagonal(m, body);
    to->mass = 0;
    for (int v = 0; v < body->vertex_count; v++) to->mass += m->mass[body->vertex_start + v];
    if (edges || sheet) HK_TRY(measure_edge(m, number, &to->edge));
    to->young = sheet ? body->sheet.stretch / to->edge : softest(m, body);
    if (body->line_count > 0) to->young /= 2 * body->sheet.radius;
    return HK_OK;
}

// A skin as hard as steel gives way by a millionth under what lies on it: contact that is there or
// not, and a kink of the energy that every method has to find. It need be no harder than this many
// times the pressure of the heaviest body on a square of its size.
#define HARD_ENOUGH 3000

// Pa; +inf: nothing has a weight.
static double find_hardest(const hk_model *m)
{
    double g = sqrt(m->gravity[0] * m->gravity[0] + m->gravity[1] * m->gravity[1] +
                    m->gravity[2] * m->gravity[2]);
    double most = 0;
    for (int b = 0; b < m->body_count; b++) {
        const hk_contact_body *body = &m->contact->bodies[b];
        double size = body->diagonal;
        if (size > 0) most = fmax(most, body->mass * g / (size * size));
    }
    return most > 0 ? HARD_ENOUGH * most : INFINITY;
}

// Of what slides so slowly nobody sees it (Li et al. 2020).
#define SLIP_PER_SECOND 1e-3  // 1/s, of the smallest body's diagonal

hk_status hk_model_measure_contact(hk_model *m)
{
    hk_model_contact *c = m->contact;
    if (!c) return HK_OK;
    double least = INFINITY, smallest = INFINITY;
    bool chosen = !(c->given_distance > 0);
    for (int b = 0; b < m->body_count; b++) {
        hk_status status = measure_body(m, b, chosen, &c->bodies[b]);
        if (status != HK_OK) return hk_fail_within(status, "body %d (%s)", b, m->bodies[b].name);
        least = fmin(least, fmin(1e-3 * c->bodies[b].diagonal, c->bodies[b].edge / 5));
        smallest = fmin(smallest, c->bodies[b].diagonal);
    }
    c->distance = chosen ? least : c->given_distance;
    c->slip_speed = c->given_slip > 0 ? c->given_slip : SLIP_PER_SECOND * smallest;
    c->hardest = find_hardest(m);
    return HK_OK;
}

// ---------------------------------------------------------------- the whole

static hk_status allocate(hk_model_contact *c, int body_count, int obstacle_count)
{
    c->body_count = body_count;
    c->bodies = HK_ZEROS(hk_contact_body, body_count);
    c->sides = HK_ZEROS(hk_contact_side, (size_t)body_count + (size_t)obstacle_count);
    return c->bodies && c->sides ? HK_OK : HK_NO_MEMORY;
}

static hk_status take(const hk_model_def *def, const hk_contact_def *contact, hk_model *m)
{
    hk_model_contact *c = m->contact;
    HK_TRY(allocate(c, m->body_count, def->obstacle_count));
    HK_TRY(take_obstacles(def, c));
    hk_status status = take_settings(contact, c);
    if (status == HK_OK) status = take_pairs(m, contact, c);
    if (status != HK_OK) return hk_fail_within(status, "contact");
    for (int b = 0; b < m->body_count; b++) {
        c->sides[b].friction = def->bodies[b].friction;
        c->bodies[b].thickness = def->bodies[b].thickness;
        if (m->bodies[b].line_count > 0 && !(def->bodies[b].thickness > 0))
            c->bodies[b].thickness = 2 * m->bodies[b].sheet.radius;
    }
    for (int k = 0; k < c->obstacle_count; k++)
        c->sides[m->body_count + k].friction = c->obstacles[k].friction;
    return hk_model_measure_contact(m);
}

hk_status hk_model_take_contact(const hk_model_def *def, hk_model *m)
{
    const hk_contact_def standard = hk_default_contact_def();
    if (!def->contact && def->obstacle_count == 0) return HK_OK;
    m->contact = HK_NEW(hk_model_contact);
    if (!m->contact) return HK_NO_MEMORY;
    return take(def, def->contact ? def->contact : &standard, m);
}

static hk_status copy_into(const hk_model_contact *from, hk_model_contact *to)
{
    size_t kinds = (size_t)from->kind_count;
    *to = *from;
    to->bodies = NULL;
    to->sides = NULL;
    to->obstacle_count = 0;
    to->obstacles = HK_ZEROS(hk_obstacle, from->obstacle_count);
    to->between = HK_ARRAY(double, kinds *kinds);
    HK_TRY(allocate(to, from->body_count, from->obstacle_count));
    if (!to->obstacles || !to->between) return HK_NO_MEMORY;
    memcpy(to->bodies, from->bodies, sizeof(hk_contact_body) * (size_t)from->body_count);
    memcpy(to->sides, from->sides, sizeof(hk_contact_side) * (size_t)side_count(from));
    memcpy(to->between, from->between, sizeof(double) * kinds * kinds);
    for (int k = 0; k < from->obstacle_count; k++) {
        HK_TRY(hk_obstacle_copy(&from->obstacles[k], &to->obstacles[k]));
        to->obstacle_count++;
    }
    return HK_OK;
}

hk_status hk_model_contact_copy(const hk_model_contact *from, hk_model_contact **copy)
{
    hk_model_contact *made = HK_NEW(hk_model_contact);
    if (!made) return HK_NO_MEMORY;
    hk_status status = copy_into(from, made);
    if (status == HK_OK)
        *copy = made;
    else
        hk_model_contact_free(made);
    return status;
}

void hk_model_contact_free(hk_model_contact *c)
{
    if (!c) return;
    for (int k = 0; k < c->obstacle_count; k++) hk_obstacle_release(&c->obstacles[k]);
    hk_free(c->obstacles);
    hk_free(c->bodies);
    hk_free(c->sides);
    hk_free(c->between);
    hk_free(c);
}

// ---------------------------------------------------------------- what users see

int hk_model_obstacle_count(const hk_model *model)
{
    return model && model->contact ? model->contact->obstacle_count : 0;
}

const char *hk_model_obstacle_name(const hk_model *model, int obstacle)
{
    bool known = obstacle >= 0 && obstacle < hk_model_obstacle_count(model);
    return known ? model->contact->obstacles[obstacle].name : "";
}

hk_status hk_model_obstacle_pose(const hk_model *model, int obstacle, double time,
                                 double rotation[9], double translation[3])
{
    hk_placement at;
    if (!model || !rotation || !translation)
        return hk_fail(HK_BAD_INPUT, "hk_model_obstacle_pose: an argument is NULL");
    if (obstacle < 0 || obstacle >= hk_model_obstacle_count(model))
        return hk_fail(HK_BAD_INPUT, "there is no obstacle %d (the model has %d)", obstacle,
                       hk_model_obstacle_count(model));
    HK_TRY(hk_obstacle_place(&model->contact->obstacles[obstacle], time, &at));
    memcpy(rotation, at.rotation, sizeof at.rotation);
    memcpy(translation, at.translation, sizeof at.translation);
    return HK_OK;
}

double hk_model_contact_distance(const hk_model *model)
{
    return model && model->contact ? model->contact->distance : 0;
}
