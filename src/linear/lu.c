// UMFPACK behind linear/lu.h.
#include "linear/lu.h"

#ifdef HOOKE_UMFPACK

#include <umfpack.h>

#include "linear/blas.h"
#include "linear/blas_threads.h"

#define TEXT_OF_(x) #x
#define TEXT_OF(x)  TEXT_OF_(x)

struct hk_lu {
    int count;
    const int32_t *column_start, *row;
    const double *values;  // of the last factorisation
    void *symbolic, *numeric;
    double control[UMFPACK_CONTROL];
    int32_t *order;      // of columns: as they are
    int *int_workspace;  // [count]
    double *workspace;   // [5 count]
    double info[UMFPACK_INFO];
};

bool hk_lu_available(void)
{
    return true;
}

const char *hk_lu_name(void)
{
    return "UMFPACK " TEXT_OF(UMFPACK_MAIN_VERSION) "." TEXT_OF(UMFPACK_SUB_VERSION) "." TEXT_OF(
        UMFPACK_SUBSUB_VERSION);
}

static hk_status trouble(const char *what, int status)
{
    if (status == UMFPACK_ERROR_out_of_memory) return hk_no_memory();
    return hk_fail(HK_INTERNAL, "%s: UMFPACK failed (status %d)", what, status);
}

static hk_status analyse(hk_lu *s)
{
    umfpack_di_defaults(s->control);
    // The pattern is symmetric and the columns come in order: pivots are taken from the diagonal
    // where that is not too small.
    s->control[UMFPACK_STRATEGY] = UMFPACK_STRATEGY_SYMMETRIC;
    s->control[UMFPACK_FIXQ] = 1;
    s->control[UMFPACK_PRL] = 0;
    s->order = HK_ARRAY(int32_t, s->count);
    s->int_workspace = HK_ARRAY(int, s->count);
    s->workspace = HK_ARRAY(double, 5 * (size_t)s->count);
    if (!s->order || !s->int_workspace || !s->workspace) return HK_NO_MEMORY;
    for (int k = 0; k < s->count; k++) s->order[k] = k;
    int status = umfpack_di_qsymbolic(s->count, s->count, s->column_start, s->row, NULL, s->order,
                                      &s->symbolic, s->control, s->info);
    return status == UMFPACK_OK ? HK_OK : trouble("analysis", status);
}

hk_status hk_lu_create(int count, const int32_t *column_start, const int32_t *row, hk_lu **solver)
{
    hk_lu *s = HK_NEW(hk_lu);
    if (!s) return HK_NO_MEMORY;
    s->count = count;
    s->column_start = column_start;
    s->row = row;
    hk_status status = analyse(s);
    if (status != HK_OK) {
        hk_lu_free(s);
        return status;
    }
    *solver = s;
    return HK_OK;
}

void hk_lu_free(hk_lu *s)
{
    if (!s) return;
    umfpack_di_free_numeric(&s->numeric);
    umfpack_di_free_symbolic(&s->symbolic);
    hk_free(s->order);
    hk_free(s->int_workspace);
    hk_free(s->workspace);
    hk_free(s);
}

hk_status hk_lu_factor(hk_lu *s, const double *values, bool *regular)
{
    umfpack_di_free_numeric(&s->numeric);
    s->values = values;
    hk_enter_blas();
    int status = umfpack_di_numeric(s->column_start, s->row, values, s->symbolic, &s->numeric,
                                    s->control, s->info);
    hk_leave_blas();
    *regular = status == UMFPACK_OK;
    if (status != UMFPACK_OK && status != UMFPACK_WARNING_singular_matrix)
        return trouble("factorisation", status);
    return HK_OK;
}

hk_status hk_lu_solve(hk_lu *s, const double *b, double *x)
{
    hk_enter_blas();
    int status = umfpack_di_wsolve(UMFPACK_A, s->column_start, s->row, s->values, x, b, s->numeric,
                                   s->control, s->info, s->int_workspace, s->workspace);
    hk_leave_blas();
    if (status == UMFPACK_WARNING_singular_matrix) return HK_OK;
    return status == UMFPACK_OK ? HK_OK : trouble("solve", status);
}

int64_t hk_lu_size(const hk_lu *s)
{
    return s->numeric ? (int64_t)(s->info[UMFPACK_LNZ] + s->info[UMFPACK_UNZ]) : 0;
}

#else

bool hk_lu_available(void)
{
    return false;
}
const char *hk_lu_name(void)
{
    return "";
}
hk_status hk_lu_create(int count, const int32_t *column_start, const int32_t *row, hk_lu **solver)
{
    (void)count, (void)column_start, (void)row, (void)solver;
    return hk_fail(
        HK_UNSUPPORTED,
        "this build has no direct solver for systems that are not symmetric (UMFPACK was "
        "not found when it was configured)");
}
void hk_lu_free(hk_lu *solver)
{
    (void)solver;
}
hk_status hk_lu_factor(hk_lu *solver, const double *values, bool *regular)
{
    (void)solver, (void)values, (void)regular;
    return HK_UNSUPPORTED;
}
hk_status hk_lu_solve(hk_lu *solver, const double *b, double *x)
{
    (void)solver, (void)b, (void)x;
    return HK_UNSUPPORTED;
}
int64_t hk_lu_size(const hk_lu *solver)
{
    (void)solver;
    return 0;
}

#endif
