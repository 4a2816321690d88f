// The names of the laws, in the order of their numbers.
#ifndef HK_LAW_LIST_H
#define HK_LAW_LIST_H

#define HK_LAWS(LAW)        \
    LAW(corotated)          \
    LAW(fixed_corotated)    \
    LAW(arap)               \
    LAW(stvk)               \
    LAW(neo_hookean)        \
    LAW(neo_hookean_wy)     \
    LAW(mooney_rivlin)      \
    LAW(fung)               \
    LAW(stable_neo_hookean) \
    LAW(spline)             \
    LAW(polynomial)         \
    LAW(projective)         \
    LAW(fibre)              \
    LAW(custom)

typedef enum hk_law {
#define HK_LAW_NUMBER(name) HK_LAW_##name,
    HK_LAWS(HK_LAW_NUMBER)
#undef HK_LAW_NUMBER
        HK_LAW_COUNT
} hk_law;

#endif
