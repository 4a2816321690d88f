#include "cluster/program.h"

#include <math.h>
#include <petscsys.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// ---------------------------------------------------------------- one message

// Of the processes of a machine one may speak when all is lost.
static atomic_int *g_spoken;
static MPI_Win g_window;
static hc_run *g_running;  // while it works

static void share_voice(MPI_Comm comm)
{
    MPI_Comm node;
    int rank;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Aint size = rank == 0 ? (MPI_Aint)sizeof *g_spoken : 0;
    int unit;
    void *base;
    MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, node, &base, &g_window);
    MPI_Win_shared_query(g_window, 0, &size, &unit, &base);
    g_spoken = base;
    if (rank == 0) atomic_store(g_spoken, 0);
    MPI_Barrier(node);
    MPI_Comm_free(&node);
}

void hc_die(hc_run *run, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!g_spoken || atomic_exchange(g_spoken, 1) == 0) {
        cli_failure("%s", text);
        fflush(NULL);
    } else {
        pause();  // the one that speaks ends this process, too
    }
    g_running = NULL;
    MPI_Abort(run->comm, CLI_FAILED);
    abort();
}

// Some libraries end the process where memory is short (ML does).
static void on_exit_of_library(void)
{
    if (g_running)
        hc_die(g_running,
               "process %d: a library ended it, which they do where there is no memory left",
               g_running->rank);
}

// ---------------------------------------------------------------- interrupts

static volatile sig_atomic_t g_interrupted;

static void on_interrupt(int number)
{
    (void)number;
    g_interrupted = 1;
}

static void catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool hc_is_interrupted(const hc_run *run)
{
    int own = g_interrupted, any;
    MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, run->comm);
    return any != 0;
}

// ---------------------------------------------------------------- PETSc's options

// `-name value` and `-name` after the scene are PETSc's; the rest stays in argv.
static bool is_of_petsc(const char *word)
{
    if (word[0] != '-' || word[1] == '-' || strlen(word) < 3) return false;
    return (word[1] >= 'a' && word[1] <= 'z') || (word[1] >= 'A' && word[1] <= 'Z');
}

static bool is_value(const char *word)
{
    return word && (word[0] != '-' || (word[1] >= '0' && word[1] <= '9') || word[1] == '.');
}

static int take_petsc_options(int argc, char **argv)
{
    int kept = 0;
    for (int k = 0; k < argc; k++) {
        if (!is_of_petsc(argv[k])) {
            argv[kept++] = argv[k];
            continue;
        }
        const char *name = argv[k], *value = NULL;
        if (k + 1 < argc && is_value(argv[k + 1])) value = argv[++k];
        PetscOptionsSetValue(NULL, name, value);
    }
    argv[kept] = NULL;
    return kept;
}

// ---------------------------------------------------------------- processes and threads

static int count_threads(MPI_Comm comm)
{
    MPI_Comm node;
    int ranks;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &ranks);
    MPI_Comm_free(&node);
    // Bound to some cores (mpirun --bind-to) a process has these, else its part of the machine's.
    int machine = (int)sysconf(_SC_NPROCESSORS_ONLN), allowed = hk_machine()->threads;
    int part = allowed < machine ? allowed : machine / ranks;
    return part > 1 ? part : 1;
}

static int work(hc_run *run, int argc, char **argv)
{
    int result = hc_parse(run, argc, argv);
    if (result < 0) result = hc_load(run);
    if (result >= 0) return result;
    if (run->args.pose)
        hc_pose(run);
    else
        hc_march(run);
    return hc_tell(run);
}

// What goes wrong inside PETSc comes back as a number, and is told once.
static PetscErrorCode start_petsc(void)
{
    PetscErrorCode code = PetscOptionsSetValue(NULL, "-no_signal_handler", "true");
    if (!code) code = PetscInitializeNoArguments();
    if (!code) code = PetscPushErrorHandler(PetscReturnErrorHandler, NULL);
    return code;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    hc_run run = {.comm = MPI_COMM_WORLD, .last_frame = NAN};
    MPI_Comm_rank(run.comm, &run.rank);
    MPI_Comm_size(run.comm, &run.size);
    share_voice(run.comm);
    argc = take_petsc_options(argc, argv);  // some count from the start
    if (start_petsc()) hc_die(&run, "PETSc does not start");
    signal(SIGXFSZ, SIG_IGN);
    catch_interrupts();
    run.threads = count_threads(run.comm);
    g_running = &run;
    atexit(on_exit_of_library);
    int status = work(&run, argc, argv);
    g_running = NULL;
    hc_release(&run);
    if (fflush(stdout) != 0 && status == CLI_DONE) status = CLI_FAILED;
    PetscPopErrorHandler();
    PetscFinalize();
    MPI_Win_free(&g_window);
    MPI_Finalize();
    return status;
}
