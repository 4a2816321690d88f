// What a model knows of tearing beside the thresholds of its materials: blades and settings.
// Immutable, shared by a model and its copies.
#ifndef HK_MODEL_TEAR_H
#define HK_MODEL_TEAR_H

#include "model/model.h"

// Of the mean edge at a vertex, by which it is drawn back from the other side of a crack.
#define HK_OPENING 0.01

typedef struct hk_cut {
    int body;  // HK_CUT_ALL: all of them
    int point_count;
    double points[HK_CUT_POINTS][3];  // m
    int move_count;
    hk_motion *moves;
    double from, until;  // s
} hk_cut;

typedef struct hk_tearing {
    int references;
    int cut_count;
    hk_cut *cuts;
    int most;
    double renew, opening;
} hk_tearing;

hk_status hk_model_take_tearing(const hk_model_def *def, hk_model *model);
hk_tearing *hk_tearing_retain(hk_tearing *tearing);
void hk_tearing_free(hk_tearing *tearing);
// Where the points of a cut are.
void hk_cut_place(const hk_cut *cut, double time, double points[HK_CUT_POINTS][3]);
// Whether anything of it can tear: a material, or a cut.
bool hk_model_tears(const hk_model *model);
// Whether a material does.
bool hk_model_has_thresholds(const hk_model *model);

#endif
