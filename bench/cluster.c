// Backend petsc on processes of this machine: strong and weak scaling, Krylov iterations against
// size and processes, memory and messages of a process.
//
//   bench_cluster [--program PATH] [--most N] [--large TETS] [--json]
//
// Poses of a bar of 1 × 0.25 × 0.25 m, E 1 MPa, ν 0.45, that is held at one end, by `mpirun -n N
// hooke-cluster pose …`. CPU seconds are those of all processes, and those of waiting are among
// them; where others use the cores only they are to be compared.
#include <jansson.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

typedef struct run {
    int cells, processes;
    double tets, iterations, krylov, solve_s, setup_s, cpu_s, largest, sum, messages, bytes, sums;
} run;

static const char *g_program = "hooke-cluster";

static void write_scene(const char *path, int cells)
{
    FILE *f = fopen(path, "w");
    if (!f) exit(1);
    fprintf(
        f,
        "{\"gravity\": [0, -9.81, 0], \"solver\": {\"tolerance\": 1e-6}, \"bodies\": [{\"mesh\": "
        "{\"box\": {\"size\": [1, 0.25, 0.25], \"cells\": [%d, %d, %d]}}, \"material\": {"
        "\"model\": \"neo_hookean\", \"young\": 1e6, \"poisson\": 0.45, \"density\": 1000}, "
        "\"fix\": [{\"box\": [[-1e-6, -1, -1], [1e-6, 1, 1]]}]}]}",
        4 * cells, cells, cells);
    fclose(f);
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static double cpu_of_children(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void read_results(FILE *from, run *r)
{
    json_error_t error;
    json_t *j = json_loadf(from, 0, &error);
    if (!j || !json_object_get(j, "processes")) {
        fprintf(stderr, "bench_cluster: %s with %d processes gave no results\n", g_program,
                r->processes);
        exit(1);
    }
    const json_t *memory = json_object_get(j, "memory"), *exchange = json_object_get(j, "exchange");
    r->tets = number(j, "tets");
    r->iterations = number(j, "iterations");
    r->krylov = number(j, "linear_iterations");
    r->setup_s = 1e-3 * number(j, "setup_ms");
    r->solve_s = 1e-3 * number(json_object_get(j, "ms_per_step"), "median");
    r->largest = number(memory, "largest");
    r->sum = number(memory, "sum");
    r->messages = number(exchange, "messages");
    r->bytes = number(exchange, "bytes");
    r->sums = number(exchange, "sums");
    json_decref(j);
}

static run measure(int cells, int processes)
{
    run r = {.cells = cells, .processes = processes};
    char scene[64], command[1024];
    snprintf(scene, sizeof scene, "/tmp/bench_cluster_%d.json", (int)getpid());
    write_scene(scene, cells);
    snprintf(command, sizeof command, "mpirun -n %d %s pose %s --backend petsc --json -q",
             processes, g_program, scene);
    double before = cpu_of_children();
    FILE *from = popen(command, "r");
    if (!from) exit(1);
    read_results(from, &r);
    pclose(from);
    r.cpu_s = cpu_of_children() - before;
    unlink(scene);
    return r;
}

static void print_head(const char *what)
{
    printf("\n%s\n%9s %9s %7s %7s %7s %8s %8s %8s %9s %9s %10s\n", what, "processes", "tets",
           "Newton", "Krylov", "K/N", "setup s", "solve s", "CPU s", "MB each", "MB all",
           "KB a Newton");
}

static run print_row(int cells, int processes)
{
    run r = measure(cells, processes);
    printf("%9d %9.0f %7.0f %7.0f %7.1f %8.2f %8.2f %8.2f %9.0f %9.0f %10.0f\n", r.processes,
           r.tets, r.iterations, r.krylov, r.krylov / r.iterations, r.setup_s, r.solve_s, r.cpu_s,
           1e-6 * r.largest, 1e-6 * r.sum, 1e-3 * r.bytes / r.iterations);
    fflush(stdout);
    return r;
}

int main(int argc, char **argv)
{
    int most = 2, large = 160000;
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "--program") == 0) g_program = argv[k + 1];
        if (strcmp(argv[k], "--most") == 0) most = atoi(argv[k + 1]);
        if (strcmp(argv[k], "--large") == 0) large = atoi(argv[k + 1]);
    }
    // The author of a container's processes is root; and others may want these cores.
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
    bench_machine();
    int cells = (int)lround(cbrt(large / 20.0));
    print_head("strong scaling, and Krylov iterations against processes");
    run one = print_row(cells, 1), last = one;
    for (int n = 2; n <= most; n *= 2) last = print_row(cells, n);
    printf("%d processes solve %.2f times as fast as one\n", last.processes,
           one.solve_s / last.solve_s);
    print_head("weak scaling: as many tets for each process");
    for (int n = 1; n <= most; n *= 2) print_row((int)lround(cbrt(large * n / 40.0)), n);
    print_head("Krylov iterations against size");
    for (int tets = large / 8; tets <= large; tets *= 2)
        print_row((int)lround(cbrt(tets / 20.0)), most);
    return 0;
}
