// From the command line to a world on every process.
#include "cluster/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char run_purpose[] =
    "Marches the scene through time on several processes, with MPI and PETSc. Options of\n"
    "PETSc's own (-ksp_monitor, -pc_gamg_threshold 0.02, …) follow the scene.";
static const char pose_purpose[] =
    "Finds the equilibrium of the scene on several processes, with MPI and PETSc. Options\n"
    "of PETSc's own (-ksp_monitor, -pc_gamg_threshold 0.02, …) follow the scene.";
static const char run_examples[] =
    "mpirun -n 4 hooke run scenes/beam.json --backend petsc\n"
    "mpirun -n 4 hooke run scenes/beam.json --backend petsc --checkpoint beam.hks --every 0.1\n"
    "mpirun -n 4 hooke run scenes/beam.json --backend petsc --resume beam.hks";
static const char pose_examples[] =
    "mpirun -n 4 hooke pose scenes/beam.json --backend petsc --points rest.csv\n"
    "mpirun -n 4 hooke pose scenes/beam.json --backend petsc --json -ksp_converged_reason";

// ---------------------------------------------------------------- the command line

static int parse(hc_run *run, int argc, char **argv)
{
    hc_arguments *a = &run->args;
    const cli_option options[] = {
        {"set", 0, CLI_TEXTS, &a->sets, "PATH=VALUE", "change the scene; may be repeated"},
        {"points", 0, CLI_TEXT, &a->points, "FILE.csv", "write the final positions"},
        {"out", 0, CLI_TEXT, &a->out, "DIR", "where relative outputs go (default: here)"},
        {"threads", 0, CLI_INT, &a->threads, "N",
         "threads of a process (default: cores/processes)"},
        {"backend", 0, CLI_TEXT, &a->backend, "petsc", "this one"},
        {"json", 0, CLI_FLAG, &cli_talk.json, NULL, "print the results as one JSON object"},
        {"quiet", 'q', CLI_FLAG, &cli_talk.quiet, NULL, "print errors only"},
        {"checkpoint", 0, CLI_TEXT, &a->checkpoint, "FILE.hks", "save the state"},
        {"every", 0, CLI_REAL, &a->every, "S", "seconds of the simulation between checkpoints"},
        {"resume", 0, CLI_TEXT, &a->resume, "FILE.hks", "go on from a checkpoint"},
    };
    const cli_spec spec = {.command = a->command,
                           .arguments = "SCENE.json",
                           .purpose = a->pose ? pose_purpose : run_purpose,
                           .examples = a->pose ? pose_examples : run_examples,
                           .options = options,
                           .option_count = HK_COUNT_OF(options) - (a->pose ? 2 : 0)};
    int result = cli_parse_one(spec, argc, argv, &a->scene_path);
    if (result >= 0) return result;
    if (a->backend && strcmp(a->backend, "petsc") != 0)
        return cli_usage_error(a->command, "'--backend %s': this program is backend petsc",
                               a->backend);
    if (!isnan(a->every) && !(a->every > 0 && a->checkpoint))
        return cli_usage_error(a->command, "'--every' is for checkpoints, and more than 0");
    for (int k = 0; k < a->sets.count; k++)
        if (!strchr(a->sets.items[k], '='))
            return cli_usage_error(a->command, "'--set %s': expected path=value", a->sets.items[k]);
    return -1;
}

// The first process parses and tells what is wrong; the others follow where nothing is.
int hc_parse(hc_run *run, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    run->args = (hc_arguments){.threads = -1, .every = NAN, .command = word};
    run->args.pose = strcmp(word, "pose") == 0;
    int result = -1;
    if (run->rank == 0) {
        if (!run->args.pose && strcmp(word, "run") != 0)
            result = cli_usage_error(NULL, "backend petsc is for the commands run and pose");
        else
            result = parse(run, argc - 1, argv + 1);
    }
    MPI_Bcast(&result, 1, MPI_INT, 0, run->comm);
    if (result >= 0) return result;
    return run->rank == 0 ? -1 : parse(run, argc - 1, argv + 1);
}

// ---------------------------------------------------------------- what is to be written

static char *stem_of(const char *folder, const char *path)
{
    char *whole = cli_output_path(folder, path);
    if (cli_ends_with(whole, ".pvd") || cli_ends_with(whole, ".vtu")) whole[strlen(whole) - 4] = 0;
    return whole;
}

static const char *not_written(const hk_output_def *o)
{
    if (o->skin) return "output.skin";
    if (o->probe_count > 0) return "output.probes";
    return NULL;
}

static hk_status make_plan(const hc_run *run, hc_plan *plan)
{
    const hk_output_def *o = hk_scene_output(run->scene);
    const char *folder = run->args.out;
    plan->steps = hk_scene_steps(run->scene);
    if (run->args.points) plan->points = cli_output_path(folder, run->args.points);
    if (!o) return HK_OK;
    if (not_written(o))
        return hk_fail(HK_UNSUPPORTED,
                       "%s: backend petsc does not write %s: take it out, or use backend cpu",
                       run->args.scene_path, not_written(o));
    plan->every = o->every;
    if (o->vtu) plan->stem = stem_of(folder, o->vtu);
    if (o->stats) plan->stats = cli_output_path(folder, o->stats);
    if (o->reactions) plan->reactions = cli_output_path(folder, o->reactions);
    if (o->points) plan->frame_points = cli_output_path(folder, o->points);
    plan->field_count = o->field_count;
    plan->fields = cli_realloc(NULL, (size_t)o->field_count, sizeof(char *));
    for (int k = 0; k < o->field_count; k++) plan->fields[k] = cli_format("%s", o->fields[k]);
    const char *const paths[] = {plan->points, plan->stats, plan->reactions};
    for (int k = 0; k < HK_COUNT_OF(paths); k++)
        if (paths[k]) HK_TRY(hk_file_check(paths[k]));
    return HK_OK;
}

static void tell_text(const hc_run *run, char **text)
{
    int length = *text ? (int)strlen(*text) + 1 : 0;
    MPI_Bcast(&length, 1, MPI_INT, 0, run->comm);
    if (run->rank > 0) *text = length > 0 ? cli_realloc(NULL, (size_t)length, 1) : NULL;
    if (length > 0) MPI_Bcast(*text, length, MPI_CHAR, 0, run->comm);
}

static void tell_plan(const hc_run *run, hc_plan *plan)
{
    MPI_Bcast(&plan->steps, 1, MPI_INT, 0, run->comm);
    MPI_Bcast(&plan->every, 1, MPI_DOUBLE, 0, run->comm);
    MPI_Bcast(&plan->field_count, 1, MPI_INT, 0, run->comm);
    char **const texts[] = {&plan->stem, &plan->points, &plan->stats, &plan->reactions,
                            &plan->frame_points};
    for (int k = 0; k < HK_COUNT_OF(texts); k++) tell_text(run, texts[k]);
    if (run->rank > 0 && plan->field_count > 0)
        plan->fields = cli_realloc(NULL, (size_t)plan->field_count, sizeof(char *));
    for (int k = 0; k < plan->field_count; k++) {
        if (run->rank > 0) plan->fields[k] = NULL;
        tell_text(run, &plan->fields[k]);
    }
}

// ---------------------------------------------------------------- the scene and the world

static hk_status load(hc_run *run, hk_model **model)
{
    if (strcmp(run->args.scene_path, "-") == 0)
        return hk_fail(HK_UNSUPPORTED, "backend petsc reads scenes from files, not from a pipe");
    HK_TRY(hk_scene_load(run->args.scene_path, run->args.sets.items, run->args.sets.count,
                         &run->scene));
    HK_TRY(make_plan(run, &run->plan));
    hk_status status = hk_model_create(hk_scene_model(run->scene), model);
    return status == HK_OK ? HK_OK : hk_fail_within(status, "%s", run->args.scene_path);
}

static hk_status create(hc_run *run, hk_model *model)
{
    hk_world_def def = {0};
    if (run->rank == 0) def = hk_copy_world_def(hk_scene_world(run->scene));
    int threads = run->args.threads > 0 ? run->args.threads : run->threads;
    return hk_cluster_create(run->comm, model, &def, threads, &run->cluster);
}

int hc_load(hc_run *run)
{
    double start = hk_now();
    hk_model *model = NULL;
    if (run->rank == 0 && !cli_talk.quiet) cli_start_log();
    hk_status status = hk_cluster_agree(run->comm, run->rank == 0 ? load(run, &model) : HK_OK);
    if (status == HK_OK) {
        tell_plan(run, &run->plan);
        status = create(run, model);
    } else {
        hk_model_free(model);
    }
    hk_scene_free(run->scene);
    run->scene = NULL;
    if (status != HK_OK) {
        if (run->rank == 0) cli_failure("%s", hk_error());
        return CLI_FAILED;
    }
    if (hk_cluster_begin(run->cluster) != HK_OK) hc_die(run, "%s", hk_error());
    run->setup_s = hk_now() - start;
    return -1;
}

void hc_release(hc_run *run)
{
    hk_cluster_free(run->cluster);
    char *const texts[] = {run->plan.stem, run->plan.points, run->plan.stats, run->plan.reactions,
                           run->plan.frame_points};
    for (int k = 0; k < HK_COUNT_OF(texts); k++) free(texts[k]);
    for (int k = 0; k < run->plan.field_count; k++) free(run->plan.fields[k]);
    free(run->plan.fields);
    for (int k = 0; k < run->frame_count; k++) free(run->frame_files[k]);
    free(run->frame_files);
    free(run->frame_times);
    free(run->reaction_rows.text);
    cli_results_free(&run->results);
    cli_texts_free(&run->args.sets);
    if (run->rank == 0) cli_stop_log();
}
