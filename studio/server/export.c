// Files of what is open: written by the library into a file of their own, then sent.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server.h"
#include "simulation.h"

enum { MOST_EXPORT = 1 << 30 };

typedef struct export_job {
    const char *what, *shape;
    char *folder;
    void *data;  // the file
    size_t size;
    char name[128];
    st_why why;
} export_job;

// ---------------------------------------------------------------- meshes

static int find_shape(const st_session *s, const char *name)
{
    if (!name[0] || strcmp(name, "now") == 0) return 0;
    for (int k = 0; k < s->mode->shape_count; ++k)
        if (strcmp(s->mode->shapes[k], name) == 0) return k;
    return -1;
}

static bool export_surface(st_session *s, export_job *job, const double *x, const char *path)
{
    const hk_model *model = NULL;
    hk_mesh *mesh = NULL;
    bool good = s->mode->world_model(s, &model) &&
                (hk_model_surface(model, x, true, &mesh) == HK_OK || st_fail_library(&job->why));
    if (good && strcmp(job->what, "stl") == 0) {  // printers take millimetres
        int n = hk_mesh_vertex_count(mesh);
        double *scaled = st_alloc(3 * (size_t)n, sizeof *scaled);
        for (int k = 0; k < 3 * n; ++k) scaled[k] = 1000 * hk_mesh_positions(mesh)[k];
        hk_mesh_set_positions(mesh, scaled);
        free(scaled);
    }
    good = good && (hk_mesh_save(mesh, path, NULL, 0) == HK_OK || st_fail_library(&job->why));
    hk_mesh_free(mesh);
    return good;
}

static bool is_surface_format(const char *what)
{
    return strcmp(what, "stl") == 0 || strcmp(what, "obj") == 0 || strcmp(what, "ply") == 0 ||
           strcmp(what, "glb") == 0;
}

// Where a rest shape is asked for that the mode does not have among its shapes.
static const double *rest_of(st_session *s)
{
    const hk_model *model = NULL;
    return s->mode->world_model(s, &model) ? hk_model_rest_positions(model) : NULL;
}

static bool export_mesh(st_session *s, export_job *job)
{
    int shape = find_shape(s, job->shape);
    bool rest = shape < 0 && strcmp(job->shape, "rest") == 0;
    if (shape < 0 && !rest) return st_fail(&job->why, "there is no shape \"%s\" here", job->shape);
    bool own_name = strchr(job->what, '.') != NULL;
    char *path = st_format("%s/.export-%d.%s", job->folder, (int)getpid(), job->what);
    bool good;
    if (is_surface_format(job->what))
        good = export_surface(s, job, rest ? rest_of(s) : s->mode->positions(s, shape), path);
    else if (rest)
        good = st_fail(&job->why, "of the rest shape there are stl, obj, ply and glb");
    else
        good = s->mode->save(s, shape, job->what, path, &job->why);
    if (good) job->data = st_file_read(path, MOST_EXPORT, &job->size, &job->why);
    unlink(path);
    free(path);
    char *title = st_scene_title(s->scene.name);
    const char *word = rest ? "rest" : s->mode->shapes[shape];
    bool plain = strcmp(word, "now") == 0;
    snprintf(job->name, sizeof job->name, "%.40s%s%s%c%s", title, plain ? "" : "-",
             plain ? "" : word, own_name ? '-' : '.', job->what);
    free(title);
    return good && job->data;
}

// ---------------------------------------------------------------- all of them

static void take_text(export_job *job, char *text)
{
    job->data = text;
    job->size = text ? strlen(text) : 0;
}

static void do_export(st_session *s, void *context)
{
    export_job *job = context;
    st_fail_http(&job->why, 404, "no scene is open");
    if (!s->open) return;
    st_fail_http(&job->why, 404, "there is nothing of it here");
    snprintf(job->name, sizeof job->name, "%s", job->what);
    if (strcmp(job->what, "history.csv") == 0) {
        take_text(job, st_run_history(s));
    } else if (strcmp(job->what, "recording.glb") == 0) {
        job->data = st_recording_glb(s, &job->size, &job->why);
    } else if (strcmp(job->what, "scene.json") == 0) {
        json_t *scene = st_edits_scene(&s->edits, &job->why);
        if (scene) take_text(job, json_dumps(scene, JSON_INDENT(2)));
        json_decref(scene);
    } else {
        export_mesh(s, job);
    }
}

static const char *known_export(const char *what)
{
    static const char *const names[] = {"stl",        "obj",         "ply",          "glb",
                                        "vtu",        "msh",         "points.csv",   "state.hks",
                                        "scene.json", "history.csv", "recording.glb"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (strcmp(names[i], what) == 0) return names[i];
    return NULL;
}

// Names go into a header.
static void make_plain(char *name)
{
    for (char *c = name; *c; ++c)
        if (*c < 0x20 || *c >= 0x7f || *c == '"' || *c == '\\' || *c == '/') *c = '_';
}

void st_get_export(const st_request *request, st_reply *reply)
{
    char what[32], shape[32];
    st_request_value(request, "what", what, sizeof what);
    st_request_value(request, "shape", shape, sizeof shape);
    export_job job = {.what = known_export(what),
                      .shape = shape,
                      .folder = request->server->files.folder[ST_UPLOADS]};
    st_why why;
    if (!job.what) {
        st_fail_http(&why, 404, "there is no export \"%s\"", what);
        st_reply_error(reply, &why);
    } else if (!st_session_do(request->server->session, do_export, &job)) {
        st_fail_http(&why, 503, "the server is about to end");
        st_reply_error(reply, &why);
    } else if (!job.data) {
        st_reply_error(reply, &job.why);
    } else {
        make_plain(job.name);
        *reply = (st_reply){
            .status = 200, .type = "application/octet-stream", .data = job.data, .size = job.size};
        snprintf(reply->attachment, sizeof reply->attachment, "%s", job.name);
    }
}
