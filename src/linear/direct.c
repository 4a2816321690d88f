// CHOLMOD behind linear/direct.h: supernodal Cholesky over BLAS.
#include "linear/direct.h"

#ifdef HOOKE_DIRECT

#include <cholmod.h>
#include <stdatomic.h>

#include "linear/blas.h"
#include "linear/blas_threads.h"

#define TEXT_OF_(x) #x
#define TEXT_OF(x)  TEXT_OF_(x)

const char *hk_direct_name(void)
{
    return "CHOLMOD " TEXT_OF(CHOLMOD_MAIN_VERSION) "." TEXT_OF(CHOLMOD_SUB_VERSION) "." TEXT_OF(
        CHOLMOD_SUBSUB_VERSION);
}

// Told once for the process: a program that sets its log hook after its first solver asks
// hk_machine.
static void warn_of_slow_blas(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const hk_blas *blas = hk_blas_in_use();
    if (!blas->warning[0] || blas->is_users_wish || atomic_flag_test_and_set(&told)) return;
    hk_log(HK_LOG_WARNING, "%s", blas->warning);
}

struct hk_direct {
    const hk_pattern *pattern;
    cholmod_common common;
    cholmod_sparse matrix;  // points into column_start, row and the caller's values
    cholmod_factor *factor;
    cholmod_dense right;                        // points at the caller's b
    cholmod_dense *solution, *spare1, *spare2;  // kept between solves
    int *column_start, *row;
};

static hk_status expand_pattern(hk_direct *s)
{
    const hk_pattern *p = s->pattern;
    int64_t size = hk_pattern_size(p);
    if (size > INT32_MAX) return hk_fail(HK_UNSUPPORTED, "too large for the direct solver");
    int width = p->scalar ? 1 : 3;
    s->column_start = HK_ARRAY(int, (size_t)width *(size_t)p->count + 1);
    s->row = HK_ARRAY(int, size);
    if (!s->column_start || !s->row) return HK_NO_MEMORY;
    int at = 0;
    for (int b = 0; b < p->count; b++)
        for (int c = 0; c < width; c++) {
            s->column_start[width * b + c] = at;
            for (int r = c; r < width; r++) s->row[at++] = width * b + r;
            for (int64_t k = p->start[b]; k < p->start[b + 1]; k++)
                for (int r = 0; r < width; r++) s->row[at++] = width * p->row[k] + r;
        }
    s->column_start[(size_t)width * (size_t)p->count] = at;
    return HK_OK;
}

static hk_status cholmod_trouble(const hk_direct *s, const char *what)
{
    if (s->common.status == CHOLMOD_OUT_OF_MEMORY) return hk_no_memory();
    if (s->common.status == CHOLMOD_TOO_LARGE)
        return hk_fail(HK_UNSUPPORTED, "%s: the system is too large for CHOLMOD", what);
    return hk_fail(HK_INTERNAL, "%s: CHOLMOD failed (status %d)", what, s->common.status);
}

static hk_status analyse(hk_direct *s)
{
    s->common.nmethods = 1;
    s->common.method[0].ordering = CHOLMOD_NATURAL;  // the pattern comes in elimination order
    s->common.postorder = false;
    s->common.supernodal = CHOLMOD_SUPERNODAL;
    s->common.quick_return_if_not_posdef = true;
    s->common.print = 0;
    size_t n = (s->pattern->scalar ? 1 : 3) * (size_t)s->pattern->count;
    size_t columns = s->pattern->scalar ? 3 : 1;
    s->matrix = (cholmod_sparse){
        .nrow = n,
        .ncol = n,
        .nzmax = (size_t)hk_pattern_size(s->pattern),
        .p = s->column_start,
        .i = s->row,
        .stype = -1,
        .itype = CHOLMOD_INT,
        .xtype = CHOLMOD_PATTERN,
        .dtype = CHOLMOD_DOUBLE,
        .sorted = true,
        .packed = true,
    };
    s->right = (cholmod_dense){
        .nrow = n,
        .ncol = columns,
        .nzmax = n * columns,
        .d = n,
        .xtype = CHOLMOD_REAL,
        .dtype = CHOLMOD_DOUBLE,
    };
    s->factor = cholmod_analyze(&s->matrix, &s->common);
    if (!s->factor) return cholmod_trouble(s, "analysis");
    s->matrix.xtype = CHOLMOD_REAL;
    return HK_OK;
}

hk_status hk_direct_create(const hk_pattern *pattern, hk_direct **solver)
{
    hk_direct *s = HK_NEW(hk_direct);
    if (!s) return HK_NO_MEMORY;
    warn_of_slow_blas();
    s->pattern = pattern;
    cholmod_start(&s->common);
    hk_status status = expand_pattern(s);
    if (status == HK_OK) status = analyse(s);
    if (status != HK_OK) {
        hk_direct_free(s);
        return status;
    }
    *solver = s;
    return HK_OK;
}

void hk_direct_free(hk_direct *s)
{
    if (!s) return;
    cholmod_free_factor(&s->factor, &s->common);
    cholmod_free_dense(&s->solution, &s->common);
    cholmod_free_dense(&s->spare1, &s->common);
    cholmod_free_dense(&s->spare2, &s->common);
    cholmod_finish(&s->common);
    hk_free(s->column_start);
    hk_free(s->row);
    hk_free(s);
}

hk_status hk_direct_factor(hk_direct *s, const double *values, bool *positive)
{
    hk_enter_blas();
    s->matrix.x = (void *)(uintptr_t)values;
    cholmod_factorize(&s->matrix, s->factor, &s->common);
    hk_leave_blas();
    *positive = s->common.status == CHOLMOD_OK && s->factor->minor == s->factor->n;
    if (s->common.status < CHOLMOD_OK) return cholmod_trouble(s, "factorisation");
    return HK_OK;
}

hk_status hk_direct_solve(hk_direct *s, const double *b, double *x)
{
    hk_enter_blas();
    s->right.x = (void *)(uintptr_t)b;
    int done = cholmod_solve2(CHOLMOD_A, s->factor, &s->right, NULL, &s->solution, NULL, &s->spare1,
                              &s->spare2, &s->common);
    hk_leave_blas();
    if (!done) return cholmod_trouble(s, "solve");
    memcpy(x, s->solution->x, s->right.nzmax * sizeof(double));
    return HK_OK;
}

int64_t hk_direct_factor_size(const hk_direct *s)
{
    return (int64_t)s->factor->xsize;
}

int64_t hk_direct_factor_nonzeros(const hk_direct *s)
{
    return (int64_t)s->common.lnz;
}

hk_status hk_direct_supernodes(const hk_direct *s, hk_supernodes *nodes)
{
    const cholmod_factor *L = s->factor;
    if (!L->is_super || L->xtype != CHOLMOD_REAL || L->minor != L->n)
        return hk_fail(HK_INTERNAL, "there is no supernodal factor");
    *nodes = (hk_supernodes){(int)L->nsuper, L->super, L->pi, L->px, L->s, L->x};
    return HK_OK;
}

hk_status hk_direct_symbolic(const hk_direct *s, hk_supernodes *nodes)
{
    const cholmod_factor *L = s->factor;
    if (!L->is_super) return hk_fail(HK_INTERNAL, "there are no supernodes");
    *nodes = (hk_supernodes){(int)L->nsuper, L->super, L->pi, L->px, L->s, NULL};
    return HK_OK;
}

bool hk_direct_available(void)
{
    return true;
}

#else

bool hk_direct_available(void)
{
    return false;
}
const char *hk_direct_name(void)
{
    return "";
}
hk_status hk_direct_create(const hk_pattern *pattern, hk_direct **solver)
{
    (void)pattern, (void)solver;
    return hk_fail(HK_UNSUPPORTED,
                   "this build has no direct solver (it was configured with HOOKE_DIRECT=OFF)");
}
void hk_direct_free(hk_direct *solver)
{
    (void)solver;
}
hk_status hk_direct_factor(hk_direct *solver, const double *values, bool *positive)
{
    (void)solver, (void)values, (void)positive;
    return HK_UNSUPPORTED;
}
hk_status hk_direct_solve(hk_direct *solver, const double *b, double *x)
{
    (void)solver, (void)b, (void)x;
    return HK_UNSUPPORTED;
}
int64_t hk_direct_factor_size(const hk_direct *solver)
{
    (void)solver;
    return 0;
}
int64_t hk_direct_factor_nonzeros(const hk_direct *solver)
{
    (void)solver;
    return 0;
}
hk_status hk_direct_supernodes(const hk_direct *solver, hk_supernodes *supernodes)
{
    (void)solver, (void)supernodes;
    return HK_UNSUPPORTED;
}
hk_status hk_direct_symbolic(const hk_direct *solver, hk_supernodes *supernodes)
{
    (void)solver, (void)supernodes;
    return HK_UNSUPPORTED;
}

#endif
