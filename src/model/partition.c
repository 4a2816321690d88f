#include "model/partition.h"

#include <math.h>

void hk_partition_sum(hk_partition *g, double *values, int count)
{
    if (g) g->ops->sum(g, values, count);
}

void hk_partition_min(hk_partition *g, double *values, int count)
{
    if (!g) return;
    for (int k = 0; k < count; k++) values[k] = -values[k];
    g->ops->max(g, values, count);
    for (int k = 0; k < count; k++) values[k] = -values[k];
}

double hk_partition_sum_of(hk_partition *g, double value)
{
    hk_partition_sum(g, &value, 1);
    return value;
}

double hk_partition_max_of(hk_partition *g, double value)
{
    if (!g) return value;
    double both[2] = {isnan(value) ? -INFINITY : value, isnan(value)};
    g->ops->max(g, both, 2);
    return both[1] > 0 ? NAN : both[0];
}

double hk_partition_min_of(hk_partition *g, double value)
{
    return g ? -hk_partition_max_of(g, -value) : value;
}

bool hk_partition_any(hk_partition *g, bool value)
{
    if (!g) return value;
    double one = value;
    g->ops->max(g, &one, 1);
    return one > 0;
}

bool hk_partition_all(hk_partition *g, bool value)
{
    return !hk_partition_any(g, !value);
}

void hk_partition_share(hk_partition *g, double *vector)
{
    if (g) g->ops->share(g, vector);
}

void hk_partition_least(hk_partition *g, double *vector)
{
    if (g) g->ops->least(g, vector);
}
