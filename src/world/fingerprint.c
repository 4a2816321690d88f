// What a state in a file belongs to: hashes of all of a model that steps are made of, and of the
// method with its options. Values are hashed one by one: no pointer, which differs from process to
// process, and no padding.
#include "model/conditions.h"
#include "model/constraints.h"
#include "model/contact.h"
#include "model/springs.h"
#include "model/tear.h"
#include "world/state.h"

#define HASH(hash, value) hk_state_hash(hash, &(value), sizeof(value))
#define HASH_ARRAY(hash, array, count) \
    hk_state_hash(hash, array, (array) ? sizeof *(array) * (size_t)(count) : 0)

static uint64_t hash_text(uint64_t h, const char *text)
{
    return hk_state_hash(h, text ? text : "", text ? strlen(text) + 1 : 1);
}

// ---------------------------------------------------------------- materials

static uint64_t hash_curve(uint64_t h, const hk_law_curve *c)
{
    h = HASH(h, c->powers);
    h = HASH(h, c->knots);
    h = HASH_ARRAY(h, c->power, c->powers);
    h = HASH_ARRAY(h, c->knot, c->knots);
    h = HASH_ARRAY(h, c->jump, c->knots);
    h = HASH(h, c->value);
    return HASH(h, c->slope);
}

// (Functions of a law of the user's own are not looked into.)
static uint64_t hash_material(uint64_t h, const hk_material *m)
{
    h = HASH(h, m->law);
    h = HASH(h, m->params.c);
    for (int k = 0; k < HK_COUNT_OF(m->params.curves); k++) h = hash_curve(h, &m->params.curves[k]);
    h = HASH(h, m->density);
    h = HASH(h, m->axis_count);
    for (int k = 0; k < m->axis_count; k++) {
        h = hash_curve(h, &m->axes[k]);
        h = HASH(h, m->axis_directions[k]);
    }
    h = HASH(h, m->fibre_stiffness);
    h = HASH(h, m->strand_modulus);
    h = HASH(h, m->modulus);
    h = HASH(h, m->viscous);
    return HASH(h, m->blend_law.upper);
}

static uint64_t hash_membrane(uint64_t h, const hk_membrane *m)
{
    h = HASH(h, m->law);
    h = HASH(h, m->mu);
    h = HASH(h, m->lambda);
    h = HASH(h, m->solid_lambda);
    h = HASH(h, m->green);
    h = HASH(h, m->limit);
    h = HASH(h, m->low);
    h = HASH(h, m->high);
    h = HASH(h, m->strand_count);
    for (int k = 0; k < m->strand_count; k++) h = hash_curve(h, &m->strand[k]);
    return HASH(h, m->modulus);
}

static uint64_t hash_shells(uint64_t h, const hk_model *m)
{
    for (int k = 0; k < m->shell_count; k++) {
        h = HASH(h, m->shells[k].vertex);
        h = HASH(h, m->shells[k].inverse);
        h = HASH(h, m->shells[k].area);
        h = HASH(h, m->shells[k].strand);
    }
    for (int k = 0; k < m->hinge_count; k++) {
        h = HASH(h, m->hinges[k].vertex);
        h = HASH(h, m->hinges[k].stiffness);
        h = HASH(h, m->hinges[k].rest);
    }
    for (int k = 0; k < m->line_bend_count; k++) {
        h = HASH(h, m->line_bends[k].vertex);
        h = HASH(h, m->line_bends[k].stiffness);
        h = HASH(h, m->line_bends[k].rest);
    }
    for (int k = 0; k < m->slack_line_count; k++) {
        h = HASH(h, m->slack_lines[k].vertex);
        h = HASH(h, m->slack_lines[k].stiffness);
        h = HASH(h, m->slack_lines[k].rest);
    }
    for (int b = 0; b < m->body_count; b++)
        if (m->bodies[b].sheet.shell) h = hash_membrane(h, &m->bodies[b].sheet.membrane);
    return h;
}

static uint64_t hash_elements(uint64_t h, const hk_model *m)
{
    h = HASH(h, m->tet_count);
    h = HASH_ARRAY(h, m->tets, 4 * (int64_t)m->tet_count);
    if (m->middles) h = HASH_ARRAY(h, m->middles, 6 * (int64_t)m->tet_count);
    h = HASH_ARRAY(h, m->tet_material, m->tet_count);
    if (m->fibre) h = HASH_ARRAY(h, m->fibre, 3 * (int64_t)m->tet_count);
    for (int k = 0; k < m->material_count; k++) h = hash_material(h, &m->materials[k]);
    return h;
}

static uint64_t hash_links(uint64_t h, const hk_model *m)
{
    for (int k = 0; k < m->spring_count; k++) {
        h = HASH(h, m->springs[k].ends);
        h = HASH(h, m->springs[k].stiffness);
        h = HASH(h, m->springs[k].rest);
    }
    for (int k = 0; k < m->bend_count; k++) {
        h = HASH(h, m->bends[k].count);
        h = HASH(h, m->bends[k].stiffness);
        h = HASH(h, m->bends[k].rest);
    }
    h = HASH_ARRAY(h, m->bend_vertices, m->bend_entry_count);
    h = HASH_ARRAY(h, m->bend_coefficients, m->bend_entry_count);
    for (int k = 0; k < m->attachment_count; k++) {
        h = HASH(h, m->attachments[k].vertex);
        h = HASH(h, m->attachments[k].motion);
        h = HASH(h, m->attachments[k].stiffness);
        h = HASH(h, m->attachments[k].damping);
    }
    return h;
}

// ---------------------------------------------------------------- constraints and loads

static uint64_t hash_factor(uint64_t h, const hk_time_factor *f)
{
    int64_t count = 0;
    const double *table = hk_time_factor_table(f, &count);
    double over = hk_time_factor_over(f);
    h = hash_text(h, hk_time_factor_formula(f));
    h = HASH(h, count);
    h = HASH_ARRAY(h, table, 2 * count);
    return HASH(h, over);
}

static uint64_t hash_motion(uint64_t h, const hk_motion *m)
{
    h = HASH(h, m->axis);
    h = HASH(h, m->center);
    h = HASH(h, m->degrees);
    h = HASH(h, m->translate);
    h = HASH(h, m->over);
    return hash_factor(h, m->factor);
}

static uint64_t hash_conditions(uint64_t h, const hk_conditions *c)
{
    h = hash_factor(h, c->gravity);
    for (int k = 0; k < c->load_count; k++) {
        const hk_timed_load *load = &c->loads[k];
        h = hash_factor(h, load->factor);
        h = HASH_ARRAY(h, load->vertex, load->count);
        h = HASH_ARRAY(h, load->force, 3 * (int64_t)load->count);
    }
    for (int k = 0; k < c->pressure_count; k++) {
        h = HASH(h, c->pressures[k].triangle);
        h = HASH(h, c->pressures[k].factor);
        h = HASH(h, c->pressures[k].pressure);
    }
    for (int k = 0; k < c->wind_count; k++) {
        h = HASH(h, c->winds[k].triangle);
        h = HASH(h, c->winds[k].factor);
        h = HASH(h, c->winds[k].velocity);
        h = HASH(h, c->winds[k].density);
        h = HASH(h, c->winds[k].drag);
        h = HASH(h, c->winds[k].lift);
    }
    for (int k = 0; k < c->gas_count; k++) {
        h = HASH(h, c->gases[k].triangle_count);
        h = HASH(h, c->gases[k].factor);
        h = HASH(h, c->gases[k].pressure);
        h = HASH(h, c->gases[k].outside);
        h = HASH(h, c->gases[k].volume);
    }
    h = HASH_ARRAY(h, c->gas_triangles, 3 * (int64_t)c->gas_triangle_count);
    for (int k = 0; k < c->factor_count; k++) h = hash_factor(h, c->factors[k]);
    return h;
}

static uint64_t hash_parts(uint64_t h, const hk_constraints *c, int vertex_count)
{
    h = HASH_ARRAY(h, c->part_of, vertex_count);
    for (int k = 0; k < c->part_count; k++) {
        const hk_part *p = &c->parts[k];
        const int kinds[] = {(int)p->freedom, p->parent};
        h = HASH(h, kinds);
        h = HASH(h, p->at);
        h = HASH(h, p->axis);
    }
    h = HASH_ARRAY(h, c->cavity_triangles, 3 * (int64_t)c->cavity_triangle_count);
    for (int k = 0; k < c->cavity_count; k++) {
        h = HASH(h, c->cavities[k].volume);
        h = hash_factor(h, c->cavities[k].factor);
    }
    return h;
}

static uint64_t hash_constraints(uint64_t h, const hk_model *m)
{
    h = HASH_ARRAY(h, m->load, 3 * (int64_t)m->vertex_count);
    h = HASH_ARRAY(h, m->hold, m->vertex_count);
    if (m->axes) h = HASH_ARRAY(h, m->axes, m->vertex_count);
    for (int k = 0; k < m->motion_count; k++) h = hash_motion(h, &m->motions[k]);
    h = HASH(h, m->gravity);
    if (m->constraints) h = hash_parts(h, m->constraints, m->vertex_count);
    return m->conditions ? hash_conditions(h, m->conditions) : h;
}

static uint64_t hash_point_springs(uint64_t h, const hk_model *m)
{
    for (int k = 0; k < hk_model_point_spring_count(m); k++) {
        const hk_point_spring *s = &m->point_springs->list[k];
        const double numbers[] = {s->stiffness, s->damping, s->breaking, s->rest, s->to, s->slack};
        h = HASH(h, numbers);
        h = HASH_ARRAY(h, s->vertex, s->count);
        h = HASH_ARRAY(h, s->coefficient, s->count);
        h = HASH(h, s->target);
        h = hash_factor(h, s->factor);
    }
    return h;
}

// ---------------------------------------------------------------- contact

static uint64_t hash_key(uint64_t h, const hk_key *key)
{
    h = HASH(h, key->time);
    h = HASH(h, key->center);
    h = HASH(h, key->axis);
    h = HASH(h, key->degrees);
    return HASH(h, key->translate);
}

static uint64_t hash_path(uint64_t h, const hk_path *path)
{
    for (int i = 0; i < 3; i++)
        h = hash_text(h, path->translate[i] ? hk_formula_text(path->translate[i]) : NULL);
    h = hash_text(h, path->degrees ? hk_formula_text(path->degrees) : NULL);
    h = HASH(h, path->axis);
    return HASH(h, path->center);
}

static uint64_t hash_obstacle(uint64_t h, const hk_obstacle *o)
{
    h = HASH(h, o->shape);
    h = HASH(h, o->friction);
    h = HASH(h, o->point);
    h = HASH(h, o->normal);
    h = HASH(h, o->radius);
    h = HASH_ARRAY(h, o->rest, 3 * (int64_t)o->vertex_count);
    h = HASH_ARRAY(h, o->edges, 2 * (int64_t)o->edge_count);
    h = HASH_ARRAY(h, o->triangles, 3 * (int64_t)o->triangle_count);
    h = HASH(h, o->way);
    for (int k = 0; k < o->move_count; k++) h = hash_motion(h, &o->moves[k]);
    for (int k = 0; k < o->key_count; k++) h = hash_key(h, &o->keys[k]);
    return hash_path(h, &o->path);
}

static uint64_t hash_contact(uint64_t h, const hk_model_contact *c)
{
    h = HASH(h, c->distance);
    h = HASH(h, c->stiffness);
    h = HASH(h, c->friction);
    h = HASH(h, c->slip_speed);
    h = HASH(h, c->restitution);
    h = HASH(h, c->normal_stiffness);
    h = HASH(h, c->normal_damping);
    h = HASH(h, c->drag);
    h = HASH(h, c->friction_passes);
    h = HASH(h, c->self);
    h = HASH(h, c->law);
    h = HASH(h, c->when);
    for (int k = 0; k < c->body_count; k++) h = HASH(h, c->bodies[k].thickness);
    for (int k = 0; k < c->body_count + c->obstacle_count; k++) {
        h = HASH(h, c->sides[k].friction);
        h = HASH(h, c->sides[k].kind);
    }
    h = HASH(h, c->obstacle_count);
    for (int k = 0; k < c->obstacle_count; k++) h = hash_obstacle(h, &c->obstacles[k]);
    return HASH_ARRAY(h, c->between, (size_t)c->kind_count * (size_t)c->kind_count);
}

// ---------------------------------------------------------------- tearing

static uint64_t hash_cut(uint64_t h, const hk_cut *c)
{
    h = HASH(h, c->body);
    h = HASH(h, c->point_count);
    h = HASH(h, c->points);
    h = HASH(h, c->from);
    h = HASH(h, c->until);
    for (int k = 0; k < c->move_count; k++) h = hash_motion(h, &c->moves[k]);
    return h;
}

static uint64_t hash_tearing(uint64_t h, const hk_model *m)
{
    for (int k = 0; k < m->material_count; k++) {
        h = HASH(h, m->materials[k].tear_stress);
        h = HASH(h, m->materials[k].tear_strain);
    }
    for (int b = 0; b < m->body_count; b++) {
        h = HASH(h, m->bodies[b].sheet.tear_stress);
        h = HASH(h, m->bodies[b].sheet.tear_strain);
    }
    if (!m->tearing) return h;
    h = HASH(h, m->tearing->most);
    h = HASH(h, m->tearing->renew);
    h = HASH(h, m->tearing->opening);
    for (int k = 0; k < m->tearing->cut_count; k++) h = hash_cut(h, &m->tearing->cuts[k]);
    return h;
}

// ---------------------------------------------------------------- all of it

uint64_t hk_world_fingerprint(const hk_world *w)
{
    const hk_model *m = w->tears.whole ? w->tears.whole : w->model;
    uint64_t h = HK_STATE_SEED;
    h = HASH(h, m->vertex_count);
    h = HASH_ARRAY(h, m->rest, 3 * (int64_t)m->vertex_count);
    h = HASH_ARRAY(h, m->mass, m->vertex_count);
    h = hash_elements(h, m);
    h = hash_links(h, m);
    h = hash_shells(h, m);
    h = hash_constraints(h, m);
    h = hash_point_springs(h, m);
    if (m->contact) h = hash_contact(h, m->contact);
    h = hash_tearing(h, m);
    h = HASH(h, w->damping.air);
    h = HASH(h, w->damping.air_per_vertex);
    h = HASH(h, w->damping.viscous);
    h = HASH(h, w->damping.ether);
    h = HASH(h, w->damping.pbd);
    h = HASH(h, w->laplacian_damping);
    h = HASH(h, w->conserve);
    h = hash_text(h, w->integrator->name);
    h = HASH(h, w->step);
    h = HASH(h, w->beta);
    return HASH(h, w->gamma);
}

uint64_t hk_world_method_fingerprint(const hk_world *w)
{
    uint64_t h = hash_text(HK_STATE_SEED, w->method->name);
    h = HASH(h, w->settings.iterations);
    h = HASH(h, w->settings.tolerance);
    h = hk_state_hash(h, w->settings.option,
                      sizeof *w->settings.option * (size_t)w->method->option_count);
    bool gpu = w->gpu != NULL;
    return HASH(h, gpu);
}
