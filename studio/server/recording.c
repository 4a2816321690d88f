// Recordings: frames of the first shape, and their glTF animation.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "glb.h"
#include "simulation.h"

enum { MOST_FRAMES = 600, MOST_BYTES = 256 << 20 };

struct st_recording {
    bool on, full;
    double interval, next;  // ms
    float *frames;          // [count][vertex_count][3]
    uint32_t *triangles;    // [triangle_count][3], as they were when it began
    int triangle_count;
    double times[MOST_FRAMES];  // s of the simulation
    int count, vertex_count;
    double begun;  // ms
};

st_recording *st_recording_create(void)
{
    return st_alloc(1, sizeof(st_recording));
}

void st_recording_free(st_recording *r)
{
    if (!r) return;
    free(r->frames);
    free(r->triangles);
    free(r);
}

static void tell(st_session *s)
{
    const st_recording *r = s->recording;
    double seconds = r->count > 1 ? r->times[r->count - 1] - r->times[0] : 0;
    st_send(s->hub, ST_ALL_CLIENTS,
            json_pack("{s:s, s:i, s:f, s:b, s:b}", "type", "recording", "frames", r->count,
                      "seconds", seconds, "full", (int)r->full, "on", (int)r->on));
}

// Another scene, or its beginning: what was recorded stays until a new recording begins.
void st_recording_begin_scene(st_session *s)
{
    st_recording *r = s->recording;
    r->on = false;
    if (r->count > 0 || r->full) tell(s);
}

void st_recording_end(st_session *s)
{
    st_recording *r = s->recording;
    if (!r->on) return;
    r->on = false;
    tell(s);
    st_tell_notice(s, "info",
                   "the recording ends here: an animation has the same triangles all along");
}

// Of the simulation; a design has none of its own.
static double clock_of(const st_session *s)
{
    return s->mode == &st_design_mode ? (st_now() - s->recording->begun) / 1000 : s->now;
}

bool st_recording_command(st_session *s, const json_t *message, st_why *why)
{
    st_recording *r = s->recording;
    double rate = st_read_real(message, "rate", 30);
    if (!(rate >= 0.1 && rate <= 120)) return st_fail(why, "\"rate\": expected 0.1 to 120");
    r->on = json_is_true(json_object_get(message, "on"));
    if (r->on) {
        free(r->frames);
        r->frames = NULL;
        r->count = 0;
        r->full = false;
        r->vertex_count = s->surface.vertex_count;
        r->triangle_count = s->surface.triangle_count;
        size_t triangles = 3 * (size_t)r->triangle_count;
        r->triangles = st_realloc(r->triangles, triangles, sizeof *r->triangles);
        if (triangles > 0)
            memcpy(r->triangles, s->surface.triangles, sizeof *r->triangles * triangles);
        r->interval = 1 / rate;
        r->begun = st_now();
        r->next = clock_of(s);
        st_recording_add(s);
    }
    tell(s);
    return true;
}

void st_recording_add(st_session *s)
{
    st_recording *r = s->recording;
    size_t frame = 3 * (size_t)r->vertex_count;
    double now = clock_of(s);
    if (!r->on || !s->open || r->vertex_count != s->surface.vertex_count) return;
    if (now < r->next - 1e-3 * r->interval) return;
    r->next = fmax(r->next + r->interval, now);
    if (r->count == MOST_FRAMES ||
        (size_t)(r->count + 1) * frame * sizeof(float) > (size_t)MOST_BYTES) {
        r->full = true;
        r->on = false;
        tell(s);
        return;
    }
    r->frames = st_realloc(r->frames, (size_t)(r->count + 1) * frame, sizeof *r->frames);
    st_surface_positions(&s->surface, s->mode->positions(s, 0),
                         r->frames + (size_t)r->count * frame);
    r->times[r->count++] = now;
    if (r->count % 10 == 0) tell(s);
}

void *st_recording_glb(st_session *s, size_t *size, st_why *why)
{
    const st_recording *r = s->recording;
    if (r->count == 0) {
        st_fail_http(why, 404, "nothing was recorded");
        return NULL;
    }
    const st_glb glb = {.vertex_count = r->vertex_count,
                        .triangle_count = r->triangle_count,
                        .triangles = r->triangles,
                        .frame_count = r->count,
                        .frames = r->frames,
                        .times = r->times};
    return st_glb_write(&glb, size);
}
