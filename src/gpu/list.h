// What has a version for the GPU: methods (hk_method.gpu) and terms (hk_term_ops.device). A new one
// is a file with its table, and a line here; laws of an element have theirs from stencil.cu.
#ifndef HK_GPU_LIST_H
#define HK_GPU_LIST_H

#include "term/list.h"

#define HK_GPU_METHODS(METHOD) \
    METHOD(descent)            \
    METHOD(projective)         \
    METHOD(vbd)                \
    METHOD(quasi_newton)       \
    METHOD(split)

#define HK_GPU_TERMS(TERM) \
    TERM(builtin_term)     \
    TERM(links)            \
    HK_STENCIL_TERMS(TERM)

#endif
