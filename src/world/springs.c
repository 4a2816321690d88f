// Springs between points in a world: those that break, and what users ask of them.
#include "model/springs.h"

#include <math.h>

#include "world/world.h"

static int count_of(const hk_world *w)
{
    return hk_model_point_spring_count(w->model);
}

hk_status hk_world_make_springs(hk_world *w)
{
    if (count_of(w) == 0) return HK_OK;
    w->live.broken = HK_ZEROS(uint8_t, count_of(w));
    return w->live.broken ? HK_OK : HK_NO_MEMORY;
}

// What breaks is another function to minimise, from here on.
static void take_broken(hk_world *w)
{
    if (w->problem) hk_terms_place(w->problem->terms, &(hk_when){.time = w->time});
    w->acceleration_known = w->conserved.known = false;
}

void hk_world_break_springs(hk_world *w)
{
    int broke = 0;
    for (int k = 0; k < count_of(w); k++) {
        const hk_point_spring *s = &w->model->point_springs->list[k];
        if (!(s->breaking > 0) || w->live.broken[k]) continue;
        double length = hk_point_spring_length(s, w->x, 4, w->model->place);
        double rest = hk_point_spring_rest(s, w->time);
        if (!(hk_point_spring_tension(s, length, rest) > s->breaking)) continue;
        w->live.broken[k] = 1;
        broke++;
        hk_log(HK_LOG_INFO, "spring %d broke at %g s: it pulled with %.4g N", k, w->time,
               hk_point_spring_tension(s, length, rest));
    }
    if (broke > 0) take_broken(w);
}

void hk_world_remember_springs(hk_world *w, hk_stream *s)
{
    if (count_of(w) == 0) return;
    hk_stream_bytes(s, w->live.broken, (size_t)count_of(w));
}

void hk_world_copy_springs(hk_world *w, const hk_world *from)
{
    if (count_of(w) > 0) memcpy(w->live.broken, from->live.broken, (size_t)count_of(w));
}

// ---------------------------------------------------------------- users

static hk_status check_number(const hk_world *w, int spring, const char *call)
{
    if (!w) return hk_fail(HK_BAD_INPUT, "%s: world is needed", call);
    if (spring >= 0 && spring < count_of(w)) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "%s: there is no spring %d (there are %d)", call, spring,
                   count_of(w));
}

hk_status hk_world_spring_state(const hk_world *w, int spring, hk_spring_state *state)
{
    HK_TRY(check_number(w, spring, __func__));
    if (!state) return hk_fail(HK_BAD_INPUT, "hk_world_spring_state: state is needed");
    HK_TRY(hk_world_fetch_positions(w));
    const hk_point_spring *s = &w->model->point_springs->list[spring];
    hk_spring_state made = {.length = hk_point_spring_length(s, w->positions, 3, NULL),
                            .rest = hk_point_spring_rest(s, w->time),
                            .broken = w->live.broken[spring]};
    for (int end = 0; end < 2; end++) hk_point_spring_place(s, end, w->positions, made.ends[end]);
    if (!made.broken) made.tension = hk_point_spring_tension(s, made.length, made.rest);
    *state = made;
    return HK_OK;
}

hk_status hk_world_break_spring(hk_world *w, int spring, bool broken)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    HK_TRY(check_number(w, spring, __func__));
    w->live.broken[spring] = broken;
    take_broken(w);
    return HK_OK;
}

int hk_world_broken_springs(const hk_world *w)
{
    int count = 0;
    for (int k = 0; w && k < count_of(w); k++) count += w->live.broken[k];
    return count;
}
