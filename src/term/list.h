// The terms of ε, in the order in which they are added up. A new one is a new file and a line here.
#ifndef HK_TERM_LIST_H
#define HK_TERM_LIST_H

#define HK_TERMS(TERM) \
    TERM(tets)         \
    TERM(links)        \
    TERM(viscosity)    \
    TERM(gravity)      \
    TERM(loads)

#endif
