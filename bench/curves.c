// Force against stretch of a block under four laws (Descent, Figure 11): simulated, and from the
// law alone. Prints the largest deviation and writes DIR/curves.csv and DIR/curves.svg.
//
//   bench_curves [--out DIR]
#include "bench.h"
#include "plot.h"
#include "uniaxial.h"

enum { LAWS = 4, POINTS = 31, FINE = 141 };
#define LEAST 0.5
#define MOST  2.0

typedef struct law_curve {
    double stretch[FINE], stress[FINE];            // closed form
    double simulated[2 * POINTS], at[2 * POINTS];  // simulated stretch, stress; NAN between them
    double deviation;                              // the largest, of the stretch
    int count;                                     // simulated
    double reach;                                  // least stretch with a pose
} law_curve;

// The same s0 and s1, hence the same moduli at rest but for the further terms, which come on top;
// stvk with the moduli of neo_hookean_wy.
static hk_material_def law_of(int k)
{
    static const char *const names[LAWS] = {"stvk", "neo_hookean_wy", "mooney_rivlin", "fung"};
    static const double s0 = 2e4, s1 = 4e4;
    hk_material_def def = hk_default_material_def();
    def.model = names[k];
    def.young = def.poisson = NAN;
    hk_parameter stvk[] = {{"mu", 2 * s0}, {"lambda", 2 * s1 - 4 * s0 / 3}};
    hk_parameter other[] = {{"s0", s0}, {"s1", s1}, {"s2", 1e4}, {"s3", 1}};
    def.parameter_count = k == 0 ? 2 : k + 1;
    for (int i = 0; i < def.parameter_count; i++) def.parameters[i] = k == 0 ? stvk[i] : other[i];
    return def;
}

static void trace(const hk_material_def *law, law_curve *curve)
{
    hk_solver_def newton = hk_default_solver_def();
    newton.tolerance = 1e-10;
    curve->reach = MOST;
    for (int i = 0; i < FINE; i++) {
        uniaxial state = {0, 0};
        curve->stretch[i] = LEAST + (MOST - LEAST) * i / (FINE - 1);
        bench_check(uniaxial_solve(law, curve->stretch[i], &state));
        curve->stress[i] = state.stress;
    }
    for (int i = 0; i < POINTS; i++) {
        double stretch = LEAST + (MOST - LEAST) * i / (POINTS - 1), found;
        uniaxial state = {0, 0};
        hk_step_report report = {0};
        bench_check(uniaxial_solve(law, stretch, &state));
        // Beyond the largest force that a law can resist there is no pose that lasts.
        uniaxial nearer = {0, 0};
        bench_check(uniaxial_solve(law, stretch + 0.05, &nearer));
        if (stretch < 1 && nearer.stress - state.stress < 0.04 * fabs(state.stress)) continue;
        bench_check(uniaxial_simulate(law, &state, &newton, &found, &report));
        if (report.reason != HK_CONVERGED) {
            printf("%s: no pose at stretch %.2f: %s%s%s\n", law->model, stretch,
                   hk_reason_name(report.reason), report.detail[0] ? ", " : "", report.detail);
            continue;
        }
        curve->deviation = fmax(curve->deviation, fabs(found / stretch - 1));
        curve->reach = fmin(curve->reach, stretch);
        curve->simulated[2 * curve->count] = found;
        curve->at[2 * curve->count] = state.stress;
        curve->simulated[2 * curve->count + 1] = curve->at[2 * curve->count + 1] = NAN;
        curve->count++;
    }
}

static void write_csv(const char *folder, const law_curve *curves)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) exit(1);
    fputs("material,kind,stretch,stress\n", out);
    for (int k = 0; k < LAWS; k++) {
        const char *name = law_of(k).model;
        const law_curve *c = &curves[k];
        for (int i = 0; i < FINE; i++)
            fprintf(out, "%s,closed form,%.17g,%.17g\n", name, c->stretch[i], c->stress[i]);
        for (int i = 0; i < c->count; i++)
            fprintf(out, "%s,simulated,%.17g,%.17g\n", name, c->simulated[2 * i], c->at[2 * i]);
    }
    fclose(out);
    bench_write(folder, "curves.csv", text);
    free(text);
}

static void write_svg(const char *folder, const law_curve *curves)
{
    plot_series forms[LAWS], points[LAWS];
    for (int k = 0; k < LAWS; k++) {
        const law_curve *c = &curves[k];
        forms[k] = (plot_series){law_of(k).model, c->stretch, c->stress, FINE};
        points[k] = (plot_series){NULL, c->simulated, c->at, 2 * c->count};
    }
    plot_axis x = {"stretch", false, LEAST, MOST},
              y = {"force / area at rest, Pa", false, -1e5, 2e5};
    const plot_panel panels[] = {{"from the law", x, y, forms, LAWS},
                                 {"simulated", x, y, points, LAWS}};
    plot_figure figure = {"A block pulled and pushed", "uniaxial stress", panels, 2, true};
    char *text = plot_svg(&figure);
    bench_write(folder, "curves.svg", text);
    free(text);
}

int main(int argc, char **argv)
{
    const char *folder = argc == 3 && strcmp(argv[1], "--out") == 0 ? argv[2] : "out";
    if (argc != 1 && argc != 3) {
        fprintf(stderr, "usage: bench_curves [--out DIR]\n");
        return 2;
    }
    static law_curve curves[LAWS];
    double largest = 0;
    printf("%-16s %10s %14s %18s\n", "material", "poses", "from stretch", "largest deviation");
    for (int k = 0; k < LAWS; k++) {
        hk_material_def law = law_of(k);
        trace(&law, &curves[k]);
        printf("%-16s %10d %14.2f %18.1e\n", law.model, curves[k].count, curves[k].reach,
               curves[k].deviation);
        largest = fmax(largest, curves[k].deviation);
    }
    printf("largest deviation of a stretch from the closed form: %.1e\n", largest);
    write_csv(folder, curves);
    write_svg(folder, curves);
    return largest < 1e-6 ? 0 : 1;
}
