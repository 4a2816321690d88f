// The mode `design`: beginning, previews, what there is to see.
#include "design.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PREVIEW_MS = 15 };

// ---------------------------------------------------------------- beginning and end

static void end(st_session *s)
{
    st_design *d = s->design;
    if (!d) return;
    st_design_check_end(d);
    hk_design_free(d->design);
    hk_model_free(d->model);
    st_design_forget(d);
    free(d->shapes[0]);
    free(d->shapes[1]);
    free(d->start);
    for (int k = 0; k < ST_MOST_CACHES; ++k) free(d->caches[k].values);
    free(d);
    s->design = NULL;
}

static void take_snapshot(st_design *d)
{
    d->view.loaded = d->shapes[HK_LOADED_SHAPE];
    d->view.rest = d->shapes[HK_REST_SHAPE];
    hk_design_snapshot(d->design, &d->view);
}

static bool create(st_session *s, st_why *why)
{
    st_design *d = s->design;
    hk_design_def def = hk_default_design_def();
    if (!st_edits_model(&s->edits, false, &d->model, why)) return false;
    def.model = d->model;
    def.given = d->given;
    def.threads = s->threads >= 0 ? s->threads : 0;
    if (hk_design_create(&def, &d->design) != HK_OK) return st_fail_library(why);
    size_t n = 3 * (size_t)hk_design_vertex_count(d->design);
    d->shapes[0] = st_alloc(n, sizeof(double));
    d->shapes[1] = st_alloc(n, sizeof(double));
    d->start = st_alloc(n, sizeof(double));
    memcpy(d->start, hk_model_rest_positions(d->model), sizeof(double) * n);
    take_snapshot(d);
    return true;
}

static bool begin(st_session *s, const json_t *message, st_why *why)
{
    const char *given = st_read_text(message, "given");
    st_design *d = s->design = st_alloc(1, sizeof *d);
    d->seen_version = d->check_version = UINT64_MAX;  // of none
    d->given = given && strcmp(given, "rest") == 0 ? HK_REST_SHAPE : HK_LOADED_SHAPE;
    if (create(s, why)) return true;
    end(s);
    return false;
}

static bool reset(st_session *s, st_why *why)
{
    st_design *d = s->design;
    st_design_release_all(s, 0);
    hk_design_mark(d->design, "reset");
    if (hk_design_set_shape(d->design, d->given, d->start) != HK_OK) return st_fail_library(why);
    d->hurry = true;
    return true;
}

// ---------------------------------------------------------------- previews

static bool rests(const st_design *d)
{
    return d->view.state == HK_DESIGN_CONVERGED || d->view.state == HK_DESIGN_FAILED;
}

static void look(st_session *s)
{
    st_design *d = s->design;
    uint64_t before = d->view.sequence;
    hk_design_state state = d->view.state;
    take_snapshot(d);
    bool refining = d->view.state == HK_DESIGN_REFINING;
    if (refining && !d->was_refining) d->refining_since = st_now();
    d->was_refining = refining;
    if (d->view.sequence != before) {
        s->step = (uint32_t)d->view.version;
        s->step_ms = d->view.preview_ms;
        s->dirty = true;
    }
    d->untold = d->untold || d->view.sequence != before || d->view.state != state || refining;
    if (d->untold && (rests(d) || d->view.state != state || st_now() > d->last_told + 100))
        st_design_tell(s);
}

static double tick(st_session *s)
{
    st_design *d = s->design;
    double now = st_now();
    if (!d->hurry && rests(d)) return st_design_check(s);
    if (!d->hurry && now < d->next_preview) return d->next_preview - now;
    d->hurry = false;
    d->next_preview = now + PREVIEW_MS;
    st_echo heard = s->heard;
    if (hk_design_preview(d->design) != HK_OK) st_tell_notice(s, "error", "%s", hk_error());
    s->echo = heard;
    look(s);
    return fmax(0, d->next_preview - st_now());
}

// The answer tells which version of the design has the edit.
static int command(st_session *s, const st_command *c, json_t **answer, st_why *why)
{
    hk_design_view view = {.loaded = NULL};
    int result = st_design_edit(s, c, why);
    if (result <= 0) return result;
    s->design->hurry = true;
    s->design->view.sequence = 0;  // whatever comes is new
    if (hk_design_snapshot(s->design->design, &view) == HK_OK)
        *answer = json_pack("{s:I}", "version", (json_int_t)view.version);
    return result;
}

// ---------------------------------------------------------------- what there is to see

static const double *positions(st_session *s, int shape)
{
    return s->design->shapes[shape];
}

static int grabs(st_session *s, int shape, float (*list)[10], int most)
{
    st_design *d = s->design;
    int count = 0;
    for (int k = 0; k < d->handle_count && count < most; ++k) {
        const st_handle *h = &d->handles[k];
        double place[3];
        if ((int)h->side != shape) continue;
        st_point_place(&h->point, d->shapes[h->side], place);
        list[count][0] = (float)h->number;
        for (int i = 0; i < 3; ++i) {
            list[count][1 + i] = (float)place[i];
            list[count][4 + i] = (float)h->target[i];
            list[count][7 + i] = 0;
        }
        count++;
    }
    return count;
}

static int contacts(st_session *s, int shape, float **list)
{
    (void)shape;
    (void)s;
    (void)list;
    return 0;
}

static bool world_model(st_session *s, const hk_model **model)
{
    *model = s->design ? s->design->model : NULL;
    return *model != NULL;
}

static void describe(st_session *s, json_t *scene)
{
    char *text = st_format("two-way design of %d vertices, the %s shape was given",
                           hk_model_vertex_count(s->design->model),
                           s->design->given == HK_REST_SHAPE ? "rest" : "loaded");
    json_object_set_new(scene, "describe", st_json_text(text));
    json_object_set_new(scene, "given",
                        json_string(s->design->given == HK_REST_SHAPE ? "rest" : "loaded"));
    free(text);
}

const st_mode st_design_mode = {.name = "design",
                                .begin = begin,
                                .end = end,
                                .command = command,
                                .tick = tick,
                                .reset = reset,
                                .shape_count = 2,
                                .shapes = {"loaded", "rest"},
                                .positions = positions,
                                .field = st_design_field,
                                .grabs = grabs,
                                .contacts = contacts,
                                .describe = describe,
                                .world_model = world_model,
                                .save = st_design_save};
