// What summaries tell of rigid parts, joints and what keeps its volume.
#include <math.h>

#include "cli.h"

static json_t *three(const double v[3])
{
    return json_pack("[o, o, o]", cli_json_real(v[0]), cli_json_real(v[1]), cli_json_real(v[2]));
}

static void put_cavities(const hk_world *world, json_t *object)
{
    const hk_model *model = hk_world_model(world);
    int count = hk_model_cavity_count(model);
    if (count == 0) return;
    json_t *list = json_array();
    for (int k = 0; k < count; ++k) {
        hk_cavity_state s;
        if (hk_world_cavity_state(world, k, &s) != HK_OK) continue;
        json_t *cavity =
            json_pack("{s:i, s:o, s:o, s:o}", "cavity", k, "volume", cli_json_real(s.volume),
                      "goal", cli_json_real(s.goal), "pressure", cli_json_real(s.pressure));
        const char *name = hk_model_cavity_name(model, k);
        if (name) json_object_set_new(cavity, "name", cli_json_text(name));
        json_array_append_new(list, cavity);
    }
    json_object_set_new(object, "cavities", list);
}

void cli_rigid_put(const hk_world *world, json_t *object)
{
    const hk_model *model = hk_world_model(world);
    int parts = hk_model_rigid_part_count(model), joints = hk_model_joint_count(model);
    json_t *list = json_array();
    for (int k = 0; k < parts; ++k) {
        hk_rigid_state s;
        if (hk_world_rigid_state(world, k, &s) != HK_OK) continue;
        json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:[o, o, o], s:o, s:o, s:o}", "name",
                                              cli_json_text(hk_model_rigid_part_name(model, k)),
                                              "mass", cli_json_real(s.mass), "center",
                                              three(s.center), "rotation", three(s.rotation[0]),
                                              three(s.rotation[1]), three(s.rotation[2]),
                                              "velocity", three(s.velocity), "spin", three(s.spin),
                                              "deformation", cli_json_real(s.deformation)));
    }
    if (parts > 0) json_object_set_new(object, "rigid_parts", list);
    if (parts == 0) json_decref(list);
    list = json_array();
    for (int k = 0; k < joints; ++k) {
        hk_joint_state s;
        if (hk_world_joint_state(world, k, &s) != HK_OK) continue;
        json_t *joint = json_pack("{s:i, s:o, s:o, s:o, s:o, s:o}", "joint", k, "at", three(s.at),
                                  "axis", three(s.axis), "turn", cli_json_real(s.turn), "slide",
                                  cli_json_real(s.slide), "error", cli_json_real(s.error));
        const char *name = hk_model_joint_name(model, k);
        if (name) json_object_set_new(joint, "name", cli_json_text(name));
        json_array_append_new(list, joint);
    }
    if (joints > 0) json_object_set_new(object, "joints", list);
    if (joints == 0) json_decref(list);
    put_cavities(world, object);
}

static void print_cavities(FILE *stream, const hk_world *world)
{
    enum { MOST = 4 };
    const hk_model *model = hk_world_model(world);
    int count = hk_model_cavity_count(model);
    for (int k = 0; k < count && k < MOST; ++k) {
        hk_cavity_state s;
        const char *name = hk_model_cavity_name(model, k);
        if (hk_world_cavity_state(world, k, &s) != HK_OK) continue;
        fprintf(stream, "  volume      %.6g m3 (%s), kept by %.4g Pa\n", s.volume,
                name ? name : "unnamed", s.pressure);
    }
    if (count > MOST) fprintf(stream, "              and %d more\n", count - MOST);
}

void cli_rigid_print(FILE *stream, const hk_world *world)
{
    const hk_model *model = hk_world_model(world);
    int parts = hk_model_rigid_part_count(model), joints = hk_model_joint_count(model);
    double deformed = 0, apart = 0;
    for (int k = 0; k < parts; ++k) {
        hk_rigid_state s;
        if (hk_world_rigid_state(world, k, &s) == HK_OK) deformed = fmax(deformed, s.deformation);
    }
    for (int k = 0; k < joints; ++k) {
        hk_joint_state s;
        if (hk_world_joint_state(world, k, &s) == HK_OK) apart = fmax(apart, s.error);
    }
    if (parts > 0)
        fprintf(stream, "  rigid       %d part%s, deformed by at most %.1e of their size", parts,
                parts == 1 ? "" : "s", deformed);
    if (joints > 0)
        fprintf(stream, "; %d joint%s, apart by at most %.1e m", joints, joints == 1 ? "" : "s",
                apart);
    if (parts > 0) fputc('\n', stream);
    print_cavities(stream, world);
}
