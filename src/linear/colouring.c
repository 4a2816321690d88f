#include "linear/colouring.h"

void hk_graph_release(hk_graph *g)
{
    hk_free(g->start);
    hk_free(g->neighbour);
    *g = (hk_graph){0};
}

// ---------------------------------------------------------------- graphs

// The cliques of every unknown.
typedef struct membership {
    int64_t *start;    // [count + 1]
    int64_t *clique;   // [start[count]]
    int32_t *visited;  // [count] the last unknown that listed this one
} membership;

static void membership_release(membership *m)
{
    hk_free(m->start);
    hk_free(m->clique);
    hk_free(m->visited);
}

static hk_status list_cliques(int count, int64_t clique_count, const int64_t *start,
                              const int32_t *member, membership *m)
{
    m->start = HK_ZEROS(int64_t, (size_t)count + 1);
    m->clique = HK_ARRAY(int64_t, start[clique_count]);
    m->visited = HK_ARRAY(int32_t, count);
    if (!m->start || !m->clique || !m->visited) return HK_NO_MEMORY;
    for (int64_t k = 0; k < start[clique_count]; k++) m->start[member[k] + 1]++;
    for (int v = 0; v < count; v++) m->start[v + 1] += m->start[v];
    for (int64_t c = 0; c < clique_count; c++)
        for (int64_t k = start[c]; k < start[c + 1]; k++) m->clique[m->start[member[k]]++] = c;
    // Filling moved every start to the next one's place.
    for (int v = count; v > 0; v--) m->start[v] = m->start[v - 1];
    m->start[0] = 0;
    return HK_OK;
}

// The neighbours of v, written if `to` is given; returns how many.
static int64_t list_neighbours(const membership *m, const int64_t *start, const int32_t *member,
                               int32_t v, int32_t *to)
{
    int64_t found = 0;
    m->visited[v] = v;
    for (int64_t c = m->start[v]; c < m->start[v + 1]; c++)
        for (int64_t k = start[m->clique[c]]; k < start[m->clique[c] + 1]; k++) {
            int32_t other = member[k];
            if (m->visited[other] == v) continue;
            m->visited[other] = v;
            if (to) to[found] = other;
            found++;
        }
    return found;
}

static hk_status build_graph(const membership *m, const int64_t *start, const int32_t *member,
                             hk_graph *g)
{
    g->start = HK_ZEROS(int64_t, (size_t)g->count + 1);
    if (!g->start) return HK_NO_MEMORY;
    for (int v = 0; v < g->count; v++) m->visited[v] = -1;
    for (int v = 0; v < g->count; v++)
        g->start[v + 1] = g->start[v] + list_neighbours(m, start, member, v, NULL);
    g->neighbour = HK_ARRAY(int32_t, g->start[g->count]);
    if (!g->neighbour) return HK_NO_MEMORY;
    for (int v = 0; v < g->count; v++) m->visited[v] = -1;
    for (int v = 0; v < g->count; v++)
        list_neighbours(m, start, member, v, g->neighbour + g->start[v]);
    return HK_OK;
}

hk_status hk_graph_create(int count, int64_t clique_count, const int64_t *start,
                          const int32_t *member, hk_graph *graph)
{
    hk_graph g = {.count = count};
    membership m = {0};
    hk_status status = list_cliques(count, clique_count, start, member, &m);
    if (status == HK_OK) status = build_graph(&m, start, member, &g);
    membership_release(&m);
    if (status != HK_OK) {
        hk_graph_release(&g);
        return status;
    }
    *graph = g;
    return HK_OK;
}

// ---------------------------------------------------------------- colours

void hk_colouring_release(hk_colouring *c)
{
    hk_free(c->start);
    hk_free(c->item);
    *c = (hk_colouring){0};
}

typedef struct painter {
    const int64_t *start;
    const int32_t *neighbour;
    int count, colour_count;
    int32_t *colour;  // [count], -1: none
    int32_t *taken;   // [count + 1] per colour the last unknown whose neighbour has it
    int32_t *size;    // [count] of every colour
} painter;

static void mark_taken(const painter *p, int v)
{
    for (int64_t k = p->start[v]; k < p->start[v + 1]; k++) {
        int32_t colour = p->colour[p->neighbour[k]];
        if (colour >= 0) p->taken[colour] = v;
    }
}

static void choose_colours(painter *p, const uint8_t *skip)
{
    for (int v = 0; v < p->count; v++) p->colour[v] = p->taken[v] = -1;
    for (int v = 0; v < p->count; v++) {
        if (skip && skip[v]) continue;
        mark_taken(p, v);
        int32_t mine = 0;
        while (p->taken[mine] == v) mine++;
        p->colour[v] = mine;
        p->size[mine]++;
        p->colour_count = hk_max_int(p->colour_count, mine + 1);
    }
}

// Every unknown goes to the smallest of the colours that are free to it.
static void balance_colours(painter *p)
{
    for (int k = 0; k < p->colour_count; k++) p->taken[k] = -1;
    for (int v = 0; v < p->count; v++) {
        int32_t mine = p->colour[v];
        if (mine < 0) continue;
        mark_taken(p, v);
        int32_t best = mine;
        for (int32_t k = 0; k < p->colour_count; k++)
            if (p->taken[k] != v && p->size[k] < p->size[best]) best = k;
        if (p->size[best] + 1 >= p->size[mine]) continue;
        p->size[mine]--;
        p->size[best]++;
        p->colour[v] = best;
    }
}

static hk_status list_colours(const painter *p, hk_colouring *c)
{
    c->colour_count = p->colour_count;
    c->start = HK_ZEROS(int32_t, (size_t)c->colour_count + 1);
    if (!c->start) return HK_NO_MEMORY;
    for (int k = 0; k < c->colour_count; k++) {
        c->start[k + 1] = c->start[k] + p->size[k];
        p->size[k] = c->start[k];  // from now on: where the next one goes
    }
    c->item = HK_ARRAY(int32_t, c->start[c->colour_count]);
    if (!c->item) return HK_NO_MEMORY;
    for (int v = 0; v < p->count; v++)
        if (p->colour[v] >= 0) c->item[p->size[p->colour[v]]++] = v;
    return HK_OK;
}

hk_status hk_colour_graph(int count, const int64_t *start, const int32_t *neighbour,
                          const uint8_t *skip, hk_colouring *colouring)
{
    painter p = {.start = start, .neighbour = neighbour, .count = count};
    p.colour = HK_ARRAY(int32_t, count);
    p.taken = HK_ARRAY(int32_t, (size_t)count + 1);
    p.size = HK_ZEROS(int32_t, count);
    hk_colouring made = {0};
    hk_status status = p.colour && p.taken && p.size ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        choose_colours(&p, skip);
        balance_colours(&p);
        status = list_colours(&p, &made);
    }
    hk_free(p.colour);
    hk_free(p.taken);
    hk_free(p.size);
    if (status != HK_OK) {
        hk_colouring_release(&made);
        return status;
    }
    *colouring = made;
    return HK_OK;
}
