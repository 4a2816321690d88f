#ifdef __linux__
#define _GNU_SOURCE 1
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "design/refine.h"

#include "design/equilibrium.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

// How much nicer the refiner's threads are than those that preview.
enum { NICE = 5 };

// ---------------------------------------------------------------- the thread

// Threads of its own team inherit this.
static void step_back(void)
{
#ifdef __linux__
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);  // it may be refused
#endif
}

// Messages wait on the board for the next call of a user.
static void take_note(void *context, hk_log_level level, const char *message)
{
    hk_refiner *r = context;
    if (level == HK_LOG_DEBUG) return;
    pthread_mutex_lock(&r->lock);
    size_t used = strlen(r->notes);
    snprintf(r->notes + used, sizeof r->notes - used, "%s\n", message);
    pthread_mutex_unlock(&r->lock);
}

static void swap_jobs(hk_refine_job *a, hk_refine_job *b)
{
    hk_refine_job c = *a;
    *a = *b;
    *b = c;
}

// What was found goes on the board if it is still wanted. Under the lock.
static void show(hk_refiner *r, double *found, const hk_design_view *result)
{
    hk_design_view *view = &r->view;
    if (r->job.version != view->version || result->reason == HK_STOPPED) return;
    double **to = &r->shape[r->job.given == HK_LOADED_SHAPE ? HK_REST_SHAPE : HK_LOADED_SHAPE];
    bool usable = result->state == HK_DESIGN_CONVERGED || result->load_reached > 0;
    if (usable) memcpy(*to, found, 3 * sizeof(double) * (size_t)r->vertex_count);
    hk_design_view shown = *view;
    *view = *result;
    view->given = shown.given;
    view->version = shown.version;
    view->sequence = shown.sequence + 1;
    view->handles = shown.handles;
    view->out_of_bounds = shown.out_of_bounds;
    view->preview_ms = shown.preview_ms;
}

static void refine(hk_refiner *r, double *found)
{
    hk_design_view result = {.relative_residual = NAN, .least_j = NAN, .greatest_stretch = NAN};
    double start = hk_now();
    hk_refine_solve(r, found, &result);
    result.refine_ms = 1e3 * (hk_now() - start);
    pthread_mutex_lock(&r->lock);
    show(r, found, &result);
    bool prepare = result.state == HK_DESIGN_CONVERGED && !atomic_load(&r->cancelled);
    pthread_cond_broadcast(&r->done);
    pthread_mutex_unlock(&r->lock);
    if (prepare) hk_refine_prepare_next(r);
    hk_model_free(r->job.model);
    r->job.model = NULL;
}

static void *run(void *context)
{
    hk_refiner *r = context;
    step_back();
    hk_log_divert(take_note, r);
    pthread_mutex_lock(&r->lock);
    while (!r->quit) {
        if (!r->waiting) {
            pthread_cond_wait(&r->wake, &r->lock);
            continue;
        }
        swap_jobs(&r->job, &r->next);
        r->waiting = false;
        r->busy = true;
        atomic_store(&r->cancelled, r->job.version != r->view.version);
        pthread_mutex_unlock(&r->lock);
        refine(r, r->job.start);
        pthread_mutex_lock(&r->lock);
        r->busy = false;
        pthread_cond_broadcast(&r->done);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

// ---------------------------------------------------------------- creation

static hk_status make_arrays(hk_refiner *r, const double *shape)
{
    size_t n = 3 * (size_t)r->vertex_count;
    double **arrays[] = {&r->shape[0],   &r->shape[1],  &r->next.shape,
                         &r->next.start, &r->job.shape, &r->job.start};
    for (int k = 0; k < HK_COUNT_OF(arrays); k++) {
        *arrays[k] = HK_ARRAY(double, n);
        if (!*arrays[k]) return HK_NO_MEMORY;
        memcpy(*arrays[k], shape, n * sizeof(double));
    }
    r->workspace = HK_ARRAY(double, 2 * (size_t)r->tets);
    r->from = HK_ZEROS(double, 4 * (size_t)r->vertex_count);
    return r->workspace && r->from ? HK_OK : HK_NO_MEMORY;
}

static hk_status start(hk_refiner *r)
{
    pthread_condattr_t steady;
    if (pthread_mutex_init(&r->lock, NULL) != 0) return hk_no_memory();
    r->has_lock = true;
    if (pthread_condattr_init(&steady) != 0) return hk_no_memory();
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);  // that of hk_now
    r->has_wake = pthread_cond_init(&r->wake, NULL) == 0;
    r->has_done = pthread_cond_init(&r->done, &steady) == 0;
    pthread_condattr_destroy(&steady);
    if (!r->has_wake || !r->has_done) return hk_no_memory();
    r->has_thread = pthread_create(&r->thread, NULL, run, r) == 0;
    return r->has_thread ? HK_OK : hk_fail(HK_NO_MEMORY, "a thread for refinements cannot be made");
}

hk_status hk_refiner_create(const hk_model *model, const double *shape, int threads,
                            double tolerance, hk_refiner **refiner)
{
    hk_refiner *r = HK_NEW(hk_refiner);
    if (!r) return HK_NO_MEMORY;
    r->vertex_count = model->vertex_count;
    r->tets = model->tet_count;
    r->threads = threads;
    r->tolerance = tolerance;
    hk_status status = make_arrays(r, shape);
    if (status == HK_OK) status = start(r);
    if (status != HK_OK) {
        hk_refiner_free(r);
        return status;
    }
    *refiner = r;
    return HK_OK;
}

static void release_job(hk_refine_job *job)
{
    hk_model_free(job->model);
    hk_free(job->shape);
    hk_free(job->start);
}

void hk_refiner_free(hk_refiner *r)
{
    if (!r) return;
    if (r->has_thread) {
        pthread_mutex_lock(&r->lock);
        r->quit = true;
        atomic_store(&r->cancelled, true);
        pthread_cond_signal(&r->wake);
        pthread_mutex_unlock(&r->lock);
        pthread_join(r->thread, NULL);
    }
    if (r->has_done) pthread_cond_destroy(&r->done);
    if (r->has_wake) pthread_cond_destroy(&r->wake);
    if (r->has_lock) pthread_mutex_destroy(&r->lock);
    hk_rest_free(r->rest);
    hk_model_free(r->rest_model);
    hk_equilibrium_free(r->equilibrium);
    release_job(&r->next);
    release_job(&r->job);
    hk_free(r->shape[0]);
    hk_free(r->shape[1]);
    hk_free(r->workspace);
    hk_free(r->from);
    hk_free(r);
}

// ---------------------------------------------------------------- for the thread that edits

void hk_refiner_cancel(hk_refiner *r, uint64_t version)
{
    pthread_mutex_lock(&r->lock);
    r->view = (hk_design_view){.version = version,
                               .sequence = r->view.sequence + 1,
                               .given = r->view.given,
                               .handles = r->view.handles,
                               .relative_residual = NAN,
                               .least_j = NAN,
                               .greatest_stretch = NAN,
                               .preview_ms = r->view.preview_ms,
                               .refine_ms = r->view.refine_ms};
    r->waiting = false;
    atomic_store(&r->cancelled, true);
    pthread_mutex_unlock(&r->lock);
}

void hk_refiner_post(hk_refiner *r, hk_refine_job *job)
{
    pthread_mutex_lock(&r->lock);
    swap_jobs(&r->next, job);
    r->waiting = true;
    r->view.state = HK_DESIGN_REFINING;
    r->view.sequence++;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
    hk_model_free(job->model);
    job->model = NULL;
}

void hk_refiner_wait(hk_refiner *r, double until)
{
    struct timespec deadline = {0};
    bool endless = !(until < 1e9);
    if (!endless) {
        deadline.tv_sec = (time_t)floor(until);
        deadline.tv_nsec = (long)(1e9 * (until - floor(until)));
    }
    pthread_mutex_lock(&r->lock);
    int timed_out = 0;
    while ((r->waiting || r->busy) && timed_out != ETIMEDOUT)
        timed_out = endless ? pthread_cond_wait(&r->done, &r->lock)
                            : pthread_cond_timedwait(&r->done, &r->lock, &deadline);
    pthread_mutex_unlock(&r->lock);
}
