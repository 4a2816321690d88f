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

hk_status hk_read_solver(hk_scene *scene, const hk_node *node, hk_solver_def *def)
{
    if (!json_is_object(node->json)) return hk_node_keys(node, NULL, 0);
    int method;
    HK_TRY(read_method(scene, node, def, &method));
    int known = hk_method_option_count(method), given = 0;
    const char **keys = HK_ARENA_ARRAY(&scene->arena, const char *, known + 3);
    hk_option *options = HK_ARENA_ARRAY(&scene->arena, hk_option, known);
    if (!keys || !options) return HK_NO_MEMORY;
    keys[0] = "method";
    keys[1] = "iterations";
    keys[2] = "tolerance";
    for (int i = 0; i < known; i++) keys[3 + i] = hk_method_option(method, i)->name;
    HK_TRY(hk_node_keys(node, keys, known + 3));
    HK_TRY(hk_member_int(node, "iterations", HK_OPTIONAL, 0, &def->iterations));
    HK_TRY(hk_member_number(node, "tolerance", HK_OPTIONAL, TOLERANCE, &def->tolerance));
    for (int i = 0; i < known; i++) {
        hk_node child;
        if (!hk_node_member(node, keys[3 + i], &child)) continue;
        HK_TRY(read_option(&child, hk_method_option(method, i), &options[given]));
        given++;
    }
    def->options = options;
    def->option_count = given;
    return HK_OK;
}
