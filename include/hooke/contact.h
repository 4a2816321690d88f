/* Contact: of bodies with each other, with themselves and with obstacles. A part of hooke.h, which
 * includes it. */
#ifndef HOOKE_CONTACT_H
#define HOOKE_CONTACT_H

#include <hooke/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- contact */

/* Surfaces that come nearer than `distance` repel each other as if a skin of that thickness and of
 * modulus `stiffness` lay between them; friction is Coulomb's. A model has contact where its
 * definition has a hk_contact_def or obstacles (with the defaults below). */

/* What is said of one pair of bodies or obstacles, or of one body with itself (the same name
 * twice). A name that ends in * means all that begin so: "pile*". Where several entries name a pair
 * the last one counts. */
typedef struct hk_between_def {
    const char *a, *b; /* names of bodies or obstacles */
    double friction;   /* -; NAN: as the two have it */
    int ignore;        /* 1: they pass through each other */
    int reserved_int;
    uint64_t reserved[4];
} hk_between_def;

typedef enum hk_overlap {
    HK_OVERLAP_REFUSE = 0, /* a start in which surfaces intersect is an error that says where */
    HK_OVERLAP_RECOVER     /* they are pushed apart over the first steps */
} hk_overlap;

typedef enum hk_contact_when {
    HK_CONTACT_DURING = 0, /* an energy of the step, which every method minimises */
    HK_CONTACT_AFTER       /* positions and velocities are corrected at the end of the step (Wang &
                              Yang 2016) */
} hk_contact_when;

typedef struct hk_contact_def {
    size_t def_size;     /* set by hk_default_contact_def() */
    double distance;     /* m, at which contact begins; 0: a thousandth of the diagonal of a body's
                            bounds or a fifth of the mean edge of its surface, whichever is least
                            over all bodies */
    double stiffness;    /* Pa, of the skin; 0: Young's modulus of the softer of the two bodies, but
                            no more than 3000 times the pressure of the heaviest body on a square
                            of its size (mass × gravity/diagonal²) */
    double friction;     /* -, Coulomb's coefficient where neither of two bodies has its own */
    double slip_speed;   /* m/s, below which friction holds on without sliding; 0: a thousandth of
                            the diagonal of the smallest body per second */
    int friction_passes; /* solves of a step after which forces and directions of friction are taken
                            anew; 0: they are those of the beginning of the step */
    int self;            /* 1: bodies touch themselves, too */
    const char *law;     /* "two_stage", …: hk_contact_law_name() lists them */
    hk_overlap overlap;
    hk_contact_when when;
    int certify; /* 1: after every step exact arithmetic proves that nothing intersects */
    int between_count;
    const hk_between_def *between;
    double restitution; /* -, 0 to 1: the part of its speed with which a stiff block that falls flat
                           on something is sent back by the skin between them; bodies that are
                           deformed spring back by themselves, and implicit integrators damp, too */
    /* Of the law "spring_damper" (Kikuuwe 2017 eq. 33), which the method linear_implicit has: what
     * an obstacle does to every vertex that is inside it. */
    double normal_stiffness; /* N/m, out of the obstacle, times the depth */
    double normal_damping;   /* N s/m, against the speed into it */
    double drag;             /* N s/m², against sliding, times the depth and the speed */
} hk_contact_def;
/* two_stage, no friction, self contact, distance, stiffness and slip speed by themselves, 1
 * friction pass, restitution 0; of spring_damper 1e6 N/m, 1e4 N s/m and 1e7 N s/m² */
HK_API void hk_fill_contact_def(hk_contact_def *def, size_t size);
static inline hk_contact_def hk_default_contact_def(void)
{
    hk_contact_def def;
    hk_fill_contact_def(&def, sizeof def);
    return def;
}
HK_API int hk_contact_law_count(void);
HK_API const char *hk_contact_law_name(int law);
HK_API const char *hk_contact_law_summary(int law);

/* ---------------------------------------------------------------- obstacles */

/* Rigid things that bodies touch, and that stand still or move as they are told. */

typedef enum hk_obstacle_shape {
    HK_OBSTACLE_PLANE = 0, /* point, normal: a half-space; bodies are where the normal points to */
    HK_OBSTACLE_BOX,       /* min, max: opposite corners */
    HK_OBSTACLE_SPHERE,    /* center, radius */
    HK_OBSTACLE_CAPSULE,   /* from, to, radius: a ball swept along a line */
    HK_OBSTACLE_CYLINDER,  /* from, to, radius, sides: flat ends; a prism whose edges lie on the
                              cylinder */
    HK_OBSTACLE_PLATE,     /* point: the middle of its face; normal: out of the face; size, one side
                              along x (along y where the normal is along x), thickness, behind it */
    HK_OBSTACLE_MESH       /* mesh: its triangles, or the surface of its tets; closed, unless bodies
                              may come to both sides of it */
} hk_obstacle_shape;

/* Where an obstacle is at a time: turned about an axis through a centre, then translated. */
typedef struct hk_key_def {
    double time; /* s */
    double axis[3], center[3], degrees;
    double translate[3];
    uint64_t reserved[4];
} hk_key_def;

/* The same as formulas of the time t, s, such as "t < 1 ? 0.2*t : 0.2" or "0.1*sin(2*pi*t)":
 * numbers, t, pi, + - * / ^, comparisons, && ||, ?:, and functions sin cos tan sqrt abs min max exp
 * log floor step clamp (docs/scene.md). NULL: 0. */
typedef struct hk_formula_def {
    const char *translate[3]; /* m */
    const char *degrees;
    double axis[3], center[3];
    uint64_t reserved[4];
} hk_formula_def;

typedef struct hk_obstacle_def {
    size_t def_size; /* set by hk_default_obstacle_def() */
    const char *name;
    hk_obstacle_shape shape;
    int sides;                  /* of a cylinder; 0: 64 */
    double point[3], normal[3]; /* m; the normal need not have length 1 */
    double size[2], thickness;  /* m */
    double min[3], max[3];      /* m */
    double center[3], radius;   /* m */
    double from[3], to[3];      /* m */
    const hk_mesh *mesh;        /* copied by hk_model_create */
    hk_transform transform;     /* where all of this stands before it moves */
    double friction; /* -; NAN: that of the body that touches it, or else the contact's */
    /* How it moves, in one of three ways, or not at all. */
    const hk_motion_def *moves; /* one after the other, all of them from time 0 on */
    const hk_key_def *keys;     /* by rising time. Between two of them translation and centre go
                                   linearly and the rotation the shortest way round; where both have
                                   one axis, the angle goes linearly: 0 to 720 degrees are two
                                   turns. Before the first and after the last it stands still */
    int move_count, key_count;
    hk_formula_def formula;
} hk_obstacle_def;
/* the plane y = 0, at rest, friction NAN */
HK_API void hk_fill_obstacle_def(hk_obstacle_def *def, size_t size);
static inline hk_obstacle_def hk_default_obstacle_def(void)
{
    hk_obstacle_def def;
    hk_fill_obstacle_def(&def, sizeof def);
    return def;
}
/* "plane", "box", …; NULL: there is none of that number */
HK_API const char *hk_obstacle_shape_name(hk_obstacle_shape shape);

/* Obstacles of a model, and where their points are: the rotation (row-major 3×3) and translation
 * that take an obstacle from where it was defined to where it is at a time. */
HK_API int hk_model_obstacle_count(const hk_model *model);
HK_API const char *hk_model_obstacle_name(const hk_model *model, int obstacle);
HK_API hk_status hk_model_obstacle_pose(const hk_model *model, int obstacle, double time,
                                        double rotation[9], double translation[3]);
/* A mesh of its surface where it is at a time, for pictures: curved ones in facets, of a plane a
 * square with sides of `size`, m, around the point of it that is nearest to `center` (NULL: around
 * its own point). */
HK_API hk_status hk_model_obstacle_mesh(const hk_model *model, int obstacle, double time,
                                        double size, const double center[3], hk_mesh **mesh);
/* The contact distance that a model has, m, given or chosen; 0: it has no contact. */
HK_API double hk_model_contact_distance(const hk_model *model);

/* ---------------------------------------------------------------- reports */

/* Contact at the state of a world, and what was done for it in the last step or pose. All 0 (the
 * gap INFINITY) where a model has no contact. */
typedef struct hk_contact_report {
    int64_t pairs;      /* that push each other: their gap is less than the distance */
    int64_t candidates; /* that are near enough to be looked at */
    double least_gap; /* m, between any two surfaces (of one body: where they push); INFINITY: none
                         are near each other */
    int64_t clamped;  /* vertices and steps that the guard has shortened */
    int64_t detections; /* how often pairs were looked for */
    int certified; /* 1: exact arithmetic has proven this state free of intersections ("certify") */
    int recovering;     /* 1: an overlapping start is still being pushed apart */
    int recovery_steps; /* that were taken for it, so far or until it was done */
    int reserved_int;
    double recovered_time; /* s, when it was done; NAN: there was nothing to be done, or still is */
    double energy;         /* J, of the skins */
    double detection_ms;   /* wall time */
    double pairs_ms;       /* energy, forces and stiffness of pairs and friction */
    double guard_ms;       /* how far steps may go */
    double certificate_ms;
    uint64_t reserved[10];
} hk_contact_report;
HK_API hk_status hk_world_contact(hk_world *world, hk_contact_report *report);

/* What contact and friction put on an obstacle: the opposite of what they do to bodies, at the end
 * of the last step (of its last stage, where the integrator has several). The torque is about
 * `center`, the middle of the obstacle's bounds where it was defined (of a plane its point), moved
 * along with it. Poses have no friction. */
typedef struct hk_obstacle_load {
    double force[3];  /* N */
    double torque[3]; /* N m */
    double center[3]; /* m */
    uint64_t reserved[4];
} hk_obstacle_load;
HK_API hk_status hk_world_obstacle_load(hk_world *world, int obstacle, hk_obstacle_load *load);

#ifdef __cplusplus
}
#endif
#endif
