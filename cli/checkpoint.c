// Checkpoints of a run: the state of its world, and with it what the run has counted and written so
// far, so that another one goes on as if nothing had happened.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

// Without --every, writing takes no more of the time than this.
#define LARGEST_PART 0.05

// ---------------------------------------------------------------- bytes

// One function for both ways, as the library has it for states.
typedef struct pack {
    bool reading, good;
    char *data;  // writing: owned
    size_t size, capacity, at;
} pack;

static void put(pack *p, void *block, size_t size)
{
    if (!p->good) return;
    if (p->reading) {
        p->good = size <= p->size - p->at;
        if (p->good && size > 0) memcpy(block, p->data + p->at, size);
        if (p->good) p->at += size;
        return;
    }
    if (size > p->capacity - p->size) {
        p->capacity = 2 * (p->size + size);
        p->data = cli_realloc(p->data, p->capacity, 1);
    }
    if (size > 0) memcpy(p->data + p->size, block, size);
    p->size += size;
}
#define PUT(pack, value) put(pack, &(value), sizeof(value))

// How many there are of something that follows, in `each` bytes at least.
static bool put_count(pack *p, int *count, size_t each)
{
    PUT(p, *count);
    if (p->good && p->reading && (*count < 0 || (size_t)*count > (p->size - p->at) / each))
        p->good = false;
    return p->good;
}

// ---------------------------------------------------------------- what a run has so far

static void put_contact(pack *p, cli_contact *c)
{
    PUT(p, c->report);
    if (!put_count(p, &c->obstacle_count, sizeof *c->loads)) {
        c->obstacle_count = 0;
        return;
    }
    size_t count = (size_t)c->obstacle_count;
    if (p->reading) c->loads = cli_realloc(NULL, count, sizeof *c->loads);
    put(p, c->loads, count * sizeof *c->loads);
}

static void put_record(pack *p, cli_record *record)
{
    cli_contact *contact = record->contact;
    bool touches = contact != NULL;
    PUT(p, *record);
    PUT(p, touches);
    record->contact = contact;  // not the pointer of another process
    if (!p->good || !touches) return;
    if (p->reading) {
        record->contact = cli_realloc(NULL, 1, sizeof *contact);
        *record->contact = (cli_contact){0};
    }
    put_contact(p, record->contact);
}

static void put_results(pack *p, cli_results *r)
{
    PUT(p, r->steps);
    PUT(p, r->iterations);
    PUT(p, r->linear_iterations);
    PUT(p, r->limited);
    PUT(p, r->stalled);
    PUT(p, r->imprecise);
    PUT(p, r->fixed);
    PUT(p, r->worst_relative);
    PUT(p, r->relative_residual);
    PUT(p, r->outcome);
    PUT(p, r->contact);
    int count = r->count;
    if (!put_count(p, &count, sizeof *r->records)) return;
    if (p->reading) {
        r->records = cli_realloc(NULL, (size_t)count, sizeof *r->records);
        r->capacity = count;
    }
    for (int k = 0; k < count && p->good; ++k) {
        if (p->reading) r->records[k] = (cli_record){0};
        put_record(p, &r->records[k]);
        r->count = k + 1;
    }
}

static void put_frames(pack *p, cli_frames *f)
{
    int count = f->count;
    PUT(p, f->next);
    PUT(p, f->last);
    if (!put_count(p, &count, sizeof *f->times)) return;
    if (p->reading) {
        f->times = cli_realloc(NULL, (size_t)count, sizeof *f->times);
        f->files = cli_realloc(NULL, (size_t)count, sizeof *f->files);
        f->capacity = count;
    }
    put(p, f->times, (size_t)count * sizeof *f->times);
    for (int k = 0; k < count && p->reading; ++k) {
        f->files[k] = f->stem ? cli_format("%s_%04d.vtu", cli_file_name(f->stem), k) : NULL;
        f->count = k + 1;
    }
}

static void put_rows(pack *p, cli_text *rows)
{
    uint64_t length = rows->length;
    PUT(p, length);
    if (p->good && p->reading) p->good = length <= p->size - p->at;
    if (!p->good) return;
    if (p->reading) rows->text = cli_realloc(NULL, (size_t)length + 1, 1);
    put(p, rows->text, (size_t)length);
    if (p->reading) rows->text[length] = '\0';
    rows->length = (size_t)length;
}

// Sizes tell of other versions of the program.
static void put_all(pack *p, cli_session *session)
{
    static const char name[8] = "hk-run 2";
    char read[sizeof name];
    uint64_t sizes[] = {sizeof(cli_record), sizeof(cli_contact_sum), sizeof(hk_contact_report),
                        sizeof(hk_obstacle_load)},
             seen[4];
    memcpy(read, name, sizeof name);
    memcpy(seen, sizes, sizeof sizes);
    PUT(p, read);
    PUT(p, seen);
    if (memcmp(read, name, sizeof name) != 0 || memcmp(seen, sizes, sizeof sizes) != 0)
        p->good = false;
    put_results(p, &session->results);
    put_frames(p, &session->frames);
    put_rows(p, &session->engineering.reaction_rows);
    put_rows(p, &session->engineering.probe_rows);
}

// ---------------------------------------------------------------- writing

hk_status cli_checkpoint_write(cli_session *session, const char *path)
{
    pack p = {.good = true};
    put_all(&p, session);
    hk_status status = hk_world_save_state_with(session->world, path, p.data, p.size);
    free(p.data);
    return status;
}

void cli_checkpoint_begin(cli_checkpoint *c, double time)
{
    c->begun = cli_now();
    c->spent = 0;
    c->next = time + c->every;
}

void cli_checkpoint_step(cli_checkpoint *c, cli_session *session)
{
    double time = hk_world_time(session->world), now = cli_now();
    if (!c->path || c->failed) return;
    // Times are sums of steps: as with frames, none slips for a rounding error.
    bool due = c->every > 0 ? time >= c->next - 1e-6 * c->every
                            : c->spent <= LARGEST_PART * (now - c->begun);
    if (due) cli_checkpoint_now(c, session);
}

void cli_checkpoint_now(cli_checkpoint *c, cli_session *session)
{
    double start = cli_now(), time = hk_world_time(session->world);
    if (!c->path || c->failed || time == c->written) return;
    if (cli_checkpoint_write(session, c->path) != HK_OK) {
        cli_warn("no checkpoints from here on: %s", hk_error());
        c->failed = true;
        return;
    }
    c->written = time;
    c->spent += cli_now() - start;
    if (c->every > 0) c->next = (floor(time / c->every + 1e-6) + 1) * c->every;
}

// ---------------------------------------------------------------- going on

static void unpack(void *context, const void *bytes, size_t size)
{
    cli_session *session = context;
    pack p = {.reading = true, .good = true, .data = (char *)(uintptr_t)bytes, .size = size};
    put_all(&p, session);
    session->resumed = p.good;
}

// Frames after the checkpoint are written again: the collection ends with it, too.
static hk_status continue_series(const cli_frames *frames)
{
    if (!frames->series || frames->count == 0) return HK_OK;
    char *last = cli_format("%s_%04d.vtu", frames->stem, frames->count - 1);
    if (access(last, R_OK) != 0)
        cli_warn("%s, a frame before the checkpoint, is not there: is --out another one?", last);
    free(last);
    return hk_series_save(frames->series, frames->times, (const char *const *)frames->files,
                          frames->count);
}

int cli_checkpoint_resume(cli_session *session, const char *path)
{
    hk_status status = hk_state_extra(path, unpack, session);
    if (status == HK_OK && !session->resumed)
        return cli_failure("%s is no checkpoint of a run by this version: \"initial\": {\"state\": "
                           "…} of a body takes any state",
                           path);
    if (status == HK_OK) status = hk_world_load_state(session->world, path);
    if (status == HK_OK) status = continue_series(&session->frames);
    return status == HK_OK ? -1 : cli_failure("%s", hk_error());
}
