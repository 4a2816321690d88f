// The series of frames that a run writes: which states, under which names.
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

// Takes over the path; the scene has made sure that it has an ending.
static void begin_skins(cli_frames *frames, char *path)
{
    const char *ending = strrchr(path, '.');
    frames->skin_stem = cli_format("%.*s", (int)(ending - path), path);
    frames->skin = cli_format("%s_0000%s", frames->skin_stem, ending);
    frames->skin_ending = frames->skin + strlen(frames->skin) - strlen(ending);
    free(path);
}

void cli_frames_begin(cli_frames *frames, const hk_output_def *output, const char *folder)
{
    *frames = (cli_frames){.last = NAN};
    if (!output) return;
    frames->every = output->every;
    frames->fields = output->fields;
    frames->field_count = output->field_count;
    if (output->vtu) {
        char *path = cli_output_path(folder, output->vtu);
        size_t length = strlen(path);
        if (cli_ends_with(path, ".pvd") || cli_ends_with(path, ".vtu")) length -= 4;
        frames->stem = cli_format("%.*s", (int)length, path);
        frames->series = cli_format("%s.pvd", frames->stem);
        free(path);
    }
    if (output->points) frames->points = cli_output_path(folder, output->points);
    if (output->skin) begin_skins(frames, cli_output_path(folder, output->skin));
}

// Puts the command's name into that of files: bar_pose.pvd.
static void rename_stem(char **stem, const char *command)
{
    char *other = cli_format("%s_%s", *stem, command);
    free(*stem);
    *stem = other;
}

// True: there are frames of such names, and the stem is another one.
static bool step_aside(char **stem, const char *ending, const char *command)
{
    int lowest, highest;
    const cli_numbered there = {*stem, ending, INT_MAX};
    int count = *stem ? cli_numbered_there(&there, 0, &lowest, &highest) : 0;
    if (count <= 1) return false;
    cli_note("%s_%04d%s … are %d frames and stay; this goes to %s_%s_0000%s", *stem, lowest, ending,
             count, *stem, command, ending);
    rename_stem(stem, command);
    return true;
}

void cli_frames_step_aside(cli_frames *frames, const char *command)
{
    int count = frames->series ? cli_series_count(frames->series) : 0;
    if (count > 1) {
        rename_stem(&frames->stem, command);
        cli_note("%s is a series of %d frames and stays; this goes to %s.pvd", frames->series,
                 count, frames->stem);
        free(frames->series);
        frames->series = cli_format("%s.pvd", frames->stem);
    }
    step_aside(&frames->points, ".csv", command);
    if (!frames->skin || !step_aside(&frames->skin_stem, frames->skin_ending, command)) return;
    char *first = cli_format("%s_0000%s", frames->skin_stem, frames->skin_ending);
    frames->skin_ending = first + strlen(first) - strlen(frames->skin_ending);
    free(frames->skin);
    frames->skin = first;
}

void cli_frames_tell_stale(const cli_frames *frames)
{
    const cli_numbered all[] = {{frames->stem, ".vtu", INT_MAX},
                                {frames->points, ".csv", INT_MAX},
                                {frames->skin_stem, frames->skin_ending, INT_MAX}};
    for (int k = 0; k < 3 && frames->count > 0; ++k) {
        int lowest, highest, count = 0;
        if (all[k].stem) count = cli_numbered_there(&all[k], frames->count, &lowest, &highest);
        if (count > 0)
            cli_note("%d file%s of an earlier, longer run remain%s: %s_%04d%s to %s_%04d%s", count,
                     count == 1 ? "" : "s", count == 1 ? "s" : "", all[k].stem, lowest,
                     all[k].ending, all[k].stem, highest, all[k].ending);
    }
}

bool cli_frames_lack(const cli_frames *frames, double time)
{
    return (frames->series || frames->points || frames->skin) && !(frames->last == time);
}

bool cli_frames_due(const cli_frames *frames, double time)
{
    if (!cli_frames_lack(frames, time)) return false;
    // Times are sums of steps: a frame must not slip by a step for a rounding error.
    return frames->count == 0 || time >= frames->next - 1e-6 * frames->every;
}

static void add_frame(cli_frames *frames, double time, char *file)
{
    if (frames->count == frames->capacity) {
        frames->capacity = frames->capacity ? 2 * frames->capacity : 64;
        size_t capacity = (size_t)frames->capacity;
        frames->times = cli_realloc(frames->times, capacity, sizeof *frames->times);
        frames->files = cli_realloc(frames->files, capacity, sizeof *frames->files);
    }
    frames->times[frames->count] = time;
    frames->files[frames->count++] = file;
    frames->last = time;
    frames->next =
        frames->every > 0 ? (floor(time / frames->every + 1e-6) + 1) * frames->every : time;
}

// The surface of all bodies: skins of those that have one.
static hk_status write_skin(const cli_frames *frames, const hk_world *world)
{
    hk_mesh *surface = NULL;
    char *path = cli_format("%s_%04d%s", frames->skin_stem, frames->count, frames->skin_ending);
    hk_status status =
        hk_model_surface(hk_world_model(world), hk_world_positions(world), true, &surface);
    if (status == HK_OK) status = hk_mesh_save(surface, path, NULL, 0);
    hk_mesh_free(surface);
    free(path);
    return status;
}

// Adds the last frame to the collection; where someone else has changed that, it is written anew.
static hk_status name_in_series(const cli_frames *frames)
{
    int last = frames->count - 1;
    if (last > 0 &&
        hk_series_append(frames->series, frames->times[last], frames->files[last]) == HK_OK)
        return HK_OK;
    return hk_series_save(frames->series, frames->times, (const char *const *)frames->files,
                          frames->count);
}

hk_status cli_frames_write(cli_frames *frames, hk_world *world)
{
    double time = hk_world_time(world);
    hk_status status = HK_OK;
    char *file = NULL;
    if (frames->series) {
        char *path = cli_format("%s_%04d.vtu", frames->stem, frames->count);
        status = hk_world_save_fields(world, path, frames->fields, frames->field_count);
        // The collection names its files relative to itself; they lie beside it.
        file = cli_format("%s", cli_file_name(path));
        free(path);
    }
    if (status == HK_OK && frames->points) {
        char *path = cli_format("%s_%04d.csv", frames->points, frames->count);
        status = hk_world_save_points(world, path);
        free(path);
    }
    if (status == HK_OK && frames->skin) status = write_skin(frames, world);
    if (status != HK_OK) {
        free(file);
        return status;
    }
    add_frame(frames, time, file);
    return frames->series ? name_in_series(frames) : HK_OK;
}

void cli_frames_free(cli_frames *frames)
{
    for (int i = 0; i < frames->count; ++i) free(frames->files[i]);
    free(frames->files);
    free(frames->times);
    free(frames->series);
    free(frames->stem);
    free(frames->points);
    free(frames->skin);
    free(frames->skin_stem);
    *frames = (cli_frames){0};
}
