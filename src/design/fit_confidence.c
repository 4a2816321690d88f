// How well the observations tell the parameters: covariances of least squares, and what they do not
// tell at all.
//
// With residuals of variance σ² in every coordinate, estimated from their sum of squares, the
// covariance of θ is σ² (Jᵀ W J)⁻¹. An eigenvalue 0 of the normal matrix (its columns scaled to
// length 1) belongs to a change of the parameters that leaves the observed shape as it is.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "design/fit.h"
#include "math/dense.h"

// A parameter has a part in such a change if it is at least this much of it.
#define HAS_PART 1e-2

void hk_fit_diagonalise(hk_fit *fit, bool scaled)
{
    int n = fit->variable_count;
    double largest = 0;
    for (int k = 0; k < n; k++) largest = fmax(largest, fit->normal[n * k + k]);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            double scale = scaled ? fit->norm[a] * fit->norm[b] : largest;
            fit->values[n * a + b] = scale > 0 ? fit->normal[n * a + b] / scale : 0;
        }
    hk_dense_diagonalise(fit->values, fit->vectors, n);
}

static bool takes_part(const hk_fit *fit, int k)
{
    return !fit->variables[k].at_end && hk_fit_has_influence(fit, k);
}

// A direction of parameters that all have influence, along which nothing changes.
static bool is_silent(const hk_fit *fit, int direction)
{
    int n = fit->variable_count;
    if (fit->values[n * direction + direction] >= HK_FIT_NO_EIGENVALUE) return false;
    double part = 0;
    for (int k = 0; k < n; k++)
        if (takes_part(fit, k)) part += fabs(fit->vectors[n * k + direction]);
    return part > HAS_PART;
}

static bool is_undetermined(const hk_fit *fit, int k)
{
    int n = fit->variable_count;
    if (!hk_fit_has_influence(fit, k)) return !fit->variables[k].at_end;
    for (int i = 0; i < n; i++)
        if (is_silent(fit, i) && fabs(fit->vectors[n * k + i]) > HAS_PART) return true;
    return false;
}

// ---------------------------------------------------------------- covariances

// The variance of a coordinate of the observations, m²; what the poses are not exact to counts,
// too.
static double find_noise(const hk_fit *fit, int rank)
{
    double sum = 0, floor = fit->equilibrium->correction;
    for (int k = 0; k < fit->observed_count; k++)
        if (!fit->left_out[k]) sum += fit->distance[k] * fit->distance[k];
    int64_t freedom = 3 * (int64_t)(fit->observed_count - fit->outlier_count) - rank;
    return freedom > 0 ? sum / (double)freedom + floor * floor / 3 : INFINITY;
}

static double covariance(const hk_fit *fit, int a, int b)
{
    int n = fit->variable_count;
    double sum = 0;
    if (!takes_part(fit, a) || !takes_part(fit, b)) return INFINITY;
    for (int i = 0; i < n; i++) {
        double value = fit->values[n * i + i];
        if (value < HK_FIT_NO_EIGENVALUE) continue;
        sum += fit->vectors[n * a + i] * fit->vectors[n * b + i] / value;
    }
    const hk_fit_variable *u = &fit->variables[a], *v = &fit->variables[b];
    return sum / (fit->norm[a] * fit->norm[b]) * hk_fit_rate(u, fit->theta[a]) *
           hk_fit_rate(v, fit->theta[b]);
}

// What is left of the step to the least misfit: part of the uncertainty, where observations are so
// exact that it matters.
static double step_left(const hk_fit *fit, int k)
{
    int n = fit->variable_count;
    double step = 0;
    for (int i = 0; i < n; i++) {
        double value = fit->values[n * i + i], slope = 0;
        if (value < HK_FIT_NO_EIGENVALUE) continue;
        for (int b = 0; b < n; b++)
            if (takes_part(fit, b))
                slope += fit->vectors[n * b + i] * fit->gradient[b] / fit->norm[b];
        step += fit->vectors[n * k + i] * slope / value;
    }
    return step / fit->norm[k] * hk_fit_rate(&fit->variables[k], fit->theta[k]);
}

static void fill_covariance(hk_fit *fit, double noise)
{
    int n = fit->variable_count;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            bool told = !is_undetermined(fit, a) && !is_undetermined(fit, b);
            double value = told ? covariance(fit, a, b) : INFINITY;
            fit->covariance[n * a + b] = isfinite(value) ? noise * value : INFINITY;
        }
    for (int a = 0; a < n; a++)
        if (isfinite(fit->covariance[n * a + a])) {
            double left = step_left(fit, a);
            fit->covariance[n * a + a] += left * left;
        }
    for (int a = 0; a < n; a++)
        fit->variables[a].parameter.deviation = sqrt(fit->covariance[n * a + a]);
}

// ---------------------------------------------------------------- what people are told

typedef struct text {
    char *at;
    size_t left;
} text;

static void say(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(t->at, t->left, format, arguments);
    va_end(arguments);
    size_t more = used < 0 ? 0 : (size_t)used < t->left ? (size_t)used : t->left - 1;
    t->at += more;
    t->left -= more;
}

// Those without influence, as "a, b and c".
static void say_without_influence(const hk_fit *fit, text *t)
{
    if (!hk_fit_moves(fit)) {
        say(t, "nothing moves the observed vertices from where they rest: the scene needs gravity, "
               "a load or a prescribed motion that deforms the body");
        return;
    }
    bool first = true;
    for (int k = 0; k < fit->variable_count; k++) {
        const hk_fit_variable *v = &fit->variables[k];
        if (v->at_end || hk_fit_has_influence(fit, k)) continue;
        say(t, "%s%s", first ? "" : ", ", v->name);
        first = false;
    }
    say(t, ": no influence on the observed vertices; do not vary it, or observe vertices that it "
           "moves");
}

// By how much a parameter changes along a direction, for people.
static void say_change(const hk_fit_variable *v, double change, double rate, text *t)
{
    if (v->map == HK_FIT_POISSON)
        say(t, "%s by %+.2g", v->name, 0.01 * change * rate);
    else
        say(t, "%s by %+.2g %%", v->name, change);
}

// A silent direction in θ: its components belong to columns scaled to length 1.
static double component(const hk_fit *fit, int direction, int k)
{
    return takes_part(fit, k) ? fit->vectors[fit->variable_count * k + direction] / fit->norm[k]
                              : 0;
}

static void say_silent(const hk_fit *fit, int direction, text *t)
{
    int n = fit->variable_count;
    double largest = 0;
    for (int k = 0; k < n; k++)
        if (fabs(component(fit, direction, k)) > fabs(largest))
            largest = component(fit, direction, k);
    for (int pass = 0; pass < 2; pass++) {
        bool first = true;
        for (int k = 0; k < n; k++) {
            double change = component(fit, direction, k) / largest;
            if (!(fabs(change) > HAS_PART)) continue;
            say(t, "%s", first ? "" : " and ");
            first = false;
            if (pass == 0)
                say(t, "%s", fit->variables[k].name);
            else
                say_change(&fit->variables[k], change,
                           hk_fit_rate(&fit->variables[k], fit->theta[k]), t);
        }
        if (pass == 0) say(t, " cannot be told apart: the shape stays as it is with a change of ");
    }
    say(t, "; vary one less of them");
}

static void say_undetermined(const hk_fit *fit, text *t)
{
    for (int k = 0; k < fit->variable_count; k++)
        if (!fit->variables[k].at_end && !hk_fit_has_influence(fit, k)) {
            say_without_influence(fit, t);
            return;
        }
    for (int i = 0; i < fit->variable_count; i++)
        if (is_silent(fit, i)) {
            say_silent(fit, i, t);
            return;
        }
}

// By how much held vertices are off in the target, by the medians of the coordinates: gross errors
// of a few do not count.
static double held_offset(hk_fit *fit)
{
    int count = fit->given_count - fit->observed_count;
    double square = 0;
    for (int i = 0; i < 3 && count > 0; i++) {
        for (int k = 0; k < count; k++) {
            int64_t at = fit->observed_count + k;
            fit->sort[k] =
                fit->positions[3 * (int64_t)fit->vertex[at] + i] - fit->target[3 * at + i];
        }
        double median = hk_fit_median(fit->sort, count);
        square += median * median;
    }
    return sqrt(square);
}

// Warnings of a fit that has converged.
static void warn(hk_fit *fit, const hk_fit_report *r, text *t)
{
    double offset = held_offset(fit);
    if (offset * sqrt(r->held) > 5 * r->noise && offset > 1e-6 * fit->size) {
        say(t,
            "the vertices that the scene holds are %.3g m off in the target: is that in the same "
            "coordinates, and held in the same places?",
            offset);
        return;
    }
    for (int k = 0; k < fit->variable_count; k++) {
        const hk_fit_variable *v = &fit->variables[k];
        if (!v->at_end) continue;
        say(t, "%s is at the end of its range: the target asks for more", v->name);
        return;
    }
    if (4 * (int64_t)r->outliers > r->observed)
        say(t,
            "more than a quarter of the observations do not fit: is the scene what was observed?");
}

void hk_fit_judge(hk_fit *fit, hk_fit_report *r)
{
    int rank = 0;
    hk_fit_diagonalise(fit, true);
    for (int i = 0; i < fit->variable_count; i++)
        rank += fit->values[fit->variable_count * i + i] >= HK_FIT_NO_EIGENVALUE;
    double noise = find_noise(fit, rank);
    r->noise = sqrt(noise);
    fill_covariance(fit, noise);
    r->undetermined = 0;
    for (int k = 0; k < fit->variable_count; k++) r->undetermined += is_undetermined(fit, k);
    text t = {r->detail, sizeof r->detail};
    if (r->undetermined > 0 && (r->reason == HK_CONVERGED || r->reason == HK_STALLED)) {
        r->reason = HK_UNDETERMINED;
        say_undetermined(fit, &t);
    }
    if (r->reason == HK_CONVERGED) warn(fit, r, &t);
}
