// Whether a body stays in the shape that was drawn. A rest shape balances the load there, but the
// balance may be that of a pencil on its tip: then the body that is made goes elsewhere.
#include "solver/newton_matrix.h"

#include "design/rest_stability.h"

// Free vertices up to which the stiffness is factored.
enum { MOST_FOR_DIRECT = 60000 };
// Conjugate gradients go on to this, and meet a direction of negative curvature on their way.
#define FAR_ENOUGH 1e-8

// A direction in which all free vertices move; the same every time.
static void scatter(const hk_problem *p, double *vector)
{
    uint64_t seed = 1;
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        bool free = k % 4 < 3 && !p->held[k / 4];
        vector[k] = free ? (double)(seed >> 11) / 4503599627370496.0 - 1 : 0;
    }
}

// `work` is [2][vertex_count][4], `diagonal` [vertex_count].
static hk_status look(hk_problem *p, const hk_model *loaded, double *work, double *diagonal,
                      bool *stable)
{
    bool direct = hk_direct_available() && p->free_count <= MOST_FOR_DIRECT;
    double *x = work, *step = work + 4 * (int64_t)p->vertex_count, phase_s[HK_PHASE_COUNT] = {0};
    hk_newton_matrix *matrix;
    for (int k = 0; k < p->vertex_count; k++) diagonal[k] = p->inertia[k];
    for (int64_t v = 0; v < p->vertex_count; v++)
        memcpy(x + 4 * (int64_t)loaded->place[v], loaded->rest + 3 * v, 3 * sizeof(double));
    HK_TRY(hk_newton_matrix_create(p, !direct, &matrix));
    hk_status status = hk_newton_matrix_set(matrix, x, 1, 1, diagonal, phase_s, stable);
    if (status == HK_OK && *stable && !direct) {
        scatter(p, x);
        status = hk_newton_matrix_solve(matrix, FAR_ENOUGH, x, step, phase_s, stable);
    }
    hk_newton_matrix_free(matrix);
    return status;
}

hk_status hk_rest_look_whether_stable(hk_model *made, const hk_model *loaded, int threads,
                                      bool *stable)
{
    size_t n = (size_t)made->vertex_count;
    hk_problem *p;
    // Sheets have a judgement of their own (rest_lengths.h).
    for (int b = 0; b < made->body_count; b++) {
        const hk_body *body = &made->bodies[b];
        for (int v = body->vertex_start; v < body->vertex_start + body->vertex_count; v++)
            if (body->tet_count == 0) made->hold[v] = HK_FIXED;
    }
    HK_TRY(hk_problem_create(made, threads, NULL, &p));
    double *work = HK_ZEROS(double, 8 * n), *diagonal = HK_ARRAY(double, n);
    hk_status status = work && diagonal ? hk_problem_begin_pose(p) : HK_NO_MEMORY;
    if (status == HK_OK) {
        hk_problem_set_load(p, 1);
        hk_terms_place(p->terms, &(hk_when){.by_fraction = true, .fraction = 1});
        status = look(p, loaded, work, diagonal, stable);
    }
    hk_free(work);
    hk_free(diagonal);
    hk_problem_free(p);
    return status;
}
