// The texts of scenes: read, checked, saved.
#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "simulation.h"

typedef struct text_job {
    char *text;
    size_t size;
} text_job;

static void copy_text(st_session *s, void *context)
{
    text_job *job = context;
    if (!s->open) return;
    job->text = st_alloc(s->scene.length + 1, 1);
    memcpy(job->text, s->scene.text, s->scene.length);
    job->size = s->scene.length;
}

void st_get_scene(const st_request *request, st_reply *reply)
{
    char name[1024];
    st_why why;
    text_job job = {.text = NULL};
    st_request_value(request, "path", name, sizeof name);
    if (name[0]) {
        char *path = st_files_find(&request->server->files, name, false, NULL, &why);
        if (path) job.text = st_file_read(path, ST_MAX_SCENE, &job.size, &why);
        free(path);
    } else {
        st_fail_http(&why, 404, "no scene is open");
        st_session_do(request->server->session, copy_text, &job);
    }
    if (!job.text) {
        st_reply_error(reply, &why);
        return;
    }
    *reply =
        (st_reply){.status = 200, .type = "application/json", .data = job.text, .size = job.size};
}

// Reads the text of the body as a scene. NULL: `why` says what is wrong with it.
static char *read_scene(const st_request *request, const char *name, size_t *size, st_why *why)
{
    st_scene scene;
    char *text = st_request_body(request, ST_MAX_SCENE, size, why);
    if (text && st_scene_read(&request->server->files, name, text, *size, &scene, why)) {
        st_scene_free(&scene);
        return text;
    }
    free(text);
    return NULL;
}

void st_check_scene(const st_request *request, st_reply *reply)
{
    char name[1024];
    size_t size;
    st_why why;
    st_request_value(request, "path", name, sizeof name);
    char *text = read_scene(request, name[0] ? name : "uploads/scene.json", &size, &why);
    if (text) {
        st_reply_json(reply, 200, json_pack("{s:b}", "ok", 1));
    } else {
        if (why.status == 0 || why.status == 403) why.status = 200;  // that is the answer
        st_reply_error(reply, &why);
    }
    free(text);
}

static bool is_scene_name(const char *name)
{
    size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".json") == 0;
}

static bool save(const st_request *request, const char *name, st_why *why)
{
    st_root root;
    size_t size;
    if (!is_scene_name(name)) return st_fail(why, "a scene's file ends in .json");
    char *path = st_files_find(&request->server->files, name, true, &root, why);
    if (!path) return false;
    bool good = st_files_writable(root) ||
                st_fail_http(why, 403,
                             "the scenes of the installation are not written to; save it "
                             "under uploads/");
    char *text = good ? read_scene(request, name, &size, why) : NULL;
    good = text && (hk_file_save(path, text, size) == HK_OK || st_fail_library(why));
    free(text);
    free(path);
    return good;
}

void st_put_scene(const st_request *request, st_reply *reply)
{
    char name[1024];
    st_why why;
    st_request_value(request, "path", name, sizeof name);
    if (save(request, name, &why))
        st_reply_json(reply, 200, json_pack("{s:b, s:o}", "ok", 1, "path", st_json_text(name)));
    else
        st_reply_error(reply, &why);
}
