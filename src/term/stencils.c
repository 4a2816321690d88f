// The terms that are laws of an element (list.h), made from these laws.
#include "gpu/term.h"
#include "term/stencil.h"
#include "term/all_stencils.h"

#define PASTE(a, b) a##b
#define JOIN(a, b)  PASTE(a, b)
#define QUOTE(a)    #a
#define NAME(a)     QUOTE(a)

#define HK_EACH_STENCIL "term/stencil_ops.inl"
#include "term/each_stencil.h"
