#include "model/motion.h"

#include <math.h>

#include "core/def.h"
#include "core/vector.h"
#include "model/model.h"

hk_status hk_motion_take(const hk_motion_def *def, hk_motion *motion)
{
    if (!hk_is_zero(def, offsetof(hk_motion_def, reserved), sizeof *def))
        return hk_fail(HK_UNSUPPORTED,
                       "hk_motion_def sets a field that the library (%s) does not know",
                       hk_version());
    hk_factor_def factor = {def->formula, def->table, def->table_count, 0};
    *motion = (hk_motion){.degrees = def->degrees, .over = def->over};
    memcpy(motion->center, def->center, sizeof motion->center);
    memcpy(motion->translate, def->translate, sizeof motion->translate);
    // Without a turn the axis need not be given.
    if (!hk_unit3(def->axis, motion->axis) && def->degrees != 0)
        return hk_fail(HK_BAD_INPUT, "the axis has no length");
    if (!(isfinite(def->degrees) && hk_is_finite3(def->center) && hk_is_finite3(def->translate) &&
          isfinite(def->over) && def->over >= 0))
        return hk_fail(HK_BAD_INPUT, "a number is not finite, or `over` is negative");
    if ((def->formula || def->table_count > 0) && def->over > 0)
        return hk_fail(HK_BAD_INPUT, "a function of the time takes the place of `over`");
    return hk_time_factor_create(&factor, &motion->factor);
}

void hk_motion_release(hk_motion *m)
{
    hk_time_factor_free(m->factor);
    m->factor = NULL;
}

bool hk_motion_moves(const hk_motion *m)
{
    return m->degrees != 0 || m->translate[0] != 0 || m->translate[1] != 0 || m->translate[2] != 0;
}

double hk_motion_fraction(const hk_motion *m, double time)
{
    if (m->factor) return hk_time_factor_value(m->factor, time);
    return m->over > 0 ? fmin(1, fmax(0, time / m->over)) : 1;
}

// Rodrigues' rotation about the centre, then the translation, both in proportion.
void hk_motion_apply(const hk_motion *m, double fraction, const double *rest, double x[3])
{
    double angle = m->degrees * fraction * (M_PI / 180), c = cos(angle), s = sin(angle);
    double r[3];
    for (int i = 0; i < 3; i++) r[i] = rest[i] - m->center[i];
    const double *a = m->axis;
    double along = a[0] * r[0] + a[1] * r[1] + a[2] * r[2];
    double cross[3] = {a[1] * r[2] - a[2] * r[1], a[2] * r[0] - a[0] * r[2],
                       a[0] * r[1] - a[1] * r[0]};
    for (int i = 0; i < 3; i++)
        x[i] = m->center[i] + c * r[i] + s * cross[i] + (1 - c) * along * a[i] +
               fraction * m->translate[i];
}

// ---------------------------------------------------------------- held vertices and targets of a
// model

void hk_model_held_position_at(const hk_model *model, int vertex, double fraction, double x[3])
{
    const double *rest = model->rest + 3 * (int64_t)vertex;
    if (model->hold[vertex] < 0)
        memcpy(x, rest, 3 * sizeof(double));
    else
        hk_motion_apply(&model->motions[model->hold[vertex]], fraction, rest, x);
}

void hk_model_held_position(const hk_model *model, int vertex, double time, double x[3])
{
    int32_t hold = model->hold[vertex];
    hk_model_held_position_at(model, vertex,
                              hold >= 0 ? hk_motion_fraction(&model->motions[hold], time) : 1, x);
}

void hk_model_target_at(const hk_model *model, int attachment, double fraction, double x[3])
{
    const hk_attachment *a = &model->attachments[attachment];
    hk_motion_apply(&model->motions[a->motion], fraction, model->rest + 3 * (int64_t)a->vertex, x);
}

void hk_model_target(const hk_model *model, int attachment, double time, double x[3])
{
    const hk_motion *motion = &model->motions[model->attachments[attachment].motion];
    hk_model_target_at(model, attachment, hk_motion_fraction(motion, time), x);
}
