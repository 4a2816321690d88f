// Loads and gravity that are functions of the time.
#include <math.h>

#include "contact/obstacle.h"
#include "model/conditions.h"
#include "model/contact.h"
#include "model/springs.h"
#include "world/world.h"

static hk_status allocate(hk_world *w, const hk_conditions *c)
{
    hk_live *live = &w->live;
    size_t size = 3 * (size_t)w->model->vertex_count;
    if (c->load_count > 0 && !live->timed) live->timed = HK_ZEROS(double, size);
    if (c->factor_count > 0 && !live->factors) live->factors = HK_ZEROS(double, c->factor_count);
    bool complete = (c->load_count == 0 || live->timed) && (c->factor_count == 0 || live->factors);
    return complete ? HK_OK : HK_NO_MEMORY;
}

// What the loads are less than in full, which the model has.
static void take_loads(hk_world *w, const hk_conditions *c, double time)
{
    double *timed = w->live.timed;
    if (c->load_count == 0) return;
    memset(timed, 0, 3 * sizeof(double) * (size_t)w->model->vertex_count);
    for (int k = 0; k < c->load_count && !w->own_loads; k++) {
        const hk_timed_load *load = &c->loads[k];
        double less = isnan(time) ? 0 : hk_time_factor_value(load->factor, time) - 1;
        for (int v = 0; v < load->count; v++)
            for (int i = 0; i < 3; i++)
                timed[3 * (int64_t)load->vertex[v] + i] += less * load->force[3 * v + i];
    }
}

static hk_status check_obstacles(const hk_model_contact *c, double time)
{
    for (int k = 0; c && k < c->obstacle_count; k++) {
        const hk_obstacle *o = &c->obstacles[k];
        hk_placement at;
        HK_TRY(hk_obstacle_place(o, time, &at));
        for (int n = 0; n < o->move_count; n++)
            HK_TRY(hk_time_factor_check(o->moves[n].factor, "a move of an obstacle", time));
    }
    return HK_OK;
}

hk_status hk_world_check_time(const hk_world *w, double time)
{
    const hk_model *m = w->model;
    const hk_conditions *c = m->conditions;
    const hk_point_springs *s = m->point_springs;
    for (int k = 0; c && k < c->load_count; k++)
        HK_TRY(hk_time_factor_check(c->loads[k].factor, "a load", time));
    for (int k = 0; c && k < c->factor_count; k++)
        HK_TRY(hk_time_factor_check(c->factors[k], "a pressure, wind or gas", time));
    if (c) HK_TRY(hk_time_factor_check(c->gravity, "gravity", time));
    for (int k = 0; k < m->motion_count; k++)
        HK_TRY(hk_time_factor_check(m->motions[k].factor, "a move or attachment", time));
    for (int k = 0; s && k < s->count; k++)
        HK_TRY(hk_time_factor_check(s->list[k].factor, "a spring or seam", time));
    return check_obstacles(m->contact, time);
}

hk_status hk_world_take_time(hk_world *w, double time)
{
    const hk_conditions *c = w->model->conditions;
    if (!hk_conditions_timed(c)) return HK_OK;
    HK_TRY(allocate(w, c));
    take_loads(w, c, time);
    for (int k = 0; k < c->factor_count; k++)
        w->live.factors[k] = isnan(time) ? 1 : hk_time_factor_value(c->factors[k], time);
    if (c->gravity && !w->own_gravity) {
        double factor = isnan(time) ? 1 : hk_time_factor_value(c->gravity, time);
        for (int i = 0; i < 3; i++) w->live.gravity[i] = factor * w->model->gravity[i];
    }
    if (w->problem) hk_problem_take_forces(w->problem);
    return HK_OK;
}
