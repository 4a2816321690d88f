// The rules of going to a hard target in easy steps (solver/continuation.c): parts of the way are
// halved where one is too large, and grow again.
#ifndef HK_RULES_CONTINUATION_H
#define HK_RULES_CONTINUATION_H

#include "rules/rules.h"

// Parts of the way smaller than the first are not tried. Starts that are inside out are refused
// down to the second, and solutions down to the third: a body may have no other (Saint
// Venant–Kirchhoff).
#define HK_SMALLEST_PART (1.0 / 4096)
#define HK_CAREFUL_START (1.0 / 64)
#define HK_CAREFUL_END   (1.0 / 2)

typedef struct hk_parts {
    double done;  // of the way, 0..1
    double size;  // of the next part
} hk_parts;

HK_RULE hk_parts parts_begin(void)
{
    hk_parts p = {0, 1};
    return p;
}

HK_RULE double parts_next(const hk_parts *p)
{
    return fmin(1.0, p->done + p->size);
}

HK_RULE void parts_accept(hk_parts *p)
{
    p->done = parts_next(p);
    p->size *= 2;
}

// False: there is no smaller one.
HK_RULE int parts_refuse(hk_parts *p)
{
    p->size /= 2;
    return p->size >= HK_SMALLEST_PART;
}

#endif
