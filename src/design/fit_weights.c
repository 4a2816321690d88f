// What each observation counts for: all the same, less where it is far off (Huber), or nothing
// where it must be an error.
#include <math.h>
#include <stdlib.h>

#include "design/fit.h"

// The median of the length of three normal deviates (chi with three degrees of freedom).
#define MEDIAN_LENGTH 1.5381722544550522
// Where Huber's function turns straight, in standard deviations: beyond 90 % of such lengths.
#define HUBER 2.5
// Errors below this part of the model's size are of how files are written, not of who measured.
#define FINEST 1e-6
// Fewer observations do not tell what is usual.
enum { FEWEST_TO_SORT = 12 };

double hk_fit_find_residuals(hk_fit *fit)
{
    const hk_model *m = fit->equilibrium->model;
    double sum = 0;
    for (int k = 0; k < fit->observed_count; k++) {
        const double *x = fit->equilibrium->x + 4 * (int64_t)m->place[fit->vertex[k]];
        double square = 0;
        for (int64_t i = 0, at = 3 * (int64_t)k; i < 3; i++) {
            double r = x[i] - fit->target[at + i];
            fit->residual[at + i] = r;
            square += r * r;
        }
        fit->distance[k] = sqrt(square);
        sum += square;
    }
    return sum;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double hk_fit_median(double *numbers, int count)
{
    qsort(numbers, (size_t)count, sizeof(double), compare);
    return 0.5 * (numbers[(count - 1) / 2] + numbers[count / 2]);
}

double hk_fit_scale(hk_fit *fit)
{
    int n = fit->observed_count;
    memcpy(fit->sort, fit->distance, sizeof(double) * (size_t)n);
    double median = hk_fit_median(fit->sort, n);
    return fmax(median / MEDIAN_LENGTH, 1e-3 * FINEST * fit->size);
}

void hk_fit_weigh(hk_fit *fit, double scale)
{
    double bend = HUBER * scale;
    for (int k = 0; k < fit->observed_count; k++)
        fit->weight[k] = scale > 0 ? fmin(1, bend / fit->distance[k]) : !fit->left_out[k];
}

double hk_fit_objective(const hk_fit *fit, double scale)
{
    double bend = HUBER * scale, sum = 0;
    for (int k = 0; k < fit->observed_count; k++) {
        double d = fit->distance[k];
        if (scale > 0)
            sum += d <= bend ? 0.5 * d * d : bend * (d - 0.5 * bend);
        else
            sum += fit->left_out[k] ? 0 : 0.5 * d * d;
    }
    return sum;
}

int hk_fit_sort_out(hk_fit *fit)
{
    double limit = fit->settings.outlier;
    bool able = limit > 0 && fit->observed_count >= FEWEST_TO_SORT;
    double far = able ? fmax(limit * hk_fit_scale(fit), FINEST * fit->size) : INFINITY;
    int changed = 0;
    fit->outlier_count = 0;
    for (int k = 0; k < fit->observed_count; k++) {
        bool out = fit->distance[k] > far;
        changed += out != fit->left_out[k];
        fit->left_out[k] = out;
        fit->outlier_count += out;
    }
    return changed;
}
