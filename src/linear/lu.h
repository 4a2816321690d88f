// Direct solution of sparse systems that are not symmetric (UMFPACK): the pattern is analysed once,
// numbers are factored again and again.
#ifndef HK_LU_H
#define HK_LU_H

#include "core/base.h"

typedef struct hk_lu hk_lu;

// Whether this build has one.
bool hk_lu_available(void);
// "UMFPACK 5.7.9"; "" in a build without.
const char *hk_lu_name(void);

// A square matrix by columns, rows ascending: column_start[count + 1], row[column_start[count]];
// both must outlive the solver. Columns come in a good order for elimination already.
hk_status hk_lu_create(int count, const int32_t *column_start, const int32_t *row, hk_lu **solver);
void hk_lu_free(hk_lu *solver);
// `regular` says whether there is a factor to solve with now. `values` must stay as they are until
// the next factorisation: solves look at them.
hk_status hk_lu_factor(hk_lu *solver, const double *values, bool *regular);
hk_status hk_lu_solve(hk_lu *solver, const double *b, double *x);  // x must not be b
int64_t hk_lu_size(const hk_lu *solver);                           // numbers in both triangles

#endif
