// What hangs together in the whole model, which no part can see by itself.
#include "cluster/part.h"
#include "solver/held_components.h"

void hk_part_pieces_release(hk_part_pieces *p)
{
    hk_free(p->pieces);
    hk_free(p->of);
    *p = (hk_part_pieces){0};
}

// Whether parts have to ask about it: all that are held in earnest are one piece, the first.
static bool stands_out(const hk_partition_piece *piece)
{
    return piece->held == 0 || piece->by_axes;
}

static void describe(const hk_model *m, const hk_held_components *c, hk_partition_piece *all)
{
    int body = 0;
    for (int v = 0; v < m->vertex_count; v++) {
        while (v >= m->bodies[body].vertex_start + m->bodies[body].vertex_count) body++;
        if (c->of[v] == v)
            all[v] = (hk_partition_piece){.body = body,
                                          .vertex = v - m->bodies[body].vertex_start,
                                          .held = c->held[v],
                                          .rigid = -1};
    }
    for (int v = 0; v < m->vertex_count; v++) {
        hk_partition_piece *piece = &all[c->of[v]];
        int axes = m->axes ? m->axes[v] : 0;
        piece->axes |= m->hold[v] != HK_FREE ? HK_ALL_AXES : axes;
        piece->by_axes += m->hold[v] == HK_FREE && axes;
    }
    for (int v = 0; v < m->vertex_count; v++) {
        bool massless = !(m->mass[v] > 0);
        if (c->of[v] != v) continue;
        all[v].by_axes = !massless && all[v].held > 0 && all[v].by_axes == all[v].held;
        if (massless && all[v].held == 0) all[v].held = 1;  // of no element
    }
}

hk_status hk_part_find_pieces(const hk_model *m, hk_part_pieces *p)
{
    hk_held_components c = {0};
    *p = (hk_part_pieces){0};
    hk_partition_piece *all = HK_ZEROS(hk_partition_piece, m->vertex_count);
    p->of = HK_ZEROS(int32_t, m->vertex_count);
    hk_status status = all && p->of ? hk_held_components_find(m, NULL, &c) : HK_NO_MEMORY;
    p->count = 1;
    if (status == HK_OK) {
        describe(m, &c, all);
        for (int v = 0; v < m->vertex_count; v++)
            if (c.of[v] != v)
                p->of[v] = p->of[c.of[v]];  // the representative is the least
            else if (stands_out(&all[v]))
                p->of[v] = p->count++;
    }
    p->pieces = HK_ZEROS(hk_partition_piece, p->count);
    if (!p->pieces) status = HK_NO_MEMORY;
    if (status == HK_OK) {
        p->pieces[0] = (hk_partition_piece){.held = 3, .rigid = -1};
        for (int v = 0; v < m->vertex_count; v++) {
            p->free_count += m->hold[v] == HK_FREE;
            if (c.of[v] != v || p->of[v] == 0) continue;
            p->pieces[p->of[v]] = all[v];
            if (all[v].held == 0) p->pieces[p->of[v]].rigid = p->rigid_count++;
        }
        status = hk_model_is_unheld(m, NULL, &p->unheld);
    }
    hk_held_components_release(&c);
    hk_free(all);
    if (status != HK_OK) hk_part_pieces_release(p);
    return status;
}
