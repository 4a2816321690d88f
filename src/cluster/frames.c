// Frames, points and states in files.
//
// A state is one file per process, the world's own (.hks) with the number of the process at its
// end, and beside them one that says how many there are: who goes on needs as many processes, which
// then have the same parts.
#include "cluster/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// ---------------------------------------------------------------- points

static void write_rows(FILE *file, const double *x, int64_t count)
{
    fprintf(file, "vertex,x,y,z\n");
    for (int64_t v = 0; v < count; v++)
        fprintf(file, "%lld,%.17g,%.17g,%.17g\n", (long long)v, x[3 * v], x[3 * v + 1],
                x[3 * v + 2]);
}

static hk_status save_rows(const char *path, const double *x, int64_t count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file) return hk_fail(HK_NO_MEMORY, "out of memory");
    write_rows(file, x, count);
    bool whole = fclose(file) == 0;
    hk_status status =
        whole ? hk_file_save(path, text, size) : hk_fail(HK_NO_MEMORY, "out of memory");
    free(text);
    return status;
}

void hc_write_points(hc_run *run, const char *path)
{
    hk_cluster *c = run->cluster;
    bool root = run->rank == 0;
    int64_t count = c->part.whole_vertices;
    double *all = root ? malloc(3 * sizeof(double) * (size_t)count + 1) : NULL;
    hk_status status = !root || all ? HK_OK : hk_fail(HK_NO_MEMORY, "out of memory");
    status = hk_cluster_agree(run->comm, status);
    if (status == HK_OK) status = hk_cluster_gather(c, hk_world_positions(c->world), all);
    if (status == HK_OK && root) status = save_rows(path, all, count);
    free(all);
    if (hk_cluster_agree(run->comm, status) != HK_OK)
        cli_results_fail(&run->results, "%s", hk_error());
}

void hc_write_reactions(hc_run *run)
{
    const cli_text *rows = &run->reaction_rows;
    if (!run->plan.reactions) return;
    hk_status status = HK_OK;
    if (run->rank == 0) status = hk_file_save(run->plan.reactions, rows->text, rows->length);
    if (hk_cluster_agree(run->comm, status) != HK_OK)
        cli_results_fail(&run->results, "%s", hk_error());
}

// ---------------------------------------------------------------- frames

bool hc_frame_is_due(const hc_run *run, double time)
{
    if (!run->plan.stem && !run->plan.frame_points) return false;
    return run->frame_count == 0 || time >= run->next_frame - 1e-6 * run->plan.every;
}

static hk_status name_in_series(const hc_run *run)
{
    char *path = cli_format("%s.pvd", run->plan.stem);
    hk_status status = hk_series_save(path, run->frame_times, (const char *const *)run->frame_files,
                                      run->frame_count);
    free(path);
    return status;
}

static void count_frame(hc_run *run, double time, char *file)
{
    size_t count = (size_t)run->frame_count + 1;
    run->frame_times = cli_realloc(run->frame_times, count, sizeof(double));
    run->frame_files = cli_realloc(run->frame_files, count, sizeof(char *));
    run->frame_times[run->frame_count] = time;
    run->frame_files[run->frame_count++] = file;
    run->last_frame = time;
    double every = run->plan.every;
    run->next_frame = every > 0 ? (floor(time / every + 1e-6) + 1) * every : time;
}

void hc_write_frame(hc_run *run)
{
    const hc_plan *plan = &run->plan;
    if (!plan->stem && !plan->frame_points) return;
    if (plan->frame_points) {
        char *path = cli_format("%s_%04d.csv", plan->frame_points, run->frame_count);
        hc_write_points(run, path);
        free(path);
    }
    char *file = NULL;
    hk_status status = HK_OK;
    if (plan->stem) {
        char *stem = cli_format("%s_%04d", plan->stem, run->frame_count);
        status = hk_cluster_save(run->cluster, stem, (const char *const *)plan->fields,
                                 plan->field_count);
        file = cli_format("%s.pvtu", cli_file_name(stem));
        free(stem);
    }
    if (status != HK_OK) {
        cli_results_fail(&run->results, "%s", hk_error());
        free(file);
        return;
    }
    count_frame(run, hk_world_time(run->cluster->world), file);
    if (plan->stem && run->rank == 0) status = name_in_series(run);
    if (hk_cluster_agree(run->comm, status) != HK_OK)
        cli_results_fail(&run->results, "%s", hk_error());
}

// ---------------------------------------------------------------- states

// What is in the file that all of them have.
typedef struct index_of_states {
    char name[16];
    int32_t processes, steps, frames;
    int32_t rows;  // bytes of rows of reactions, which come next
    int64_t vertices, tets;
    double time;
} index_of_states;
static const char g_name[16] = "hooke cluster 1";

static char *part_path(const char *path, int rank)
{
    return cli_format("%s.%04d", path, rank);
}

static hk_status save_index(const hc_run *run, const char *path, index_of_states *index)
{
    const cli_text *rows = &run->reaction_rows;
    if (rows->length > INT32_MAX)
        return hk_fail(HK_UNSUPPORTED, "%s: more than 2 GB of reactions", path);
    index->rows = (int32_t)rows->length;
    uint8_t *bytes = malloc(sizeof *index + rows->length);
    if (!bytes) return hk_fail(HK_NO_MEMORY, "out of memory");
    memcpy(bytes, index, sizeof *index);
    if (rows->length > 0) memcpy(bytes + sizeof *index, rows->text, rows->length);
    hk_status status = hk_file_save(path, bytes, sizeof *index + rows->length);
    free(bytes);
    return status;
}

void hc_save_state(hc_run *run, const char *path)
{
    char *whole = cli_output_path(run->args.out, path), *own = part_path(whole, run->rank);
    hk_status status = hk_cluster_agree(run->comm, hk_world_save_state(run->cluster->world, own));
    index_of_states index = {.processes = run->size,
                             .steps = run->results.steps,
                             .frames = run->frame_count,
                             .vertices = run->cluster->part.whole_vertices,
                             .tets = run->cluster->part.whole_tets,
                             .time = hk_world_time(run->cluster->world)};
    memcpy(index.name, g_name, sizeof index.name);
    if (status == HK_OK && run->rank == 0) status = save_index(run, whole, &index);
    free(own);
    free(whole);
    if (hk_cluster_agree(run->comm, status) != HK_OK)
        cli_results_fail(&run->results, "%s", hk_error());
}

static bool read_rows(FILE *file, const index_of_states *index, cli_text *rows)
{
    if (index->rows <= 0) return index->rows == 0;
    rows->text = cli_realloc(NULL, (size_t)index->rows + 1, 1);
    rows->text[index->rows] = '\0';
    rows->length = fread(rows->text, 1, (size_t)index->rows, file);
    return rows->length == (size_t)index->rows;
}

static hk_status read_index(hc_run *run, const char *path, index_of_states *index)
{
    FILE *file = fopen(path, "rb");
    bool read = file && fread(index, sizeof *index, 1, file) == 1 &&
                read_rows(file, index, &run->reaction_rows);
    if (file) fclose(file);
    const hk_cluster_part *part = &run->cluster->part;
    if (!file) return hk_fail(HK_IO_ERROR, "%s cannot be opened", path);
    if (!read || memcmp(index->name, g_name, sizeof index->name) != 0)
        return hk_fail(HK_BAD_INPUT, "%s is no checkpoint of a run with backend petsc", path);
    if (index->vertices != part->whole_vertices || index->tets != part->whole_tets)
        return hk_fail(HK_BAD_INPUT, "%s is of another scene: it has %lld vertices and %lld tets",
                       path, (long long)index->vertices, (long long)index->tets);
    if (index->processes != run->size)
        return hk_fail(HK_BAD_INPUT,
                       "%s was written by %d processes, and %d cannot go on from it: use mpirun -n "
                       "%d",
                       path, (int)index->processes, run->size, (int)index->processes);
    return HK_OK;
}

// Frames that there are already.
static void continue_frames(hc_run *run, const index_of_states *index)
{
    for (int k = 0; k < index->frames && run->plan.stem; k++) {
        double every = run->plan.every > 0 ? run->plan.every : index->time / index->frames;
        count_frame(run, k * every, cli_format("%s_%04d.pvtu", cli_file_name(run->plan.stem), k));
    }
    if (index->frames > 0) run->last_frame = index->time;
}

static void tell_rows(hc_run *run, const index_of_states *index)
{
    cli_text *rows = &run->reaction_rows;
    if (run->rank > 0) {
        rows->text = cli_realloc(NULL, (size_t)index->rows + 1, 1);
        rows->text[index->rows] = '\0';
        rows->length = (size_t)index->rows;
    }
    if (index->rows > 0) MPI_Bcast(rows->text, index->rows, MPI_CHAR, 0, run->comm);
}

void hc_load_state(hc_run *run, const char *path)
{
    index_of_states index = {.processes = 0};
    hk_status status = run->rank == 0 ? read_index(run, path, &index) : HK_OK;
    status = hk_cluster_agree(run->comm, status);
    MPI_Bcast(&index, sizeof index, MPI_BYTE, 0, run->comm);
    if (status == HK_OK) {
        tell_rows(run, &index);
        char *own = part_path(path, run->rank);
        status = hk_world_load_state(run->cluster->world, own);
        free(own);
        if (status != HK_OK) hc_die(run, "%s", hk_error());
        run->results.steps = index.steps;
        continue_frames(run, &index);
        return;
    }
    cli_results_fail(&run->results, "%s", hk_error());
    run->plan.steps = 0;
}
