// hooke: the command line of Hooke. Finds the command and hands over to it.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "libraries.h"

const cli_command cli_commands[] = {
    {"run", "simulate a scene", cmd_run},
    {"pose", "find the equilibrium of a scene", cmd_pose},
    {"rest", "find the rest shape that sags into the shape of a scene", cmd_rest},
    {"fit", "find the materials with which a scene sags into an observed shape", cmd_fit},
    {"compare", "compare methods on one time step or pose", cmd_compare},
    {"sweep", "vary a value of a scene and tabulate what comes of it", cmd_sweep},
    {"mesh", "make, convert and check meshes", cmd_mesh},
    {"certify", "prove a series of states free of intersections", cmd_certify},
    {"render", "draw a mesh or a series as images", cmd_render},
    {"studio", "see, pull and design bodies in the browser", cmd_studio},
    {"tune", "find the best Chebyshev phases of method descent for a scene", cmd_tune},
    {"help", "explain a command, the materials, the methods or the scene file", cmd_help},
};
const int cli_command_count = sizeof cli_commands / sizeof cli_commands[0];

const cli_command *cli_find_command(const char *name)
{
    for (int i = 0; i < cli_command_count; ++i)
        if (strcmp(cli_commands[i].name, name) == 0) return &cli_commands[i];
    return NULL;
}

static int unknown_command(const char *word)
{
    const char *names[sizeof cli_commands / sizeof cli_commands[0]];
    for (int i = 0; i < cli_command_count; ++i) names[i] = cli_commands[i].name;
    const char *nearest = cli_nearest(word, names, cli_command_count);
    const char *kind = word[0] == '-' ? "option" : "command";
    if (nearest)
        return cli_usage_error(NULL, "unknown %s '%s'; did you mean '%s'?", kind, word, nearest);
    return cli_usage_error(NULL, "unknown %s '%s'", kind, word);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        cli_usage_error(NULL, "which command?");
        return CLI_WRONG_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("hooke %s\n", hk_version());
        return CLI_DONE;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) word = "help";
    const cli_command *command = cli_find_command(word);
    return command ? command->run(argc - 1, argv + 1) : unknown_command(word);
}

// Libraries below may hang when they end: OpenBLAS waits for threads that it could not start where
// memory is scarce. There is nothing that they would have to put in order.
static int leave(int status)
{
    fflush(NULL);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    _exit(status);  // sanitizers have something to say at the end
#endif
    return status;
}

int main(int argc, char **argv)
{
    cli_correct_libraries(argv);
    FILE *plain = cli_plain_stream(STDOUT_FILENO);
    if (plain) stdout = plain;
    // A file beyond the size limit is then a failed write, which is told and leaves nothing behind.
    signal(SIGXFSZ, SIG_IGN);
    int status = cli_hand_over(argc, argv);
    if (status < 0) status = dispatch(argc, argv);
    // A full disk shows only when the buffer is flushed.
    if (fflush(stdout) != 0 || ferror(stdout)) {
        cli_say_error("cannot write standard output");
        if (status == CLI_DONE) status = CLI_FAILED;
    }
    return leave(status);
}
