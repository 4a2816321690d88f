// The thread of the simulation: takes commands, opens scenes, lets the mode work.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "simulation.h"

enum { MAX_QUEUED = 1024 };

// ---------------------------------------------------------------- telling

void st_tell_status(st_session *s)
{
    st_send_status(s->hub,
                   json_pack("{s:s, s:s, s:b, s:f, s:o, s:b}", "type", "status", "mode",
                             s->mode->name, "playing", (int)s->playing, "speed", s->speed, "busy",
                             s->busy ? st_json_text(s->busy) : json_null(), "open", (int)s->open));
}

void st_tell_busy(st_session *s, const char *text)
{
    s->busy = text;
    st_tell_status(s);
}

void st_tell_notice(st_session *s, const char *level, const char *format, ...)
{
    va_list arguments;
    char text[1024];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    st_send(
        s->hub, ST_ALL_CLIENTS,
        json_pack("{s:s, s:s, s:o}", "type", "notice", "level", level, "text", st_json_text(text)));
}

bool st_keep_going(void *context, const hk_iteration *iteration)
{
    (void)iteration;
    st_session *s = context;
    return !atomic_load(&s->urgent);
}

// ---------------------------------------------------------------- scenes

// A mesh of all bodies at rest, in the numbering of the model.
static bool rest_mesh(const st_session *s, const hk_model *model, hk_mesh **mesh, st_why *why)
{
    const hk_model_def *def = hk_scene_model(s->scene.def);
    size_t tets = 0, triangles = 0, t = 0, f = 0;
    for (int b = 0; b < def->body_count; ++b) {
        const hk_body_def *body = hk_def_at(def->bodies, b);
        int n = hk_mesh_tet_count(body->mesh);
        tets += (size_t)n;
        if (n == 0) triangles += (size_t)hk_mesh_triangle_count(body->mesh);
    }
    int32_t *corners = st_alloc(4 * tets, sizeof *corners);
    int32_t *middles = st_alloc(6 * tets, sizeof *middles);
    int32_t *sheets = st_alloc(3 * triangles, sizeof *sheets);
    bool quadratic = false;
    for (int b = 0; b < def->body_count; ++b) {
        const hk_body_def *body = hk_def_at(def->bodies, b);
        int start = hk_model_body_start(model, b), n = hk_mesh_tet_count(body->mesh);
        const int32_t *from = hk_mesh_middles(body->mesh);
        for (int k = 0; k < 6 * n; ++k)
            middles[6 * t + (size_t)k] = from && from[k] >= 0 ? start + from[k] : -1;
        for (int k = 0; k < 4 * n; ++k)
            corners[4 * t + (size_t)k] = start + hk_mesh_tets(body->mesh)[k];
        quadratic = quadratic || from;
        t += (size_t)n;
        for (int k = 0; n == 0 && k < 3 * hk_mesh_triangle_count(body->mesh); ++k)
            sheets[f++] = start + hk_mesh_triangles(body->mesh)[k];
    }
    bool good = hk_mesh_from_arrays(hk_model_vertex_count(model), hk_model_rest_positions(model),
                                    (int)tets, corners, (int)triangles, sheets, mesh) == HK_OK;
    if (good && quadratic && hk_mesh_set_middles(*mesh, middles) != HK_OK) {
        hk_mesh_free(*mesh);
        good = false;
    }
    free(corners);
    free(middles);
    free(sheets);
    return good || st_fail_library(why);
}

// The same of a world, which may have torn.
static bool world_mesh(st_session *s, const hk_model *model, hk_mesh **mesh, st_why *why)
{
    return (s->mode->mesh(s, mesh) == HK_OK &&
            hk_mesh_set_positions(*mesh, hk_model_rest_positions(model)) == HK_OK) ||
           st_fail_library(why);
}

static bool make_surface(st_session *s, st_surface *surface, st_why *why)
{
    const hk_model *model = NULL;
    hk_mesh *mesh = NULL;
    bool good =
        s->mode->world_model(s, &model) &&
        (s->mode->mesh ? world_mesh(s, model, &mesh, why) : rest_mesh(s, model, &mesh, why)) &&
        st_surface_create(model, mesh, surface, why);
    s->surface_since = s->topology;
    hk_mesh_free(mesh);
    return good;
}

bool st_renew_surface(st_session *s, st_why *why)
{
    st_surface fresh;
    s->topology++;
    s->surface_lost = !make_surface(s, &fresh, why);
    if (s->surface_lost) return false;
    st_surface_free(&s->surface);
    s->surface = fresh;
    st_hub_forget_frames(s->hub);
    return s->dirty = s->surface_new = true;
}

static void close_mode(st_session *s)
{
    if (s->open) s->mode->end(s);
    s->open = false;
    s->playing = s->surface_new = s->surface_lost = false;
    st_surface_free(&s->surface);
    st_hub_forget_frames(s->hub);
    s->heard = s->echo = (st_echo){.sent = 0};
}

// Nothing is shown any more rather than something wrong.
static void give_up_lost_surface(st_session *s)
{
    if (!s->surface_lost) return;
    close_mode(s);
    st_tell_status(s);
}

// Begins a mode with the scene and the edits that there are.
static bool open_mode(st_session *s, const st_mode *mode, const json_t *message, st_why *why)
{
    s->mode = mode;
    s->topology++;
    s->now = 0;
    s->step = 0;
    if (!mode->begin(s, message, why)) return false;
    s->open = true;
    if (!make_surface(s, &s->surface, why)) {
        close_mode(s);
        return false;
    }
    st_recording_begin_scene(s);
    s->dirty = true;
    return true;
}

static void tell_all(st_session *s, int client)
{
    if (!s->open) return;
    st_tell_scene(s, client, false);
    st_tell_topology(s, client);
    st_tell_status(s);
}

// Takes a scene over that was read. Where that fails what was there comes back, at its start.
static bool use_scene(st_session *s, st_scene *scene, const json_t *message, st_why *why)
{
    st_scene before = s->scene;
    st_edits edits = s->edits;
    const st_mode *mode = s->mode;
    bool was_open = s->open;
    close_mode(s);
    s->scene = *scene;
    st_edits_begin(&s->edits, &s->scene);
    bool good = open_mode(s, &st_live_mode, message, why);
    if (good) {
        if (was_open) {
            st_edits_free(&edits);
            st_scene_free(&before);
        }
        s->generation++;
        return true;
    }
    st_edits_free(&s->edits);
    s->scene = before;
    s->edits = edits;
    s->edits.scene = &s->scene;
    st_scene_free(scene);
    st_why ignored;
    if (was_open && !open_mode(s, mode, NULL, &ignored))
        open_mode(s, &st_live_mode, NULL, &ignored);
    if (s->open) tell_all(s, ST_ALL_CLIENTS);
    return false;
}

static bool open_scene(st_session *s, const json_t *message, st_why *why)
{
    st_scene scene;
    const char *name = st_read_text(message, "scene"), *text = st_read_text(message, "text");
    const char *path = st_read_text(message, "path");
    if (!text && !name) return st_fail(why, "which scene?");
    st_tell_busy(s, "opening the scene");
    bool good = text ? st_scene_read(s->files,
                                     path            ? path
                                     : s->scene.name ? s->scene.name
                                                     : "uploads/scene.json",
                                     text, strlen(text), &scene, why)
                     : st_scene_load(s->files, name, &scene, why);
    good = good && use_scene(s, &scene, message, why);
    if (good) {
        tell_all(s, ST_ALL_CLIENTS);
        s->playing = json_is_true(json_object_get(message, "play"));
    }
    st_tell_busy(s, NULL);
    return good;
}

static bool change_mode(st_session *s, const json_t *message, st_why *why)
{
    static const st_mode *const modes[] = {&st_live_mode, &st_design_mode, &st_compare_mode};
    const char *name = st_read_text(message, "mode");
    const st_mode *mode = NULL, *before = s->mode;
    for (int i = 0; i < 3; ++i)
        if (name && strcmp(name, modes[i]->name) == 0) mode = modes[i];
    if (!mode) return st_fail(why, "there is no mode \"%s\"", name ? name : "");
    if (!s->open) return st_fail(why, "open a scene first");
    if (mode == &st_compare_mode && st_edits_tear(&s->edits))
        return st_fail(why, "bodies that come apart have nothing to compare vertex by vertex");
    st_tell_busy(s, "preparing");
    close_mode(s);
    st_why ignored;
    bool good = open_mode(s, mode, message, why);
    if (!good && !open_mode(s, before, NULL, &ignored)) open_mode(s, &st_live_mode, NULL, &ignored);
    s->generation++;
    tell_all(s, ST_ALL_CLIENTS);
    st_tell_busy(s, NULL);
    return good;
}

// ---------------------------------------------------------------- commands

static bool reset(st_session *s, st_why *why)
{
    s->playing = false;
    if (!s->mode->reset(s, why)) return false;
    // Skins belong to models, and there may be another one; what was torn is whole again.
    const hk_model *model = NULL;
    bool known = s->mode->world_model(s, &model);
    if (known && hk_model_vertex_count(model) != s->surface.model_vertex_count &&
        !st_renew_surface(s, why))
        return false;
    for (int b = 0; known && b < s->surface.body_count; ++b)
        s->surface.parts[b].skin = hk_model_skin(model, b);
    s->dirty = true;
    st_recording_begin_scene(s);
    st_tell_status(s);
    return true;
}

static bool set_speed(st_session *s, const json_t *message, st_why *why)
{
    double value = st_read_real(message, "value", NAN);
    if (!(value == 0 || (value >= 0.01 && value <= 100)))
        return st_fail(why, "\"value\": expected 0, or 0.01 to 100");
    s->speed = value;
    st_tell_status(s);
    return true;
}

// What all modes know. 1: done, 0: failed, −1: it is for the mode.
static int general_command(st_session *s, const json_t *message, json_t **answer, st_why *why)
{
    const char *type = st_read_text(message, "type");
    if (strcmp(type, "open") == 0 || strcmp(type, "scene") == 0) return open_scene(s, message, why);
    if (strcmp(type, "fields") == 0) return s->dirty = true;
    if (strcmp(type, "speed") == 0) return set_speed(s, message, why);
    if (!s->open) return st_fail(why, "no scene is open");
    if (strcmp(type, "mode") == 0) return change_mode(s, message, why);
    if (strcmp(type, "reset") == 0) return reset(s, why);
    if (strcmp(type, "save") == 0) return st_save_scene(s, message, answer, why);
    if (strcmp(type, "record") == 0) return st_recording_command(s, message, why);
    return -1;
}

static void answer_command(st_session *s, const st_command *c, bool good, json_t *answer,
                           const st_why *why)
{
    json_t *id = json_object_get(c->message, "id");
    bool asked = json_is_number(id);
    json_t *object = answer ? answer : json_object();
    if (c->client != 0 && (asked || !good)) {
        json_object_set_new(object, "type", json_string(good ? "done" : "error"));
        if (asked) json_object_set(object, "id", id);
        if (!good) json_object_set_new(object, "message", st_json_text(why->text));
        if (!good && why->line > 0) {
            json_object_set_new(object, "line", json_integer(why->line));
            json_object_set_new(object, "column", json_integer(why->column));
        }
        st_send(s->hub, c->client, json_incref(object));
    } else if (!good) {
        st_tell_notice(s, "error", "%s", why->text);
    }
    json_decref(object);
}

// What the server itself puts into the queue.
static bool internal_command(st_session *s, const st_command *c)
{
    const char *type = st_read_text(c->message, "type");
    if (strcmp(type, "/came") == 0) {
        tell_all(s, c->client);
        s->dirty = true;
    } else if (strcmp(type, "/left") == 0) {
        json_t *answer = NULL;
        st_why why;
        if (s->open) s->mode->command(s, c, &answer, &why);
        json_decref(answer);
    }
    return type[0] == '/';
}

static void do_command(st_session *s, const st_command *c)
{
    st_why why = {.line = 0};
    json_t *answer = NULL;
    if (internal_command(s, c)) return;
    int result = general_command(s, c->message, &answer, &why);
    if (result < 0) result = s->mode->command(s, c, &answer, &why);
    if (result < 0)
        st_fail(&why, "there is nothing called \"%s\" in mode %s", st_read_text(c->message, "type"),
                s->mode->name);
    answer_command(s, c, result > 0, answer, &why);
    give_up_lost_surface(s);
}

// ---------------------------------------------------------------- the queue

static bool is_urgent(const json_t *message)
{
    static const char *const types[] = {"open", "scene", "mode", "reset", "solver"};
    const char *type = st_read_text(message, "type");
    for (size_t i = 0; type && i < sizeof types / sizeof types[0]; ++i)
        if (strcmp(type, types[i]) == 0) return true;
    return false;
}

// A move makes the one before it of the same grab needless.
static bool replaces(const st_command *new, const st_command *old)
{
    const char *a = st_read_text(new->message, "type"), *b = st_read_text(old->message, "type");
    if (!old->message || new->client != old->client || !a || !b) return false;
    return strcmp(a, "move") == 0 && strcmp(b, "move") == 0 &&
           !json_object_get(old->message, "id") &&
           json_equal(json_object_get(new->message, "grab"), json_object_get(old->message, "grab"));
}

static st_command *last_command(const st_session *s)
{
    st_command *last = s->first;
    while (last && last->next) last = last->next;
    return last;
}

// The mutex is held. Takes the command over.
static bool enqueue(st_session *s, const st_command *command, bool needed)
{
    st_command *last = s->queued < 64 ? last_command(s) : NULL;
    if (s->quit || (s->queued >= MAX_QUEUED && !needed)) {
        json_decref(command->message);
        return false;
    }
    if (last && command->message && replaces(command, last)) {
        json_decref(last->message);
        last->message = command->message;
        last->arrived = command->arrived;
    } else {
        st_command *added = st_alloc(1, sizeof *added);
        *added = *command;
        added->next = NULL;
        *s->last = added;
        s->last = &added->next;
        s->queued++;
    }
    if (is_urgent(command->message)) atomic_store(&s->urgent, true);
    pthread_cond_signal(&s->wake);
    return true;
}

bool st_session_command(st_session *s, int client, json_t *message)
{
    st_command command = {.client = client, .message = message, .arrived = st_now()};
    pthread_mutex_lock(&s->mutex);
    bool taken = enqueue(s, &command, false);
    pthread_mutex_unlock(&s->mutex);
    return taken;
}

static void notify(st_session *s, int client, const char *type)
{
    st_command command = {.client = client, .message = json_pack("{s:s}", "type", type)};
    pthread_mutex_lock(&s->mutex);
    enqueue(s, &command, true);
    pthread_mutex_unlock(&s->mutex);
}

void st_session_client_came(st_session *s, int client)
{
    notify(s, client, "/came");
}

// What it still wanted is not done any more; what it takes long to do is given up.
void st_session_client_left(st_session *s, int client)
{
    pthread_mutex_lock(&s->mutex);
    st_command **at = &s->first;
    while (*at) {
        st_command *c = *at;
        if (c->work || c->client != client) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        s->queued--;
        json_decref(c->message);
        free(c);
    }
    s->last = at;
    pthread_mutex_unlock(&s->mutex);
    notify(s, client, "/left");
    atomic_store(&s->urgent, true);
}

bool st_session_do(st_session *s, st_job_fn *work, void *context)
{
    bool done = false;
    st_command command = {.work = work, .context = context, .done = &done};
    pthread_mutex_lock(&s->mutex);
    bool taken = enqueue(s, &command, true);
    while (taken && !done && !s->ended) pthread_cond_wait(&s->finished, &s->mutex);
    pthread_mutex_unlock(&s->mutex);
    return taken && done;
}

// ---------------------------------------------------------------- the thread

// The oldest command, after waiting for one for so long; NULL: there is none. A step may be given
// up as long as something urgent waits.
static st_command *take_command(st_session *s, double wait_ms)
{
    pthread_mutex_lock(&s->mutex);
    if (!s->first && !s->quit && wait_ms > 0) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        double ns = (double)until.tv_nsec + 1e6 * fmin(wait_ms, 1000);
        until.tv_sec += (time_t)(ns / 1e9);
        until.tv_nsec = (long)fmod(ns, 1e9);
        pthread_cond_timedwait(&s->wake, &s->mutex, &until);
    }
    st_command *command = s->quit ? NULL : s->first;
    if (command) {
        s->first = command->next;
        s->queued--;
    }
    if (!s->first) {
        s->last = &s->first;
        atomic_store(&s->urgent, s->quit);
    }
    pthread_mutex_unlock(&s->mutex);
    return command;
}

static void finish_job(st_session *s, const st_command *c)
{
    c->work(s, c->context);
    pthread_mutex_lock(&s->mutex);
    *c->done = true;
    pthread_cond_broadcast(&s->finished);
    pthread_mutex_unlock(&s->mutex);
}

// What waits, but not for so long that a flood of messages would hold the world.
static void do_commands(st_session *s, double wait_ms)
{
    enum { MOST_MS = 10 };
    double start = 0;
    for (st_command *c; (c = take_command(s, start > 0 ? 0 : wait_ms));) {
        if (start <= 0) start = st_now();
        if (c->work)
            finish_job(s, c);
        else
            do_command(s, c);
        json_decref(c->message);
        free(c);
        if (st_now() > start + MOST_MS) break;
    }
}

// Frames go out sixty times a second at most: faster than that nobody looks.
static double show(st_session *s, double wait)
{
    enum { LEAST_MS = 12, LEAST_MS_NEW = 40 };
    if (!s->open || !s->dirty) return wait;
    double due = s->last_frame + (s->surface_new ? LEAST_MS_NEW : LEAST_MS) - st_now();
    if (due > 0) return fmin(wait, due);
    if (s->surface_new) st_tell_topology(s, ST_ALL_CLIENTS);
    s->surface_new = false;
    st_send_frame(s);
    return wait;
}

static void *simulate(void *context)
{
    st_session *s = context;
    double wait = 0;
    for (;;) {
        do_commands(s, wait);
        if (s->quit) break;
        // With nobody to look at it the world stands still.
        bool seen = s->open && st_hub_count(s->hub) > 0;
        wait = seen ? s->mode->tick(s) : 1000;
        give_up_lost_surface(s);
        if (seen) wait = show(s, wait);
    }
    close_mode(s);
    st_edits_free(&s->edits);
    st_scene_free(&s->scene);
    pthread_mutex_lock(&s->mutex);
    s->ended = true;  // jobs that still wait fail
    pthread_cond_broadcast(&s->finished);
    while (s->first) {
        st_command *next = s->first->next;
        json_decref(s->first->message);
        free(s->first);
        s->first = next;
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

// ---------------------------------------------------------------- beginning and end

static void log_message(void *context, hk_log_level level, const char *message)
{
    st_session *s = context;
    if (level == HK_LOG_WARNING) st_tell_notice(s, "warning", "%s", message);
}

static void make_name(st_session *s)
{
    unsigned char bytes[8] = {0};
    if (getrandom(bytes, sizeof bytes, 0) < 0) bytes[0] = 1;
    for (int i = 0; i < 8; ++i) snprintf(s->name + 2 * i, 3, "%02x", bytes[i]);
}

st_session *st_session_create(const st_files *files, st_hub *hub, int threads)
{
    st_session *s = st_alloc(1, sizeof *s);
    s->files = files;
    s->hub = hub;
    s->threads = threads;
    s->mode = &st_live_mode;
    s->speed = 1;
    s->last = &s->first;
    s->recording = st_recording_create();
    make_name(s);
    pthread_mutex_init(&s->mutex, NULL);
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &steady);
    pthread_condattr_destroy(&steady);
    pthread_cond_init(&s->finished, NULL);
    hk_set_log(log_message, s);
    s->started = pthread_create(&s->thread, NULL, simulate, s) == 0;
    return s;
}

void st_session_quit(st_session *s)
{
    if (!s) return;
    pthread_mutex_lock(&s->mutex);
    s->quit = true;
    atomic_store(&s->urgent, true);
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->mutex);
    if (s->started) pthread_join(s->thread, NULL);
    s->started = false;
    hk_set_log(NULL, NULL);
}

void st_session_free(st_session *s)
{
    if (!s) return;
    st_recording_free(s->recording);
    pthread_mutex_destroy(&s->mutex);
    pthread_cond_destroy(&s->wake);
    pthread_cond_destroy(&s->finished);
    free(s);
}

const char *st_session_name(const st_session *s)
{
    return s->name;
}

void st_session_open(st_session *s, const char *path)
{
    char *name = st_files_name(s->files, path);
    json_t *message = json_pack("{s:s, s:s}", "type", "open", "scene", name ? name : path);
    free(name);
    st_session_command(s, 0, message);
}
