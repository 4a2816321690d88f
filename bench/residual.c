// Time to a relative residual (residual.h), as asked for:
//
//   bench_residual [--backend cpu|cuda] [--cells 14,25,37,80] [--methods quasi_newton,…]
//                  [--tolerances 1e-2,1e-3,1e-4] [--steps 30] [--seconds 60] [--poisson 0.45]
//                  [--threads 0] [--iterations N] [--set option=value]…
#include "residual.h"

// ---------------------------------------------------------------- the command line

static void refuse(const char *what)
{
    fprintf(stderr, "bench_residual: %s\n", what);
    exit(2);
}

static void take_option(residual_plan *p, char *text)
{
    char *equals = strchr(text, '='), *end;
    if (!equals || p->option_count == RESIDUAL_MOST) refuse("--set wants option=value");
    *equals = '\0';
    hk_option *o = &p->options[p->option_count++];
    o->name = text;
    o->number = strtod(equals + 1, &end);
    o->text = *end ? equals + 1 : NULL;
}

static int take_list(char *text, double *numbers, char (*words)[40])
{
    int count = 0;
    for (char *word = strtok(text, ","); word && count < RESIDUAL_MOST; word = strtok(NULL, ",")) {
        if (numbers) numbers[count] = atof(word);
        if (words) snprintf(words[count], sizeof words[count], "%s", word);
        count++;
    }
    return count;
}

static void take_argument(residual_plan *p, const char *name, char *value)
{
    double numbers[RESIDUAL_MOST];
    if (strcmp(name, "--backend") == 0)
        p->backend = strcmp(value, "cuda") == 0 ? HK_BACKEND_CUDA : HK_BACKEND_CPU;
    else if (strcmp(name, "--cells") == 0) {
        p->cell_counts = take_list(value, numbers, NULL);
        for (int k = 0; k < p->cell_counts; k++) p->cells[k] = (int)numbers[k];
    } else if (strcmp(name, "--methods") == 0)
        p->method_count = take_list(value, NULL, p->methods);
    else if (strcmp(name, "--tolerances") == 0)
        p->tolerance_count = take_list(value, p->tolerances, NULL);
    else if (strcmp(name, "--steps") == 0)
        p->steps = hk_min_int(atoi(value), RESIDUAL_STEPS);
    else if (strcmp(name, "--seconds") == 0)
        p->seconds = atof(value);
    else if (strcmp(name, "--poisson") == 0)
        p->poisson = atof(value);
    else if (strcmp(name, "--threads") == 0)
        p->threads = atoi(value);
    else if (strcmp(name, "--iterations") == 0)
        p->iterations = atoi(value);
    else if (strcmp(name, "--set") == 0)
        take_option(p, value);
    else
        refuse("unknown option; see the head of bench/residual.c");
}

int main(int count, char **arguments)
{
    residual_plan p = {.backend = HK_BACKEND_CPU,
                       .cells = {14, 25, 37},
                       .cell_counts = 3,
                       .methods = {"quasi_newton"},
                       .method_count = 1,
                       .tolerances = {1e-2, 1e-3, 1e-4},
                       .tolerance_count = 3,
                       .steps = 30,
                       .seconds = INFINITY,
                       .poisson = 0.45};
    for (int k = 1; k < count; k += 2) {
        if (k + 1 >= count) refuse("an option wants a value");
        take_argument(&p, arguments[k], arguments[k + 1]);
    }
    bench_machine();
    residual_table(&p);
    return 0;
}
