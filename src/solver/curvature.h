// The memory of L-BFGS: pairs of steps s and gradient changes y, and the two-loop recursion that
// applies the inverse Hessian they stand for (Nocedal & Wright, algorithm 7.4).
#ifndef HK_CURVATURE_H
#define HK_CURVATURE_H

#include "solver/problem.h"

enum { HK_LARGEST_WINDOW = 64 };

typedef struct hk_curvature {
    int window, count, newest;
    double *s, *y;  // [window][vertex_count][4]
    double sy[HK_LARGEST_WINDOW];
    double alpha[HK_LARGEST_WINDOW];
} hk_curvature;

hk_status hk_curvature_init(hk_curvature *c, const hk_problem *problem, int window);
void hk_curvature_release(hk_curvature *c);
void hk_curvature_forget(hk_curvature *c);
// Adds the pair s = length × direction, y = after − before; pairs without positive curvature are
// left out.
void hk_curvature_add(hk_curvature *c, hk_problem *p, const double *direction, double length,
                      const double *before, const double *after);
// First loop: takes from q what the pairs explain. Then the caller applies its initial inverse
// Hessian to q, and the second loop puts it back.
void hk_curvature_first(hk_curvature *c, hk_problem *p, double *q);
void hk_curvature_second(hk_curvature *c, hk_problem *p, double *q);
// s·y / y·y of the newest pair, the scale of the inverse Hessian; 0 without pairs.
double hk_curvature_scale(const hk_curvature *c, hk_problem *p);

#endif
