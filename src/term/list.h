// The terms of ε, in the order in which they are added up. A new one is a new file and a line here.
#ifndef HK_TERM_LIST_H
#define HK_TERM_LIST_H

#define HK_TERMS(TERM)   \
    TERM(tets)           \
    TERM(quadratic_tets) \
    TERM(links)          \
    TERM(membranes)      \
    TERM(hinges)         \
    TERM(rope_bends)     \
    TERM(slack_lines)    \
    TERM(dampers)        \
    TERM(wind)           \
    TERM(springs)        \
    TERM(spring_dampers) \
    TERM(viscosity)      \
    TERM(gravity)        \
    TERM(loads)          \
    TERM(contact)        \
    TERM(penetration)    \
    TERM(pressure)       \
    TERM(gas)            \
    TERM(user_terms)     \
    TERM(user_ties)      \
    HK_STENCIL_TERMS(TERM)

// Those that are laws of an element (stencil.h): the file is NAME.h in this folder.
#define HK_STENCIL_TERMS(TERM) \
    TERM(grabs)                \
    HK_ONE_MORE_TERM(TERM)

// A test has one more: -DHK_ONE_MORE=name.
#ifdef HK_ONE_MORE
#define HK_NAMED_TERM(TERM, name) TERM(name)
#define HK_ONE_MORE_TERM(TERM)    HK_NAMED_TERM(TERM, HK_ONE_MORE)
#else
#define HK_ONE_MORE_TERM(TERM)
#endif

#endif
