// The checks with the registers of a newer CPU, where there is one. GCC tells a file's functions
// their instruction set by a pragma; with Clang the flags of the build decide.
#define HK_DOUBLE 1
#define HK_LANES  8
#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")
#include "math_checks.inl"
#pragma GCC pop_options

int main(void)
{
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return math_checks();
    puts("skipped: this CPU has no avx512");
    return 0;
}
#else
#include "math_checks.inl"

int main(void)
{
    return math_checks();
}
#endif
