// Runs ffmpeg with raw pixels on its standard input.
#include "video.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

extern char **environ;

struct video {
    char *path;
    char *folder, *temporary;  // nobody else's, and what ffmpeg writes in it
    pid_t process;
    int pipe;
    int width, height;
    uint8_t *rgb;                 // one frame
    struct sigaction old_action;  // of SIGPIPE
};

typedef struct container {
    const char *ending;
    const char *options[10];  // how to encode, NULL at the end
} container;

// H.264 and VP9 want even sizes; odd ones get one more row or column.
#define EVEN "pad=ceil(iw/2)*2:ceil(ih/2)*2"
static const container containers[] = {
    {".mp4",
     {"-vf", EVEN, "-c:v", "libx264", "-crf", "18", "-pix_fmt", "yuv420p", "-movflags",
      "+faststart"}},
    {".webm",
     {"-vf", EVEN, "-c:v", "libvpx-vp9", "-crf", "28", "-b:v", "0", "-pix_fmt", "yuv420p"}},
};

static const container *find_container(const char *path)
{
    for (size_t i = 0; i < sizeof containers / sizeof containers[0]; ++i)
        if (cli_ends_with(path, containers[i].ending)) return &containers[i];
    return NULL;
}

bool video_is_path(const char *path)
{
    return find_container(path) != NULL;
}

// Starts the program with the reading end of a pipe as its input. Returns 0 or an errno.
static int start_process(char *const *arguments, int input, pid_t *process)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    // Its own group: Ctrl-C is for us; we then end the movie in good order.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    int failure = posix_spawnp(process, arguments[0], &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failure;
}

static void tell_failure(const char *path, int failure, char *why, size_t size)
{
    if (failure == ENOENT)
        snprintf(why, size,
                 "cannot write %s: the command ffmpeg is not installed; install it, or write "
                 "numbered pictures with -o frames/%%04d.png",
                 path);
    else
        snprintf(why, size, "cannot write %s: cannot start ffmpeg: %s", path, strerror(failure));
}

static int wait_for(pid_t process)
{
    int status = 0;
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return status;
}

bool video_can_write(const char *path, char *why, size_t size)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pid_t process;
    int failure = nothing < 0 ? errno : 0;
    char *arguments[] = {"ffmpeg", "-version", NULL};
    if (failure == 0) failure = start_process(arguments, nothing, &process);
    if (failure == 0) wait_for(process);
    if (nothing >= 0) close(nothing);
    if (failure != 0) tell_failure(path, failure, why, size);
    return failure == 0;
}

static int start_ffmpeg(video *v, const container *c, double rate)
{
    char size[32], speed[32];
    snprintf(size, sizeof size, "%dx%d", v->width, v->height);
    snprintf(speed, sizeof speed, "%.6g", rate);
    // "file:" keeps ffmpeg from reading a name as an option or a protocol.
    char *target = cli_format("file:%s", v->temporary);
    const char *arguments[40] = {
        "ffmpeg", "-loglevel",   "error", "-nostdin",   "-y",  "-f", "rawvideo", "-pix_fmt",
        "rgb24",  "-video_size", size,    "-framerate", speed, "-i", "pipe:0",   "-an"};
    int count = 16;
    for (int i = 0; i < 10 && c->options[i]; ++i) arguments[count++] = c->options[i];
    arguments[count++] = target;
    int ends[2], failure = 0;
    if (pipe(ends) != 0) {
        failure = errno;
    } else {
        fcntl(ends[1], F_SETFD, FD_CLOEXEC);
        failure = start_process((char *const *)arguments, ends[0], &v->process);
        close(ends[0]);
        v->pipe = ends[1];
    }
    free(target);
    return failure;
}

static void free_video(video *v)
{
    if (v->pipe >= 0) close(v->pipe);
    sigaction(SIGPIPE, &v->old_action, NULL);
    if (v->temporary) unlink(v->temporary);
    if (v->folder) rmdir(v->folder);
    free(v->folder);
    free(v->path);
    free(v->temporary);
    free(v->rgb);
    free(v);
}

// Where ffmpeg, which knows nothing of links and planted files, can do no harm: a folder beside the
// movie, or, where that is a device, among the temporary ones.
static bool make_folder(video *v, const char *ending)
{
    struct stat about;
    bool device = stat(v->path, &about) == 0 && !S_ISREG(about.st_mode);
    const char *name = cli_file_name(v->path), *other = getenv("TMPDIR");
    v->folder = device ? cli_format("%s/hooke-XXXXXX", other ? other : "/tmp")
                       : cli_format("%.*s.hooke-XXXXXX", (int)(name - v->path), v->path);
    if (!mkdtemp(v->folder)) {
        free(v->folder);
        v->folder = NULL;
        return false;
    }
    v->temporary = cli_format("%s/movie%s", v->folder, ending);
    return true;
}

// The movie as ffmpeg left it goes to where it belongs.
static bool publish(const video *v, char *why, size_t size)
{
    int file = open(v->temporary, O_RDONLY | O_CLOEXEC);
    struct stat about;
    void *data = MAP_FAILED;
    bool known = file >= 0 && fstat(file, &about) == 0 && about.st_size > 0;
    if (known) data = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    bool good = data != MAP_FAILED;
    if (!good) snprintf(why, size, "cannot write %s: ffmpeg left nothing", v->path);
    if (good) good = cli_write_whole(v->path, data, (size_t)about.st_size, why, size);
    if (data != MAP_FAILED) munmap(data, (size_t)about.st_size);
    if (file >= 0) close(file);
    return good;
}

video *video_open(const char *path, int width, int height, double rate, char *why, size_t size)
{
    const container *c = find_container(path);
    video *v = cli_realloc(NULL, 1, sizeof *v);
    *v = (video){.pipe = -1, .width = width, .height = height};
    v->path = cli_format("%s", path);
    v->rgb = cli_realloc(NULL, 3 * (size_t)width, (size_t)height);
    // A dead ffmpeg is an error to tell, not a signal to die from.
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, &v->old_action);
    int failure = make_folder(v, c->ending) ? start_ffmpeg(v, c, rate) : errno;
    if (failure == 0) return v;
    tell_failure(path, failure, why, size);
    free_video(v);
    return NULL;
}

bool video_add(video *v, const picture *p, char *why, size_t size)
{
    size_t count = (size_t)v->width * (size_t)v->height;
    for (size_t i = 0; i < count; ++i) memcpy(v->rgb + 3 * i, p->rgba + 4 * i, 3);
    for (size_t done = 0; done < 3 * count;) {
        ssize_t n = write(v->pipe, v->rgb + done, 3 * count - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            snprintf(why, size, "cannot write %s: ffmpeg stopped early", v->path);
            return false;
        }
        done += (size_t)n;
    }
    return true;
}

bool video_close(video *v, char *why, size_t size)
{
    close(v->pipe);
    v->pipe = -1;
    int status = wait_for(v->process);
    bool good = status == 0;
    if (!good && status > 0 && WIFEXITED(status))
        snprintf(why, size, "cannot write %s: ffmpeg failed with exit status %d", v->path,
                 WEXITSTATUS(status));
    else if (!good)
        snprintf(why, size, "cannot write %s: ffmpeg was killed", v->path);
    if (good) good = publish(v, why, size);
    free_video(v);
    return good;
}

void video_abandon(video *v)
{
    if (!v) return;
    kill(v->process, SIGKILL);
    wait_for(v->process);
    free_video(v);
}
