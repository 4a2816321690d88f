// From the definitions of rigid parts, joints and constraints to what the model keeps of them.
#include "model/constraints.h"

#include <math.h>
#include <stdio.h>

#include "core/def.h"

void hk_fill_joint_def(hk_joint_def *def, size_t size)
{
    const hk_joint_def standard = {.kind = HK_JOINT_BALL};
    hk_def_fill(&hk_def_joint, &standard, def, size);
}

void hk_fill_constraint_def(hk_constraint_def *def, size_t size)
{
    const hk_constraint_def standard = {.kind = HK_KEEP_PLANE};
    hk_def_fill(&hk_def_constraint, &standard, def, size);
}

const char *hk_joint_kind_name(int kind)
{
    static const char *const names[HK_JOINT_KINDS] = {"ball", "hinge", "slider", "weld"};
    return kind >= 0 && kind < HK_JOINT_KINDS ? names[kind] : NULL;
}

int hk_freedom_count(hk_freedom freedom)
{
    static const int counts[] = {
        [HK_MOVES_FREELY] = 6,    [HK_MOVES_ON_BALL] = 3,     [HK_MOVES_ON_HINGE] = 1,
        [HK_MOVES_ON_SLIDER] = 1, [HK_MOVES_IN_PLANE] = 2,    [HK_MOVES_ON_LINE] = 1,
        [HK_MOVES_ON_SPHERE] = 2, [HK_MOVES_ON_CYLINDER] = 2, [HK_MOVES_TOGETHER] = 3,
        [HK_IS_HELD] = 0};
    return freedom == HK_MOVES_NOT ? 0 : counts[freedom];
}

// ---------------------------------------------------------------- the list

hk_constraints *hk_constraints_retain(hk_constraints *c)
{
    if (c) __atomic_add_fetch(&c->references, 1, __ATOMIC_RELAXED);
    return c;
}

void hk_constraints_free(hk_constraints *c)
{
    if (!c || __atomic_sub_fetch(&c->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    for (int k = 0; c->parts && k < c->part_count; k++) hk_free(c->parts[k].name);
    for (int k = 0; c->joints && k < c->joint_count; k++) hk_free(c->joints[k].name);
    hk_free(c->parts);
    hk_free(c->vertices);
    hk_free(c->part_of);
    hk_free(c->rigid_tet);
    hk_free(c->joints);
    hk_free(c->tree_start);
    hk_free(c->order);
    for (int k = 0; k < c->cavity_count; k++) {
        hk_free(c->cavities[k].name);
        hk_time_factor_free(c->cavities[k].factor);
    }
    hk_free(c->cavities);
    hk_free(c->cavity_of);
    hk_free(c->cavity_triangles);
    hk_free(c);
}

hk_status hk_constraints_add_part(hk_constraints *c, const hk_part *part)
{
    size_t count = (size_t)c->part_count;
    HK_TRY(hk_reserve((void **)&c->parts, count, sizeof *part, &c->part_capacity, count + 1));
    c->parts[c->part_count++] = *part;
    return HK_OK;
}

hk_status hk_model_need_free(const hk_model *m, const char *what)
{
    if (!m->constraints) return HK_OK;
    return hk_fail(HK_UNSUPPORTED, "%s cannot have rigid parts, joints and constraints of vertices",
                   what);
}

// ---------------------------------------------------------------- rigid parts

static hk_status name_part(const hk_body_def *def, int region, hk_part *part)
{
    char name[160];
    const hk_region_def *own = region > 0 ? &def->regions[region - 1] : NULL;
    const char *body = def->name ? def->name : "body";
    if (!own)
        snprintf(name, sizeof name, "%s", body);
    else if (own->name)
        snprintf(name, sizeof name, "%s", own->name);
    else
        snprintf(name, sizeof name, "%.120s.%d", body, region - 1);
    part->name = hk_strdup(name);
    return part->name ? HK_OK : HK_NO_MEMORY;
}

// The vertices of the tets of a region become those of a part.
static hk_status take_part(const hk_body_def *def, hk_model *m, int b, int region, int material,
                           int *next)
{
    hk_constraints *c = m->constraints;
    const hk_body *body = &m->bodies[b];
    hk_part part = {
        .freedom = HK_MOVES_FREELY, .body = b, .parent = HK_NO_PART, .joint = -1, .start = *next};
    HK_TRY(name_part(def, region, &part));
    hk_status status = hk_constraints_add_part(c, &part);
    if (status != HK_OK) {
        hk_free(part.name);
        return status;
    }
    int number = c->part_count - 1;
    for (int t = body->tet_start; t < body->tet_start + body->tet_count; t++) {
        if (m->tet_material[t] != material + region) continue;
        if (hk_model_is_quadratic(m, t))
            return hk_fail(HK_UNSUPPORTED,
                           "rigid part %s: rigid tets are linear ones (\"order\": "
                           "1 in the mesh)",
                           part.name);
        for (int k = 0; k < 4; k++) {
            int32_t v = m->tets[4 * (int64_t)t + k], other = c->part_of[v];
            if (other == number) continue;
            if (other >= 0)
                return hk_fail(HK_BAD_INPUT,
                               "rigid parts %s and %s have vertex %d in common: make one region "
                               "of them, or leave soft tets between them",
                               c->parts[other].name, part.name, v - body->vertex_start);
            c->part_of[v] = number;
            c->vertices[(*next)++] = v;
        }
    }
    c->parts[number].count = *next - part.start;
    if (c->parts[number].count == 0)
        return hk_fail(HK_BAD_INPUT, "rigid part %s has no tets: later regions have them all",
                       part.name);
    return HK_OK;
}

static hk_status take_parts(const hk_model_def *def, hk_model *m, int *next)
{
    int material = 0;
    for (int b = 0; b < m->body_count; b++) {
        const hk_body_def *body = &def->bodies[b];
        for (int r = 0; r <= body->region_count; r++) {
            int rigid = r == 0 ? body->rigid : body->regions[r - 1].rigid;
            if (!rigid) continue;
            if (m->bodies[b].tet_count == 0)
                return hk_fail(HK_UNSUPPORTED,
                               "body %d (%s): a sheet cannot be rigid, only what is made of tets",
                               b, m->bodies[b].name);
            HK_TRY(take_part(body, m, b, r, material, next));
        }
        material += 1 + body->region_count;
    }
    m->constraints->rigid_count = m->constraints->part_count;
    for (int k = 0; k < m->constraints->part_count; k++)
        for (int l = 0; l < k; l++)
            if (strcmp(m->constraints->parts[k].name, m->constraints->parts[l].name) == 0)
                return hk_fail(HK_BAD_INPUT,
                               "two rigid parts are called \"%s\": give bodies, or regions, names "
                               "of their own",
                               m->constraints->parts[k].name);
    return HK_OK;
}

static void mark_tets(const hk_model *m, hk_constraints *c)
{
    for (int t = 0; t < m->tet_count; t++) {
        const int32_t *v = m->tets + 4 * (int64_t)t;
        int part = c->part_of[v[0]];
        bool same = part >= 0 && part < c->rigid_count;
        for (int k = 1; k < 4; k++) same = same && c->part_of[v[k]] == part;
        c->rigid_tet[t] = same && !hk_model_is_quadratic(m, t);
    }
}

// ---------------------------------------------------------------- what holds them

// How far vertices are from lying on one line: of those with a hold, the largest area of a triangle
// that two of them make with the first, next to the square of how far apart they are.
static bool spans_plane(const hk_model *m, const int32_t *vertices, int count)
{
    const double *first = NULL, *far = NULL;
    double most = 0, area = 0;
    for (int k = 0; k < count; k++) {
        if (m->hold[vertices[k]] == HK_FREE) continue;
        const double *at = m->rest + 3 * (int64_t)vertices[k];
        if (!first) first = at;
        double d = hypot(hypot(at[0] - first[0], at[1] - first[1]), at[2] - first[2]);
        if (d > most) most = d, far = at;
    }
    for (int k = 0; k < count && far; k++) {
        if (m->hold[vertices[k]] == HK_FREE) continue;
        const double *at = m->rest + 3 * (int64_t)vertices[k];
        double a[3], b[3], n[3];
        for (int i = 0; i < 3; i++) a[i] = far[i] - first[i], b[i] = at[i] - first[i];
        for (int i = 0; i < 3; i++)
            n[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
        area = fmax(area, hypot(hypot(n[0], n[1]), n[2]));
    }
    return area > 1e-6 * most * most;
}

static hk_status hold_part(hk_model *m, hk_part *part)
{
    const int32_t *vertices = m->constraints->vertices + part->start;
    int held = 0;
    int32_t hold = HK_FREE, fix = -1;
    for (int k = 0; k < part->count; k++) {
        int32_t v = vertices[k];
        if (m->hold[v] == HK_FREE && m->axes && m->axes[v])
            return hk_fail(HK_UNSUPPORTED,
                           "rigid part %s: a fix with \"axes\" holds a vertex of "
                           "it; use a joint to the world",
                           part->name);
        if (m->hold[v] == HK_FREE) continue;
        if (held++ > 0 && m->hold[v] != hold)
            return hk_fail(HK_BAD_INPUT,
                           "rigid part %s is held in two ways: by one fix or move "
                           "at most",
                           part->name);
        hold = m->hold[v];
        fix = m->fixed_by[3 * (int64_t)v];
    }
    if (held == 0) return HK_OK;
    if (!spans_plane(m, vertices, part->count))
        return hk_fail(
            HK_BAD_INPUT,
            "rigid part %s: its %d held vertices lie on a line, and do not say how it "
            "is turned; hold more of it, or use a joint to the world (a ball or a hinge)",
            part->name, held);
    for (int k = 0; k < part->count; k++) {
        m->hold[vertices[k]] = hold;
        for (int i = 0; i < 3; i++) {
            m->velocity[3 * (int64_t)vertices[k] + i] = 0;
            m->fixed_by[3 * (int64_t)vertices[k] + i] = fix;  // whose reactions are of all of it
        }
    }
    part->freedom = HK_IS_HELD;
    return HK_OK;
}

static void find_center(const hk_model *m, hk_part *part)
{
    const int32_t *vertices = m->constraints->vertices + part->start;
    double sum = 0;
    for (int k = 0; k < part->count; k++) sum += m->mass[vertices[k]];
    for (int k = 0; k < part->count; k++)
        for (int i = 0; i < 3; i++)
            part->center[i] += m->mass[vertices[k]] / sum * m->rest[3 * (int64_t)vertices[k] + i];
}

// ---------------------------------------------------------------- joints

static hk_status find_part(const hk_model *m, const char *name, int *part)
{
    char known[200] = "";
    const hk_constraints *c = m->constraints;
    *part = HK_NO_PART;
    if (!name) return HK_OK;
    for (int k = 0; k < c->rigid_count; k++) {
        if (strcmp(c->parts[k].name, name) == 0) *part = k;
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", c->parts[k].name);
    }
    if (*part >= 0) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "there is no rigid part \"%s\" (there %s%s)", name,
                   c->rigid_count ? "are: " : "are none", known);
}

static hk_status take_joint(const hk_joint_def *def, hk_model *m, hk_joint *joint)
{
    bool has_axis = def->kind == HK_JOINT_HINGE || def->kind == HK_JOINT_SLIDER;
    if (!hk_joint_kind_name(def->kind))
        return hk_fail(HK_BAD_INPUT, "there is no kind of joint %d", def->kind);
    joint->kind = def->kind;
    for (int k = 0; k < 2; k++) HK_TRY(find_part(m, def->parts[k], &joint->part[k]));
    if (joint->part[0] == joint->part[1])
        return hk_fail(HK_BAD_INPUT, "it joins %s with itself",
                       joint->part[0] < 0 ? "the world"
                                          : m->constraints->parts[joint->part[0]].name);
    if (!hk_is_finite3(def->at)) return hk_fail(HK_BAD_INPUT, "its place is not finite");
    memcpy(joint->at, def->at, sizeof joint->at);
    if (has_axis && !hk_unit3(def->axis, joint->axis))
        return hk_fail(HK_BAD_INPUT, "its axis has no length");
    if (def->name) {
        joint->name = hk_strdup(def->name);
        if (!joint->name) return HK_NO_MEMORY;
    }
    return HK_OK;
}

static hk_status take_joints(const hk_model_def *def, hk_model *m)
{
    hk_constraints *c = m->constraints;
    c->joints = HK_ZEROS(hk_joint, def->joint_count);
    if (!c->joints) return HK_NO_MEMORY;
    for (int k = 0; k < def->joint_count; k++) {
        hk_joint_def own = hk_default_joint_def();
        HK_TRY(hk_def_take_at(&hk_def_joint, def->joints, k, &own));
        c->joint_count++;
        hk_status status = take_joint(&own, m, &c->joints[k]);
        if (status != HK_OK)
            return hk_fail_within(status, "joint %d (%s)", k, own.name ? own.name : "unnamed");
    }
    return HK_OK;
}

// ---------------------------------------------------------------- trees

static bool stands(const hk_constraints *c, int part)
{
    return part < 0 || c->parts[part].freedom == HK_IS_HELD;
}

// A joint from what has its place in a tree, `parent`, to a part that has none yet.
static void tie(hk_constraints *c, int number, int parent, int child, uint8_t *placed, int *at)
{
    static const hk_freedom freedoms[HK_JOINT_KINDS] = {HK_MOVES_ON_BALL, HK_MOVES_ON_HINGE,
                                                        HK_MOVES_ON_SLIDER, HK_MOVES_NOT};
    const hk_joint *j = &c->joints[number];
    hk_part *part = &c->parts[child];
    part->parent = parent;
    part->joint = number;
    part->freedom = freedoms[j->kind];
    memcpy(part->at, j->at, sizeof part->at);
    memcpy(part->axis, j->axis, sizeof part->axis);
    placed[child] = 1;
    c->order[(*at)++] = child;
}

// All that hangs on what the tree has from `first` on, breadth first.
static void grow(hk_constraints *c, int first, uint8_t *placed, uint8_t *used, int *at)
{
    for (int n = first; n < *at; n++)
        for (int k = 0; k < c->joint_count; k++)
            for (int side = 0; side < 2; side++) {
                int parent = c->joints[k].part[side], child = c->joints[k].part[1 - side];
                if (used[k] || parent != c->order[n] || stands(c, child) || placed[child]) continue;
                used[k] = 1;
                tie(c, k, parent, child, placed, at);
            }
}

static hk_status refuse_loop(const hk_constraints *c, int number)
{
    const hk_joint *j = &c->joints[number];
    const char *name[2];
    for (int k = 0; k < 2; k++) name[k] = j->part[k] < 0 ? "the world" : c->parts[j->part[k]].name;
    return hk_fail(HK_UNSUPPORTED,
                   "joint %d (%s) of %s and %s closes a loop, and joints must hang together as a "
                   "tree: leave one joint of the loop out, or put springs or soft tissue in its "
                   "place",
                   number, j->name ? j->name : "unnamed", name[0], name[1]);
}

// What hangs on the world or on held parts is one tree for each of those that hang there directly;
// what hangs on nothing begins with the first of its parts.
static void make_trees(hk_constraints *c, uint8_t *placed, uint8_t *used)
{
    int at = 0;
    for (int k = 0; k < c->joint_count; k++)
        for (int side = 0; side < 2; side++) {
            int parent = c->joints[k].part[side], child = c->joints[k].part[1 - side], first = at;
            if (used[k] || !stands(c, parent) || stands(c, child) || placed[child]) continue;
            used[k] = 1;
            tie(c, k, parent, child, placed, &at);
            grow(c, first, placed, used, &at);
            c->tree_start[++c->tree_count] = at;
        }
    for (int k = 0; k < c->part_count; k++) {
        if (placed[k] || stands(c, k)) continue;
        int first = at;
        placed[k] = 1;
        c->order[at++] = k;
        grow(c, first, placed, used, &at);
        c->tree_start[++c->tree_count] = at;
    }
}

static hk_status build_trees(hk_constraints *c)
{
    uint8_t *placed = HK_ZEROS(uint8_t, c->part_count), *used = HK_ZEROS(uint8_t, c->joint_count);
    c->tree_start = HK_ZEROS(int32_t, c->part_count + 1);
    c->order = HK_ZEROS(int32_t, c->part_count);
    bool complete = placed && used && c->tree_start && c->order;
    hk_status status = complete ? HK_OK : HK_NO_MEMORY;
    if (complete) make_trees(c, placed, used);
    for (int k = 0; k < c->joint_count && status == HK_OK; k++)
        if (!used[k]) status = refuse_loop(c, k);
    hk_free(placed);
    hk_free(used);
    return status;
}

// ---------------------------------------------------------------- the whole

static bool any_rigid(const hk_model_def *def)
{
    for (int b = 0; b < def->body_count; b++) {
        if (def->bodies[b].rigid) return true;
        for (int r = 0; r < def->bodies[b].region_count; r++)
            if (def->bodies[b].regions[r].rigid) return true;
    }
    return false;
}

static hk_status check_counts(const hk_model_def *def)
{
    if (def->joint_count < 0 || (def->joint_count > 0 && !def->joints))
        return hk_fail(HK_BAD_INPUT, "joints are missing, there should be %d", def->joint_count);
    if (def->constraint_count < 0 || (def->constraint_count > 0 && !def->constraints))
        return hk_fail(HK_BAD_INPUT, "constraints are missing, there should be %d",
                       def->constraint_count);
    return HK_OK;
}

hk_status hk_model_take_constraints(const hk_model_def *def, hk_model *m)
{
    HK_TRY(check_counts(def));
    if (!any_rigid(def) && def->joint_count == 0 && def->constraint_count == 0) return HK_OK;
    hk_constraints *c = HK_NEW(hk_constraints);
    if (!c) return HK_NO_MEMORY;
    m->constraints = c;
    c->references = 1;
    c->vertices = HK_ARRAY(int32_t, m->vertex_count);
    c->part_of = HK_ARRAY(int32_t, m->vertex_count);
    c->rigid_tet = HK_ZEROS(uint8_t, m->tet_count);
    if (!c->vertices || !c->part_of || !c->rigid_tet) return HK_NO_MEMORY;
    for (int v = 0; v < m->vertex_count; v++) c->part_of[v] = HK_NO_PART;
    c->cavity_room = def->constraint_count;
    int next = 0;
    HK_TRY(take_parts(def, m, &next));
    mark_tets(m, c);
    if (c->rigid_count > 0) m->rigid_tet = c->rigid_tet;
    for (int k = 0; k < c->rigid_count; k++) {
        HK_TRY(hold_part(m, &c->parts[k]));
        find_center(m, &c->parts[k]);
    }
    HK_TRY(take_joints(def, m));
    HK_TRY(hk_model_take_keeps(def, m, &next));
    return build_trees(c);
}

// ---------------------------------------------------------------- access

int hk_model_rigid_part_count(const hk_model *model)
{
    return model && model->constraints ? model->constraints->rigid_count : 0;
}

const char *hk_model_rigid_part_name(const hk_model *model, int part)
{
    bool there = part >= 0 && part < hk_model_rigid_part_count(model);
    return there ? model->constraints->parts[part].name : NULL;
}

int hk_model_find_rigid_part(const hk_model *model, const char *name)
{
    for (int k = 0; name && k < hk_model_rigid_part_count(model); k++)
        if (strcmp(model->constraints->parts[k].name, name) == 0) return k;
    return -1;
}

const int32_t *hk_model_rigid_part_vertices(const hk_model *model, int part, int *count)
{
    bool there = part >= 0 && part < hk_model_rigid_part_count(model);
    if (count) *count = there ? model->constraints->parts[part].count : 0;
    return there ? model->constraints->vertices + model->constraints->parts[part].start : NULL;
}

int hk_model_joint_count(const hk_model *model)
{
    return model && model->constraints ? model->constraints->joint_count : 0;
}

const char *hk_model_joint_name(const hk_model *model, int joint)
{
    bool there = joint >= 0 && joint < hk_model_joint_count(model);
    return there ? model->constraints->joints[joint].name : NULL;
}

int hk_model_find_joint(const hk_model *model, const char *name)
{
    for (int k = 0; name && k < hk_model_joint_count(model); k++) {
        const char *own = model->constraints->joints[k].name;
        if (own && strcmp(own, name) == 0) return k;
    }
    return -1;
}
