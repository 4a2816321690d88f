// The checks of math/apd.h, part of math_checks.inl.
#include "math/apd.h"

ONCE quat follow(mat3 f, quat q, int steps)
{
    return apd_rotation(f, q, steps);
}
ONCE quat follow_within(mat3 f, quat q, scalar tolerance, int most, int *steps)
{
    return apd_rotation_within(f, q, tolerance, most, steps);
}

static const wide g_degree = 0.017453292519943295769L;

static void take_quat(wide to[4], quat q, int lane)
{
    to[0] = (wide)r_lane(q.x, lane), to[1] = (wide)r_lane(q.y, lane);
    to[2] = (wide)r_lane(q.z, lane), to[3] = (wide)r_lane(q.w, lane);
}

static wide norm_error(quat q, int lane)
{
    wide p[4];
    take_quat(p, q, lane);
    return fabsl(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3] - 1);
}

// The rotation by the vector ω (Rodrigues).
static void exponential(wide3 r, const wide omega[3])
{
    wide x = omega[0], y = omega[1], z = omega[2], n = sqrtl(x * x + y * y + z * z);
    wide a = n > 0 ? sinl(n) / n : 1, b = n > 0 ? (1 - cosl(n)) / (n * n) : 0.5L;
    wide3 k = {{0, -z, y}, {z, 0, -x}, {-y, x, 0}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            r[i][j] = (i == j) + a * k[i][j];
            for (int l = 0; l < 3; l++) r[i][j] += b * k[i][l] * k[l][j];
        }
}

static void random_axis(wide axis[3], wide length)
{
    wide n = 0;
    do {
        n = 0;
        for (int i = 0; i < 3; i++) axis[i] = uniform(), n += axis[i] * axis[i];
    } while (n > 1 || n < 0.01L);
    for (int i = 0; i < 3; i++) axis[i] *= length / sqrtl(n);
}

// The angle of aᵀb.
static wide angle_between(wide3 a, wide3 b)
{
    wide3 m;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            m[i][j] = a[0][i] * b[0][j] + a[1][i] * b[1][j] + a[2][i] * b[2][j];
    wide x = m[2][1] - m[1][2], y = m[0][2] - m[2][0], z = m[1][0] - m[0][1];
    return atan2l(sqrtl(x * x + y * y + z * z), m[0][0] + m[1][1] + m[2][2] - 1);
}

// tr(RᵀF), the energy with its sign turned.
static wide alignment(wide3 r, double f[3][3])
{
    wide sum = 0;
    for (int i = 0; i < 9; i++) sum += r[i / 3][i % 3] * (wide)f[i / 3][i % 3];
    return sum;
}

// F = R V diag(s) Vᵀ in every lane with R a turn by `angle` about a random axis; R into `rotation`.
static mat3 turned(wide angle, const double stretch[2], wide3 rotation[HK_LANES],
                   double plain[HK_LANES][3][3])
{
    mat3 f = m3_zero();
    for (int l = 0; l < HK_LANES; l++) {
        double v[3][3];
        wide axis[3], s[3];
        random_rotation(v);
        random_axis(axis, angle);
        exponential(rotation[l], axis);
        for (int k = 0; k < 3; k++)
            s[k] = stretch[0] + (stretch[1] - stretch[0]) * 0.5 * (1 + uniform());
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                wide sum = 0;
                for (int k = 0; k < 3; k++)
                    for (int m = 0; m < 3; m++)
                        sum += rotation[l][i][m] * (wide)v[m][k] * s[k] * (wide)v[j][k];
                plain[l][i][j] = (double)(scalar)sum;
            }
        put(&f, l, plain[l]);
    }
    return f;
}

// ---- the parts

static void cayley_turns_by_four_atan(void **state)
{
    (void)state;
    worst turn = {0}, unit = {0};
    for (int batch = 0; batch < 4000 / HK_LANES; batch++) {
        vec3 omega = v3_set(0, 0, 0);
        wide plain[HK_LANES][3];
        for (int l = 0; l < HK_LANES; l++) {
            random_axis(plain[l], powl(10, -3 + 5 * (wide)fabs(uniform())));
            for (int i = 0; i < 3; i++) {
                r_set_lane(&omega.v[i], l, (scalar)plain[l][i]);
                plain[l][i] = (wide)(scalar)plain[l][i];
            }
        }
        quat q = quat_cayley(omega);
        for (int l = 0; l < HK_LANES; l++) {
            wide p[4], n = 0;
            take_quat(p, q, l);
            for (int i = 0; i < 3; i++) n += plain[l][i] * plain[l][i];
            n = sqrtl(n);
            wide half = 2 * atanl(n / 4);
            for (int i = 0; i < 3; i++)
                note(&turn, fabsl(p[i] - sinl(half) * plain[l][i] / n) / (wide)HK_EPSILON, 0,
                     batch);
            note(&turn, fabsl(p[3] - cosl(half)) / (wide)HK_EPSILON, 0, batch);
            note(&unit, norm_error(q, l) / (wide)HK_EPSILON, 0, batch);
        }
    }
    assert_within("cayley: quaternion", turn, 4);
    assert_within("cayley: unit", unit, 6);
}

static void quaternions_multiply_like_rotations(void **state)
{
    (void)state;
    worst product = {0}, rotation = {0};
    for (int batch = 0; batch < 500; batch++) {
        mat3 r = random_lanes();
        quat a = quat_cayley(m3_column(r, 0)), b = quat_cayley(v3_scale(m3_column(r, 1), r_set(9)));
        mat3 both = m3_mul(quat_rotation(a), quat_rotation(b));
        note_lanes(&product, m3_sub(quat_rotation(quat_mul(a, b)), both), (wide)HK_EPSILON, batch);
        for (int l = 0; l < HK_LANES; l++) {
            wide3 q;
            take(q, quat_rotation(b), l);
            note(&rotation, rotation_error(q) / (wide)HK_EPSILON, 0, batch);
        }
    }
    assert_within("quaternion product", product, 10);
    assert_within("quaternion to rotation", rotation, 18);
}

// g and H are the derivatives of −tr(exp(ω)ᵀM), and Δω = −H⁻¹g leads from 1 to a small turn ω.
static void apd_derivatives_match_differences(void **state)
{
    (void)state;
    const wide h = 1e-4L;
    worst first = {0}, second = {0};
    for (int batch = 0; batch < 50; batch++) {
        double plain[HK_LANES][3][3];
        mat3 m = fill(RANDOM, batch, plain);
        vec3 g = apd_gradient(m);
        sym3 s = apd_hessian(m);
        real hessian[3][3] = {{s.xx, s.xy, s.xz}, {s.xy, s.yy, s.yz}, {s.xz, s.yz, s.zz}};
        for (int l = 0; l < HK_LANES; l++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    wide e[4];
                    for (int k = 0; k < 4; k++) {
                        wide omega[3] = {0};
                        wide3 r;
                        omega[i] += k & 1 ? h : -h;
                        omega[j] += k & 2 ? h : -h;
                        exponential(r, omega);
                        e[k] = -alignment(r, plain[l]);
                    }
                    wide slope = (e[3] - e[0]) / ((i == j ? 4 : 2) * h);
                    wide bend = (e[3] - e[2] - e[1] + e[0]) / (4 * h * h);
                    wide expected = (wide)r_lane(g.v[i], l) + (i == j ? 0 : r_lane(g.v[j], l));
                    note(&first, fabsl(slope - expected) / 1e-7L, 0, batch);
                    note(&second, fabsl(bend - (wide)r_lane(hessian[i][j], l)) / 1e-7L, 0, batch);
                }
    }
    assert_within("apd: gradient (1e-7)", first, 4);
    assert_within("apd: Hessian (1e-7)", second, 4);
    // A turn about x by 0.01.
    wide omega[3] = {0.01L, 0, 0};
    wide3 r;
    exponential(r, omega);
    mat3 f = m3_zero();
    for (int i = 0; i < 9; i++) f.m[i / 3][i % 3] = r_set((double)r[i / 3][i % 3]);
    vec3 g = apd_gradient(f);
    sym3 s = apd_hessian(f);
    double step = (double)(-r_lane(g.v[0], 0) / r_lane(s.xx, 0));
    assert_true(fabs(step - 0.01) < 1e-5);
    quat q = follow(f, quat_identity(), 1);
    assert_true(fabs((double)r_lane(q.x, 0) - sin(0.005)) < 1e-7);
}

// ---- convergence

// Split, Figure 6: the largest and mean angle to the nearest rotation after k steps.
static void apd_converges_fast(void **state)
{
    (void)state;
    enum { STEPS = 4 };
    static const double stretch[2] = {0.5, 2};
    static const int degrees[] = {5, 10, 20, 40};
    wide order = 0, cube = 0;
    int orders = 0;
    for (int d = 0; d < 4; d++) {
        wide mean[STEPS] = {0}, most[STEPS] = {0};
        int count = 0;
        for (int batch = 0; batch < 1600 / HK_LANES; batch++) {
            wide3 exact[HK_LANES], r;
            double plain[HK_LANES][3][3];
            wide error[HK_LANES][STEPS];
            mat3 f = turned(degrees[d] * g_degree, stretch, exact, plain);
            for (int k = 0; k < STEPS; k++) {
                quat q = follow(f, quat_identity(), k);
                for (int l = 0; l < HK_LANES; l++) {
                    take(r, quat_rotation(q), l);
                    error[l][k] = angle_between(r, exact[l]);
                    mean[k] += error[l][k];
                    most[k] = fmaxl(most[k], error[l][k]);
                }
            }
            for (int l = 0; l < HK_LANES; l++, count++)
                for (int k = 0; k < STEPS - 1; k++) {
                    wide now = error[l][k], next = error[l][k + 1];
                    if (!(next > 1e3L * (wide)HK_EPSILON)) break;
                    cube = fmaxl(cube, next / powl(now, 3));
                    if (k > 0) order += logl(next / now) / logl(now / error[l][k - 1]), orders++;
                }
        }
        if (getenv("HK_TEST_VERBOSE")) {
            printf("    from %2d degrees, mean (largest):", degrees[d]);
            for (int k = 1; k < STEPS; k++)
                printf("  %.1Le (%.1Le)", mean[k] / count / g_degree, most[k] / g_degree);
            printf("\n");
        }
        // One step from 10° is good for 0.05° on average, as Split's Table 4 asks.
        if (degrees[d] == 10) assert_true(mean[1] / count < 0.05L * g_degree);
        assert_true(most[3] < 60 * (wide)HK_EPSILON);
    }
    if (getenv("HK_TEST_VERBOSE"))
        printf("    mean exponent %.2Lf of %d, error/error³ at most %.2Lf\n", order / orders,
               orders, cube);
    // In single precision too few steps lie between the start and rounding.
    if (HK_DOUBLE) assert_true(orders > 100 && order / orders > 2.5L);
    assert_true(cube < 0.3L);
}

// Cold starts, up to the other side.
static void apd_converges_from_anywhere(void **state)
{
    (void)state;
    static const double stretches[][2] = {{1, 1}, {0.1, 5}, {0.7, 1.3}};
    static const double degrees[] = {60, 90, 120, 150, 170, 179, 179.99, 180};
    for (int s = 0; s < 3; s++)
        for (int d = 0; d < 8; d++)
            for (int batch = 0; batch < 400 / HK_LANES; batch++) {
                wide3 exact[HK_LANES], r;
                double plain[HK_LANES][3][3];
                mat3 f = turned((wide)degrees[d] * g_degree, stretches[s], exact, plain);
                // A half turn leads to a saddle first.
                int steps = degrees[d] == 180 ? 20 : 12;
                quat q = follow(f, quat_identity(), steps);
                for (int l = 0; l < HK_LANES; l++) {
                    take(r, quat_rotation(q), l);
                    // By rounding, the angle of 0.1 + 0.1 of stretches is uncertain by ε · 5/0.2.
                    wide error = angle_between(r, exact[l]);
                    if (error > 200 * (wide)HK_EPSILON)
                        fail_msg("%g degrees, stretches from %g: off by %Lg after %d steps",
                                 degrees[d], stretches[s][0], error, steps);
                }
            }
    // Half turns exactly, and all the others among the axes, from a maximum or saddle with g = 0.
    for (int number = 0; number < 48; number++) {
        double plain[3][3];
        permutation_matrix(plain, number);
        mat3 f = m3_zero();
        for (int l = 0; l < HK_LANES; l++) put(&f, l, plain);
        if (r_lane(m3_det(f), 0) < 0) continue;
        mat3 r = quat_rotation(follow(f, quat_identity(), 8));
        assert_true(r_lane(m3_max_abs(m3_sub(r, f)), 0) < 8 * (scalar)HK_EPSILON);
    }
}

// No step makes ½‖R − F‖² larger, from any rotation.
static void apd_never_goes_up(void **state)
{
    (void)state;
    for (int family = 0; family < FAMILIES; family++) {
        if (family == DENORMAL) continue;
        for (int batch = 0; batch < 800 / HK_LANES; batch++) {
            double plain[HK_LANES][3][3];
            mat3 f = fill(family, batch, plain);
            quat start = quat_cayley(v3_scale(m3_column(random_lanes(), 0), r_set(8)));
            quat end = follow(f, start, 1);
            for (int l = 0; l < HK_LANES; l++) {
                wide3 before, after;
                take(before, quat_rotation(start), l);
                take(after, quat_rotation(end), l);
                wide size = largest_entry(plain[l]);
                wide gain = alignment(after, plain[l]) - alignment(before, plain[l]);
                if (!(gain >= -40 * (wide)HK_EPSILON * size))
                    fail_msg("family %d, matrix %d: up by %Lg", family, batch, -gain / size);
            }
        }
    }
}

// ---- what it finds

// The rotation of polar.h for all kinds of matrices, flat and inverted ones too, starting anywhere.
static void apd_is_the_nearest_rotation(void **state)
{
    (void)state;
    worst rotation = {0}, symmetry = {0}, energy = {0}, angle = {0}, rough = {0};
    for (int family = 0; family < FAMILIES; family++) {
        if (family == DENORMAL) continue;
        for (int batch = 0; batch < batches(family) / 4; batch++) {
            double plain[HK_LANES][3][3];
            mat3 f = fill(family, batch, plain);
            svd3 s = decompose(f);
            int steps;
            quat start = quat_cayley(v3_scale(m3_column(random_lanes(), 0), r_set(3)));
            quat q = follow_within(f, start, (scalar)(HK_DOUBLE ? 1e-5 : 1e-3), 200, &steps);
            mat3 stopped = quat_rotation(q), found = quat_rotation(follow(f, q, 12));
            vec3 g = apd_gradient(m3_tmul(found, f));
            for (int l = 0; l < HK_LANES; l++) {
                wide3 r, expected;
                wide stretch[3], slope[3], eps = (wide)HK_EPSILON;
                take(r, found, l);
                take(expected, polar_rotation_of(s), l);
                take_vector(stretch, s.s, l);
                take_vector(slope, g, l);
                wide unit = eps * (stretch[0] + (wide)HK_SMALLEST_NORMAL);
                note(&rotation, rotation_error(r) / eps, family, batch);
                wide missing = stretch[0] + stretch[1] + stretch[2] - alignment(r, plain[l]);
                note(&rough, fabsl(missing) / (stretch[0] + 1e-30L), family, batch);
                // Of the eigenvalues of H, 0 ≤ s₁ + s₂ ≤ s₀ + s₂ ≤ s₀ + s₁, one at most is next to
                // nothing; nearly −1 times a rotation is slow. Turns about a long thin element
                // change the distance by 2 (s₁ + s₂), which may be rounding.
                wide gap = stretch[1] + stretch[2];
                if (gap < 200 * unit) missing = fmaxl(missing - 2 * gap, 0);
                if (stretch[0] + stretch[2] > 0.01L * stretch[0]) {
                    for (int i = 0; i < 3; i++)
                        note(&symmetry, fabsl(slope[i]) / unit, family, batch);
                    note(&energy, fabsl(missing) / unit, family, batch);
                }
                // Where the nearest rotation is unique the least eigenvalue is the measure.
                take(r, stopped, l);
                if (gap > 1e-3L * stretch[0])
                    note(&angle, angle_between(r, expected) * gap / unit, family, batch);
            }
        }
    }
    assert_within("apd: rotation", rotation, 18);
    assert_within("apd: symmetry of the stretch", symmetry, 80);
    assert_within("apd: distance", energy, 24);
    assert_within("apd: distance, all (1e-6)", (worst){1e6L * rough.error, 0, 0}, 30);
    assert_within("apd: angle to polar", angle, 26);
    // diag(3, 2, −1) is nearest to 1.
    mat3 inverted = m3_diagonal(v3_set(3, 2, -1));
    mat3 r = quat_rotation(follow(inverted, quat_cayley(v3_set(1, -2, 0.5)), 8));
    assert_true(r_lane(m3_max_abs(m3_sub(r, m3_identity())), 0) < 8 * (scalar)HK_EPSILON);
}

// One step a frame follows an element that spins while it is squeezed flat, turned inside out and
// back, five thousand frames; the quaternion stays a unit quaternion.
static void apd_follows_a_motion(void **state)
{
    (void)state;
    worst unit = {0}, lag = {0};
    quat q = quat_identity();
    for (int frame = 0; frame < 5000; frame++) {
        mat3 f = m3_zero();
        wide3 exact[HK_LANES];
        for (int l = 0; l < HK_LANES; l++) {
            wide t = 0.02L * frame, omega[3] = {0.3L * t, (1 + 0.1L * l) * t, -0.7L * t};
            wide s[3] = {1.2L + 0.1L * sinl(3 * t), 1, 0.2L + 0.7L * cosl(0.37L * t + l)};
            double plain[3][3];
            exponential(exact[l], omega);
            for (int i = 0; i < 9; i++)
                plain[i / 3][i % 3] = (double)(exact[l][i / 3][i % 3] * s[i % 3]);
            put(&f, l, plain);
        }
        q = follow(f, q, 1);
        for (int l = 0; l < HK_LANES; l++) {
            wide3 r;
            take(r, quat_rotation(q), l);
            note(&unit, norm_error(q, l), 0, frame);
            note(&lag, angle_between(r, exact[l]) / (0.001L * g_degree), 0, frame);
        }
    }
    assert_within("apd: unit after 5000 frames (ε)", (worst){unit.error / HK_EPSILON, 0, 0}, 5);
    assert_within("apd: lag (0.001°)", lag, 2);
}

static void apd_is_never_nan(void **state)
{
    (void)state;
    const double largest_number = HK_DOUBLE ? DBL_MAX : (double)FLT_MAX;
    const double bad[] = {NAN, INFINITY, -INFINITY, largest_number};
    quat start = quat_cayley(v3_set(0.3, -1, 2));
    for (int number = 0; number < 4; number++)
        for (int entry = 0; entry < 9; entry++) {
            mat3 f = m3_identity();
            for (int l = 0; l < HK_LANES; l++) {
                r_set_lane(&f.m[entry / 3][entry % 3], l, (scalar)bad[number]);
                r_set_lane(&f.m[(entry + 4) % 9 / 3][(entry + 4) % 3], l, (scalar)bad[number]);
            }
            int steps;
            quat q[2] = {follow(f, start, 5), follow_within(f, start, (scalar)1e-4, 50, &steps)};
            for (int k = 0; k < 2; k++) {
                assert_true(norm_error(q[k], 0) < 8 * (wide)HK_EPSILON);
                assert_true(r_lane(q[k].x, 0) == r_lane(start.x, 0));
                assert_true(r_lane(q[k].w, 0) == r_lane(start.w, 0));
            }
        }
    // Nothing and too little to see: some rotation; for 0 the one that was there, to rounding.
    static const int families[] = {ZERO, DENORMAL, RANK_1, RANK_1_EXACT, REFLECTED_EQUAL};
    for (int f = 0; f < 5; f++)
        for (int batch = 0; batch < 50; batch++) {
            double plain[HK_LANES][3][3];
            quat q = follow(fill(families[f], batch, plain), start, 6);
            for (int l = 0; l < HK_LANES; l++) {
                assert_true(norm_error(q, l) < 8 * (wide)HK_EPSILON);
                double moved = fabs((double)(r_lane(q.x, l) - r_lane(start.x, l)));
                if (families[f] == ZERO) assert_true(moved < 4 * (double)HK_EPSILON);
            }
        }
}

static void apd_lanes_are_independent(void **state)
{
    (void)state;
    for (int batch = 0; batch < 2000; batch++) {
        mat3 a = m3_zero(), alone = m3_zero();
        int chosen = batch % HK_LANES, steps[2];
        for (int l = 0; l < HK_LANES; l++) {
            double plain[3][3];
            make_matrix((batch + 5 * l) % FAMILIES, batch + l, plain);
            put(&a, l, plain);
            if (l == chosen)
                for (int k = 0; k < HK_LANES; k++) put(&alone, k, plain);
        }
        quat start = quat_cayley(v3_set(0.2, 1, -0.5));
        quat qa = follow_within(a, start, (scalar)1e-3, 40, &steps[0]);
        quat qb = follow_within(alone, start, (scalar)1e-3, 40, &steps[1]);
        quat qc = follow(a, start, 2), qd = follow(alone, start, 2);
        assert_true(steps[1] >= 1 && steps[1] <= steps[0] && steps[0] <= 40);
        assert_true(same(quat_rotation(qa), chosen, quat_rotation(qb), 0));
        assert_true(same(quat_rotation(qc), chosen, quat_rotation(qd), 0));
    }
    // A rotation that is right already takes one step, and none if none are allowed.
    int steps;
    follow_within(m3_identity(), quat_identity(), (scalar)1e-4, 9, &steps);
    assert_int_equal(steps, 1);
    follow_within(m3_identity(), quat_identity(), (scalar)1e-4, 0, &steps);
    assert_int_equal(steps, 0);
}
