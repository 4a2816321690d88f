#include "thumbnail.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"

enum { MAX_WAITING = 128 };
#define SECONDS "20"

extern char **environ;

typedef struct drawing {
    char *scene, *picture;
    bool failed;
} drawing;

struct st_thumbnails {
    char *program, *folder;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    drawing list[MAX_WAITING];  // the first `done` are no longer waited for, but for what failed
    int count, next;
    bool quit;
};

// ---------------------------------------------------------------- drawing

// By posix_spawn, since fork would run what libraries do before it, in the midst of a simulation.
static bool spawn_and_wait(char *const *arguments)
{
    pid_t child;
    int status = 1;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    bool good = posix_spawnp(&child, arguments[0], &files, &attributes, arguments, environ) == 0 &&
                waitpid(child, &status, 0) == child;
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool draw(const st_thumbnails *t, const drawing *d)
{
    char *part = st_format("%s.part.png", d->picture);
    char *arguments[] = {"timeout",     SECONDS,     "nice", "-n", "15",     t->program,
                         "render",      d->scene,    "-o",   part, "--size", "320x200",
                         "--no-labels", "--threads", "1",    NULL};
    bool good = spawn_and_wait(arguments) && rename(part, d->picture) == 0;
    if (!good) unlink(part);
    free(part);
    return good;
}

static void *draw_all(void *context)
{
    st_thumbnails *t = context;
    pthread_mutex_lock(&t->mutex);
    while (!t->quit) {
        if (t->next == t->count) {
            pthread_cond_wait(&t->wake, &t->mutex);
            continue;
        }
        drawing *d = &t->list[t->next];
        pthread_mutex_unlock(&t->mutex);
        bool good = draw(t, d);
        pthread_mutex_lock(&t->mutex);
        d->failed = !good;
        t->next++;
    }
    pthread_mutex_unlock(&t->mutex);
    return NULL;
}

// ---------------------------------------------------------------- what others see

st_thumbnails *st_thumbnails_create(const char *program, const char *folder)
{
    st_thumbnails *t = st_alloc(1, sizeof *t);
    t->program = st_copy(program);
    t->folder = st_format("%s/.thumbnails", folder);
    mkdir(t->folder, 0700);
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->wake, NULL);
    if (t->program && pthread_create(&t->thread, NULL, draw_all, t) != 0) {
        free(t->program);
        t->program = NULL;
    }
    return t;
}

void st_thumbnails_free(st_thumbnails *t)
{
    if (!t) return;
    pthread_mutex_lock(&t->mutex);
    t->quit = true;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->mutex);
    if (t->program) pthread_join(t->thread, NULL);
    for (int i = 0; i < t->count; ++i) {
        free(t->list[i].scene);
        free(t->list[i].picture);
    }
    free(t->program);
    free(t->folder);
    free(t);
}

// Named by the scene's path and by when it was written.
static char *picture_path(const st_thumbnails *t, const char *scene, const struct stat *about)
{
    uint64_t hash = 1469598103934665603u;
    for (const char *c = scene; *c; ++c) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    return st_format("%s/%016llx-%llx-%llx.png", t->folder, (unsigned long long)hash,
                     (unsigned long long)about->st_mtime, (unsigned long long)about->st_size);
}

static st_thumbnail_state ask_for(st_thumbnails *t, const char *scene, const char *picture)
{
    for (int i = 0; i < t->count; ++i)
        if (strcmp(t->list[i].picture, picture) == 0)
            return t->list[i].failed ? ST_THUMBNAIL_NONE : ST_THUMBNAIL_DRAWING;
    if (t->count == MAX_WAITING) return ST_THUMBNAIL_NONE;
    t->list[t->count++] = (drawing){.scene = st_copy(scene), .picture = st_copy(picture)};
    pthread_cond_signal(&t->wake);
    return ST_THUMBNAIL_DRAWING;
}

st_thumbnail_state st_thumbnail_find(st_thumbnails *t, const char *scene, char **picture)
{
    struct stat about, drawn;
    *picture = NULL;
    if (!t->program || stat(scene, &about) != 0) return ST_THUMBNAIL_NONE;
    char *path = picture_path(t, scene, &about);
    if (stat(path, &drawn) == 0) {
        *picture = path;
        return ST_THUMBNAIL_READY;
    }
    pthread_mutex_lock(&t->mutex);
    st_thumbnail_state state = ask_for(t, scene, path);
    pthread_mutex_unlock(&t->mutex);
    free(path);
    return state;
}

// Whether the program that draws it would read only what the studio may.
static bool may_be_drawn(const st_files *files, const char *scene, st_why *why)
{
    size_t size;
    char *text = st_file_read(scene, ST_MAX_SCENE, &size, why), *folder = st_folder_of(scene);
    bool good = text && st_files_check_scene(files, text, size, folder, why);
    if (text && !good && why->status == 0) why->status = 404;
    free(folder);
    free(text);
    return good;
}

void st_get_thumbnail(const st_request *request, st_reply *reply)
{
    char name[1024];
    st_why why;
    const st_files *files = &request->server->files;
    st_request_value(request, "path", name, sizeof name);
    char *scene = st_files_find(files, name, false, NULL, &why), *picture = NULL;
    if (!scene || !may_be_drawn(files, scene, &why)) {
        st_reply_error(reply, &why);
        free(scene);
        return;
    }
    st_thumbnail_state state = st_thumbnail_find(request->server->thumbnails, scene, &picture);
    if (state == ST_THUMBNAIL_READY) {
        reply->data = st_file_read(picture, 1 << 20, &reply->size, &why);
        reply->status = 200;
        reply->type = "image/png";
        if (!reply->data) st_reply_error(reply, &why);
    } else if (state == ST_THUMBNAIL_DRAWING) {
        st_reply_json(reply, 202, json_pack("{s:b}", "ok", 1));
        reply->retry_after = 1;
    } else {
        st_fail_http(&why, 404, "no picture can be drawn of this scene");
        st_reply_error(reply, &why);
    }
    free(picture);
    free(scene);
}
