// What a run or a pose tells at its end.
#include "cluster/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

// Over processes.
typedef struct totals {
    double most_memory, memory;  // bytes
    int64_t messages, bytes;
    double exchange_s;
} totals;

static totals find_totals(const hc_run *run)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const hk_cluster *c = run->cluster;
    double memory = 1024.0 * (double)usage.ru_maxrss;
    totals t = {0};
    MPI_Allreduce(&memory, &t.most_memory, 1, MPI_DOUBLE, MPI_MAX, run->comm);
    MPI_Allreduce(&memory, &t.memory, 1, MPI_DOUBLE, MPI_SUM, run->comm);
    MPI_Allreduce(&c->messages, &t.messages, 1, MPI_INT64_T, MPI_SUM, run->comm);
    MPI_Allreduce(&c->message_bytes, &t.bytes, 1, MPI_INT64_T, MPI_SUM, run->comm);
    MPI_Allreduce(&c->exchange_s, &t.exchange_s, 1, MPI_DOUBLE, MPI_MAX, run->comm);
    return t;
}

static const char *body_name(const void *of, int body)
{
    return ((const hk_model *)of)->bodies[body].name;
}

cli_bodies hc_bodies(const hc_run *run)
{
    return (cli_bodies){body_name, run->cluster->part.model};
}

// Sums over all processes, as are the energies of the results: all call it.
static json_t *engineering_json(const hc_run *run)
{
    json_t *object = json_object();
    json_t *reactions = cli_reactions_json(run->cluster->world, hc_bodies(run));
    json_t *greatest = cli_greatest_json(run->cluster->world, hc_bodies(run));
    if (reactions) json_object_set_new(object, "reactions", reactions);
    if (greatest) json_object_set_new(object, "greatest", greatest);
    return object;
}

static json_t *result_json(hc_run *run, const totals *t, bool history)
{
    const hk_cluster *c = run->cluster;
    json_t *object = cli_results_json(&run->results, c->world, history);
    if (!object) return NULL;
    json_object_set_new(object, "backend", json_string("petsc"));
    json_object_set_new(object, "processes", json_integer(run->size));
    json_object_set_new(object, "vertices", json_integer(c->part.whole_vertices));
    json_object_set_new(object, "tets", json_integer(c->part.whole_tets));
    json_object_set_new(object, "setup_ms", cli_json_real(1e3 * run->setup_s));
    json_object_set_new(object, "memory",
                        json_pack("{s:o, s:o}", "largest", cli_json_real(t->most_memory), "sum",
                                  cli_json_real(t->memory)));
    json_object_set_new(object, "exchange",
                        json_pack("{s:I, s:I, s:o, s:I}", "messages", (json_int_t)t->messages,
                                  "bytes", (json_int_t)t->bytes, "seconds",
                                  cli_json_real(t->exchange_s), "sums", (json_int_t)c->sums));
    return object;
}

static void print_summary(const hc_run *run, const totals *t, const hk_greatest *g)
{
    const hk_cluster *c = run->cluster;
    const cli_results *r = &run->results;
    FILE *to = cli_text_stream();
    if (cli_talk.quiet) return;
    fprintf(to, "%s: %s\n", run->args.scene_path, cli_results_status(r));
    fprintf(to, "  bodies      %d with %lld vertices and %lld tets\n",
            hk_model_body_count(c->part.model), (long long)c->part.whole_vertices,
            (long long)c->part.whole_tets);
    fprintf(to, "  method      %s on petsc, %d process%s of %d thread%s, %.4g MB in all\n",
            hk_world_method(c->world), run->size, run->size == 1 ? "" : "es",
            hk_world_threads(c->world), hk_world_threads(c->world) == 1 ? "" : "s",
            1e-6 * t->memory);
    fprintf(to, "  %-10s  %d, %lld iterations, %lld of linear solves\n",
            run->args.pose ? "load steps" : "steps", r->steps, (long long)r->iterations,
            (long long)r->linear_iterations);
    cli_timing timing = cli_results_timing(r);
    fprintf(to, "  time        setup %.4g s, solving %.4g s (%.4g s of it messages)\n",
            run->setup_s, 1e-3 * timing.total, t->exchange_s);
    if (r->count > 0)
        fprintf(to, "  residual    %.4g N (relative %.3g)\n", r->records[r->count - 1].residual,
                r->relative_residual);
    cli_results_print_contact(to, r, c->part.model);
    fprintf(to, "  displaced   at most %.6g m: vertex %d of body %d\n", g->displacement, g->vertex,
            g->displacement_body);
    if (run->plan.stem && run->frame_count > 0)
        fprintf(to, "  wrote       %s.pvd (%d frame%s)\n", run->plan.stem, run->frame_count,
                run->frame_count == 1 ? "" : "s");
    if (run->plan.points) fprintf(to, "  wrote       %s\n", run->plan.points);
    if (run->plan.stats) fprintf(to, "  wrote       %s\n", run->plan.stats);
    if (run->plan.reactions) fprintf(to, "  wrote       %s\n", run->plan.reactions);
}

static void write_stats(hc_run *run, const totals *t)
{
    char why[512];
    json_t *object = result_json(run, t, true);  // of all: it may have sums in it
    if (run->rank > 0)
        json_decref(object);
    else if (!cli_json_write(object, run->plan.stats, why, sizeof why))
        cli_results_fail(&run->results, "%s", why);
}

int hc_tell(hc_run *run)
{
    cli_results *r = &run->results;
    if (run->plan.points) hc_write_points(run, run->plan.points);
    hk_greatest greatest;
    if (hk_world_greatest(run->cluster->world, &greatest) != HK_OK) hc_die(run, "%s", hk_error());
    r->more = engineering_json(run);
    hc_write_reactions(run);
    totals t = find_totals(run);
    if (run->plan.stats) write_stats(run, &t);
    json_t *object = result_json(run, &t, false);
    if (run->rank == 0) {
        print_summary(run, &t, &greatest);
        if (r->error[0]) cli_say_error("%s", r->error);
        if (cli_talk.json)
            cli_json_print(object);
        else
            json_decref(object);
    } else {
        json_decref(object);
    }
    int status = CLI_DONE;
    if (r->outcome == HK_OUTCOME_FAILED || r->interrupted) status = CLI_FAILED;
    if (r->outcome == HK_OUTCOME_STOPPED && run->args.pose) status = CLI_FAILED;
    MPI_Bcast(&status, 1, MPI_INT, 0, run->comm);
    return status;
}
