// hooke studio: serves the page in which bodies are seen, pulled and designed.
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <spawn.h>
#include <unistd.h>

#include "cli.h"

#if HOOKE_STUDIO
#include "studio.h"

extern char **environ;

static const char purpose[] =
    "Starts Hooke Studio and opens it in the browser: see a scene move, pull it, change\n"
    "what it is made of, design shapes both ways. The first line of standard output is\n"
    "the address with its token: who has it may use the studio, so keep it to yourself.\n"
    "It is served to this computer alone unless --listen says otherwise. Ctrl-C ends it.";

static const char examples[] = "hooke studio\n"
                               "hooke studio scenes/beam.json\n"
                               "hooke studio my/part.json --port 8080 --no-open";

typedef struct studio_args {
    studio_options options;
    bool no_open;
} studio_args;

static int parse(studio_args *args, int argc, char **argv)
{
    studio_options *o = &args->options;
    *args = (studio_args){.options = {.threads = -1}};
    const cli_option options[] = {
        {"port", 0, CLI_INT, &o->port, "N", "port to listen on (default: any that is free)"},
        {"listen", 0, CLI_TEXT, &o->listen, "ADDRESS", "address to listen on (default 127.0.0.1)"},
        {"no-open", 0, CLI_FLAG, &args->no_open, NULL, "do not open the browser"},
        {"threads", 0, CLI_INT, &o->threads, "N", "threads; 0: all cores (default: all but one)"},
        {"uploads", 0, CLI_TEXT, &o->uploads, "DIR",
         "where dropped meshes go (default ~/.local/share/hooke/studio)"},
        {"scenes", 0, CLI_TEXT, &o->scenes, "DIR", "scenes of the gallery"},
        {"page", 0, CLI_TEXT, &o->page, "DIR", "the built page, for those who change it"},
        {"quiet", 'q', CLI_FLAG, &cli_talk.quiet, NULL, "print the address and errors only"},
    };
    const cli_spec spec = {.command = "studio",
                           .arguments = "[SCENE.json]",
                           .purpose = purpose,
                           .examples = examples,
                           .options = options,
                           .option_count = sizeof options / sizeof options[0],
                           .least_words = 0,
                           .most_words = 1};
    cli_texts words = {0};
    int result = cli_parse(&spec, argc, argv, &words);
    if (result < 0 && words.count > 0) o->scene = words.items[0];
    if (result < 0) cli_texts_free(&words);
    if (result < 0 && o->port > 65535)
        return cli_usage_error("studio", "'--port %d': there are 65535", o->port);
    return result;
}

// The desktop's own way; where there is none the address has been printed.
static void open_browser(const char *url)
{
    static const char *const programs[] = {"xdg-open", "open", "wslview"};
    sigset_t none;
    posix_spawnattr_t attributes;
    if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY") && !getenv("WSL_DISTRO_NAME")) return;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    bool opened = false;
    for (size_t i = 0; i < sizeof programs / sizeof programs[0] && !opened; ++i) {
        char *arguments[] = {(char *)programs[i], (char *)url, NULL};
        pid_t child;
        opened = posix_spawnp(&child, programs[i], NULL, &attributes, arguments, environ) == 0;
    }
    posix_spawnattr_destroy(&attributes);
}

// All threads are started with these signals blocked, and this one waits for them.
static void block_signals(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, signals, NULL);
}

int cmd_studio(int argc, char **argv)
{
    studio_args args;
    char why[1024], program[PATH_MAX];
    int result = parse(&args, argc, argv), got;
    if (result >= 0) return result;
    if (args.options.scene && access(args.options.scene, R_OK) != 0)
        return cli_failure("cannot read %s", args.options.scene);
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0) program[length] = '\0';
    args.options.program = length > 0 ? program : NULL;
    sigset_t signals;
    block_signals(&signals);
    studio *server = NULL;
    if (!studio_start(&args.options, &server, why, sizeof why)) return cli_failure("%s", why);
    printf("%s\n", studio_url(server));
    fflush(stdout);
    cli_note("Hooke Studio is served at this address; Ctrl-C ends it");
    if (!args.no_open) open_browser(studio_url(server));
    sigwait(&signals, &got);
    studio_stop(server);
    return CLI_DONE;
}

#else

int cmd_studio(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return cli_failure("this build has no studio: it was made without civetweb (libcivetweb-dev)");
}

#endif
