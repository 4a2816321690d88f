#include "linear/blas.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// ---------------------------------------------------------------- the processor

hk_cpu_features hk_find_cpu_features(void)
{
    hk_cpu_features f = {0};
#ifdef __x86_64__
    __builtin_cpu_init();
    f.avx = __builtin_cpu_supports("avx");
    f.avx2 = __builtin_cpu_supports("avx2");
    f.fma = __builtin_cpu_supports("fma");
    f.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512cd");
    f.amd = __builtin_cpu_is("amd");
#endif
    return f;
}

// ---------------------------------------------------------------- the decision

// Cores of OpenBLAS whose kernels have no fused multiply-add, by the widest vectors that they use.
// Those with it (Piledriver, Haswell, Zen, SkylakeX, …) are fast enough on any processor, and
// OpenBLAS may have reasons to take them where there is AVX-512.
static const char *const sse_cores[] = {"Katmai",  "Coppermine", "Northwood",    "Prescott",
                                        "Banias",  "Atom",       "Core2",        "Penryn",
                                        "Nano",    "Dunnington", "Nehalem",      "Athlon",
                                        "Opteron", "Bobcat",     "Opteron_SSE3", "Barcelona"};
static const char *const avx_cores[] = {"Sandybridge", "Bulldozer"};

static bool is_among(const char *core, const char *const *names, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (strcasecmp(core, names[k]) == 0) return true;
    return false;
}

const char *hk_better_blas_core(const hk_cpu_features *cpu, const char *core)
{
    bool sse = is_among(core, sse_cores, sizeof sse_cores / sizeof sse_cores[0]);
    bool avx = is_among(core, avx_cores, sizeof avx_cores / sizeof avx_cores[0]);
    if (!sse && !avx) return NULL;
    bool fused = cpu->avx2 && cpu->fma;
    if (fused && cpu->avx512) return "SKYLAKEX";
    if (fused) return cpu->amd ? "ZEN" : "HASWELL";
    return sse && cpu->avx ? "SANDYBRIDGE" : NULL;
}

// ---------------------------------------------------------------- in words

static void warn(hk_blas *b, const char *better, const char *coretype, bool can_change)
{
    char text[sizeof b->warning];
    if (!can_change)
        snprintf(text, sizeof text,
                 "this OpenBLAS was built for %s alone: install one that has kernels for this "
                 "processor, too",
                 b->core);
    else if (b->is_users_wish)
        snprintf(text, sizeof text,
                 "OPENBLAS_CORETYPE=%s makes OpenBLAS work as on a processor much older than this "
                 "one: unset it, or set it to %s",
                 coretype, better);
    else if (coretype)
        snprintf(text, sizeof text,
                 "OpenBLAS does not heed OPENBLAS_CORETYPE=%s and takes this processor for a much "
                 "older one, %s",
                 coretype, b->core);
    else
        snprintf(text, sizeof text,
                 "OpenBLAS takes this processor for a much older one, %s: set OPENBLAS_CORETYPE=%s "
                 "before the program starts",
                 b->core, better);
    snprintf(b->warning, sizeof b->warning, "factorisations are slow: %s", text);
}

void hk_describe_blas(const hk_cpu_features *cpu, const char *config, const char *core,
                      const char *coretype, hk_blas *b)
{
    *b = (hk_blas){.is_users_wish = coretype && strcasecmp(coretype, core) == 0};
    size_t name = strcspn(config, " ");  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH …"
    if (config[name] == ' ') name += 1 + strcspn(config + name + 1, " ");
    snprintf(b->name, sizeof b->name, "%.*s", (int)name, config);
    snprintf(b->core, sizeof b->core, "%s", core);
    const char *better = hk_better_blas_core(cpu, core);
    if (!better) return;
    bool can_change = strstr(config, "DYNAMIC_ARCH") != NULL;
    if (can_change) snprintf(b->wanted, sizeof b->wanted, "%s", better);
    warn(b, better, coretype, can_change);
}

// ---------------------------------------------------------------- of this process

#ifdef HOOKE_DIRECT

// Weak: another BLAS may stand in for OpenBLAS, and has none of these.
extern char *openblas_get_config(void) __attribute__((weak));
extern char *openblas_get_corename(void) __attribute__((weak));

static hk_blas g_blas;

static void find_blas(void)
{
    if (!openblas_get_config || !openblas_get_corename) return;
    hk_cpu_features cpu = hk_find_cpu_features();
    hk_describe_blas(&cpu, openblas_get_config(), openblas_get_corename(),
                     getenv("OPENBLAS_CORETYPE"), &g_blas);
}

const hk_blas *hk_blas_in_use(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_blas);
    return &g_blas;
}

#else

const hk_blas *hk_blas_in_use(void)
{
    static const hk_blas none;
    return &none;
}

#endif
