/* Tools in a hand, with forces for haptic devices. A part of hooke.h, which includes it. */
#ifndef HOOKE_TOOL_H
#define HOOKE_TOOL_H

#include <hooke/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- tools */

/* An obstacle of a world that a hand moves, coupled to the hand by a spring and a damper in all six
 * degrees of freedom (a virtual coupling). The world has the method linear_implicit and the contact
 * law spring_damper. Two threads work together:
 *
 *   simulation   hk_tool_step() in the place of hk_world_step(): takes the tool to where it is now,
 *                simulates a step, and finds the force upon the tool and how that changes as the
 *                tool moves, bodies giving way (six more solves with the matrix of the step)
 *   servo        hk_tool_servo(), about a thousand times a second, with where the hand is: moves
 *                the tool to where coupling and bodies balance by the last such answer, and returns
 *                what the hand feels. It takes microseconds, and waits for nothing. A new answer
 *                takes over from the one before in the course of a time step, so that the force
 *                does not jump
 *
 * Poses are the place of the tool's centre (the middle of the bounds of the obstacle as it was
 * defined) and a unit quaternion w, x, y, z. What the scene says of the obstacle's own motion does
 * not count while there is a tool. */
typedef struct hk_tool hk_tool;

typedef struct hk_tool_def {
    size_t def_size;       /* set by hk_default_tool_def() */
    const char *obstacle;  /* its name */
    double stiffness;      /* N/m, of the coupling */
    double damping;        /* N s/m */
    double turn_stiffness; /* N m, per radian */
    double turn_damping;   /* N m s, per radian */
} hk_tool_def;
/* 500 N/m, 2 N s/m, 1 N m, 0.004 N m s */
HK_API void hk_fill_tool_def(hk_tool_def *def, size_t size);
static inline hk_tool_def hk_default_tool_def(void)
{
    hk_tool_def def;
    hk_fill_tool_def(&def, sizeof def);
    return def;
}

typedef struct hk_tool_pose {
    double position[3];   /* m, of the centre */
    double quaternion[4]; /* w, x, y, z */
} hk_tool_pose;

/* The tool is where the obstacle is at the world's time. The world must outlive it; one tool a
 * world. */
HK_API hk_status hk_tool_create(hk_world *world, const hk_tool_def *def, hk_tool **tool);
HK_API void hk_tool_free(hk_tool *tool);

/* From the thread that has the world. */
HK_API hk_status hk_tool_step(hk_tool *tool, hk_step_report *report);
/* From any one thread: the hand is at `hand`, `dt` seconds after the last call. Force (N) and
 * torque (N m, about the centre) are those that the hand feels. */
HK_API hk_status hk_tool_servo(hk_tool *tool, const hk_tool_pose *hand, double dt, double force[3],
                               double torque[3]);
/* Where the tool is, from any thread. */
HK_API hk_status hk_tool_where(hk_tool *tool, hk_tool_pose *pose);

#ifdef __cplusplus
}
#endif
#endif
