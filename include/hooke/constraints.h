/* Rigid parts of bodies, the joints between them, and what vertices keep to. Included by hooke.h.
 * See docs/constraints.md.
 *
 * A body or a region with `rigid` set has six unknowns: x = R X + t for all of its vertices, R a
 * rotation. Methods minimise over these, so that it is as rigid after every step as rounding lets
 * it be. Its material says how heavy it is, and nothing else. */
#ifndef HOOKE_CONSTRAINTS_H
#define HOOKE_CONSTRAINTS_H

#include <hooke/world.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hk_joint_kind {
    HK_JOINT_BALL,   /* they turn about a point */
    HK_JOINT_HINGE,  /* they turn about an axis */
    HK_JOINT_SLIDER, /* they slide along an axis, without turning */
    HK_JOINT_WELD,   /* they stay as they are to each other */
    HK_JOINT_KINDS
} hk_joint_kind;
/* "ball", …; NULL: there is none of that number. */
HK_API const char *hk_joint_kind_name(int kind);

/* A joint of two rigid parts, or of one and the world. Joints must not close a loop. */
typedef struct hk_joint_def {
    size_t def_size;      /* set by hk_default_joint_def() */
    const char *name;     /* for messages and hk_model_find_joint; NULL: none */
    const char *parts[2]; /* names of rigid parts; NULL: the world */
    int kind;             /* hk_joint_kind */
    int reserved_int;
    double at[3];   /* m, in the rest positions: where a ball or the axis of a hinge is */
    double axis[3]; /* of a hinge or slider, in the rest positions; any length */
} hk_joint_def;
/* a ball at the origin, between the world and itself */
HK_API void hk_fill_joint_def(hk_joint_def *def, size_t size);
static inline hk_joint_def hk_default_joint_def(void)
{
    hk_joint_def def;
    hk_fill_joint_def(&def, sizeof def);
    return def;
}

typedef enum hk_constraint_kind {
    HK_KEEP_PLANE,    /* each stays in the plane across `axis` that it is in at rest */
    HK_KEEP_LINE,     /* each stays on the line along `axis` that it is on at rest */
    HK_KEEP_SPHERE,   /* each stays as far from `at` as it is at rest */
    HK_KEEP_CYLINDER, /* … from the line through `at` along `axis` */
    HK_KEEP_TOGETHER, /* all of them have one displacement */
    HK_KEEP_PERIODIC, /* each of `select` has the displacement of the one of `other` that is `axis`
                         (m) away from it at rest */
    HK_KEEP_VOLUME,   /* what the selected vertices close in keeps its volume (hk_cavity_state) */
    HK_CONSTRAINT_KINDS
} hk_constraint_kind;
/* "plane", …; NULL: there is none of that number. */
HK_API const char *hk_constraint_kind_name(int kind);

/* What free vertices of a body keep to, exactly. A vertex has one constraint at most, and none
 * beside a rigid part. Fixes by axis go together with volumes alone. */
typedef struct hk_constraint_def {
    size_t def_size;  /* set by hk_default_constraint_def() */
    const char *name; /* for messages; NULL: none */
    int kind;         /* hk_constraint_kind */
    int body;         /* number */
    hk_selector select;
    hk_selector other; /* of the same body, if it is periodic */
    double at[3];      /* m */
    double axis[3];    /* any length, but for that of what is periodic */
    /* Of a volume, m3: what it is kept at, in steps times a function of the time; 0: what it is at
     * rest. The surface triangles whose vertices are selected have to be closed: a closed sheet,
     * all of a body of tets, or the surface of a hole in it. */
    double volume;
    hk_factor_def factor;
} hk_constraint_def;
/* a plane across no axis, of all vertices of the first body */
HK_API void hk_fill_constraint_def(hk_constraint_def *def, size_t size);
static inline hk_constraint_def hk_default_constraint_def(void)
{
    hk_constraint_def def;
    hk_fill_constraint_def(&def, sizeof def);
    return def;
}

/* Rigid parts, body after body: of each the body itself first, then its regions. A part has the
 * name of its region or body. */
HK_API int hk_model_rigid_part_count(const hk_model *model);
HK_API const char *hk_model_rigid_part_name(const hk_model *model, int part);
/* The part of that name; -1: there is none. */
HK_API int hk_model_find_rigid_part(const hk_model *model, const char *name);
/* Its vertices, numbered over all bodies; NULL and 0: there is no such part. */
HK_API const int32_t *hk_model_rigid_part_vertices(const hk_model *model, int part, int *count);
HK_API int hk_model_joint_count(const hk_model *model);
HK_API const char *hk_model_joint_name(const hk_model *model, int joint); /* NULL: it has none */
HK_API int hk_model_find_joint(const hk_model *model, const char *name);

typedef struct hk_rigid_state {
    double center[3];      /* m, where its centre of mass is */
    double rotation[3][3]; /* R */
    double velocity[3];    /* m/s, of the centre */
    double spin[3];        /* rad/s, angular velocity */
    double mass;           /* kg */
    double deformation;    /* how far vertices are from R X + t at most, relative to its extent */
    uint64_t reserved[4];
} hk_rigid_state;
HK_API hk_status hk_world_rigid_state(const hk_world *world, int part, hk_rigid_state *state);

typedef struct hk_joint_state {
    double at[3];   /* m, where it is */
    double axis[3]; /* its axis, unit; of a ball that of the turn */
    double turn;    /* rad, of the second part against the first since rest; 0 for a slider */
    double slide;   /* m, of a slider */
    double error;   /* m, how far apart the joint is, which rounding alone makes */
    uint64_t reserved[4];
} hk_joint_state;
HK_API hk_status hk_world_joint_state(const hk_world *world, int joint, hk_joint_state *state);

/* What is kept at a volume, numbered as such constraints come. */
HK_API int hk_model_cavity_count(const hk_model *model);
HK_API const char *hk_model_cavity_name(const hk_model *model, int cavity); /* NULL: it has none */
HK_API int hk_model_find_cavity(const hk_model *model, const char *name);

typedef struct hk_cavity_state {
    double volume;   /* m3, as it is */
    double goal;     /* m3, what it is to be at the time */
    double pressure; /* Pa, inside above outside, that keeps it: of the last step or pose; 0 before
                        any */
    uint64_t reserved[4];
} hk_cavity_state;
HK_API hk_status hk_world_cavity_state(const hk_world *world, int cavity, hk_cavity_state *state);

#ifdef __cplusplus
}
#endif
#endif
