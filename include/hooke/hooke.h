/* Hooke: how elastic bodies move and where they come to rest.
 *
 * This is the whole public interface of libhooke.
 *
 *   hk_mesh   a mesh of tetrahedra or, for sheets, of triangles, from a file, a generator or arrays
 *   hk_embedding  a fine surface that a mesh of tetrahedra carries along
 *   hk_model  bodies = meshes + materials + constraints + loads; obstacles; may serve many worlds
 *   hk_world  a model in motion: positions, velocities, a solver and its workspace
 *   hk_rest   the rest shape that sags into a given one; hk_design: both shapes, edited live
 *   hk_fit    the materials with which a model sags into an observed shape
 *   hk_analysis  energy, gradient, Hessian and linear systems at any state
 *   hk_scene  a JSON scene file, which yields the definitions of a model and of a world
 *
 * Conventions
 *   - SI units, angles in degrees. Vectors are double[3]; arrays of them are double[n][3], flat.
 *   - Everything a user creates starts from a definition: `hk_xxx_def d = hk_default_xxx_def();`
 *     Definitions and what they point to need to live only until the create call returns, except
 *     where a comment says otherwise.
 *   - A call that can fail returns hk_status. If it is not HK_OK, hk_error() says in this thread
 *     what is wrong, where, and what to do; outputs are untouched and nothing leaks.
 *     A needed argument that is NULL is such a failure; calls without a status that only look at an
 *     object take NULL and answer 0, NULL or "", and those that free it do nothing.
 *   - "Did not converge" is not a failed call. It is told by hk_step_report.reason.
 *   - The library never prints, exits or aborts. Different objects may be used from different
 *     threads at the same time; one object from one thread at a time.
 *
 * How this interface grows, so that a program need not be compiled again for a newer library
 *   - A definition begins with its size, def_size, which hk_default_xxx_def() sets (or
 *     `{.def_size = sizeof(hk_xxx_def), …}`, which leaves all else 0). New fields come at its end:
 *     the library reads the first def_size bytes and takes its defaults for what lies beyond. A
 *     program newer than the library is served, too, as long as it leaves the new fields alone.
 *   - All elements of an array of definitions have the size of the first (hk_def_at).
 *   - Structs that stand by value in others or that the library writes into the memory of a caller
 *     (hk_material_def, hk_motion_def, hk_key_def, hk_formula_def, hk_between_def, hk_solver_def;
 *     hk_mesh_report, hk_intersection, hk_intersection_report, hk_energy, hk_step_report,
 *     hk_iteration, hk_rest_report, hk_fit_report, hk_design_view, hk_sdf_report,
 *     hk_filling_report, hk_contact_report, hk_obstacle_load, hk_reaction, hk_greatest, hk_probe,
 *     hk_spring_state)
 *     keep their size:
 *     new fields are taken from `reserved`, which is 0.
 *   - Structs that only the library makes, one at a time (hk_output_def, hk_option_info,
 *     hk_machine_info, hk_fit_parameter), get new fields at their end. A definition that the
 * library made may be longer or shorter than the program's: look at it through its pointer, and
 * copy it with hk_copy_xxx_def().
 *   - All others are plain values that stay as they are: hk_allocator, hk_field, hk_defect,
 *     hk_parameter, hk_curve, hk_invertible, hk_custom_law, hk_selector, hk_transform, hk_option,
 *     hk_damping.
 *     Enumerations get new values at their end.
 */
#ifndef HOOKE_H
#define HOOKE_H

#define HK_VERSION_MAJOR 0
#define HK_VERSION_MINOR 1
#define HK_VERSION_PATCH 0

#include <hooke/base.h>
#include <hooke/constraints.h>
#include <hooke/contact.h>
#include <hooke/design.h>
#include <hooke/fill.h>
#include <hooke/inspect.h>
#include <hooke/links.h>
#include <hooke/material.h>
#include <hooke/mesh.h>
#include <hooke/model.h>
#include <hooke/quadratic.h>
#include <hooke/research.h>
#include <hooke/scene.h>
#include <hooke/sdf.h>
#include <hooke/tear.h>
#include <hooke/tool.h>
#include <hooke/world.h>

#endif
