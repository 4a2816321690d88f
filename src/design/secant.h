// Steps of a fixed-point iteration, made longer or shorter by what the last ones did (Anderson
// acceleration, as multisecant equations: Fang and Saad 2009).
//
// An iteration goes from X along a step d(X), and ends where that vanishes. Over its last few
// iterations X moved by ΔX and d changed by Δd. Where d is nearly linear, it vanishes at
// X + d − Σ γ (ΔX + Δd), with γ such that ‖d − Σ γ Δd‖ is least: what the last moves explain of d
// is removed as they did, the rest by going along it. Directions in which the iteration overshoots
// or crawls, if they are few, cost nothing then.
#ifndef HK_SECANT_H
#define HK_SECANT_H

#include "core/base.h"

enum { HK_SECANT_MOST = 8 };

typedef struct hk_secant {
    int64_t size;                                          // numbers of X
    int threads, window;                                   // differences kept, at most the most
    double *way[HK_SECANT_MOST], *change[HK_SECANT_MOST];  // [size] ΔX + Δd, Δd; made when needed
    double gram[HK_SECANT_MOST][HK_SECANT_MOST];           // products of changes
    double *plain, *step;                                  // [size] X + d and d of the last call
    double *partial;                                       // sums over runs
    int count, next;                                       // of differences; where the next goes
    bool known;                                            // there was a last call
} hk_secant;

// For vectors of `size` numbers; makes no vectors yet.
void hk_secant_init(hk_secant *secant, int64_t size, int threads, int window);
// Makes all of them, so that no later call does.
hk_status hk_secant_reserve(hk_secant *secant);
void hk_secant_release(hk_secant *secant);
// What was is of no account for what comes.
void hk_secant_forget(hk_secant *secant);
// Takes X and the step d there, which becomes the better one. `improved`: it is another one. The
// bits do not depend on the number of threads.
hk_status hk_secant_improve(hk_secant *secant, const double *X, double *step, bool *improved);

#endif
