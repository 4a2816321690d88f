#include "solver/method.h"

#include <math.h>
#include <stdio.h>

#include "core/def.h"

#define HK_METHOD_ENTRY(name) &hk_##name,
static const hk_method *const g_methods[] = {HK_METHODS(HK_METHOD_ENTRY)};
#undef HK_METHOD_ENTRY

const char *const hk_starts[] = {"auto",      "position", "velocity", "acceleration",
                                 "optimised", "adaptive", NULL};

const char *const hk_precisions[] = {"single", "double", NULL};

hk_status hk_view_for(hk_problem *problem, const hk_settings *settings, hk_view **view)
{
    // What is tied is brought back to where constraints allow it, and stays in its regions: no
    // rounding may take it out of these again.
    bool exact = problem->manifold && hk_terms_guarded(problem->terms);
    hk_precision asked = (hk_precision)hk_setting(settings, "precision");
    return hk_view_create(problem, exact ? HK_DOUBLE_PRECISION : asked, view);
}

double hk_setting(const hk_settings *settings, const char *name)
{
    const hk_method *m = settings->method;
    for (int k = 0; k < m->option_count; k++)
        if (strcmp(name, m->options[k].name) == 0) return settings->option[k];
    return NAN;
}

const char *hk_setting_word(const hk_settings *settings, const char *name)
{
    const hk_method *m = settings->method;
    for (int k = 0; k < m->option_count; k++)
        if (strcmp(name, m->options[k].name) == 0 && m->options[k].words)
            return m->options[k].words[(int)settings->option[k]];
    return NULL;
}

void hk_fill_solver_def(hk_solver_def *def, size_t size)
{
    const hk_solver_def standard = {.method = "newton"};
    hk_def_fill(&hk_def_solver, &standard, def, size);
}

int hk_method_count(void)
{
    return HK_COUNT_OF(g_methods);
}

static const hk_method *method_at(int method)
{
    return method >= 0 && method < hk_method_count() ? g_methods[method] : NULL;
}

const char *hk_method_name(int method)
{
    return method_at(method) ? method_at(method)->name : NULL;
}

const char *hk_method_summary(int method)
{
    return method_at(method) ? method_at(method)->summary : NULL;
}

hk_solver_def hk_method_defaults(int method, bool pose)
{
    const hk_method *m = method_at(method);
    hk_solver_def def = hk_default_solver_def();
    if (!m) return def;
    def.method = m->name;
    def.iterations = pose && m->pose_iterations ? m->pose_iterations : m->iterations;
    def.tolerance = m->tolerance;
    return def;
}

int hk_method_option_count(int method)
{
    return method_at(method) ? method_at(method)->option_count : 0;
}

const hk_option_info *hk_method_option(int method, int option)
{
    const hk_method *m = method_at(method);
    return m && option >= 0 && option < m->option_count ? &m->options[option] : NULL;
}

// Appends ", word" for lists in messages.
static void list_word(char *list, size_t size, const char *word)
{
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%s", used ? ", " : "", word);
}

hk_status hk_method_find(const char *name, const hk_method **method)
{
    char known[256] = "";
    for (int k = 0; k < hk_method_count(); k++) {
        if (name && strcmp(name, g_methods[k]->name) == 0) {
            *method = g_methods[k];
            return HK_OK;
        }
        list_word(known, sizeof known, g_methods[k]->name);
    }
    return hk_fail(HK_BAD_INPUT, "unknown method \"%s\" (known: %s)", name ? name : "(null)",
                   known);
}

static hk_status take_word(const hk_option_info *info, const char *text, double *value)
{
    char known[256] = "";
    for (int k = 0; info->words[k]; k++) {
        if (text && strcmp(text, info->words[k]) == 0) {
            *value = k;
            return HK_OK;
        }
        list_word(known, sizeof known, info->words[k]);
    }
    return hk_fail(HK_BAD_INPUT, "option %s: must be one of %s (is %s)", info->name, known,
                   text ? text : "a number");
}

static hk_status take_option(const hk_method *method, const hk_option *given, hk_settings *settings)
{
    char known[256] = "iterations, tolerance";
    for (int k = 0; k < method->option_count; k++) {
        const hk_option_info *info = &method->options[k];
        list_word(known, sizeof known, info->name);
        if (!given->name || strcmp(given->name, info->name) != 0) continue;
        if (info->words) return take_word(info, given->text, &settings->option[k]);
        if (given->text)
            return hk_fail(HK_BAD_INPUT, "option %s: must be a number (is \"%s\")", info->name,
                           given->text);
        if (!(given->number >= info->minimum && given->number <= info->maximum))
            return hk_fail(HK_BAD_INPUT, "option %s: must be from %g to %g (is %g)", info->name,
                           info->minimum, info->maximum, given->number);
        settings->option[k] = given->number;
        return HK_OK;
    }
    return hk_fail(HK_BAD_INPUT, "method %s has no option \"%s\" (it has: %s)", method->name,
                   given->name ? given->name : "(null)", known);
}

hk_status hk_method_settings(const hk_method *method, const hk_solver_def *def,
                             hk_settings *settings)
{
    HK_TRY(hk_def_check(&hk_def_solver, def));
    hk_settings s = {.method = method,
                     .iterations = def->iterations ? def->iterations : method->iterations,
                     .pose_iterations = def->iterations           ? def->iterations
                                        : method->pose_iterations ? method->pose_iterations
                                                                  : method->iterations,
                     .tolerance = def->tolerance != 0 ? def->tolerance : method->tolerance};
    if (s.iterations < 0)
        return hk_fail(HK_BAD_INPUT, "solver iterations must be 0 or more (is %d)", s.iterations);
    if (!(s.tolerance > 0 && s.tolerance < 1))
        return hk_fail(HK_BAD_INPUT, "solver tolerance must be between 0 and 1 (is %g)",
                       s.tolerance);
    if (def->option_count < 0 || (def->option_count > 0 && !def->options))
        return hk_fail(HK_BAD_INPUT, "solver options: the list has a count of %d%s",
                       def->option_count, def->options ? "" : " and is NULL");
    for (int k = 0; k < method->option_count; k++) s.option[k] = method->options[k].fallback;
    for (int k = 0; k < def->option_count; k++) HK_TRY(take_option(method, &def->options[k], &s));
    *settings = s;
    return HK_OK;
}

void hk_join_reports(const hk_solve_report *first, hk_solve_report *second)
{
    if (hk_reason_outcome(first->reason) <= hk_reason_outcome(second->reason)) return;
    int iterations = second->iterations, linear_iterations = second->linear_iterations;
    double phase_s[HK_PHASE_COUNT];
    memcpy(phase_s, second->phase_s, sizeof phase_s);
    *second = *first;
    second->iterations = iterations;
    second->linear_iterations = linear_iterations;
    memcpy(second->phase_s, phase_s, sizeof phase_s);
}
