// Every material: derivatives by finite differences, the closed form of its stress in uniaxial,
// sheared and volumetric states, rest, rotations, small strain, positive projection, bad input.
#include "bodies.h"
#include "material/material.h"

static const double YOUNG = 3e5, POISSON = 0.37;
static double lame_mu(void)
{
    return YOUNG / (2 * (1 + POISSON));
}
static double lame_lambda(void)
{
    return YOUNG * POISSON / ((1 + POISSON) * (1 - 2 * POISSON));
}

// ---------------------------------------------------------------- the cases

// Control points of f′, g′ (zero at 1) and h′ for a spline that is not the default.
static const double SPLINE_F[] = {0.2, -2.1e5, 0.6, -0.95e5, 1.0, 0, 1.5, 1.1e5, 2.5, 4e5};
static const double SPLINE_G[] = {0.1, -1e4, 1.0, 0, 2.0, 2e4};
static const double SPLINE_H[] = {-0.5, -4e5, 0.5, -1.2e5, 1.0, 0, 2.0, 3e5};
static const double POLY_F[] = {0, 0, 1.1e5, 2e4, 1e4};
static const double POLY_G[] = {0, 0, 1e4};
static const double POLY_H[] = {0, 0, 1e5, 0, 3e4};

typedef struct material_case {
    const char *label;
    hk_material_def def;
    bool barrier, isotropic;
    bool from_moduli;  // agrees with E and ν in small strain
} material_case;

static hk_material_def standard(const char *model)
{
    hk_material_def def = hk_default_material_def();
    def.model = model;
    def.young = YOUNG;
    def.poisson = POISSON;
    return def;
}

static int all_cases(material_case *cases)
{
    int n = 0;
    for (int k = 0; k < solid_count(); k++) {
        const char *name = hk_material_name(k);
        bool barrier = hk_law_describe((hk_law)k)->barrier;
        cases[n++] =
            (material_case){name, standard(name), barrier, true, strcmp(name, "arap") != 0};
    }
    hk_material_def penalty = standard("stvk");
    penalty.parameters[penalty.parameter_count++] = (hk_parameter){"volume_penalty", 5e4};
    cases[n++] = (material_case){"stvk + penalty", penalty, false, true, false};
    hk_material_def spline = standard("spline");
    spline.f = (hk_curve){SPLINE_F, 5};
    spline.g = (hk_curve){SPLINE_G, 3};
    spline.h = (hk_curve){SPLINE_H, 4};
    cases[n++] = (material_case){"spline, drawn", spline, false, true, false};
    hk_material_def poly = standard("polynomial");
    poly.f = (hk_curve){POLY_F, 5};
    poly.g = (hk_curve){POLY_G, 3};
    poly.h = (hk_curve){POLY_H, 5};
    cases[n++] = (material_case){"polynomial, given", poly, false, true, false};
    hk_material_def orthotropic = standard("spline");
    orthotropic.axes[0] = (hk_curve){SPLINE_F, 5};
    orthotropic.axes[2] = (hk_curve){SPLINE_H, 4};
    orthotropic.axis_directions[0][1] = 0.5;
    cases[n++] = (material_case){"spline, orthotropic", orthotropic, false, false, false};
    hk_material_def poly_axes = standard("polynomial");
    poly_axes.axes[1] = (hk_curve){POLY_F, 5};
    cases[n++] = (material_case){"polynomial, orthotropic", poly_axes, false, false, false};
    hk_material_def limits = standard("projective");
    limits.parameters[limits.parameter_count++] = (hk_parameter){"limit", 2e5};
    limits.parameters[limits.parameter_count++] = (hk_parameter){"low", 0.93};
    limits.parameters[limits.parameter_count++] = (hk_parameter){"high", 1.17};
    cases[n++] = (material_case){"projective, limits", limits, false, true, true};
    hk_material_def fibre = standard("neo_hookean");
    fibre.fibre_stiffness = 4e5;
    fibre.fibre_direction[0] = 1;
    fibre.fibre_direction[1] = 2;
    fibre.fibre_direction[2] = -0.5;
    cases[n++] = (material_case){"neo_hookean + fibre", fibre, true, false, false};
    hk_material_def soft = standard("corotated");
    soft.fibre_stiffness = 4e5;
    cases[n++] = (material_case){"corotated + fibre", soft, false, false, false};
    return n;
}

enum { MOST_CASES = 32 };

typedef struct gradient_case {
    const char *label;
    double F[9];
    bool inverted;
} gradient_case;

static const gradient_case STATES[] = {
    {"rest", {1, 0, 0, 0, 1, 0, 0, 0, 1}, false},
    {"near rest", {1.001, 0.002, 0, -0.001, 0.999, 0.001, 0.0005, 0, 1.002}, false},
    {"stretched", {1.8, 0, 0, 0, 0.9, 0, 0, 0, 0.85}, false},
    {"two equal stretches", {1.5, 0, 0, 0, 1.5, 0, 0, 0, 0.7}, false},
    {"grown", {1.4, 0, 0, 0, 1.4, 0, 0, 0, 1.4}, false},
    {"sheared", {1, 0.8, 0, 0, 1, 0.3, 0, 0, 1}, false},
    {"turned and stretched", {0.31, -1.12, 0.42, 1.24, 0.22, -0.35, 0.18, 0.44, 1.05}, false},
    {"compressed", {0.5, 0.1, 0, 0, 0.45, 0.05, 0.02, 0, 0.6}, false},
    {"nearly flat", {1.1, 0.1, 0, 0.05, 0.95, 0, 0.1, -0.05, 0.08}, false},
    {"swollen", {2.6, 0.3, 0, 0, 2.2, 0.2, 0, 0.1, 2.4}, false},
    {"inverted", {1.1, 0.2, 0, 0, 0.9, 0.1, 0.1, 0, -0.6}, true},
    {"inverted and turned", {0.25, 1.05, -0.35, 1.15, -0.2, 0.1, 0.3, 0.2, 0.75}, true},
};
enum { STATE_COUNT = sizeof STATES / sizeof STATES[0] };

static void evaluate(const hk_material_def *def, const double F[9], bool projected, double *energy,
                     double P[9], double H[81])
{
    if (hk_material_evaluate(def, F, projected, energy, P, H) != HK_OK) fail_msg("%s", hk_error());
}

static double norm(const double *a, int count)
{
    double sum = 0;
    for (int k = 0; k < count; k++) sum += a[k] * a[k];
    return sqrt(sum);
}

typedef void state_check(const material_case *m, const gradient_case *s);

static void for_each_state(state_check *check)
{
    material_case cases[MOST_CASES];
    int count = all_cases(cases);
    for (int c = 0; c < count; c++)
        for (int s = 0; s < STATE_COUNT; s++)
            if (!(STATES[s].inverted && cases[c].barrier)) check(&cases[c], &STATES[s]);
}

// ---------------------------------------------------------------- derivatives

static void check_stress(const material_case *m, const gradient_case *s)
{
    double P[9], difference[9], H[81], error[9];
    evaluate(&m->def, s->F, false, NULL, P, H);
    for (int k = 0; k < 9; k++) {
        // Fourth-order central difference.
        double value[4], at[4] = {-2, -1, 1, 2}, h = 1e-4;
        for (int q = 0; q < 4; q++) {
            double F[9];
            memcpy(F, s->F, sizeof F);
            F[k] += at[q] * h;
            evaluate(&m->def, F, false, &value[q], NULL, NULL);
        }
        difference[k] = (value[0] - 8 * value[1] + 8 * value[2] - value[3]) / (12 * h);
        error[k] = difference[k] - P[k];
    }
    double scale = fmax(norm(P, 9), 1e-3 * norm(H, 81));
    if (!(norm(error, 9) <= 1e-6 * scale))
        fail_msg("%s, %s: stress is off by %.2e of %.2e", m->label, s->label, norm(error, 9),
                 scale);
}

static void check_hessian(const material_case *m, const gradient_case *s)
{
    double H[81], error[81];
    evaluate(&m->def, s->F, false, NULL, NULL, H);
    for (int k = 0; k < 9; k++) {
        double P[4][9], at[4] = {-2, -1, 1, 2}, h = 1e-4;
        for (int q = 0; q < 4; q++) {
            double F[9];
            memcpy(F, s->F, sizeof F);
            F[k] += at[q] * h;
            evaluate(&m->def, F, false, NULL, P[q], NULL);
        }
        for (int r = 0; r < 9; r++)
            error[9 * r + k] =
                (P[0][r] - 8 * P[1][r] + 8 * P[2][r] - P[3][r]) / (12 * h) - H[9 * r + k];
    }
    if (!(norm(error, 81) <= 1e-5 * norm(H, 81)))
        fail_msg("%s, %s: Hessian is off by %.2e of %.2e", m->label, s->label, norm(error, 81),
                 norm(H, 81));
    for (int r = 0; r < 9; r++)
        for (int k = 0; k < r; k++)
            if (!(fabs(H[9 * r + k] - H[9 * k + r]) <= 1e-9 * norm(H, 81)))
                fail_msg("%s, %s: Hessian is not symmetric", m->label, s->label);
}

static void test_stress_is_derivative_of_energy(void **state)
{
    (void)state;
    for_each_state(check_stress);
}

static void test_hessian_is_derivative_of_stress(void **state)
{
    (void)state;
    for_each_state(check_hessian);
}

// ---------------------------------------------------------------- positive projection

// Eigenvalues of a symmetric 9×9 matrix by cyclic Jacobi.
static void eigenvalues9(const double in[81], double values[9])
{
    double a[81];
    memcpy(a, in, sizeof a);
    for (int sweep = 0; sweep < 60; sweep++)
        for (int p = 0; p < 9; p++)
            for (int q = p + 1; q < 9; q++) {
                double apq = a[9 * p + q];
                if (apq == 0) continue;
                double theta = (a[10 * q] - a[10 * p]) / (2 * apq);
                double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < 9; k++) {
                    double x = a[9 * k + p], y = a[9 * k + q];
                    a[9 * k + p] = c * x - s * y;
                    a[9 * k + q] = s * x + c * y;
                }
                for (int k = 0; k < 9; k++) {
                    double x = a[9 * p + k], y = a[9 * q + k];
                    a[9 * p + k] = c * x - s * y;
                    a[9 * q + k] = s * x + c * y;
                }
            }
    for (int k = 0; k < 9; k++) values[k] = a[10 * k];
}

static double least(const double *values)
{
    double low = INFINITY;
    for (int k = 0; k < 9; k++) low = fmin(low, values[k]);
    return low;
}

static void check_projection(const material_case *m, const gradient_case *s)
{
    double exact[81], positive[81], difference[81], exact_values[9], values[9], added[9];
    evaluate(&m->def, s->F, false, NULL, NULL, exact);
    evaluate(&m->def, s->F, true, NULL, NULL, positive);
    for (int k = 0; k < 81; k++) difference[k] = positive[k] - exact[k];
    eigenvalues9(exact, exact_values);
    eigenvalues9(positive, values);
    eigenvalues9(difference, added);
    double scale = norm(exact, 81);
    if (!(least(values) >= -1e-9 * scale))
        fail_msg("%s, %s: projected Hessian has eigenvalue %.2e", m->label, s->label,
                 least(values));
    // It only lifts, and changes nothing where nothing is negative.
    if (!(least(added) >= -1e-9 * scale))
        fail_msg("%s, %s: projection lowers by %.2e", m->label, s->label, least(added));
    if (least(exact_values) >= 0 && m->isotropic && !(norm(difference, 81) <= 1e-9 * scale))
        fail_msg("%s, %s: projection changes a positive Hessian", m->label, s->label);
    // For one law it is the nearest positive matrix: negative eigenvalues become 0.
    if (!m->isotropic) return;
    double lifted = 0, expected = 0;
    for (int k = 0; k < 9; k++) {
        lifted += added[k];
        expected += fmax(0, -exact_values[k]);
    }
    if (!(fabs(lifted - expected) <= 1e-8 * scale))
        fail_msg("%s, %s: lifted by %g, not %g", m->label, s->label, lifted, expected);
}

static void test_projected_hessian_is_positive(void **state)
{
    (void)state;
    for_each_state(check_projection);
}

// ---------------------------------------------------------------- rest, rotation, small strain

static void test_rest_is_free_of_stress_and_energy(void **state)
{
    (void)state;
    material_case cases[MOST_CASES];
    int count = all_cases(cases);
    for (int c = 0; c < count; c++) {
        double energy, P[9], H[81];
        evaluate(&cases[c].def, STATES[0].F, false, &energy, P, H);
        if (!(fabs(energy) <= 1e-12 * norm(H, 81) && norm(P, 9) <= 1e-12 * norm(H, 81)))
            fail_msg("%s at rest: energy %g, stress %g", cases[c].label, energy, norm(P, 9));
    }
}

static void product(const double a[9], const double b[9], double c[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

static void check_rotations(const material_case *m, const gradient_case *s)
{
    // A rotation by 1.1 about (2, −1, 2)/3.
    double c = cos(1.1), d = 1 - c, n = sin(1.1), x = 2.0 / 3, y = -1.0 / 3, z = 2.0 / 3;
    double Q[9] = {c + d * x * x,     d * x * y - n * z, d * x * z + n * y,
                   d * x * y + n * z, c + d * y * y,     d * y * z - n * x,
                   d * x * z - n * y, d * y * z + n * x, c + d * z * z};
    double QF[9], FQ[9], e, eq, er, P[9], PQ[9], QP[9], PR[9], RP[9];
    product(Q, s->F, QF);
    product(s->F, Q, FQ);
    evaluate(&m->def, s->F, false, &e, P, NULL);
    evaluate(&m->def, QF, false, &eq, PQ, NULL);
    product(Q, P, QP);
    double scale = fmax(norm(P, 9), 1e-3 * YOUNG);
    for (int k = 0; k < 9; k++)
        if (!(fabs(PQ[k] - QP[k]) <= 1e-10 * scale))
            fail_msg("%s, %s: stress does not turn with the body", m->label, s->label);
    if (!(fabs(e - eq) <= 1e-11 * fmax(fabs(e), YOUNG)))
        fail_msg("%s, %s: energy changes by rotation", m->label, s->label);
    if (!m->isotropic) return;
    evaluate(&m->def, FQ, false, &er, PR, NULL);
    product(P, Q, RP);
    if (!(fabs(e - er) <= 1e-11 * fmax(fabs(e), YOUNG)))
        fail_msg("%s, %s: not isotropic", m->label, s->label);
    for (int k = 0; k < 9; k++)
        if (!(fabs(PR[k] - RP[k]) <= 1e-10 * scale))
            fail_msg("%s, %s: stress is not isotropic", m->label, s->label);
}

static void test_rotations(void **state)
{
    (void)state;
    for_each_state(check_rotations);
}

static void test_small_strain_is_linear_elasticity(void **state)
{
    (void)state;
    static const double A[9] = {0.3, -0.7, 0.2, 0.4, 0.9, -0.1, 0.6, 0.5, -0.8};
    material_case cases[MOST_CASES];
    int count = all_cases(cases);
    for (int c = 0; c < count; c++) {
        bool arap = strcmp(cases[c].label, "arap") == 0;
        bool penalty = strcmp(cases[c].label, "stvk + penalty") == 0;
        if (!cases[c].from_moduli && !arap && !penalty) continue;
        double lambda = arap ? 0 : lame_lambda() + (penalty ? 2 * 5e4 : 0), mu = lame_mu();
        for (double h = 1e-3; h > 1e-6; h /= 10) {
            double F[9], P[9];
            for (int k = 0; k < 9; k++) F[k] = STATES[0].F[k] + h * A[k];
            evaluate(&cases[c].def, F, false, NULL, P, NULL);
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    double expected = mu * (A[3 * i + j] + A[3 * j + i]) +
                                      (i == j) * lambda * (A[0] + A[4] + A[8]);
                    // First-order agreement: the error shrinks with the strain.
                    if (!(fabs(P[3 * i + j] / h - expected) <= 30 * h * YOUNG))
                        fail_msg("%s, strain %g: P_%d%d/h = %g, expected %g", cases[c].label, h, i,
                                 j, P[3 * i + j] / h, expected);
                }
        }
    }
}

// ---------------------------------------------------------------- closed forms

typedef struct closed_form {  // of one law
    const char *model;
    double (*uniaxial)(double s);          // P₀₀ of diag(s, 1, 1)
    double (*uniaxial_lateral)(double s);  // P₁₁ of it
    double (*shear)(double g);             // P₀₁ of 1 + g e₀ e₁ᵀ
    double (*volumetric)(double s);        // P₀₀ of s 1
} closed_form;

#define MU     lame_mu()
#define LAMBDA lame_lambda()
#define BULK   (LAMBDA + 2 * MU / 3)

static double corotated_u(double s)
{
    return (2 * MU + LAMBDA) * (s - 1);
}
static double corotated_l(double s)
{
    return LAMBDA * (s - 1);
}
// R turns by atan(g/2): R₀₁ = g/√(4 + g²), tr(RᵀF) = 1 + √(4 + g²).
static double corotated_s(double g)
{
    double r = sqrt(4 + g * g);
    return 2 * MU * (g - g / r) + LAMBDA * (r - 2) * g / r;
}
static double corotated_v(double s)
{
    return (2 * MU + 3 * LAMBDA) * (s - 1);
}
static double fixed_l(double s)
{
    return LAMBDA * (s - 1) * s;
}
static double arap_s(double g)
{
    return 2 * MU * (g - g / sqrt(4 + g * g));
}
static double fixed_v(double s)
{
    return 2 * MU * (s - 1) + LAMBDA * (s * s * s - 1) * s * s;
}
static double arap_u(double s)
{
    return 2 * MU * (s - 1);
}
static double arap_l(double s)
{
    return 0 * s;
}
static double stvk_u(double s)
{
    return s * (LAMBDA + 2 * MU) * (s * s - 1) / 2;
}
static double stvk_l(double s)
{
    return LAMBDA * (s * s - 1) / 2;
}
static double stvk_s(double g)
{
    return MU * g + (LAMBDA / 2 + MU) * g * g * g;
}
static double stvk_v(double s)
{
    return s * (3 * LAMBDA + 2 * MU) * (s * s - 1) / 2;
}
static double neo_u(double s)
{
    return MU * (s - 1 / s) + LAMBDA * log(s) / s;
}
static double neo_l(double s)
{
    return LAMBDA * log(s);
}
static double neo_s(double g)
{
    return MU * g;
}
static double neo_v(double s)
{
    return MU * (s - 1 / s) + 3 * LAMBDA * log(s) / s;
}

static double wy_volume(double j, double dj)
{
    return BULK * (j - 1) * dj;
}
// d/dσ of J^{−2/3} I at diag(s, 1, 1).
static double bar_u(double s)
{
    return 4.0 / 3 * (cbrt(s) - pow(s, -5.0 / 3));
}
static double bar_l(double s)
{
    return 2.0 / 3 * pow(s, -2.0 / 3) * (1 - s * s);
}
static double wy_u(double s)
{
    return MU / 2 * bar_u(s) + wy_volume(s, 1);
}
static double wy_l(double s)
{
    return MU / 2 * bar_l(s) + wy_volume(s, s);
}
static double wy_s(double g)
{
    return MU * g;
}
static double wy_v(double s)
{
    return wy_volume(s * s * s, s * s);
}
static double mooney_u(double s)
{
    return MU / 4 * bar_u(s) + MU / 3 * (pow(s, -1.0 / 3) - pow(s, -7.0 / 3)) + wy_volume(s, 1);
}
static double mooney_l(double s)
{
    return MU / 4 * bar_l(s) + MU / 6 * pow(s, -4.0 / 3) * (1 - s * s) + wy_volume(s, s);
}
static double fung_rate(double s)  // s₀ + s₂ s₃ exp(s₃ (Ī − 3)) with s₀ = s₂ = μ/4, s₃ = 1
{
    return MU / 4 * (1 + exp(pow(s, -2.0 / 3) * (s * s + 2) - 3));
}
static double fung_u(double s)
{
    return fung_rate(s) * bar_u(s) + wy_volume(s, 1);
}
static double fung_l(double s)
{
    return fung_rate(s) * bar_l(s) + wy_volume(s, s);
}
static double fung_s(double g)
{
    return 2 * g * MU / 4 * (1 + exp(g * g));
}

static double snh_mu(void)
{
    return 4 * MU / 3;
}
static double snh_lambda(void)
{
    return LAMBDA + 5 * MU / 6;
}
static double snh_pressure(double j)
{
    return snh_lambda() * (j - 1 - 0.75 * snh_mu() / snh_lambda());
}
static double snh_shape(double i)
{
    return snh_mu() * (1 - 1 / (i + 1));
}
static double snh_u(double s)
{
    return snh_shape(s * s + 2) * s + snh_pressure(s);
}
static double snh_l(double s)
{
    return snh_shape(s * s + 2) + snh_pressure(s) * s;
}
static double snh_s(double g)
{
    return snh_shape(3 + g * g) * g;
}
static double snh_v(double s)
{
    return snh_shape(3 * s * s) * s + snh_pressure(s * s * s) * s * s;
}

// The nearest (x, y, y) with x y² = 1 to (s, 1, 1): y between 1 and s^{−1/2}.
static double sl3_uniaxial_y(double s)
{
    double low = fmin(1, 1 / sqrt(s)), high = fmax(1, 1 / sqrt(s));
    for (int k = 0; k < 200; k++) {
        double y = (low + high) / 2;
        bool beyond = (y - 1) - (1 / (y * y) - s) / (y * y * y) > 0;
        *(beyond ? &high : &low) = y;
    }
    return (low + high) / 2;
}
static double projective_u(double s)
{
    double y = sl3_uniaxial_y(s);
    return 2 * MU * (s - 1) + 3 * LAMBDA * (s - 1 / (y * y));
}
static double projective_l(double s)
{
    return 3 * LAMBDA * (1 - sl3_uniaxial_y(s));
}
// The nearest point is the identity up to a stretch of 1.9; beyond, one axis gives way.
static double projective_v(double s)
{
    return (2 * MU + 3 * LAMBDA) * (s - 1);
}

static const closed_form FORMS[] = {
    {"corotated", corotated_u, corotated_l, corotated_s, corotated_v},
    {"fixed_corotated", corotated_u, fixed_l, arap_s, fixed_v},
    {"arap", arap_u, arap_l, arap_s, arap_u},
    {"stvk", stvk_u, stvk_l, stvk_s, stvk_v},
    {"neo_hookean", neo_u, neo_l, neo_s, neo_v},
    {"neo_hookean_wy", wy_u, wy_l, wy_s, wy_v},
    {"mooney_rivlin", mooney_u, mooney_l, wy_s, wy_v},
    {"fung", fung_u, fung_l, fung_s, wy_v},
    {"stable_neo_hookean", snh_u, snh_l, snh_s, snh_v},
    {"spline", corotated_u, fixed_l, arap_s, fixed_v},
    {"polynomial", corotated_u, fixed_l, arap_s, fixed_v},
    {"projective", projective_u, projective_l, arap_s, projective_v},
};
enum { FORM_COUNT = sizeof FORMS / sizeof FORMS[0] };

static void expect(const char *model, const char *what, double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-10 * YOUNG))
        fail_msg("%s, %s: %.12g, expected %.12g", model, what, found, expected);
}

static void test_closed_forms(void **state)
{
    (void)state;
    for (int k = 0; k < FORM_COUNT; k++) {
        hk_material_def def = standard(FORMS[k].model);
        double P[9];
        for (double s = 0.4; s < 2; s += 0.3) {
            double U[9] = {s, 0, 0, 0, 1, 0, 0, 0, 1}, V[9] = {s, 0, 0, 0, s, 0, 0, 0, s};
            double g = 2 * (s - 1), S[9] = {1, g, 0, 0, 1, 0, 0, 0, 1};
            evaluate(&def, U, false, NULL, P, NULL);
            expect(def.model, "uniaxial", P[0], FORMS[k].uniaxial(s));
            expect(def.model, "lateral", P[4], FORMS[k].uniaxial_lateral(s));
            expect(def.model, "lateral", P[8], FORMS[k].uniaxial_lateral(s));
            evaluate(&def, V, false, NULL, P, NULL);
            expect(def.model, "volumetric", P[0], FORMS[k].volumetric(s));
            expect(def.model, "volumetric shear", P[1], 0);
            evaluate(&def, S, false, NULL, P, NULL);
            expect(def.model, "shear", P[1], FORMS[k].shear(g));
        }
    }
}

static void test_fibre_closed_form(void **state)
{
    (void)state;
    hk_material_def base = standard("stable_neo_hookean"), fibre = base;
    fibre.fibre_stiffness = 7e4;
    fibre.fibre_direction[0] = 2;  // its length does not matter
    for (double s = 0.5; s < 2; s += 0.25) {
        double F[9] = {s, 0, 0, 0, 1, 0, 0, 0, 1}, with[9], without[9];
        evaluate(&fibre, F, false, NULL, with, NULL);
        evaluate(&base, F, false, NULL, without, NULL);
        expect("fibre", "along", with[0] - without[0], 7e4 * (s - 1));
        expect("fibre", "across", with[4] - without[4], 0);
    }
}

// Each axis has its own force: the derivative of its curve at the stretch along it.
static void test_orthotropic_closed_form(void **state)
{
    (void)state;
    hk_material_def base = standard("polynomial"), axes = base;
    static const double x[] = {0, 0, 5e4, 1e4}, z[] = {0, 0, 2e4};
    axes.axes[0] = (hk_curve){x, 4};
    axes.axes[2] = (hk_curve){z, 3};
    for (double s = 0.5; s < 2; s += 0.25) {
        double F[9] = {s, 0, 0, 0, 1.2, 0, 0, 0, 1.5}, with[9], without[9], d = s - 1;
        evaluate(&axes, F, false, NULL, with, NULL);
        evaluate(&base, F, false, NULL, without, NULL);
        expect("orthotropic", "x", with[0] - without[0], 2 * 5e4 * d + 3 * 1e4 * d * d);
        expect("orthotropic", "y", with[4] - without[4], 0);
        expect("orthotropic", "z", with[8] - without[8], 2 * 2e4 * 0.5);
    }
}

// Within the limits of stretch nothing is added, beyond them a force in proportion to the excess.
static void test_limits_closed_form(void **state)
{
    (void)state;
    hk_material_def base = standard("projective"), limits = base;
    limits.parameters[0] = (hk_parameter){"limit", 6e4};
    limits.parameter_count = 1;  // low 0.95, high 1.05
    for (double s = -0.4; s < 2; s += 0.11) {
        double F[9] = {s, 0, 0, 0, 1.04, 0, 0, 0, 1.3}, with[9], without[9];
        double excess = s < 0.95 ? s - 0.95 : s > 1.05 ? s - 1.05 : 0;
        evaluate(&limits, F, false, NULL, with, NULL);
        evaluate(&base, F, false, NULL, without, NULL);
        expect("limits", "x", with[0] - without[0], 2 * 6e4 * excess);
        expect("limits", "y", with[4] - without[4], 0);
        expect("limits", "z", with[8] - without[8], 2 * 6e4 * 0.25);
    }
}

// ---------------------------------------------------------------- undefined states, bad input

static void test_barrier_is_infinite(void **state)
{
    (void)state;
    material_case cases[MOST_CASES];
    int count = all_cases(cases);
    for (int c = 0; c < count; c++)
        for (int s = 0; s < STATE_COUNT; s++) {
            if (!STATES[s].inverted) continue;
            double energy, P[9], H[81];
            evaluate(&cases[c].def, STATES[s].F, true, &energy, P, H);
            if (cases[c].barrier != (energy == INFINITY))
                fail_msg("%s, %s: energy %g", cases[c].label, STATES[s].label, energy);
            for (int k = 0; k < 81; k++) assert_true(isfinite(H[k]));
            for (int k = 0; k < 9; k++) assert_true(isfinite(P[k]));
        }
    // An exponent that would overflow counts as undefined too.
    hk_material_def fung = standard("fung");
    double far[9] = {60, 0, 0, 0, 1, 0, 0, 0, 1}, energy;
    evaluate(&fung, far, false, &energy, NULL, NULL);
    assert_true(energy == INFINITY);
}

static void test_own_parameters(void **state)
{
    (void)state;
    hk_material_def def = standard("neo_hookean");
    def.young = def.poisson = NAN;
    def.parameters[0] = (hk_parameter){"mu", 2e4};
    def.parameters[1] = (hk_parameter){"lambda", 5e4};
    def.parameter_count = 2;
    double F[9] = {1.3, 0, 0, 0, 1, 0, 0, 0, 1}, P[9];
    evaluate(&def, F, false, NULL, P, NULL);
    expect("neo_hookean", "own", P[0], 2e4 * (1.3 - 1 / 1.3) + 5e4 * log(1.3) / 1.3);
    // What need not be named has its usual value.
    hk_material_def pd = standard("projective");
    pd.young = pd.poisson = NAN;
    pd.parameters[0] = (hk_parameter){"so3", 2e4};
    pd.parameters[1] = (hk_parameter){"sl3", 3e4};
    pd.parameters[2] = (hk_parameter){"limit", 4e4};
    pd.parameter_count = 3;
    double V[9] = {1.3, 0, 0, 0, 1.3, 0, 0, 0, 1.3};
    evaluate(&pd, V, false, NULL, P, NULL);
    expect("projective", "own", P[0], 2 * (5e4 * 0.3 + 4e4 * 0.25));
    // Named coefficients replace those from the moduli.
    hk_material_def wy = standard("neo_hookean_wy");
    wy.parameters[0] = (hk_parameter){"s0", 4e4};
    wy.parameter_count = 1;
    evaluate(&wy, F, false, NULL, P, NULL);
    expect("neo_hookean_wy", "mixed", P[0], 4e4 * bar_u(1.3) + wy_volume(1.3, 1));
}

// What the list of materials says is true: every name resolves, every parameter is taken by its
// name, and beyond the ends there is nothing.
static void test_list_of_materials(void **state)
{
    (void)state;
    int count = solid_count();
    assert_true(count >= 12);
    for (int k = 0; k < count; k++) {
        const char *name = hk_material_name(k), *const *parameters = hk_material_parameters(k);
        assert_true(strlen(hk_material_summary(k)) > 10);
        assert_non_null(parameters);
        for (int q = 0; q < k; q++) assert_string_not_equal(name, hk_material_name(q));
        assert_string_not_equal(name, "fibre");  // it is added to others
        double with[9], without[9];
        evaluate(
            &(hk_material_def){
                .def_size = sizeof(hk_material_def), .model = name, .young = 1e5, .poisson = 0.3},
            STATES[2].F, false, NULL, without, NULL);
        for (int q = 0; parameters[q]; q++) {
            hk_material_def def = standard(name);
            def.young = 1e5;
            def.poisson = 0.3;
            def.parameters[0] = (hk_parameter){parameters[q], 2.5e4};
            if (strcmp(parameters[q], "s3") == 0) def.parameters[0].value = 2;  // an exponent
            def.parameter_count = 1;
            // Limits of stretch around 1, which matter once they are enforced.
            bool low = strcmp(parameters[q], "low") == 0, high = strcmp(parameters[q], "high") == 0;
            if (low || high) {
                def.parameters[0].value = low ? 0.88 : 1.2;
                def.parameters[def.parameter_count++] = (hk_parameter){"limit", 2.5e4};
                hk_material_def plain = def;
                plain.parameters[0] = plain.parameters[1];
                plain.parameter_count = 1;
                evaluate(&plain, STATES[2].F, false, NULL, without, NULL);
            }
            evaluate(&def, STATES[2].F, false, NULL, with, NULL);
            if (memcmp(with, without, sizeof with) == 0)
                fail_msg("%s: %s changes nothing", name, parameters[q]);
        }
    }
    for (int k = 0; k < 2; k++) {
        int beyond = k ? hk_material_count() : -1;
        assert_null(hk_material_name(beyond));
        assert_null(hk_material_summary(beyond));
        assert_null(hk_material_parameters(beyond));
    }
    hk_material_def standard_def = hk_default_material_def();
    assert_string_equal(standard_def.model, "neo_hookean");
    assert_true(standard_def.young == 1e6 && standard_def.poisson == 0.45 &&
                standard_def.density == 1000);
}

// Outputs of a call that fails stay as they were; a gradient that is not finite is an undefined
// state, not a crash.
static void test_single_evaluations_refuse_nonsense(void **state)
{
    (void)state;
    double F[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, energy = 7, P[9] = {7}, H[81] = {7};
    hk_material_def bad[5];
    for (int k = 0; k < 5; k++) bad[k] = standard(k < 2 ? "spline" : "neo_hookean");
    bad[0].f = (hk_curve){NULL, 3};
    bad[1].h = (hk_curve){SPLINE_H, -1};
    bad[2].fibre_stiffness = NAN;
    bad[3].model = NULL;
    bad[4].parameter_count = HK_MAX_PARAMETERS + 1;
    for (int k = 0; k < 5; k++)
        assert_int_equal(hk_material_evaluate(&bad[k], F, true, &energy, P, H), HK_BAD_INPUT);
    hk_material_def def = standard("neo_hookean");
    assert_int_equal(hk_material_evaluate(NULL, F, true, &energy, P, H), HK_BAD_INPUT);
    assert_int_equal(hk_material_evaluate(&def, NULL, true, &energy, P, H), HK_BAD_INPUT);
    assert_true(energy == 7 && P[0] == 7 && H[0] == 7);
    material_case cases[MOST_CASES];
    int count = all_cases(cases);
    for (int c = 0; c < count; c++)
        for (int k = 0; k < 9; k++) {
            double G[9];
            memcpy(G, F, sizeof G);
            G[k] = k % 2 ? NAN : INFINITY;
            evaluate(&cases[c].def, G, true, &energy, P, H);
            assert_true(energy == INFINITY);
            for (int q = 0; q < 81; q++) assert_true(H[q] == 0);
            for (int q = 0; q < 9; q++) assert_true(P[q] == 0);
        }
}

static void expect_refusal(hk_material_def def, const char *fragment)
{
    // Through a model, where a material is checked in full.
    hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_BOX);
    hk_mesh *mesh = NULL;
    assert_int_equal(hk_mesh_make(&shape, &mesh), HK_OK);
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material = def;
    hk_model_def model_def = hk_default_model_def();
    model_def.bodies = &body;
    model_def.body_count = 1;
    hk_model *model = NULL;
    hk_status status = hk_model_create(&model_def, &model);
    hk_mesh_free(mesh);
    if (status != HK_BAD_INPUT || model) fail_msg("accepted: %s", fragment);
    if (!strstr(hk_error(), fragment)) fail_msg("\"%s\" lacks \"%s\"", hk_error(), fragment);
}

static void test_impossible_parameters_are_refused(void **state)
{
    (void)state;
    hk_material_def d = standard("neo_hookean");
    static const struct {
        double young, poisson, density;
        const char *fragment;
    } bad[] = {
        {0, 0.3, 1000, "young"},     {-1, 0.3, 1000, "young"},    {NAN, 0.3, 1000, "young"},
        {INFINITY, 0.3, 1, "young"}, {1e6, 0.5, 1000, "poisson"}, {1e6, 0.7, 1000, "poisson"},
        {1e6, -1, 1000, "poisson"},  {1e6, NAN, 1000, "poisson"}, {1e6, 0.3, 0, "density"},
        {1e6, 0.3, NAN, "density"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        d = standard("neo_hookean");
        d.young = bad[k].young;
        d.poisson = bad[k].poisson;
        d.density = bad[k].density;
        expect_refusal(d, bad[k].fragment);
    }
    d = standard("rubber");
    expect_refusal(d, "unknown model \"rubber\" (known: corotated");
    d = standard("neo_hookean");
    d.parameters[0] = (hk_parameter){"s0", 1};
    d.parameter_count = 1;
    expect_refusal(d, "no parameter \"s0\"");
    d.parameters[0] = (hk_parameter){"mu", -1};
    expect_refusal(d, "mu must be greater than 0");
    d.young = d.poisson = NAN;
    d.parameters[0] = (hk_parameter){"mu", 1e5};
    expect_refusal(d, "lambda is missing");
    d = standard("neo_hookean");
    d.parameters[0] = (hk_parameter){"lambda", -1e6};
    d.parameter_count = 1;
    expect_refusal(d, "unstable at rest");
    d = standard("neo_hookean");
    d.fibre_stiffness = -1;
    expect_refusal(d, "fibre stiffness");
    d.fibre_stiffness = 1;
    d.fibre_direction[0] = 0;
    expect_refusal(d, "fibre direction");
    d = standard("projective");
    d.parameters[0] = (hk_parameter){"low", 1.01};
    d.parameter_count = 1;
    expect_refusal(d, "low must be at most 1 (is 1.01)");
    d.parameters[0] = (hk_parameter){"high", 0.99};
    expect_refusal(d, "high at least 1 (is 0.99)");
    d.young = d.poisson = NAN;
    d.parameters[0] = (hk_parameter){"so3", 1e5};
    expect_refusal(d, "sl3 is missing");
    // Curves: stress at rest, wrong order, on a law that takes none.
    static const double stressed[] = {0.5, 1e5, 2, 2e5}, backward[] = {1, 0, 0.5, 1};
    d = standard("spline");
    d.f = (hk_curve){stressed, 2};
    expect_refusal(d, "not free of stress");
    d.f = (hk_curve){backward, 2};
    expect_refusal(d, "not beyond the one before");
    d.f = (hk_curve){stressed, 1};
    expect_refusal(d, "control points");
    d = standard("arap");
    d.f = (hk_curve){stressed, 2};
    expect_refusal(d, "takes no curves");
    d = standard("arap");
    d.axes[1] = (hk_curve){stressed, 2};
    expect_refusal(d, "takes no curves");
    d = standard("spline");
    d.axes[1] = (hk_curve){stressed, 2};
    expect_refusal(d, "of axis 1 must rest at stretch 1");
    d.axes[1] = (hk_curve){SPLINE_F, 5};
    d.axis_directions[1][1] = 0;
    expect_refusal(d, "of axis 1 has no length");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stress_is_derivative_of_energy),
        cmocka_unit_test(test_hessian_is_derivative_of_stress),
        cmocka_unit_test(test_projected_hessian_is_positive),
        cmocka_unit_test(test_rest_is_free_of_stress_and_energy),
        cmocka_unit_test(test_rotations),
        cmocka_unit_test(test_small_strain_is_linear_elasticity),
        cmocka_unit_test(test_closed_forms),
        cmocka_unit_test(test_fibre_closed_form),
        cmocka_unit_test(test_orthotropic_closed_form),
        cmocka_unit_test(test_limits_closed_form),
        cmocka_unit_test(test_barrier_is_infinite),
        cmocka_unit_test(test_own_parameters),
        cmocka_unit_test(test_list_of_materials),
        cmocka_unit_test(test_single_evaluations_refuse_nonsense),
        cmocka_unit_test(test_impossible_parameters_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
