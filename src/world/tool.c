// Tools: an obstacle that a hand moves, and what the hand feels.
//
// After a step of linear_implicit the force upon the tool is linear in where the tool is, as far as
// the step was: with J_j the displacement of a touched vertex j's place that moves with the tool,
// per displacement of the tool ξ (translation, rotation about the centre), and k_j the stiffness of
// its contact over a step,
//
//   dF = −Σ J_jᵀ k_j (J_j ξ − w_j),    A w = Σ k_j J_j ξ,
//
// where A, the matrix of the step, has the stiffness of the contacts in it. Bodies give way by w.
// So the stiffness that the tool meets is K = Jᵀ k J − Gᵀ A⁻¹ G, G = k J: six solves.
//
// Between steps the servo moves the tool, which has no mass, to where coupling and contact balance,
// implicitly in time: stable for any stiffness and damping of the coupling.
#include <math.h>
#include <pthread.h>

#include "core/def.h"
#include "core/rotation.h"
#include "math/dense.h"
#include "solver/linear_step.h"
#include "term/penetration.h"
#include "world/world.h"

enum { FREEDOM = 6 };
// How well bodies' giving way is solved for.
#define ANSWER_ACCURACY 1e-3
enum { ANSWER_ITERATIONS = 200 };
// m/s, of a hand: what is nearer than that times a step may be touched before the next one.
#define FASTEST_HAND 1

// Force upon the tool near a pose: force − stiffness ξ.
typedef struct answer {
    hk_tool_pose pose;
    double force[FREEDOM];                // N, N m
    double stiffness[FREEDOM * FREEDOM];  // symmetric, not negative
    double away[3];                       // unit, in which contact pushes; 0: there is none
} answer;

struct hk_tool {
    hk_world *world;
    int obstacle;
    double middle[3];  // m, of the obstacle as it was defined
    double stiffness[FREEDOM], damping[FREEDOM];
    double *right, *response;  // [vertex_count][4]
    double center[3];          // m, of the tool at the end of the last step
    // ---- shared by both threads
    pthread_mutex_t lock;
    hk_tool_pose pose;       // where the tool is
    double error[FREEDOM];   // from the tool to the hand, at the last call of the servo
    answer last, before;     // the newest answer, and the one that it takes over from
    double since, blending;  // s since the newest came, and in which it takes over
};

// ---------------------------------------------------------------- poses

static const hk_tool_pose g_nowhere = {.quaternion = {1, 0, 0, 0}};

// ξ from a to b: translation, and rotation vector in radians.
static void difference(const hk_tool_pose *a, const hk_tool_pose *b, double xi[FREEDOM])
{
    double back[4] = {a->quaternion[0], -a->quaternion[1], -a->quaternion[2], -a->quaternion[3]};
    double turn[4], axis[3], degrees;
    hk_quaternion_product(b->quaternion, back, turn);
    if (turn[0] < 0)
        for (int i = 0; i < 4; i++) turn[i] = -turn[i];
    hk_quaternion_turn(turn, axis, &degrees);
    for (int i = 0; i < 3; i++) {
        xi[i] = b->position[i] - a->position[i];
        xi[3 + i] = axis[i] * degrees * acos(-1) / 180;
    }
}

static void displace(hk_tool_pose *pose, const double xi[FREEDOM])
{
    double angle = sqrt(xi[3] * xi[3] + xi[4] * xi[4] + xi[5] * xi[5]);
    for (int i = 0; i < 3; i++) pose->position[i] += xi[i];
    if (!(angle > 0)) return;
    double axis[3] = {xi[3] / angle, xi[4] / angle, xi[5] / angle}, turn[4], now[4];
    hk_rotation_quaternion(axis, angle * 180 / acos(-1), turn);
    hk_quaternion_product(turn, pose->quaternion, now);
    double norm = 0;
    for (int i = 0; i < 4; i++) norm += now[i] * now[i];
    for (int i = 0; i < 4; i++) pose->quaternion[i] = now[i] / sqrt(norm);
}

static hk_placement placement_of(const hk_tool *t, const hk_tool_pose *pose)
{
    hk_placement at = {.translation = {0, 0, 0}};
    hk_quaternion_matrix(pose->quaternion, at.rotation);
    for (int i = 0; i < 3; i++) {
        at.translation[i] = pose->position[i];
        for (int k = 0; k < 3; k++) at.translation[i] -= at.rotation[i][k] * t->middle[k];
    }
    return at;
}

static bool is_pose(const hk_tool_pose *pose)
{
    double norm = 0, sum = 0;
    for (int i = 0; i < 4; i++) norm += pose->quaternion[i] * pose->quaternion[i];
    for (int i = 0; i < 3; i++) sum += 0 * pose->position[i];
    return sum == 0 && fabs(norm - 1) < 1e-6;
}

// ---------------------------------------------------------------- life

void hk_fill_tool_def(hk_tool_def *def, size_t size)
{
    const hk_tool_def standard = {
        .stiffness = 500, .damping = 2, .turn_stiffness = 1, .turn_damping = 0.004};
    hk_def_fill(&hk_def_tool, &standard, def, size);
}

static hk_status check(const hk_world *w, const hk_tool_def *def, int *obstacle)
{
    const double numbers[] = {def->stiffness, def->damping, def->turn_stiffness, def->turn_damping};
    static const char *const names[] = {"stiffness", "damping", "turn_stiffness", "turn_damping"};
    for (int k = 0; k < 4; k++)
        if (!(isfinite(numbers[k]) && (numbers[k] > 0 || (k % 2 && numbers[k] == 0))))
            return hk_fail(HK_BAD_INPUT, "hk_tool_def: %s must be greater than 0 (is %g)", names[k],
                           numbers[k]);
    if (!w->method->linear_step || !hk_terms_spring_damper(w->problem->terms))
        return hk_fail(HK_UNSUPPORTED,
                       "a tool needs the method linear_implicit and the contact law spring_damper");
    *obstacle = -1;
    for (int k = 0; k < hk_model_obstacle_count(w->model) && def->obstacle; k++)
        if (strcmp(def->obstacle, hk_model_obstacle_name(w->model, k)) == 0) *obstacle = k;
    if (*obstacle < 0)
        return hk_fail(HK_BAD_INPUT, "hk_tool_def: there is no obstacle \"%.60s\"",
                       def->obstacle ? def->obstacle : "");
    return HK_OK;
}

// Where the scene has the obstacle.
static void take_place(hk_tool *t, const hk_spring_damper *law)
{
    const hk_placement *at = &law->contacts->placed[t->obstacle];
    double w = sqrt(fmax(0, 1 + at->rotation[0][0] + at->rotation[1][1] + at->rotation[2][2])) / 2;
    t->pose = g_nowhere;
    hk_contacts_middle(law->contacts, t->obstacle, t->middle);
    hk_placement_apply(at, t->middle, t->pose.position);
    if (w > 1e-6) {
        double *q = t->pose.quaternion;
        q[0] = w;
        q[1] = (at->rotation[2][1] - at->rotation[1][2]) / (4 * w);
        q[2] = (at->rotation[0][2] - at->rotation[2][0]) / (4 * w);
        q[3] = (at->rotation[1][0] - at->rotation[0][1]) / (4 * w);
    }
    t->last.pose = t->before.pose = t->pose;
}

hk_status hk_tool_create(hk_world *w, const hk_tool_def *given, hk_tool **tool)
{
    int obstacle = -1;
    hk_tool_def def = hk_default_tool_def();
    if (!w || !given || !tool)
        return hk_fail(HK_BAD_INPUT, "hk_tool_create: world, def and tool are needed");
    HK_TRY(hk_def_take(&hk_def_tool, given, &def));
    HK_TRY(hk_world_need_problem(w));
    HK_TRY(check(w, &def, &obstacle));
    hk_tool *t = HK_NEW(hk_tool);
    if (!t) return HK_NO_MEMORY;
    t->world = w;
    t->obstacle = obstacle;
    for (int i = 0; i < FREEDOM; i++) {
        t->stiffness[i] = i < 3 ? def.stiffness : def.turn_stiffness;
        t->damping[i] = i < 3 ? def.damping : def.turn_damping;
    }
    t->right = HK_ZEROS(double, 4 * (size_t)w->model->vertex_count);
    t->response = HK_ZEROS(double, 4 * (size_t)w->model->vertex_count);
    if (!t->right || !t->response || pthread_mutex_init(&t->lock, NULL) != 0) {
        hk_free(t->right);
        hk_free(t->response);
        hk_free(t);
        return HK_NO_MEMORY;
    }
    take_place(t, hk_terms_spring_damper(w->problem->terms));
    *tool = t;
    return HK_OK;
}

void hk_tool_free(hk_tool *t)
{
    if (!t) return;
    hk_spring_damper *law =
        t->world->problem ? hk_terms_spring_damper(t->world->problem->terms) : NULL;
    if (law) law->driven = false;
    pthread_mutex_destroy(&t->lock);
    hk_free(t->right);
    hk_free(t->response);
    hk_free(t);
}

// ---------------------------------------------------------------- the answer of a step

// The last step, and the law by which obstacles were touched in it.
typedef struct linear {
    const hk_spring_damper *law;
    hk_linear_step *step;
    const double *from, *delta, *ahead;
} linear;

// Of one touched vertex: its contact's stiffness over a step and its arm from the centre.
typedef struct touched {
    double k[9], arm[3], force[3];
} touched;

static bool touch(const hk_tool *t, const linear *l, int vertex, touched *at)
{
    double by_place[9], by_velocity[9], h = l->step->h;
    int64_t first = 4 * (int64_t)vertex;
    const double *x = l->from + first, *d = l->delta + first;
    int body = l->law->contacts->body_of[vertex];
    if (!hk_spring_damper_of(l->law, body, t->obstacle, x, l->ahead ? l->ahead + first : NULL,
                             at->force, by_place, by_velocity))
        return false;
    for (int i = 0; i < 9; i++) at->k[i] = -by_place[i] - by_velocity[i] / h;
    for (int i = 0; i < 3; i++) {
        at->arm[i] = x[i] + d[i] - t->center[i];
        for (int j = 0; j < 3; j++) at->force[i] -= at->k[3 * i + j] * d[j];
    }
    return true;
}

// J ξ for the unit displacement `freedom`: translation, or axis × arm.
static void carry(const double arm[3], int freedom, double u[3])
{
    for (int i = 0; i < 3; i++) u[i] = freedom == i;
    if (freedom < 3) return;
    int a = freedom - 3, b = (a + 1) % 3, c = (a + 2) % 3;
    u[a] = 0;
    u[b] = -arm[c];
    u[c] = arm[b];
}

// to += Jᵀ f
static void gather(const double arm[3], const double f[3], double sign, double to[FREEDOM])
{
    for (int i = 0; i < 3; i++) {
        int b = (i + 1) % 3, c = (i + 2) % 3;
        to[i] += sign * f[i];
        to[3 + i] += sign * (arm[b] * f[c] - arm[c] * f[b]);
    }
}

static void multiply(const double k[9], const double u[3], double to[3])
{
    for (int i = 0; i < 3; i++) to[i] = k[3 * i] * u[0] + k[3 * i + 1] * u[1] + k[3 * i + 2] * u[2];
}

// One column of the stiffness.
static hk_status find_column(hk_tool *t, const linear *l, int freedom, double *column)
{
    int count = t->world->model->vertex_count;
    touched at;
    double u[3], f[3], phases[HK_PHASE_COUNT] = {0};
    memset(t->right, 0, 4 * sizeof(double) * (size_t)count);
    memset(t->response, 0, 4 * sizeof(double) * (size_t)count);
    for (int k = 0; k < count; k++) {
        if (!touch(t, l, k, &at)) continue;
        carry(at.arm, freedom, u);
        multiply(at.k, u, t->right + 4 * (int64_t)k);
    }
    hk_krylov_limits limits = {.tolerance = ANSWER_ACCURACY, .iterations = ANSWER_ITERATIONS};
    hk_krylov_report solved;
    HK_TRY(hk_linear_step_solve(l->step, l->from, t->right, &limits, t->response, &solved, phases));
    for (int k = 0; k < count; k++) {
        if (!touch(t, l, k, &at)) continue;
        carry(at.arm, freedom, u);
        for (int i = 0; i < 3; i++) u[i] -= t->response[4 * (int64_t)k + i];
        multiply(at.k, u, f);
        gather(at.arm, f, 1, column);
    }
    return HK_OK;
}

// Where nothing is touched: the nearest vertex, if the tool might get there in a step, with its gap
// as a depth below 0. Its contact and the body behind it are two springs in a row.
static hk_status find_near(hk_tool *t, const linear *l, answer *found)
{
    const hk_contacts *c = l->law->contacts;
    const hk_model_contact *s = c->settings;
    double least = FASTEST_HAND * l->step->h, normal[3], n[3], f[3], phases[HK_PHASE_COUNT] = {0};
    int nearest = -1, count = t->world->model->vertex_count;
    for (int k = 0; k < count; k++) {
        double x[3];
        for (int i = 0; i < 3; i++)
            x[i] = l->from[4 * (int64_t)k + i] + l->delta[4 * (int64_t)k + i];
        double gap = hk_spring_damper_gap(l->law, c->body_of[k], t->obstacle, x, n);
        if (!(gap < least)) continue;
        least = gap;
        nearest = k;
        memcpy(normal, n, sizeof normal);
    }
    if (nearest < 0) return HK_OK;
    int64_t at = 4 * (int64_t)nearest;
    memset(t->right, 0, 4 * sizeof(double) * (size_t)count);
    memset(t->response, 0, 4 * sizeof(double) * (size_t)count);
    for (int i = 0; i < 3; i++) t->right[at + i] = normal[i];
    hk_krylov_limits limits = {.tolerance = ANSWER_ACCURACY, .iterations = ANSWER_ITERATIONS};
    hk_krylov_report solved;
    HK_TRY(hk_linear_step_solve(l->step, l->from, t->right, &limits, t->response, &solved, phases));
    double compliance = 1 / (s->normal_stiffness + s->normal_damping / l->step->h), arm[3];
    for (int i = 0; i < 3; i++) compliance += fmax(0, normal[i] * t->response[at + i]);
    for (int i = 0; i < 3; i++) arm[i] = l->from[at + i] + l->delta[at + i] - t->center[i];
    // Force upon the tool −k (depth) n; its displacement raises the depth by n · J ξ.
    double row[FREEDOM] = {0}, k = 1 / compliance;
    gather(arm, normal, 1, row);
    for (int i = 0; i < 3; i++) f[i] = k * least * normal[i], found->away[i] = -normal[i];
    gather(arm, f, 1, found->force);
    for (int i = 0; i < FREEDOM * FREEDOM; i++)
        found->stiffness[i] = k * row[i / FREEDOM] * row[i % FREEDOM];
    return HK_OK;
}

static void normalise(const double v[3], double to[3])
{
    double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int i = 0; i < 3; i++) to[i] = length > 0 ? v[i] / length : 0;
}

static hk_status find_answer(hk_tool *t, const hk_tool_pose *pose, answer *found)
{
    hk_world *w = t->world;
    linear last = {.law = hk_terms_spring_damper(w->problem->terms)}, *l = &last;
    l->step = w->method->linear_step(w->solver, &l->from, &l->delta, &l->ahead);
    touched at;
    double away[3] = {0}, normal[3];
    int count = 0;
    *found = (answer){.pose = *pose};
    memcpy(t->center, pose->position, sizeof t->center);
    for (int k = 0; k < w->model->vertex_count; k++) {
        if (!touch(t, l, k, &at)) continue;
        gather(at.arm, at.force, -1, found->force);
        // Springs push, dampers may pull: away is where the springs push to.
        const double *x = l->from + 4 * (int64_t)k;
        hk_spring_damper_gap(l->law, l->law->contacts->body_of[k], t->obstacle, x, normal);
        for (int i = 0; i < 3; i++) away[i] -= normal[i];
        count++;
    }
    if (count == 0) return find_near(t, l, found);
    normalise(away, found->away);
    double columns[FREEDOM][FREEDOM] = {{0}}, a[FREEDOM * FREEDOM], v[FREEDOM * FREEDOM];
    for (int k = 0; k < FREEDOM; k++) HK_TRY(find_column(t, l, k, columns[k]));
    for (int i = 0; i < FREEDOM; i++)
        for (int j = 0; j < FREEDOM; j++)
            found->stiffness[FREEDOM * i + j] = 0.5 * (columns[i][j] + columns[j][i]);
    hk_dense_project(found->stiffness, FREEDOM, 0, a, v);
    return HK_OK;
}

// Contact near the tool's pose, the newest answer as far as it has taken over.
typedef struct contact {
    double force[FREEDOM];  // there
    double stiffness[FREEDOM * FREEDOM];
    double away[FREEDOM];  // the direction in which it pushes
} contact;

static void contact_now(const hk_tool *t, contact *c)
{
    double part = t->blending > 0 ? fmin(t->since / t->blending, 1) : 1;
    const answer *answers[2] = {&t->before, &t->last};
    const double weights[2] = {1 - part, part};
    *c = (contact){.force = {0}};
    for (int n = 0; n < 2; n++) {
        const answer *a = answers[n];
        double xi[FREEDOM];
        difference(&a->pose, &t->pose, xi);
        for (int i = 0; i < FREEDOM; i++) {
            c->away[i] += i < 3 ? weights[n] * a->away[i] : 0;
            c->force[i] += weights[n] * a->force[i];
            for (int j = 0; j < FREEDOM; j++) {
                double k = weights[n] * a->stiffness[FREEDOM * i + j];
                c->force[i] -= k * xi[j];
                c->stiffness[FREEDOM * i + j] += k;
            }
        }
    }
}

// A new answer takes over from what contact is by now.
static void take_over(hk_tool *t, const answer *found)
{
    contact now;
    contact_now(t, &now);
    t->before.pose = t->pose;
    memcpy(t->before.force, now.force, sizeof now.force);
    memcpy(t->before.stiffness, now.stiffness, sizeof now.stiffness);
    normalise(now.away, t->before.away);
    t->last = *found;
    t->since = 0;
    t->blending = t->world->step;
}

hk_status hk_tool_step(hk_tool *t, hk_step_report *report)
{
    if (!t) return hk_fail(HK_BAD_INPUT, "hk_tool_step: tool is needed");
    hk_world *w = t->world;
    HK_TRY(hk_world_need_problem(w));
    hk_spring_damper *law = hk_terms_spring_damper(w->problem->terms);
    if (!w->method->linear_step || !law)
        return hk_fail(HK_UNSUPPORTED,
                       "a tool needs the method linear_implicit and the contact law spring_damper");
    pthread_mutex_lock(&t->lock);
    hk_tool_pose pose = t->pose, before = t->last.pose;
    pthread_mutex_unlock(&t->lock);
    // From where the last step had it to where it is now.
    hk_placement start = placement_of(t, &before);
    hk_contacts_put(law->contacts, t->obstacle, &start);
    law->driven = true;
    law->driven_obstacle = t->obstacle;
    law->driven_to = placement_of(t, &pose);
    hk_step_report own;
    HK_TRY(hk_world_step(w, report ? report : &own));
    answer found;
    HK_TRY(find_answer(t, &pose, &found));
    pthread_mutex_lock(&t->lock);
    take_over(t, &found);
    pthread_mutex_unlock(&t->lock);
    return HK_OK;
}

// ---------------------------------------------------------------- the servo

// (K + K_v + C_v/dt) δ = F + K_v e + C_v (e − e')/dt
static bool balance(const hk_tool *t, const contact *c, const double error[FREEDOM], double dt,
                    double step[FREEDOM])
{
    double k[FREEDOM * FREEDOM];
    memcpy(k, c->stiffness, sizeof k);
    for (int i = 0; i < FREEDOM; i++) {
        double damper = t->damping[i] / dt;
        k[(FREEDOM + 1) * i] += t->stiffness[i] + damper;
        step[i] = c->force[i] + t->stiffness[i] * error[i] + damper * (error[i] - t->error[i]);
    }
    if (!hk_dense_factor(k, FREEDOM)) return false;
    hk_dense_solve(k, FREEDOM, step);
    return true;
}

// Contact does not pull.
static bool pulls(const contact *c, const double step[FREEDOM])
{
    double along = 0;
    for (int i = 0; i < FREEDOM; i++) {
        double f = c->force[i];
        for (int j = 0; j < FREEDOM; j++) f -= c->stiffness[FREEDOM * i + j] * step[j];
        along += c->away[i] * f;
    }
    return !(along > 0);
}

hk_status hk_tool_servo(hk_tool *t, const hk_tool_pose *hand, double dt, double force[3],
                        double torque[3])
{
    if (!t || !hand || !force || !torque)
        return hk_fail(HK_BAD_INPUT, "hk_tool_servo: tool, hand, force and torque are needed");
    if (!(dt > 0 && isfinite(dt)) || !is_pose(hand))
        return hk_fail(HK_BAD_INPUT, "hk_tool_servo: dt must be greater than 0, the place finite "
                                     "and the quaternion of length 1");
    static const contact none = {.force = {0}};
    contact c;
    double error[FREEDOM], step[FREEDOM];
    pthread_mutex_lock(&t->lock);
    t->since += dt;
    contact_now(t, &c);
    difference(&t->pose, hand, error);
    if (!balance(t, &c, error, dt, step) || pulls(&c, step)) balance(t, &none, error, dt, step);
    for (int i = 0; i < FREEDOM; i++) {
        double left = error[i] - step[i], stretching = (left - t->error[i]) / dt;
        *(i < 3 ? &force[i] : &torque[i - 3]) =
            -t->stiffness[i] * left - t->damping[i] * stretching;
        t->error[i] = left;
    }
    displace(&t->pose, step);
    pthread_mutex_unlock(&t->lock);
    return HK_OK;
}

hk_status hk_tool_where(hk_tool *t, hk_tool_pose *pose)
{
    if (!t || !pose) return hk_fail(HK_BAD_INPUT, "hk_tool_where: tool and pose are needed");
    pthread_mutex_lock(&t->lock);
    *pose = t->pose;
    pthread_mutex_unlock(&t->lock);
    return HK_OK;
}
