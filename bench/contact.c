// Contact: what a step of the scenes in scenes/contact costs, by method, and what of that is
// detection, energies of pairs, and the guard.
//
//   bench_contact [--scenes A,B] [--methods A,B] [--skip N] [--steps N] [--seconds S] [--threads N]
//   [--set A=B] [--save FILE] [--load FILE]
//
// Medians of N steps (40), or of as many as S seconds (20) allow, after the first (after as many as
// --skip says: a pile takes a while to come about); `least` and `cpu` are the fastest of them and
// the median of what all threads worked, for machines that others use, too. `pairs` are
// those that push at the end, `per pair` is the time of energies, forces and stiffness of a step by
// pair, `contact` what all of contact is of a step. The scene `plate` is made here: 54,260 tets
// that settle on a plate with another mesh. Run it where scenes/ is.
//
// Nothing is measured between the steps, which would take the caches from them. A pile that takes
// minutes to come about can be kept: --save writes the state after the steps that were left out,
// --load begins with it.
#include <math.h>

#include "bench.h"
#include "world/world.h"

enum { MOST_STEPS = 4000, MOST_NAMES = 16 };

typedef struct options {
    const char *scenes, *methods, *set, *save, *load;
    int steps, skip, threads;
    double seconds;
} options;

typedef struct timing {
    int steps, stopped;
    double step, detection, pairs, guard, cpu;  // ms, medians
    double least;                               // ms
    double touching;                            // pairs, at the end
    int64_t detections, iterations;
    bool failed;
    char why[160];
} timing;

static double median(double *values, int count)
{
    if (count == 0) return NAN;
    qsort(values, (size_t)count, sizeof *values, bench_compare);
    return values[count / 2];
}

static timing measure(hk_world *world, const options *o)
{
    static double step[MOST_STEPS], detection[MOST_STEPS], pairs[MOST_STEPS], guard[MOST_STEPS],
        cpu[MOST_STEPS];
    timing t = {0};
    double start = hk_now();
    hk_world_report_energy(world, false);
    if (o->load) bench_check(hk_world_load_state(world, o->load));
    for (int k = 0; t.steps < o->steps && t.steps < MOST_STEPS; k++) {
        hk_step_report report;
        if (k == o->skip && o->save) bench_check(hk_world_save_state(world, o->save));
        if (k == o->skip) start = hk_now();
        if (k > o->skip + 1 && hk_now() - start > o->seconds) break;
        double worked = bench_cpu();
        bench_check(hk_world_step(world, &report));
        const hk_contact_work *work = &world->contact.work;
        hk_outcome outcome = hk_reason_outcome(report.reason);
        t.failed = outcome == HK_OUTCOME_FAILED;
        if (t.failed) snprintf(t.why, sizeof t.why, "%s", report.detail);
        if (t.failed) break;
        t.stopped += outcome == HK_OUTCOME_STOPPED;
        if (k < o->skip) continue;
        cpu[t.steps] = 1e3 * (bench_cpu() - worked);
        step[t.steps] = report.ms;
        detection[t.steps] = 1e3 * work->detect_s;
        pairs[t.steps] = 1e3 * work->pairs_s;
        guard[t.steps++] = 1e3 * work->guard_s;
        t.detections += work->detections;
        t.iterations += report.iterations;
    }
    hk_contact_report end;
    bench_check(hk_world_contact(world, &end));
    t.touching = (double)end.pairs;
    t.step = median(step, t.steps);
    t.detection = median(detection, t.steps);
    t.pairs = median(pairs, t.steps);
    t.guard = median(guard, t.steps);
    t.cpu = median(cpu, t.steps);
    t.least = t.steps > 0 ? step[0] : NAN;  // they are sorted by now
    return t;
}

// A block on a plate that is held, 54,260 tets in all.
static const char g_plate[] =
    "{\"time\": {\"step\": 0.01}, \"gravity\": [0, -9.81, 0],"
    " \"contact\": {\"distance\": 0.001, \"friction\": 0.3}, \"bodies\": ["
    "{\"name\": \"block\", \"mesh\": {\"box\": {\"size\": [0.6, 0.45, 0.6], \"cells\": [24, 18, "
    "24]}},"
    " \"transform\": {\"translate\": [0, 0.00095, 0]},"
    " \"material\": {\"model\": \"neo_hookean\", \"young\": 1e6, \"poisson\": 0.4, \"density\": "
    "1000}},"
    "{\"name\": \"plate\", \"mesh\": {\"box\": {\"size\": [0.7, 0.05, 0.7], \"cells\": [22, 1, "
    "22]}},"
    " \"transform\": {\"translate\": [-0.05, -0.05, -0.05]}, \"fix\": [{\"all\": true}],"
    " \"material\": {\"model\": \"neo_hookean\", \"young\": 1e6, \"poisson\": 0.4, \"density\": "
    "1000}}]}";

static hk_status load(const char *scene, const char *const *sets, int count, hk_scene **loaded)
{
    char path[256];
    if (strcmp(scene, "plate") == 0)
        return hk_scene_parse(g_plate, sizeof g_plate - 1, "plate", sets, count, loaded);
    snprintf(path, sizeof path, "scenes/contact/%s.json", scene);
    return hk_scene_load(path, sets, count, loaded);
}

static void run(const char *scene, const char *method, const options *o)
{
    char solver[64];
    const char *sets[2] = {solver, o->set};
    hk_scene *loaded;
    hk_model *model;
    hk_world *world = NULL;
    snprintf(solver, sizeof solver, "solver.method=%s", method);
    bench_check(load(scene, sets, o->set ? 2 : 1, &loaded));
    bench_check(hk_model_create(hk_scene_model(loaded), &model));
    hk_world_def def = hk_copy_world_def(hk_scene_world(loaded));
    def.model = model;
    def.threads = o->threads;
    double start = hk_now();
    if (hk_world_create(&def, &world) != HK_OK) {
        printf("%-12s %-13s %s\n", scene, method, hk_error());
    } else {
        double setup = hk_now() - start;
        timing t = measure(world, o);
        double steps = t.steps > 0 ? t.steps : 1;
        double contact = t.detection + t.pairs + t.guard;
        printf("%-12s %-13s %8d %7.0f %6.1f %6.1f %9.2f %8.2f %8.2f %9.2f %9.2f %9.2f %7.0f%% "
               "%8.2f %5d %7d "
               "%8.1f %s\n",
               scene, method, hk_model_tet_count(model), t.touching, (double)t.iterations / steps,
               (double)t.detections / steps, t.step, t.least, t.cpu, t.detection, t.pairs, t.guard,
               100 * contact / t.step, t.touching > 0 ? 1e3 * t.pairs / t.touching : 0, t.steps,
               t.stopped, setup, t.why);
    }
    fflush(stdout);
    hk_world_free(world);
    hk_model_free(model);
    hk_scene_free(loaded);
}

static int cut(char *text, const char *names[MOST_NAMES])
{
    int count = 0;
    for (char *name = strtok(text, ","); name && count < MOST_NAMES; name = strtok(NULL, ","))
        names[count++] = name;
    return count;
}

int main(int argc, char **argv)
{
    options o = {"plate,pads,pads_free,slope,spikes,stack,chain,card-house,mat-twist,rod-twist,"
                 "funnel,squeeze-out",
                 "newton,quasi_newton,vbd,descent",
                 NULL,
                 NULL,
                 NULL,
                 40,
                 1,
                 0,
                 20};
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "--scenes") == 0)
            o.scenes = argv[k + 1];
        else if (strcmp(argv[k], "--methods") == 0)
            o.methods = argv[k + 1];
        else if (strcmp(argv[k], "--steps") == 0)
            o.steps = atoi(argv[k + 1]);
        else if (strcmp(argv[k], "--skip") == 0)
            o.skip = atoi(argv[k + 1]);
        else if (strcmp(argv[k], "--threads") == 0)
            o.threads = atoi(argv[k + 1]);
        else if (strcmp(argv[k], "--seconds") == 0)
            o.seconds = atof(argv[k + 1]);
        else if (strcmp(argv[k], "--set") == 0)
            o.set = argv[k + 1];
        else if (strcmp(argv[k], "--save") == 0)
            o.save = argv[k + 1];
        else if (strcmp(argv[k], "--load") == 0)
            o.load = argv[k + 1];
        else {
            fprintf(stderr, "bench_contact: unknown option %s\n", argv[k]);
            return 2;
        }
    }
    char scenes[512], methods[256];
    const char *scene[MOST_NAMES], *method[MOST_NAMES];
    snprintf(scenes, sizeof scenes, "%s", o.scenes);
    snprintf(methods, sizeof methods, "%s", o.methods);
    int scene_count = cut(scenes, scene), method_count = cut(methods, method);
    bench_machine();
    printf("%-12s %-13s %8s %7s %6s %6s %9s %8s %8s %9s %9s %9s %8s %8s %5s %7s %8s\n", "scene",
           "method", "tets", "pairs", "iter.", "det.", "ms/step", "least", "cpu", "detection",
           "pairs", "guard", "contact", "us/pair", "steps", "stopped", "setup, s");
    for (int s = 0; s < scene_count; s++)
        for (int m = 0; m < method_count; m++) run(scene[s], method[m], &o);
    return 0;
}
