// Fitting materials to an observed shape: what the files fit*.c share.
//
// Parameters p are varied as θ, in which steps of about 1 are natural for all of them and every
// value is allowed: moduli and densities as e^θ, Poisson's ratio through a sigmoid between −1 and
// ½, coefficients of any sign as a hyperbolic sine. With residuals r = x(θ) − target at observed
// vertices, weights w, and J = ∂x/∂θ, the misfit Φ = ½ Σ w ‖r‖² has the gradient Jᵀ W r and about
// the Hessian Jᵀ W J (Gauss and Newton).
#ifndef HK_FIT_H
#define HK_FIT_H

#include "design/equilibrium.h"
#include "model/def.h"

typedef enum hk_fit_map { HK_FIT_LOG, HK_FIT_SINH, HK_FIT_POISSON } hk_fit_map;

typedef struct hk_fit_variable {
    hk_fit_parameter parameter;  // as users see it
    char *name, *field;
    hk_fit_map map;
    double scale;      // of a hyperbolic sine
    double low, high;  // range of θ
    bool density;
    bool at_end;  // of its range, and would go on
    int colour;   // variables of one colour have no material in common; -1: a density
    int material_count;
    int32_t *materials;  // [material_count] numbers in the model
} hk_fit_variable;

// Where a material comes from.
typedef struct hk_fit_source {
    int body, region;  // region -1: the body's own
    bool used;         // some tet has it
} hk_fit_source;

enum { HK_FIT_SETTING = 160 };

// An observation that was left out.
typedef struct hk_fit_rank {
    double distance;
    int32_t vertex;
} hk_fit_rank;

typedef struct hk_fit_settings {
    double tolerance, outlier;
    int iterations;
} hk_fit_settings;

struct hk_fit {
    hk_equilibrium *equilibrium;
    hk_fit_settings settings;
    int threads;  // as asked for
    double size;  // m, of the model
    hk_monitor_fn *monitor;
    void *monitor_context;
    hk_iteration iteration;  // that the monitor was last told
    bool stopped;
    double setup_ms;

    // ---- parameters (fit_variables.c)
    int material_count;
    hk_material_def *materials;  // [material_count] as they are now; curves are copies
    hk_fit_source *sources;      // [material_count]
    int variable_count;
    hk_fit_variable *variables;
    double *theta;  // [variable_count] where the equilibrium is
    int setting_count;
    char (*setting)[HK_FIT_SETTING];  // [setting_count] lines of hk_fit_setting

    // ---- observations (fit_target.c)
    int given_count;     // all that were given
    int observed_count;  // those that count come first
    int32_t *vertex;     // [given_count] model's numbers
    double *target;      // [given_count][3] m

    // ---- derivatives (fit_slopes.c)
    int colour_count;
    int32_t *variable_of;  // [colour_count][material_count], -1: none
    double *slope;         // [colour_count][tet_count][9] ∂P/∂θ
    double *P, *F;         // [tet_count][9] workspace
    double *force;         // [vertex_count][4] workspace
    double *sensitivity;   // [variable_count][vertex_count][4] ∂x/∂θ

    // ---- the fit
    double *residual;   // [observed_count][3] m
    double *weight;     // [observed_count]
    double *distance;   // [observed_count] workspace
    double *sort;       // [given_count] workspace
    uint8_t *left_out;  // [observed_count]
    double *best_x;     // [vertex_count][4]
    double *start_x;    // [vertex_count][4]
    double *trial;      // [variable_count]
    double *step;       // [variable_count]
    double *gradient;   // [variable_count] Jᵀ W r
    double *norm;       // [variable_count] ‖J‖ of every column, with weights
    double moved;       // ‖x − rest‖ of what is observed, with weights; -1: no derivatives
    double *normal;     // [variable_count][variable_count] Jᵀ W J, of those that are free to move
    double *values, *vectors;  // the same size: eigenvalues (diagonal) and eigenvectors of it

    // ---- results
    double *covariance;  // [variable_count][variable_count]
    double *positions;   // [vertex_count][3]
    double *distances;   // [vertex_count]
    int32_t *outliers;   // [observed_count]
    hk_fit_rank *ranks;  // [observed_count] workspace
    int outlier_count;
};

// ---------------------------------------------------------------- fit_variables.c

// What `vary` asks for, of the definitions.
hk_status hk_fit_take_materials(hk_fit *fit, const hk_model_input *input);
hk_status hk_fit_take_variables(hk_fit *fit, const char *vary);
void hk_fit_release_variables(hk_fit *fit);
double hk_fit_value(const hk_fit_variable *v, double theta);
double hk_fit_theta(const hk_fit_variable *v, double value);
double hk_fit_rate(const hk_fit_variable *v, double theta);  // ∂p/∂θ
// Gives a variable the value p in its materials; these are resolved, the equilibrium is not told.
hk_status hk_fit_put(hk_fit *fit, const hk_fit_variable *v, double value);
// All of them, with masses and forces; x is no equilibrium any more.
hk_status hk_fit_apply(hk_fit *fit, const double *theta);

// ---------------------------------------------------------------- fit_slopes.c

hk_status hk_fit_color(hk_fit *fit);
// ∂P/∂θ at the pose, and K.
hk_status hk_fit_linearise(hk_fit *fit, bool *stable);
// ∂x/∂θ of all variables.
hk_status hk_fit_find_sensitivity(hk_fit *fit);
// ∂Φ/∂θ of all variables for ∂Φ/∂x = `pull`, [vertex_count][4], by the adjoint state.
hk_status hk_fit_find_adjoint(hk_fit *fit, const double *pull, double *gradient);

// ---------------------------------------------------------------- fit_weights.c

// r at the equilibrium; returns Σ ‖r‖².
double hk_fit_find_residuals(hk_fit *fit);
// Of numbers that it sorts.
double hk_fit_median(double *numbers, int count);
// The standard deviation of a coordinate, from the median of the distances.
double hk_fit_scale(hk_fit *fit);
// Huber's weights for such a scale, and his function of the residuals; 0: least squares of what is
// not left out.
void hk_fit_weigh(hk_fit *fit, double scale);
double hk_fit_objective(const hk_fit *fit, double scale);
// Leaves out what is too far off, and takes in what is not; returns how many changed sides.
int hk_fit_sort_out(hk_fit *fit);

// ---------------------------------------------------------------- fit_solve.c

// How a pose could not be found, or the search ended.
typedef struct hk_fit_end {
    hk_reason reason;
    char detail[400];
} hk_fit_end;
hk_status hk_fit_run(hk_fit *fit, int *iterations, hk_fit_end *end);
// Jᵀ W r, ‖J‖ and the normal matrix; returns the relative gradient.
double hk_fit_find_normal(hk_fit *fit);
// The relative gradient for any ∂Φ/∂θ.
double hk_fit_relative(const hk_fit *fit, const double *gradient);

// ---------------------------------------------------------------- fit_results.c

// From the equilibrium to what users look at.
void hk_fit_publish(hk_fit *fit);
void hk_fit_measure(const hk_fit *fit, hk_fit_report *report);
// w r at the observed vertices, ∂Φ/∂x: [vertex_count][4].
void hk_fit_fill_pull(const hk_fit *fit, double *pull);

// ---------------------------------------------------------------- fit_confidence.c

// Eigenvalues of normal matrices below this, relative to the largest, are nothing but rounding.
#define HK_FIT_NO_EIGENVALUE 1e-12
// Of the normal matrix relative to its largest entry, or with columns scaled to length 1.
void hk_fit_diagonalise(hk_fit *fit, bool scaled);
// Deviations, covariances and what cannot be told apart.
void hk_fit_judge(hk_fit *fit, hk_fit_report *report);
// Whether what is observed is anywhere else than at rest.
bool hk_fit_moves(const hk_fit *fit);
// Whether a variable moves it; `norm` is ‖J‖.
bool hk_fit_has_influence(const hk_fit *fit, int variable);

#endif
