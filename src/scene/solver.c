// "solver": a method and its options.
#include "scene/scene.h"

static const hk_range TOLERANCE = {0, 1, false, true};

static hk_status read_method(hk_scene *scene, const hk_node *node, hk_solver_def *def, int *method)
{
    int count = hk_method_count();
    const char **names = HK_ARENA_ARRAY(&scene->arena, const char *, count);
    if (!names) return HK_NO_MEMORY;
    *method = 0;
    for (int i = 0; i < count; i++) {
        names[i] = hk_method_name(i);
        if (strcmp(names[i], def->method) == 0) *method = i;
    }
    HK_TRY(hk_member_choice(node, "method", HK_OPTIONAL, names, count, method));
    if (*method < count) def->method = names[*method];
    return HK_OK;
}

// true and false stand for the word that means it: --set solver.projected=true need not be quoted.
static const char *word_for(bool value, const char *const *words)
{
    static const char *const yes[] = {"true", "on", "yes"}, *const no[] = {"false", "off", "no"};
    const char *const *meanings = value ? yes : no;
    for (int i = 0; words[i]; i++)
        for (int k = 0; k < 3; k++)
            if (strcmp(words[i], meanings[k]) == 0) return words[i];
    return NULL;
}

static hk_status read_option(const hk_node *node, const hk_option_info *info, hk_option *option)
{
    *option = (hk_option){.name = info->name};
    if (!info->words)
        return hk_node_number(node, (hk_range){info->minimum, info->maximum, false, false},
                              &option->number);
    if (json_is_boolean(node->json)) {
        option->text = word_for(json_is_true(node->json), info->words);
        if (option->text) return HK_OK;
    }
    int count = 0, which = 0;
    while (info->words[count]) count++;
    HK_TRY(hk_node_choice(node, info->words, count, &which));
    option->text = info->words[which];
    return HK_OK;
}

// "phases": [[length, rho], …] stands for the options length1, rho1, length2, … of a method; phases
// that are not given have length 0.
static hk_status read_phases(const hk_node *node, int method, hk_option *options, int *given)
{
    hk_node phases;
    if (!hk_node_member(node, "phases", &phases)) return HK_OK;
    int count, most = 0, known = hk_method_option_count(method);
    HK_TRY(hk_node_array(&phases, 1, &count));
    for (int i = 0; i < known; i++) {
        const hk_option_info *info = hk_method_option(method, i);
        bool length = strncmp(info->name, "length", 6) == 0;
        if (!length && strncmp(info->name, "rho", 3) != 0) continue;
        most += length;
        hk_node ignored;
        if (hk_node_member(node, info->name, &ignored))
            return hk_node_fail(&ignored, "\"%s\" and \"phases\" exclude each other", info->name);
        hk_option *option = &options[(*given)++];
        *option = (hk_option){.name = info->name, .number = length ? 0 : info->fallback};
        if (most > count) continue;
        hk_node pair = hk_node_item(&phases, most - 1), number;
        int size;
        HK_TRY(hk_node_array(&pair, 2, &size));
        if (size != 2) return hk_node_fail(&pair, "must be a pair: [length, rho]");
        number = hk_node_item(&pair, length ? 0 : 1);
        HK_TRY(hk_node_number(&number, (hk_range){info->minimum, info->maximum, false, false},
                              &option->number));
    }
    if (count > most) return hk_node_fail(&phases, "has %d phases (at most %d)", count, most);
    return HK_OK;
}

static bool has_phases(int method)
{
    for (int i = 0; i < hk_method_option_count(method); i++)
        if (strcmp(hk_method_option(method, i)->name, "length1") == 0) return true;
    return false;
}

hk_status hk_read_solver(hk_scene *scene, const hk_node *node, hk_solver_def *def)
{
    if (!json_is_object(node->json)) return hk_node_keys(node, NULL, 0);
    int method;
    HK_TRY(read_method(scene, node, def, &method));
    int known = hk_method_option_count(method), given = 0;
    const char **keys = HK_ARENA_ARRAY(&scene->arena, const char *, known + 4);
    hk_option *options = HK_ARENA_ARRAY(&scene->arena, hk_option, known);
    if (!keys || !options) return HK_NO_MEMORY;
    keys[0] = "method";
    keys[1] = "iterations";
    keys[2] = "tolerance";
    for (int i = 0; i < known; i++) keys[3 + i] = hk_method_option(method, i)->name;
    keys[3 + known] = "phases";
    HK_TRY(hk_node_keys(node, keys, known + 3 + has_phases(method)));
    HK_TRY(hk_member_int(node, "iterations", HK_OPTIONAL, 0, &def->iterations));
    HK_TRY(hk_member_number(node, "tolerance", HK_OPTIONAL, TOLERANCE, &def->tolerance));
    for (int i = 0; i < known; i++) {
        hk_node child;
        if (!hk_node_member(node, keys[3 + i], &child)) continue;
        HK_TRY(read_option(&child, hk_method_option(method, i), &options[given]));
        given++;
    }
    HK_TRY(read_phases(node, method, options, &given));
    def->options = options;
    def->option_count = given;
    return HK_OK;
}
