#include "model/live.h"

void hk_live_init(hk_live *live, const hk_model *model)
{
    *live = (hk_live){0};
    memcpy(live->gravity, model->gravity, sizeof live->gravity);
}

void hk_live_release(hk_live *live)
{
    hk_free(live->load);
    hk_free(live->force);
    hk_free(live->target);
    hk_free(live->timed);
    hk_free(live->factors);
    hk_free(live->broken);
    hk_free(live->grabs);
    *live = (hk_live){0};
}

bool hk_live_held_position(const hk_live *live, const hk_model *m, int vertex, double time,
                           double x[3])
{
    const double *target = hk_live_target(live, vertex);
    if (target) {
        memcpy(x, target, 3 * sizeof(double));
        return true;
    }
    hk_model_held_position(m, vertex, time, x);
    return m->hold[vertex] >= 0 && m->motions[m->hold[vertex]].over == 0 &&
           !m->motions[m->hold[vertex]].factor;
}
