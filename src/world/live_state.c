// What users changed of a world between steps, to a file and back (live.h); what they changed of
// its model is in the model's fingerprint.
#include <math.h>

#include "world/state.h"

// A vector per vertex that there may be.
static void remember_field(hk_stream *s, const hk_world *w, double **field)
{
    int64_t size = 3 * (int64_t)w->model->vertex_count;
    bool set = *field != NULL;
    HK_STREAM(s, set);
    if (s->status != HK_OK) return;
    if (s->reading && !set) {
        hk_free(*field);
        *field = NULL;
    }
    if (!set) return;
    if (!*field && !(*field = HK_ARRAY(double, size)))
        s->status = HK_NO_MEMORY;
    else
        hk_stream_bytes(s, *field, sizeof(double) * (size_t)size);
}

static bool is_sound(const hk_grab *g, int vertex_count)
{
    bool sound = g->count >= 1 && g->count <= HK_GRAB_VERTICES && isfinite(g->stiffness) &&
                 g->stiffness > 0 && hk_is_finite3(g->target);
    for (int k = 0; sound && k < g->count; k++)
        sound = g->vertex[k] >= 0 && g->vertex[k] < vertex_count && isfinite(g->weight[k]);
    return sound;
}

static void remember_grab(hk_stream *s, const hk_world *w, hk_grab *g)
{
    HK_STREAM(s, g->held);
    HK_STREAM(s, g->count);
    HK_STREAM(s, g->vertex);
    HK_STREAM(s, g->weight);
    HK_STREAM(s, g->stiffness);
    HK_STREAM(s, g->target);
    if (s->status == HK_OK && s->reading && g->held && !is_sound(g, w->model->vertex_count))
        s->status = hk_fail(HK_BAD_INPUT, "a grab is not as it should be");
}

static void remember_grabs(hk_stream *s, hk_world *w)
{
    enum { MOST = 1 << 24 };
    hk_live *live = &w->live;
    int count = live->grab_count;
    HK_STREAM(s, count);
    if (s->status == HK_OK && (count < 0 || count > MOST))
        s->status = hk_fail(HK_BAD_INPUT, "it has %d grabs", count);
    if (s->status == HK_OK && s->reading && count > live->grab_count)
        s->status = hk_reserve((void **)&live->grabs, (size_t)live->grab_count, sizeof(hk_grab),
                               &live->grab_capacity, (size_t)count);
    if (s->status != HK_OK) return;
    if (s->reading) live->grab_count = 0;
    if (s->reading && live->grab_capacity > 0)
        memset(live->grabs, 0, sizeof(hk_grab) * (size_t)live->grab_capacity);
    for (int k = 0; k < count && s->status == HK_OK; k++) {
        remember_grab(s, w, &live->grabs[k]);
        if (s->reading && s->status == HK_OK) live->grab_count = k + 1;
    }
}

static bool has_any(const hk_live *live)
{
    return live->load || live->force || live->target || live->grab_count > 0;
}

// Those who keep something of it look again. What methods made for the grabs of before, as colours,
// would stay: they begin anew.
static hk_status take_live(hk_world *w, bool grabs_before)
{
    if (w->live.grab_count > 0 || grabs_before) {
        w->live.version++;
        w->live.shape_version++;
    }
    if (w->problem) {
        HK_TRY(hk_terms_refresh(w->problem->terms));
        hk_problem_take_forces(w->problem);
    }
    bool anew = w->gpu || (grabs_before && w->solver);
    return anew ? hk_world_make_solver(w, w->method, &w->settings) : HK_OK;
}

void hk_world_remember_live(hk_world *w, hk_stream *s)
{
    hk_live *live = &w->live;
    bool before = has_any(live) || w->own_gravity || w->own_loads;
    bool grabs_before = live->grab_count > 0;
    HK_STREAM(s, w->own_gravity);
    HK_STREAM(s, w->own_loads);
    HK_STREAM(s, live->gravity);
    remember_field(s, w, &live->load);
    remember_field(s, w, &live->force);
    remember_field(s, w, &live->target);
    remember_grabs(s, w);
    bool after = has_any(live) || w->own_gravity || w->own_loads;
    if (s->reading && s->status == HK_OK && (before || after))
        s->status = take_live(w, grabs_before);
}
