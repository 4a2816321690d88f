// What is torn, in files of states: the splitting of the whole bodies, and facets that are torn.
#include "world/world.h"

static void remember_splitting(const hk_model *whole, hk_splitting *s, hk_stream *stream)
{
    size_t tets = 4 * (size_t)whole->tet_count, triangles = 3 * (size_t)whole->triangle_count;
    size_t count = (size_t)s->extra_count, room = count;
    hk_stream_list(stream, (void **)&s->origin, &count, &room, sizeof(int32_t));
    s->extra_count = (int)count;
    if (stream->reading && stream->status == HK_OK) {
        s->tets = HK_ARRAY(int32_t, tets);
        s->triangles = HK_ARRAY(int32_t, triangles);
        if (!s->tets || !s->triangles) stream->status = HK_NO_MEMORY;
    }
    hk_stream_bytes(stream, s->tets, tets * sizeof(int32_t));
    hk_stream_bytes(stream, s->triangles, triangles * sizeof(int32_t));
}

// Whether every corner is the whole model's, or comes from it.
static bool is_of(const hk_model *whole, const hk_splitting *s)
{
    int32_t last = 0;
    for (int k = 0; k < s->extra_count; k++)
        if (s->origin[k] < 0 || s->origin[k] >= whole->vertex_count) return false;
    for (int b = 0, k = 0; b < whole->body_count; b++, last = k) {
        int end = whole->bodies[b].vertex_start + whole->bodies[b].vertex_count;
        while (k < s->extra_count && s->origin[k] < end) k++;
        for (int i = last; i < k; i++)
            if (s->origin[i] < whole->bodies[b].vertex_start) return false;
        if (b + 1 == whole->body_count && k < s->extra_count) return false;
    }
    size_t tets = 4 * (size_t)whole->tet_count, all = tets + 3 * (size_t)whole->triangle_count;
    for (size_t k = 0; k < all; k++) {
        int32_t own = k < tets ? whole->tets[k] : whole->triangles[k - tets];
        int32_t now = k < tets ? s->tets[k] : s->triangles[k - tets];
        if (now < 0 || now >= whole->vertex_count + s->extra_count) return false;
        if (now < whole->vertex_count ? now != own : s->origin[now - whole->vertex_count] != own)
            return false;
    }
    return true;
}

static hk_status read_adjacency(const hk_model *whole, hk_stream *s, hk_adjacency *a)
{
    HK_TRY(hk_adjacency_make(whole, a));
    size_t tets = 4 * (size_t)whole->tet_count, triangles = 3 * (size_t)whole->triangle_count;
    uint8_t *torn = HK_ARRAY(uint8_t, tets + triangles);
    if (!torn) return HK_NO_MEMORY;
    hk_stream_bytes(s, torn, tets + triangles);
    for (size_t k = 0; k < tets + triangles && s->status == HK_OK; k++) {
        int32_t *to = k < tets ? &a->tet[k] : &a->triangle[k - tets];
        if (torn[k]) *to = -1;
    }
    hk_free(torn);
    return s->status;
}

static hk_status write_adjacency(const hk_model *whole, hk_stream *s, const hk_adjacency *now)
{
    hk_adjacency a;
    HK_TRY(hk_adjacency_make(whole, &a));
    size_t tets = 4 * (size_t)whole->tet_count, triangles = 3 * (size_t)whole->triangle_count;
    uint8_t *torn = HK_ARRAY(uint8_t, tets + triangles);
    for (size_t k = 0; k < tets + triangles && torn; k++)
        torn[k] = (k < tets ? a.tet[k] : a.triangle[k - tets]) !=
                  (k < tets ? now->tet[k] : now->triangle[k - tets]);
    if (torn) hk_stream_bytes(s, torn, tets + triangles);
    hk_free(torn);
    hk_adjacency_release(&a);
    return torn ? s->status : HK_NO_MEMORY;
}

// What the tearing of the next steps depends on, beside what is torn.
static void remember_counts(hk_tears *t, hk_stream *s)
{
    int64_t factorisations =
        t->factorisations + (t->untorn ? hk_untorn_factorisations(t->untorn) : 0);
    HK_STREAM(s, t->told);
    HK_STREAM(s, t->pending);
    HK_STREAM(s, factorisations);
    HK_STREAM(s, t->before);
    HK_STREAM(s, t->recent);
    if (s->reading) t->factorisations = factorisations;
}

static void write_tears(hk_world *w, hk_stream *s)
{
    hk_tears *t = &w->tears;
    const hk_model *whole = t->whole ? t->whole : w->model;
    bool any = t->adjacency.tet != NULL, apart = t->whole != NULL, keeps = t->untorn != NULL;
    HK_STREAM(s, any);
    HK_STREAM(s, apart);
    HK_STREAM(s, keeps);
    if (any && s->status == HK_OK) s->status = write_adjacency(whole, s, &t->adjacency);
    if (apart) remember_splitting(whole, &t->splitting, s);
    if (apart && keeps) remember_splitting(whole, &t->of_untorn, s);
    remember_counts(t, s);
}

static void read_tears(hk_world *w, hk_stream *s)
{
    hk_tears *t = &w->tears;
    hk_model *whole = t->whole ? t->whole : w->model;
    bool any = false, apart = false;
    hk_tear_state state = {0};
    HK_STREAM(s, any);
    HK_STREAM(s, apart);
    HK_STREAM(s, state.keeps);
    if (any && s->status == HK_OK) s->status = read_adjacency(whole, s, &state.adjacency);
    if (apart && s->status == HK_OK) remember_splitting(whole, &state.splitting, s);
    if (apart && state.keeps) remember_splitting(whole, &state.of_untorn, s);
    if (apart && s->status == HK_OK && !is_of(whole, &state.splitting))
        s->status = hk_fail(HK_BAD_INPUT, "what it says of tears does not fit the bodies");
    if (s->status == HK_OK && (apart || t->whole)) s->status = hk_world_go_to_torn(w, &state);
    if (s->status == HK_OK && !(apart || t->whole)) {
        hk_adjacency_release(&t->adjacency);
        t->adjacency = state.adjacency;
        state.adjacency = (hk_adjacency){0};
    }
    hk_tear_state_release(&state);
    remember_counts(t, s);
}

void hk_world_remember_tears(hk_world *w, hk_stream *s)
{
    if (s->reading)
        read_tears(w, s);
    else
        write_tears(w, s);
}
