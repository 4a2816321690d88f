// Obstacles: from definitions, copies, and where they are at a time.
#include "contact/obstacle.h"

#include <math.h>

#include "contact/obstacle_shape.h"
#include "core/def.h"
#include "core/rotation.h"
#include "core/vector.h"

void hk_fill_obstacle_def(hk_obstacle_def *def, size_t size)
{
    const hk_obstacle_def standard = {.name = "obstacle",
                                      .normal = {0, 1, 0},
                                      .transform = {.scale = 1, .axis = {0, 1, 0}},
                                      .friction = NAN,
                                      .formula = {.axis = {0, 1, 0}}};
    hk_def_fill(&hk_def_obstacle, &standard, def, size);
}

// ---------------------------------------------------------------- how it moves

static hk_status take_moves(const hk_obstacle_def *def, hk_obstacle *o)
{
    o->moves = HK_ZEROS(hk_motion, def->move_count);
    if (!o->moves) return HK_NO_MEMORY;
    for (int k = 0; k < def->move_count; k++) {
        hk_status status = hk_motion_take(&def->moves[k], &o->moves[k]);
        if (status != HK_OK) return hk_fail_within(status, "move %d", k);
        o->move_count = k + 1;
    }
    return HK_OK;
}

static hk_status take_key(const hk_key_def *def, hk_key *key)
{
    if (!hk_is_zero(def, offsetof(hk_key_def, reserved), sizeof *def))
        return hk_fail(HK_UNSUPPORTED,
                       "hk_key_def sets a field that the library (%s) does not know", hk_version());
    if (!(isfinite(def->time) && isfinite(def->degrees) && hk_is_finite3(def->center) &&
          hk_is_finite3(def->translate)))
        return hk_fail(HK_BAD_INPUT, "a number is not finite");
    *key = (hk_key){.time = def->time, .degrees = def->degrees, .axis = {0, 1, 0}};
    if (!hk_unit3(def->axis, key->axis) && def->degrees != 0)
        return hk_fail(HK_BAD_INPUT, "the axis has no length");
    memcpy(key->center, def->center, sizeof key->center);
    memcpy(key->translate, def->translate, sizeof key->translate);
    hk_rotation_quaternion(key->axis, key->degrees, key->quaternion);
    return HK_OK;
}

static hk_status take_keys(const hk_obstacle_def *def, hk_obstacle *o)
{
    o->keys = HK_ZEROS(hk_key, def->key_count);
    if (!o->keys) return HK_NO_MEMORY;
    for (int k = 0; k < def->key_count; k++) {
        hk_status status = take_key(&def->keys[k], &o->keys[k]);
        if (status == HK_OK && k > 0 && !(o->keys[k].time > o->keys[k - 1].time))
            status = hk_fail(HK_BAD_INPUT,
                             "its time must be greater than that of the key before (%g s after "
                             "%g s)",
                             o->keys[k].time, o->keys[k - 1].time);
        if (status != HK_OK) return hk_fail_within(status, "key %d", k);
    }
    o->key_count = def->key_count;
    return HK_OK;
}

static bool has_formula(const hk_formula_def *f)
{
    return f->translate[0] || f->translate[1] || f->translate[2] || f->degrees;
}

static hk_status take_path(const hk_formula_def *def, hk_path *path)
{
    if (!hk_is_zero(def, offsetof(hk_formula_def, reserved), sizeof *def))
        return hk_fail(HK_UNSUPPORTED,
                       "hk_formula_def sets a field that the library (%s) does not know",
                       hk_version());
    if (!hk_is_finite3(def->center))
        return hk_fail(HK_BAD_INPUT, "the centre of its rotation is not finite");
    if (!hk_unit3(def->axis, path->axis) && def->degrees)
        return hk_fail(HK_BAD_INPUT, "the axis of its rotation has no length");
    memcpy(path->center, def->center, sizeof path->center);
    for (int i = 0; i < 3; i++)
        if (def->translate[i]) HK_TRY(hk_formula_create(def->translate[i], &path->translate[i]));
    return def->degrees ? hk_formula_create(def->degrees, &path->degrees) : HK_OK;
}

static hk_status check_list(const char *name, const void *list, int count)
{
    if (count < 0) return hk_fail(HK_BAD_INPUT, "the number of %s is %d", name, count);
    if (count > 0 && !list)
        return hk_fail(HK_BAD_INPUT, "%s is NULL, its count is %d", name, count);
    return HK_OK;
}

static hk_status take_motion(const hk_obstacle_def *def, hk_obstacle *o)
{
    HK_TRY(check_list("moves", def->moves, def->move_count));
    HK_TRY(check_list("keys", def->keys, def->key_count));
    bool moves = def->move_count > 0, keys = def->key_count > 0, path = has_formula(&def->formula);
    if (moves + keys + path > 1)
        return hk_fail(HK_BAD_INPUT, "it has more than one of moves, keys and a formula");
    if (moves) {
        o->way = HK_BY_MOVES;
        return take_moves(def, o);
    }
    if (keys) {
        o->way = HK_BY_KEYS;
        return take_keys(def, o);
    }
    o->way = path ? HK_BY_FORMULA : HK_STANDS;
    return path ? take_path(&def->formula, &o->path) : HK_OK;
}

// ---------------------------------------------------------------- life

static hk_status take(const hk_obstacle_def *def, hk_obstacle *o)
{
    o->name = hk_strdup(def->name ? def->name : "obstacle");
    if (!o->name) return HK_NO_MEMORY;
    o->friction = def->friction;
    if (!isnan(def->friction) && !(def->friction >= 0 && isfinite(def->friction)))
        return hk_fail(HK_BAD_INPUT, "its friction must be 0 or more (is %g)", def->friction);
    HK_TRY(hk_obstacle_shape_take(def, o));
    HK_TRY(take_motion(def, o));
    hk_placement at;
    return hk_obstacle_place(o, 0, &at);  // formulas that fail from the start
}

hk_status hk_obstacle_take(const hk_obstacle_def *def, hk_obstacle *obstacle)
{
    hk_obstacle made = {0};
    hk_status status = take(def, &made);
    if (status == HK_OK)
        *obstacle = made;
    else
        hk_obstacle_release(&made);
    return status;
}

// NULL stays NULL.
static bool copy_array(void *array, size_t count, size_t size)
{
    void **at = array, *from = *at;
    *at = NULL;
    if (!from) return true;
    *at = hk_alloc(count, size);
    if (!*at) return false;
    memcpy(*at, from, count * size);
    return true;
}

static bool copy_formula(hk_formula **formula)
{
    const hk_formula *from = *formula;
    *formula = NULL;
    return !from || hk_formula_copy(from, formula) == HK_OK;
}

hk_status hk_obstacle_copy(const hk_obstacle *from, hk_obstacle *to)
{
    hk_obstacle made = *from;
    bool well = copy_array(&made.name, strlen(from->name) + 1, 1);
    well = copy_array(&made.rest, 3 * (size_t)from->vertex_count, sizeof(double)) && well;
    well = copy_array(&made.edges, 2 * (size_t)from->edge_count, sizeof(int32_t)) && well;
    well = copy_array(&made.triangles, 3 * (size_t)from->triangle_count, sizeof(int32_t)) && well;
    well = copy_array(&made.moves, (size_t)from->move_count, sizeof(hk_motion)) && well;
    for (int k = 0; made.moves && k < made.move_count; k++)
        hk_time_factor_retain(made.moves[k].factor);
    well = copy_array(&made.keys, (size_t)from->key_count, sizeof(hk_key)) && well;
    for (int i = 0; i < 3; i++) well = copy_formula(&made.path.translate[i]) && well;
    well = copy_formula(&made.path.degrees) && well;
    if (!well) {
        hk_obstacle_release(&made);
        return HK_NO_MEMORY;
    }
    *to = made;
    return HK_OK;
}

void hk_obstacle_release(hk_obstacle *o)
{
    hk_free(o->name);
    hk_free(o->rest);
    hk_free(o->edges);
    hk_free(o->triangles);
    for (int k = 0; o->moves && k < o->move_count; k++) hk_motion_release(&o->moves[k]);
    hk_free(o->moves);
    hk_free(o->keys);
    for (int i = 0; i < 3; i++) hk_formula_free(o->path.translate[i]);
    hk_formula_free(o->path.degrees);
    *o = (hk_obstacle){0};
}
