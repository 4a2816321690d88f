// The same bits as before: positions, velocities and reports of every method, material and option
// on small scenes, and of the scenes of the project, as one number per case. The numbers are those
// of one compiler, one instruction set, one vendor of CPUs, one C library and one set of kernels of
// OpenBLAS (ctest asks for those of Haswell, which most machines can run): test/bits has a file for
// every combination that they were written on; elsewhere there is nothing to compare with.
//
//   cd test; HOOKE_BITS=write OPENBLAS_CORETYPE=Haswell ../build/test_bits    writes the file
//   cd test; HOOKE_BITS=show ../build/test_bits                prints, compares nothing
//
// A change that means to keep results must leave them as they are; one that means to change them
// writes the file anew and says why.
#include <glob.h>
#include <gnu/libc-version.h>

#include "bodies.h"
#include "core/base.h"
#include "term/lanes.h"

#ifdef HOOKE_DIRECT
char *openblas_get_corename(void);
#endif

enum { MOST_CASES = 4096, NAME = 160 };

typedef struct bits_case {
    char name[NAME];
    uint64_t hash;
} bits_case;

static bits_case g_cases[MOST_CASES];
static int g_count;

// ---------------------------------------------------------------- hashes

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *b = bytes;
    for (size_t k = 0; k < size; k++) hash = (hash ^ b[k]) * 1099511628211u;
    return hash;
}

static uint64_t hash_state(uint64_t hash, const hk_world *world)
{
    size_t size = 3 * sizeof(double) * (size_t)hk_model_vertex_count(hk_world_model(world));
    hash = hash_bytes(hash, hk_world_positions(world), size);
    return hash_bytes(hash, hk_world_velocities(world), size);
}

static uint64_t hash_report(uint64_t hash, const hk_step_report *r)
{
    hash = hash_bytes(hash, &r->reason, sizeof r->reason);
    hash = hash_bytes(hash, &r->iterations, sizeof r->iterations);
    hash = hash_bytes(hash, &r->residual, sizeof r->residual);
    return hash_bytes(hash, &r->energy, offsetof(hk_energy, contact));
}

static void add_case(const char *name, uint64_t hash)
{
    assert_true(g_count < MOST_CASES);
    snprintf(g_cases[g_count].name, NAME, "%s", name);
    g_cases[g_count++].hash = hash;
}

// ---------------------------------------------------------------- cases

typedef struct what {
    int steps;  // 0: a pose
    const char *sets[12];
    int set_count;
} what;

static uint64_t run_world(hk_world *world, int steps)
{
    uint64_t hash = 14695981039346656037u;
    hk_step_report report;
    for (int k = 0; k < (steps ? steps : 1); k++) {
        hk_status status = steps ? hk_world_step(world, &report) : hk_world_pose(world, &report);
        if (status != HK_OK) return hash_bytes(hash, &status, sizeof status);
        hash = hash_report(hash, &report);
    }
    return hash_state(hash, world);
}

static uint64_t run_scene(hk_scene *scene, int steps)
{
    hk_model *model;
    hk_world *world;
    hk_status status = hk_model_create(hk_scene_model(scene), &model);
    if (status != HK_OK) return (uint64_t)status;
    hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
    def.model = model;
    def.threads = 1;
    status = hk_world_create(&def, &world);
    hk_model_free(model);
    if (status != HK_OK) return (uint64_t)status;
    uint64_t hash = run_world(world, steps);
    hk_world_free(world);
    return hash;
}

static void run_text(const char *name, const char *text, const what *w)
{
    hk_scene *scene;
    hk_status status = hk_scene_parse(text, strlen(text), name, w->sets, w->set_count, &scene);
    if (status != HK_OK) {  // not every option goes with every scene
        add_case(name, (uint64_t)status);
        return;
    }
    add_case(name, run_scene(scene, w->steps));
    hk_scene_free(scene);
}

static const char g_bar[] =
    "{\"time\": {\"step\": 0.01, \"steps\": 1}, \"gravity\": [0.3, -9.81, 0.7],"
    " \"solver\": {\"method\": \"newton\"},"
    " \"bodies\": [{\"mesh\": {\"box\": {\"size\": [0.4, 0.1, 0.12], \"cells\": [5, 2, 2]}},"
    "  \"material\": {\"model\": \"neo_hookean\", \"young\": 2e5, \"poisson\": 0.4},"
    "  \"initial\": {\"velocity\": [0.1, 0.4, -0.2]},"
    "  \"fix\": [{\"box\": [[-1, -1, -1], [1e-6, 1, 1]]}],"
    "  \"move\": [{\"select\": {\"box\": [[0.399, -1, -1], [1, 1, 1]]}, \"over\": 0.06,"
    "    \"rotate\": {\"axis\": [1, 0, 0], \"center\": [0.4, 0.05, 0.06], \"degrees\": 40},"
    "    \"translate\": [0.02, -0.03, 0]}],"
    "  \"load\": [{\"select\": {\"sphere\": {\"center\": [0.2, 0.1, 0.06], \"radius\": 0.07}},"
    "    \"force\": [0, -0.5, 0.2]}]}]}";

// Two bodies, regions, fibres, attachments, every damping.
static const char g_pair[] =
    "{\"time\": {\"step\": 0.008, \"steps\": 1}, \"gravity\": [0, -9.81, 0],"
    " \"damping\": {\"air_per_vertex\": 0.002, \"viscous\": 0.003, \"ether\": 0.2, \"pbd\": 0.5},"
    " \"solver\": {\"method\": \"newton\"},"
    " \"bodies\": [{\"name\": \"a\","
    "  \"mesh\": {\"box\": {\"size\": [0.3, 0.1, 0.1], \"cells\": [4, 2, 2]}},"
    "  \"material\": {\"model\": \"corotated\", \"young\": 1e5, \"poisson\": 0.3},"
    "  \"regions\": [{\"select\": {\"box\": [[0.15, -1, -1], [1, 1, 1]]},"
    "    \"material\": {\"model\": \"arap\", \"young\": 4e5, \"poisson\": 0.3}}],"
    "  \"attach\": [{\"select\": {\"box\": [[-1, -1, -1], [1e-6, 1, 1]]}, \"stiffness\": 800,"
    "    \"translate\": [0, 0.05, 0], \"over\": 0.05}]},"
    " {\"name\": \"b\","
    "  \"mesh\": {\"sphere\": {\"radius\": 0.08, \"cells\": 4}},"
    "  \"transform\": {\"translate\": [0, 1, 0], \"rotate\": {\"axis\": [1, 2, 3], \"degrees\": "
    "50}},"
    "  \"initial\": {\"velocity\": [1, 0.5, -0.3]},"
    "  \"material\": {\"model\": \"fixed_corotated\", \"young\": 5e4, \"poisson\": 0.4}}]}";

static const char g_sheet[] =
    "{\"time\": {\"step\": 0.01, \"steps\": 1}, \"gravity\": [0, -9.81, 0],"
    " \"solver\": {\"method\": \"newton\"},"
    " \"bodies\": [{\"mesh\": {\"sheet\": {\"size\": [0.5, 0.4], \"cells\": [7, 6]}},"
    "  \"material\": {\"model\": \"mass_spring\", \"stretch\": 200, \"bending\": 1e-4,"
    "    \"density\": 0.2},"
    "  \"fix\": [{\"box\": [[-1, -1, -1], [1e-6, 1, 1e-6]]}],"
    "  \"attach\": [{\"select\": {\"box\": [[0.499, -1, -1], [1, 1, 1e-6]]}, \"stiffness\": 50,"
    "    \"translate\": [-0.1, 0, 0], \"over\": 0.1}]}]}";

// Crushed at once, so that elements convert.
static const char g_crushed[] =
    "{\"time\": {\"step\": 0.01, \"steps\": 1}, \"gravity\": [0, -9.81, 0],"
    " \"solver\": {\"method\": \"newton\"},"
    " \"bodies\": [{\"mesh\": {\"box\": {\"size\": [0.1, 0.1, 0.1], \"cells\": [3, 3, 3]}},"
    "  \"material\": {\"model\": \"stvk\", \"young\": 1e5, \"poisson\": 0.3},"
    "  \"fix\": [{\"box\": [[-1, -1, -1], [1e-6, 1, 1]]}],"
    "  \"move\": [{\"select\": {\"box\": [[0.099, -1, -1], [1, 1, 1]]}, \"over\": 0.02,"
    "    \"translate\": [-0.095, 0, 0]}]}]}";

// The material that a method without an own choice is run with.
static const char *usual_material(const char *method)
{
    if (strcmp(method, "projective") == 0) return "arap";
    return strcmp(method, "split") == 0 ? "corotated" : "neo_hookean";
}

static void run_methods_and_materials(void)
{
    for (int m = 0; m < hk_method_count(); m++)
        for (int k = 0; k < solid_count(); k++) {
            char name[NAME], method[64], material[64];
            snprintf(method, sizeof method, "solver.method=%s", hk_method_name(m));
            snprintf(material, sizeof material, "bodies.0.material.model=%s", hk_material_name(k));
            snprintf(name, sizeof name, "bar %s %s", hk_method_name(m), hk_material_name(k));
            run_text(name, g_bar, &(what){3, {method, material}, 2});
        }
}

static void run_other_scenes(void)
{
    static const struct {
        const char *name, *text;
        int steps;
    } scenes[] = {{"pair", g_pair, 4}, {"sheet", g_sheet, 4}, {"crushed", g_crushed, 4}};
    for (int m = 0; m < hk_method_count(); m++) {
        char name[NAME], method[64], material[64];
        snprintf(method, sizeof method, "solver.method=%s", hk_method_name(m));
        snprintf(material, sizeof material, "bodies.0.material.model=%s",
                 usual_material(hk_method_name(m)));
        for (int s = 0; s < HK_COUNT_OF(scenes); s++) {
            snprintf(name, sizeof name, "%s %s", scenes[s].name, hk_method_name(m));
            run_text(name, scenes[s].text, &(what){scenes[s].steps, {method}, 1});
        }
        // Without viscosity, which some methods refuse; and with what is the same for all.
        snprintf(name, sizeof name, "pair, no viscosity %s", hk_method_name(m));
        run_text(name, g_pair, &(what){4, {method, "damping.viscous=0"}, 2});
        snprintf(name, sizeof name, "pose of the bar %s", hk_method_name(m));
        run_text(name, g_bar, &(what){0, {method, material}, 2});
        snprintf(name, sizeof name, "pose of the sheet %s", hk_method_name(m));
        run_text(name, g_sheet, &(what){0, {method}, 1});
        for (int d = 0; d < 3; d++) {
            static const char *const damping[] = {"damping={\"viscous\": 0.01}",
                                                  "damping={\"air_per_vertex\": 0.01}",
                                                  "damping={\"ether\": 1, \"pbd\": 2}"};
            snprintf(name, sizeof name, "bar %s %s", damping[d], hk_method_name(m));
            run_text(name, g_bar, &(what){3, {method, material, damping[d]}, 3});
        }
        snprintf(name, sizeof name, "bar, fibres %s", hk_method_name(m));
        run_text(name, g_bar,
                 &(what){3,
                         {method, material,
                          "bodies.0.material.fibre={\"stiffness\": 1e5, \"direction\": [1, 1, 0]}"},
                         3});
    }
}

// Every word of every option, and numbers a little off their defaults.
static void run_options(void)
{
    for (int m = 0; m < hk_method_count(); m++)
        for (int o = 0; o < hk_method_option_count(m); o++) {
            const hk_option_info *info = hk_method_option(m, o);
            char method[64], material[64], option[96], name[NAME];
            snprintf(method, sizeof method, "solver.method=%s", hk_method_name(m));
            snprintf(material, sizeof material, "bodies.0.material.model=%s",
                     usual_material(hk_method_name(m)));
            for (int w = 0; info->words && info->words[w]; w++) {
                snprintf(option, sizeof option, "solver.%s=%s", info->name, info->words[w]);
                snprintf(name, sizeof name, "bar %s %s", hk_method_name(m), option);
                run_text(name, g_bar, &(what){3, {method, material, option}, 3});
            }
            if (info->words) continue;
            double value = info->fallback + 0.25 * (fmin(info->maximum, 8) - info->fallback);
            if (info->maximum >= 2 || info->minimum >= 1) value = ceil(value);
            snprintf(option, sizeof option, "solver.%s=%.17g", info->name, value);
            snprintf(name, sizeof name, "bar %s %s", hk_method_name(m), option);
            run_text(name, g_bar, &(what){3, {method, material, option}, 3});
        }
}

static void run_files(const char *pattern)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t k = 0; k < found.gl_pathc; k++) {
        hk_scene *scene;
        CHECK_OK(hk_scene_load(found.gl_pathv[k], NULL, 0, &scene));
        add_case(found.gl_pathv[k], run_scene(scene, 2));
        hk_scene_free(scene);
    }
    globfree(&found);
}

// ---------------------------------------------------------------- comparison

static void file_name(char *path, size_t size)
{
    const char *vendor = "other";
#ifdef __x86_64__
    __builtin_cpu_init();
    vendor = __builtin_cpu_is("intel") ? "intel" : __builtin_cpu_is("amd") ? "amd" : "other";
#endif
    const char *blas = "none";
#ifdef HOOKE_DIRECT
    blas = openblas_get_corename();
#endif
    snprintf(path, size, "bits/%s-%d.%d-%s-%s-libc%s-blas-%s.txt",
#ifdef __clang__
             "clang", __clang_major__, __clang_minor__,
#else
             "gcc", __GNUC__, __GNUC_MINOR__,
#endif
             hk_lanes_best(HK_SINGLE)->name, vendor, gnu_get_libc_version(), blas);
}

static void write_file(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int k = 0; k < g_count; k++)
        fprintf(file, "%016llx %s\n", (unsigned long long)g_cases[k].hash, g_cases[k].name);
    assert_int_equal(fclose(file), 0);
}

static const bits_case *find_case(const char *name)
{
    for (int k = 0; k < g_count; k++)
        if (strcmp(g_cases[k].name, name) == 0) return &g_cases[k];
    return NULL;
}

static int compare_with(FILE *file)
{
    char line[NAME + 32];
    int wrong = 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        assert_true(strlen(line) > 17);
        const bits_case *now = find_case(line + 17);
        if (now && now->hash == strtoull(line, NULL, 16)) continue;
        print_message("%s: %s\n", line + 17, now ? "other bits" : "gone");
        wrong++;
    }
    return wrong;
}

static void test_bits(void **state)
{
    (void)state;
#ifndef NDEBUG
    SKIP("bits are those of the release build");
#endif
    char path[256];
    const char *mode = getenv("HOOKE_BITS");
    file_name(path, sizeof path);
    FILE *file = fopen(path, "r");
    if (!file && !mode) SKIP("test/%s is not there: nothing to compare with", path);
    run_methods_and_materials();
    run_other_scenes();
    run_options();
    run_files("../scenes/*.json");
    run_files("../scenes/figures/*.json");
    for (int k = 0; k < g_count && mode && strcmp(mode, "show") == 0; k++)
        print_message("%016llx %s\n", (unsigned long long)g_cases[k].hash, g_cases[k].name);
    if (mode && strcmp(mode, "write") == 0) write_file(path);
    int wrong = file && !mode ? compare_with(file) : 0;
    if (file) fclose(file);
    if (wrong) fail_msg("%d of %d cases have other bits than in test/%s", wrong, g_count, path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
