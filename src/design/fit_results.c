// What a fit comes to, for users to look at.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "design/fit.h"

static int farther(const void *a, const void *b)
{
    const hk_fit_rank *u = a, *v = b;
    if (u->distance != v->distance) return u->distance > v->distance ? -1 : 1;
    return (u->vertex > v->vertex) - (u->vertex < v->vertex);
}

static void list_outliers(hk_fit *fit)
{
    int count = 0;
    for (int k = 0; k < fit->observed_count; k++)
        if (fit->left_out[k]) fit->ranks[count++] = (hk_fit_rank){fit->distance[k], fit->vertex[k]};
    if (count == 0) return;
    qsort(fit->ranks, (size_t)count, sizeof *fit->ranks, farther);
    for (int k = 0; k < count; k++) fit->outliers[k] = fit->ranks[k].vertex;
}

// "bodies.0.regions.1.material.young=1e6", for every material of every variable.
static void write_settings(hk_fit *fit)
{
    int line = 0;
    for (int k = 0; k < fit->variable_count; k++) {
        const hk_fit_variable *v = &fit->variables[k];
        for (int i = 0; i < v->material_count; i++, line++) {
            const hk_fit_source *s = &fit->sources[v->materials[i]];
            char region[32] = "";
            if (s->region >= 0) snprintf(region, sizeof region, "regions.%d.", s->region);
            snprintf(fit->setting[line], HK_FIT_SETTING, "bodies.%d.%smaterial.%.80s=%.12g",
                     s->body, region, v->field, v->parameter.value);
        }
    }
}

void hk_fit_publish(hk_fit *fit)
{
    const hk_equilibrium *e = fit->equilibrium;
    const hk_model *m = e->model;
    for (int v = 0; v < m->vertex_count; v++) {
        memcpy(fit->positions + 3 * (int64_t)v, e->x + 4 * (int64_t)m->place[v],
               3 * sizeof(double));
        fit->distances[v] = NAN;
    }
    for (int k = 0; k < fit->given_count; k++) {
        const double *x = fit->positions + 3 * (int64_t)fit->vertex[k];
        const double *y = fit->target + 3 * (int64_t)k;
        fit->distances[fit->vertex[k]] = hypot(hypot(x[0] - y[0], x[1] - y[1]), x[2] - y[2]);
    }
    list_outliers(fit);
    for (int k = 0; k < fit->variable_count; k++) {
        const hk_fit_variable *v = &fit->variables[k];
        double start = v->parameter.start, theta = fit->theta[k];
        bool same = theta == hk_fit_theta(v, start);  // to the last bit, if it did not move
        fit->variables[k].parameter.value = same ? start : hk_fit_value(v, theta);
    }
    write_settings(fit);
}

// How far the observed vertices went, and how far held ones are from where they were observed.
void hk_fit_measure(const hk_fit *fit, hk_fit_report *r)
{
    const hk_model *m = fit->equilibrium->model;
    double square = 0;
    r->sag = r->held_distance = 0;
    r->sag_vertex = r->held_vertex = -1;
    for (int k = 0; k < fit->given_count; k++) {
        int v = fit->vertex[k];
        const double *x = fit->positions + 3 * (int64_t)v, *X = m->rest + 3 * (int64_t)v;
        double went = hypot(hypot(x[0] - X[0], x[1] - X[1]), x[2] - X[2]);
        bool counts = k < fit->observed_count;
        if (counts && !fit->left_out[k]) square += fit->distance[k] * fit->distance[k];
        if (counts && !(went <= r->sag)) {
            r->sag = went;
            r->sag_vertex = v;
        }
        if (!counts && !(fit->distances[v] <= r->held_distance)) {
            r->held_distance = fit->distances[v];
            r->held_vertex = v;
        }
    }
    int free = 0;
    for (int v = 0; v < m->vertex_count; v++) free += m->hold[v] == HK_FREE;
    r->observed = fit->observed_count;
    r->held = fit->given_count - fit->observed_count;
    r->missing = free - fit->observed_count;
    r->outliers = fit->outlier_count;
    r->rms = sqrt(square / hk_max_int(fit->observed_count - fit->outlier_count, 1));
}

// w r at the observed vertices: ∂Φ/∂x.
void hk_fit_fill_pull(const hk_fit *fit, double *pull)
{
    const hk_model *m = fit->equilibrium->model;
    memset(pull, 0, 4 * sizeof(double) * (size_t)m->vertex_count);
    for (int k = 0; k < fit->observed_count; k++)
        for (int i = 0; i < 3; i++)
            pull[4 * (int64_t)m->place[fit->vertex[k]] + i] =
                fit->weight[k] * fit->residual[3 * (int64_t)k + i];
}

// ---------------------------------------------------------------- looking

int hk_fit_parameter_count(const hk_fit *fit)
{
    return fit ? fit->variable_count : 0;
}
const hk_fit_parameter *hk_fit_parameter_at(const hk_fit *fit, int parameter)
{
    bool there = fit && parameter >= 0 && parameter < fit->variable_count;
    return there ? &fit->variables[parameter].parameter : NULL;
}
const double *hk_fit_covariance(const hk_fit *fit)
{
    return fit ? fit->covariance : NULL;
}
const double *hk_fit_positions(const hk_fit *fit)
{
    return fit ? fit->positions : NULL;
}
const double *hk_fit_distances(const hk_fit *fit)
{
    return fit ? fit->distances : NULL;
}
const int32_t *hk_fit_outliers(const hk_fit *fit)
{
    return fit ? fit->outliers : NULL;
}
double hk_fit_setup_ms(const hk_fit *fit)
{
    return fit ? fit->setup_ms : 0;
}
int hk_fit_threads(const hk_fit *fit)
{
    return fit ? fit->threads : 0;
}

const char *hk_fit_setting(const hk_fit *fit, int line)
{
    return fit && line >= 0 && line < fit->setting_count ? fit->setting[line] : NULL;
}

hk_status hk_fit_model(const hk_fit *fit, hk_model **model)
{
    if (!fit || !model) return hk_fail(HK_BAD_INPUT, "hk_fit_model: fit and model are needed");
    return hk_model_copy(fit->equilibrium->model, model);
}

void hk_fit_set_monitor(hk_fit *fit, hk_monitor_fn *fn, void *context)
{
    if (!fit) return;
    fit->monitor = fn;
    fit->monitor_context = context;
}
