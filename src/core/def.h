// How the library reads definitions of users (hk_xxx_def), which may be of an older or a newer
// version than its own: the first def_size bytes are theirs, the rest are defaults.
//
// A definition grows at its end, and without padding, which would hold rubbish: def.c checks that
// none follows the last field.
#ifndef HK_DEF_H
#define HK_DEF_H

#include "core/base.h"

typedef struct hk_def_kind {
    const char *name;  // "body", of hk_body_def and hk_default_body_def()
    size_t first;      // bytes of the first version
    size_t known;      // of this one, without what is reserved
    size_t bytes;      // of this one
    bool embedded;     // stands by value in others: it has one size for ever
} hk_def_kind;

// Those that grow: GROWS(name, last field of the first version, last field of this one); those that
// have space reserved instead: EMBEDDED(name).
#define HK_DEF_KINDS(GROWS, EMBEDDED)        \
    GROWS(mesh, height, reserved_int)        \
    EMBEDDED(material)                       \
    GROWS(move, motion, motion)              \
    GROWS(attach, motion, damping)           \
    GROWS(load, force, outside)              \
    GROWS(region, material, reserved_int)    \
    GROWS(body, velocity, reserved_int3)     \
    GROWS(term, context, batch)              \
    GROWS(contact, between, drag)            \
    GROWS(obstacle, formula, formula)        \
    GROWS(model, gravity, tearing)           \
    EMBEDDED(solver)                         \
    GROWS(world, damping, laplacian_damping) \
    GROWS(grab, target, target)              \
    GROWS(spring, slack, reserved_int)       \
    GROWS(seam, slack, slack)                \
    GROWS(joint, axis, axis)                 \
    GROWS(constraint, axis, factor)          \
    GROWS(cut, until, until)                 \
    GROWS(tearing, opening, opening)         \
    GROWS(rest, threads, linear)             \
    GROWS(fit, threads, threads)             \
    GROWS(design, undo_mb, undo_mb)          \
    GROWS(handle, weights, weights)          \
    GROWS(sdf, threads, threads)             \
    GROWS(tool, turn_damping, turn_damping)  \
    GROWS(filling, threads, threads)

#define HK_GROWS(name, first, last) extern const hk_def_kind hk_def_##name;
#define HK_EMBEDDED(name)           extern const hk_def_kind hk_def_##name;
HK_DEF_KINDS(HK_GROWS, HK_EMBEDDED)
#undef HK_GROWS
#undef HK_EMBEDDED

// The first `size` bytes of a user's definition from `standard`, one of the library's, with that
// size; what the library does not know becomes 0.
void hk_def_fill(const hk_def_kind *kind, const void *standard, void *def, size_t size);
// Whether it can be read, and sets nothing that is not known yet.
hk_status hk_def_check(const hk_def_kind *kind, const void *def);
// What the user gave over the defaults that are in `own`.
hk_status hk_def_take(const hk_def_kind *kind, const void *def, void *own);
// The same of number k of an array.
hk_status hk_def_take_at(const hk_def_kind *kind, const void *array, int k, void *own);
// Whether something is set beyond the first `size` bytes of a definition of the library.
bool hk_def_set_beyond(const hk_def_kind *kind, const void *def, const void *standard, size_t size);
// Whether bytes [from, to) of a block are 0.
bool hk_is_zero(const void *block, size_t from, size_t to);

#endif
