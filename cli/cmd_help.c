// hooke help: the commands, the materials, the methods and the scene file, from the tables of the
// library, so that it cannot fall behind.
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

// ---------------------------------------------------------------- materials

static void print_material(int i)
{
    const char *const *names = hk_material_parameters(i);
    printf("%s\n  %s\n", hk_material_name(i), hk_material_summary(i));
    if (!names || !names[0]) return;
    printf("  parameters:");
    for (; *names; ++names) printf(" %s", *names);
    printf("\n");
}

static void print_those_for(hk_material_use use)
{
    for (int i = 0; i < hk_material_count(); ++i)
        if (hk_material_kind(i) == use) print_material(i);
}

static void print_materials(void)
{
    printf(
        "Materials, in a scene: \"material\": {\"model\": NAME, \"young\": 1e6, \"poisson\": 0.45, "
        "\"density\": 1000}\nEach takes young (Pa), poisson and density (kg/m³), and its own "
        "parameters,\nwhich replace what follows from young and poisson.\n\n");
    print_those_for(HK_FOR_SOLIDS);
    printf(
        "\nSheets (triangles), in a scene: \"material\": {\"model\": \"mass_spring\", \"stretch\": "
        "500, \"bending\": 1e-3,\n\"density\": 0.2}, in N/m, N·m and kg/m²; or {\"model\": "
        "\"shell\", \"membrane\": LAW, \"thickness\": 1e-3, \"young\": 1e6,\n\"poisson\": 0.3, "
        "\"density\": 1000}, in m, Pa and kg/m³, with a law in its plane (docs/shells.md).\n\n");
    print_those_for(HK_FOR_SHEETS);
    printf("\nRopes (lines), in a scene: \"material\": {\"model\": \"rope\", \"young\": 1e8, "
           "\"radius\": 0.005, \"density\": 1000},\nin Pa, m and kg/m³; or stretch (N), bending "
           "(N·m²) and line_density (kg/m) in place of these;\nslack: true, bending_form "
           "(docs/ropes.md).\n\n");
    print_those_for(HK_FOR_ROPES);
    printf("\nLaws in the plane of a shell:\n\n");
    for (int k = 0; k < hk_membrane_count(); k++)
        printf("  %-18s %s\n", hk_membrane_name(k), hk_membrane_summary(k));
}

// ---------------------------------------------------------------- methods

enum { HELP_INDENT = 21, HELP_WIDTH = 96 };

// A name, and its text broken into lines beside it.
static void print_wrapped(const char *name, const char *text)
{
    printf("  %-18s", name);
    int column = HELP_INDENT;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column > HELP_INDENT && column + length > HELP_WIDTH) {
            printf("\n%*s", HELP_INDENT - 1, "");
            column = HELP_INDENT;
        }
        column += printf(" %.*s", length, text);
        text += length;
        text += strspn(text, " ");
    }
    printf("\n");
}

static void append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

static void print_method_option(const hk_option_info *option)
{
    char text[1024] = "";
    append(text, sizeof text, "%s", option->help);
    if (option->words) {
        append(text, sizeof text, " (");
        int count = 0;
        for (const char *const *word = option->words; *word; ++word, ++count)
            append(text, sizeof text, "%s%s", count > 0 ? ", " : "", *word);
        int fallback = (int)option->fallback;
        if (fallback >= 0 && fallback < count)
            append(text, sizeof text, "; default %s", option->words[fallback]);
    } else {
        append(text, sizeof text, " (default %g", option->fallback);
        if (isfinite(option->minimum) && isfinite(option->maximum))
            append(text, sizeof text, "; %g to %g", option->minimum, option->maximum);
        else if (isfinite(option->minimum))
            append(text, sizeof text, "; at least %g", option->minimum);
        else if (isfinite(option->maximum))
            append(text, sizeof text, "; at most %g", option->maximum);
    }
    append(text, sizeof text, ")");
    print_wrapped(option->name, text);
}

// Options that nearly all methods have are told once; only their default may differ.
static bool is_common(const hk_option_info *option)
{
    return strcmp(option->name, "start") == 0 || strcmp(option->name, "eta") == 0;
}

// A method that takes a time step as it comes has none of them.
static bool has_common(int method)
{
    for (int i = 0; i < hk_method_option_count(method); ++i)
        if (is_common(hk_method_option(method, i))) return true;
    return false;
}

// length1, rho1, …: scenes write them as "phases".
static bool is_phase(const hk_option_info *option)
{
    size_t word = strcspn(option->name, "12345678");
    return option->name[word] &&
           (strncmp(option->name, "length", word) == 0 || strncmp(option->name, "rho", word) == 0);
}

static void print_phases(int method)
{
    char text[1024] = "the Chebyshev acceleration as a list of [length, rho]: iterations and rate "
                      "of each phase; the last goes on to the end. `hooke tune` finds the best. "
                      "(default [";
    int count = 0, shown = 0;
    for (int i = 0; i + 1 < hk_method_option_count(method); ++i) {
        const hk_option_info *length = hk_method_option(method, i);
        if (!is_phase(length) || length->name[0] != 'l') continue;
        ++count;
        if (length->fallback > 0)
            append(text, sizeof text, "%s[%g, %g]", shown++ ? ", " : "", length->fallback,
                   hk_method_option(method, i + 1)->fallback);
    }
    append(text, sizeof text, "]; at most %d. As options: length1, rho1, length2, …)", count);
    print_wrapped("phases", text);
}

static void print_limits(int method)
{
    char text[128];
    hk_solver_def step = hk_method_defaults(method, false), pose = hk_method_defaults(method, true);
    snprintf(text, sizeof text, "at most, a time step (default %d", step.iterations);
    if (pose.iterations != step.iterations)
        append(text, sizeof text, "; of a pose %d", pose.iterations);
    append(text, sizeof text, ")");
    print_wrapped("iterations", text);
    snprintf(text, sizeof text, "of the gradient, relative to the forces at work (default %g)",
             step.tolerance);
    print_wrapped("tolerance", text);
}

static void print_method(int method)
{
    printf("%s\n  %s\n", hk_method_name(method), hk_method_summary(method));
    print_limits(method);
    bool phases = false;
    for (int i = 0; i < hk_method_option_count(method); ++i) {
        const hk_option_info *option = hk_method_option(method, i);
        if (is_phase(option))
            phases = true;
        else if (!is_common(option))
            print_method_option(option);
    }
    if (phases) print_phases(method);
    printf("\n");
}

static void print_common(void)
{
    printf("All methods");
    for (int m = 0, left_out = 0; m < hk_method_count(); ++m)
        if (!has_common(m)) printf("%s %s", left_out++ ? "," : " but", hk_method_name(m));
    printf("\n");
    for (int i = 0; i < hk_method_option_count(0); ++i)
        if (is_common(hk_method_option(0, i))) print_method_option(hk_method_option(0, i));
    for (int m = 1; m < hk_method_count(); ++m)
        for (int i = 0; i < hk_method_option_count(m); ++i) {
            const hk_option_info *option = hk_method_option(m, i), *usual = hk_method_option(0, i);
            if (is_common(option) && option->words && option->fallback != usual->fallback)
                printf("%*s(start of %s: default %s)\n", HELP_INDENT, "", hk_method_name(m),
                       option->words[(int)option->fallback]);
        }
    printf("\n");
}

static void print_methods(void)
{
    printf("Methods, in a scene: \"solver\": {\"method\": NAME, \"iterations\": 50, \"tolerance\": "
           "1e-8, …}\nEach takes iterations, tolerance and its own options.\n\n");
    print_common();
    for (int i = 0; i < hk_method_count(); ++i) print_method(i);
}

// ---------------------------------------------------------------- integrators

static void print_integrators(void)
{
    printf("Time integrators, in a scene: \"time\": {\"step\": 0.01, \"integrator\": NAME, …}\n\n");
    for (int i = 0; i < hk_integrator_count(); ++i)
        print_wrapped(hk_integrator_name(i), hk_integrator_summary(i));
    printf(
        "\n\"conserve\": true beside it puts the energy, and where nothing holds the bodies the\n"
        "momenta, back to where they were after every step.\n");
}

// ---------------------------------------------------------------- the scene file

// What is not of a single body.
static void print_scene_around(void)
{
    fputs(
        "SELECTOR   {\"box\": [[x,y,z],[x,y,z]]} {\"sphere\": {\"center\", \"radius\"}}\n"
        "           {\"vertices\": [0, 5]} {\"group\": NAME} {\"all\": true}\n"
        "           {\"any\": [SELECTOR, …]} {\"not\": SELECTOR}, on the initial positions\n"
        "contact    {distance (m), stiffness (Pa), friction, slip_speed, friction_passes, self,\n"
        "           restitution, law: two_stage|log|penalty|spring_damper, overlap: "
        "refuse|recover,\n"
        "           when: during|after, certify,\n"
        "           between: [{bodies: [A, B], friction | ignore}]}; {}: all as chosen\n"
        "obstacles  [{name, friction, transform, and one of plane {point, normal},\n"
        "           box {min, max}, sphere {center, radius}, capsule {from, to, radius},\n"
        "           cylinder {from, to, radius, sides}, plate {point, normal, size, thickness},\n"
        "           mesh; move [{rotate, translate, over}], keys [{t, rotate, translate}] or\n"
        "           formula {x, y, z, rotate}, of t: \"0.1*sin(2*pi*t)\"}]\n"
        "springs    [{from, to: [x, y, z] | {body, vertex | at | nearest | vertices, weights},\n"
        "           stiffness (N/m), rest, goal (m), over | factor, damping (N s/m),\n"
        "           breaking (N), slack}], between points of bodies or of the world\n"
        "seams      [{from, to: {body, select}, stiffness (N/m per m), distance (m), over | "
        "factor,\n"
        "           damping, breaking, reverse, slack}], lines of vertices sewn together\n"
        "rigid      true of a body or a region (with a name): it moves as a rigid body\n"
        "joints     [{kind: ball|hinge|slider|weld, between: [PART, PART or \"world\"],\n"
        "           at, axis, name}], of rigid parts, by their names\n"
        "constraints [{kind: plane|line|sphere|cylinder|together|periodic|volume, body,\n"
        "           select, at, axis, other, name, and of a closed surface volume (m3),\n"
        "           factor}], what vertices keep to exactly\n"
        "tearing    {cuts: [{name, body, points: [[x, y, z], …] (2: an edge that sweeps, 3 or\n"
        "           4: a surface), moves: [as obstacles], from, until (s)}], most, renew,\n"
        "           opening (m)}; materials have tear: {stress (Pa), strain}\n"
        "output     every (s; 0: each step), vtu (a .pvd series), points (prefix of .csv\n"
        "           files), stats (a .json), skin (surfaces, as .obj, .stl, .ply or .glb),\n"
        "           fields ([\"stress\", \"principal_stress\", \"strain\", \"reaction\"] in .vtu\n"
        "           files), reactions (a .csv), probes [{name, body, at: [x, y, z]}], probe_file\n"
        "           (a .csv of them)\n"
        "\n"
        "Any value can be changed on the command line: --set bodies.0.material.young=1e5\n"
        "\n"
        "materials:",
        stdout);
    for (int i = 0; i < hk_material_count(); ++i) printf(" %s", hk_material_name(i));
    printf("\nmethods:");
    for (int i = 0; i < hk_method_count(); ++i) printf(" %s", hk_method_name(i));
    printf("\nintegrators:");
    for (int i = 0; i < hk_integrator_count(); ++i) printf(" %s", hk_integrator_name(i));
    printf("\n");
}

static void print_scene(void)
{
    fputs(
        "A scene is a JSON file. SI units; angles in degrees.\n"
        "\n"
        "{ \"time\":    {\"step\": 0.01, \"steps\": 100, \"integrator\": \"bdf2\"},\n"
        "  \"gravity\": [0, -9.81, 0],\n"
        "  \"solver\":  {\"method\": \"newton\", \"iterations\": 50, \"tolerance\": 1e-8},\n"
        "  \"threads\": 0,\n"
        "  \"bodies\": [{\n"
        "    \"name\": \"bar\",\n"
        "    \"mesh\": {\"box\": {\"size\": [1, 0.2, 0.2], \"cells\": [20, 4, 4]}},\n"
        "    \"material\": {\"model\": \"neo_hookean\", \"young\": 1e6, \"poisson\": 0.45,\n"
        "                 \"density\": 1000},\n"
        "    \"fix\": [{\"box\": [[-1e-6, -1, -1], [1e-6, 1, 1]]}]\n"
        "  }],\n"
        "  \"output\": {\"every\": 0.05, \"vtu\": \"out/bar.pvd\", \"points\": \"out/bar\",\n"
        "             \"stats\": \"out/bar.json\"}\n"
        "}\n"
        "\n"
        "$schema    for editors; version 1, of the file (newer ones are refused)\n"
        "time       step (s), and steps or end (s); integrator, a name or\n"
        "           {\"newmark\": {\"beta\", \"gamma\"}}; conserve: true (energy, momenta)\n"
        "solver     method, iterations, tolerance, and the method's options: hooke help METHOD\n"
        "damping    {air (1/s, of the mass), air_per_vertex (N s/m), viscous (s), ether (1/s),\n"
        "           pbd (1/s), laplacian (s)}\n"
        "threads    0: all cores; backend: cpu, cuda (an NVIDIA GPU) or auto\n"
        "mesh       {\"file\": PATH}, relative to the scene, or a generator: box {size, cells},\n"
        "           cylinder {radius, length, cells}, sphere {radius, cells},\n"
        "           helix {radius, pitch, turns, thickness, strands, cells},\n"
        "           figure {height, cells}, torus {radius, thickness, cells},\n"
        "           pyramid {size}, wedge {radius, thickness, degrees, length, cells},\n"
        "           funnel {radius, neck, height, length, thickness, cells},\n"
        "           sheet {size, cells}: triangles, with the material mass_spring or shell;\n"
        "           rope {length | points, cells}: lines, with the material rope; or\n"
        "           a surface to fill: fill {file, size | cells, grade, sharp_angle, least_part, "
        "skin};\n"
        "           order: 1 or 2 (tets with ten nodes)\n"
        "skin       {\"file\": PATH}, a fine surface that the tets carry along\n"
        "material   model, density and parameters: hooke help materials; fibre {direction,\n"
        "           stiffness}, invertible {lower, upper, decay}, viscous (s)\n"
        "transform  {\"scale\": 1, \"rotate\": {\"axis\", \"degrees\"}, \"translate\": [x, y, z]}\n"
        "copies     [TRANSFORM, …], or array {count: [x, y, z], step: [x, y, z]}: several of it\n"
        "regions    [{\"select\": SELECTOR, \"material\": {…}}], other materials in places\n"
        "initial    {\"velocity\": [x, y, z]}, and one of {\"pose\": true} (in equilibrium),\n"
        "           {\"state\": \"FILE.hks\"} (of --checkpoint), {\"rest\": \"solve\"} (no sag)\n"
        "fix        [SELECTOR, …], vertices that stay; or {\"name\", \"select\", \"axes\": "
        "\"xz\"}:\n"
        "           along these axes alone\n"
        "move       [{\"select\", \"rotate\": {\"axis\", \"center\", \"degrees\"}, \"translate\",\n"
        "           \"over\": s | \"factor\": FACTOR}], vertices that follow a path\n"
        "attach     [{\"select\", \"stiffness\": N/m, and as in move}], vertices held softly\n"
        "load       [{\"select\", and \"force\": [x, y, z] (N, in all), \"pressure\": Pa, or\n"
        "           \"torque\": {\"axis\", \"center\", \"moment\": N m}, \"wind\": {\"velocity\",\n"
        "           \"density\", \"drag\", \"lift\"}, \"gas\": {\"pressure\", \"outside\"}; "
        "\"distribute\",\n"
        "           \"factor\"}]\n"
        "FACTOR     of the time t: a formula, \"sin(2*pi*t)\", or a table, [[t, value], …];\n"
        "           of moves, loads, obstacles, and of gravity: {\"value\", \"factor\"}\n"
        "friction   of this body in contact; thickness (m) of a sheet in contact\n",
        stdout);
    print_scene_around();
}

// ---------------------------------------------------------------- help

static void print_overview(void)
{
    printf("hooke %s: how elastic bodies move and where they come to rest\n\n"
           "Usage: hooke COMMAND … [options]\n\nCommands:\n",
           hk_version());
    for (int i = 0; i < cli_command_count; ++i)
        printf("  %-8s %s\n", cli_commands[i].name, cli_commands[i].summary);
    printf("\n"
           "  hooke COMMAND --help       its options, with examples\n"
           "  hooke help materials       the material models and their parameters\n"
           "  hooke help methods         the solvers and their options\n"
           "  hooke help integrators     the time integrators\n"
           "  hooke help scene           the scene file\n"
           "  hooke help machine         what hooke works with here: lanes, threads, BLAS, GPU\n"
           "  hooke --version            the version\n"
           "\n"
           "Exit status: 0 done, 1 failed, 2 wrong usage.\n");
}

static const struct {
    const char *name;
    void (*print)(void);
} topics[] = {
    {"materials", print_materials},     {"methods", print_methods},
    {"integrators", print_integrators}, {"scene", print_scene},
    {"machine", cli_print_machine},
};
enum { TOPICS = sizeof topics / sizeof topics[0] };

static int unknown_topic(const char *word)
{
    int capacity = cli_command_count + TOPICS + hk_material_count() + hk_method_count();
    int count = 0;
    const char **names = cli_realloc(NULL, (size_t)capacity, sizeof *names);
    for (int i = 0; i < cli_command_count; ++i) names[count++] = cli_commands[i].name;
    for (int i = 0; i < TOPICS; ++i) names[count++] = topics[i].name;
    for (int i = 0; i < hk_material_count(); ++i) names[count++] = hk_material_name(i);
    for (int i = 0; i < hk_method_count(); ++i) names[count++] = hk_method_name(i);
    const char *nearest = cli_nearest(word, names, count);
    free(names);
    if (nearest)
        return cli_usage_error("help", "no help on '%s'; did you mean '%s'?", word, nearest);
    return cli_usage_error("help", "no help on '%s'", word);
}

// A command, a topic, or the name of a material or method; `hooke help mesh make` too.
static int explain(const cli_texts *words)
{
    const char *word = words->items[0];
    const cli_command *command = cli_find_command(word);
    if (command) {
        char name[64], verb[64], help[] = "--help";
        snprintf(name, sizeof name, "%s", word);
        snprintf(verb, sizeof verb, "%s", words->count > 1 ? words->items[1] : help);
        char *arguments[] = {name, verb, words->count > 1 ? help : NULL, NULL};
        return command->run(words->count > 1 ? 3 : 2, arguments);
    }
    for (int i = 0; i < TOPICS; ++i) {
        if (strcmp(word, topics[i].name) != 0) continue;
        topics[i].print();
        return CLI_DONE;
    }
    for (int i = 0; i < hk_material_count(); ++i) {
        if (strcmp(word, hk_material_name(i)) != 0) continue;
        print_material(i);
        return CLI_DONE;
    }
    for (int i = 0; i < hk_method_count(); ++i) {
        if (strcmp(word, hk_method_name(i)) != 0) continue;
        print_method(i);
        if (has_common(i)) printf("It also takes start and eta: hooke help methods.\n");
        return CLI_DONE;
    }
    return unknown_topic(word);
}

int cmd_help(int argc, char **argv)
{
    const cli_spec spec = {
        .command = "help",
        .arguments = "[COMMAND|materials|methods|integrators|scene|machine|NAME]",
        .purpose = "Explains a command, all material models, all methods, the "
                   "time\nintegrators, the scene file, what hooke works with on this "
                   "machine, or one\nmaterial or method by its name.",
        .examples = "hooke help run\n"
                    "hooke help materials\n"
                    "hooke help newton",
        .least_words = 0,
        .most_words = 2};
    cli_texts words;
    int result = cli_parse(&spec, argc, argv, &words);
    if (result >= 0) return result;
    if (words.count == 0)
        print_overview();
    else
        result = explain(&words);
    cli_texts_free(&words);
    return result < 0 ? CLI_DONE : result;
}
