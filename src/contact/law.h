// The energies of contact as functions of a gap g > 0, m (contact begins at g = width):
//
//   two_stage  b = ½ (w − g)² while g ≥ w/2, below that −¼ w² (ln(2g/w) − ½), whose slope is
//              −w²/4g (OGC, Chen et al. 2025); twice continuously differentiable below w
//   log        b = −(g − w)² ln(g/w) (IPC, Li et al. 2020)
//   penalty    b = ½ (w − g)² for any g, negative ones too (QuasiNewton, "Soft Constraint")
//   spring_damper  no energy but a force per vertex, of depth and speed (Extreme eq. 33;
//              spring_damper.h)
//
// b is in m²; an energy is b times a stiffness in N/m. The first two grow beyond all bounds where
// the gap closes.
#ifndef HK_CONTACT_LAW_H
#define HK_CONTACT_LAW_H

#include "rules/rules.h"

typedef enum hk_contact_law {
    HK_CONTACT_TWO_STAGE,
    HK_CONTACT_LOG,
    HK_CONTACT_PENALTY,
    HK_CONTACT_SPRING_DAMPER,
    HK_CONTACT_LAWS
} hk_contact_law;

// b, b′ and b″.
typedef struct hk_contact_value {
    double energy, slope, curvature;
} hk_contact_value;

HK_RULE hk_contact_value contact_parabola(double width, double gap)
{
    double depth = width - gap;
    hk_contact_value b = {0.5 * depth * depth, -depth, 1};
    return b;
}

HK_RULE hk_contact_value contact_two_stage(double width, double gap)
{
    if (gap >= 0.5 * width) return contact_parabola(width, gap);
    double quarter = 0.25 * width * width;
    hk_contact_value b = {-quarter * (log(2 * gap / width) - 0.5), -quarter / gap,
                          quarter / (gap * gap)};
    return b;
}

HK_RULE hk_contact_value contact_log(double width, double gap)
{
    double l = log(gap / width), depth = width - gap;
    hk_contact_value b = {-depth * depth * l, 2 * depth * l - depth * depth / gap,
                          -2 * l + 4 * depth / gap + depth * depth / (gap * gap)};
    return b;
}

// Barriers are +inf where the gap has closed.
HK_RULE hk_contact_value contact_value(hk_contact_law law, double width, double gap)
{
    hk_contact_value b = {0, 0, 0};
    if (gap >= width) return b;
    if (law == HK_CONTACT_PENALTY) return contact_parabola(width, gap);
    if (!(gap > 0)) {
        b.energy = HUGE_VAL;
        return b;
    }
    return law == HK_CONTACT_LOG ? contact_log(width, gap) : contact_two_stage(width, gap);
}

// ---------------------------------------------------------------- friction

// f₀ of Li et al. 2020: its slope f₁ rises from 0 to 1 over slips up to `slip`, m, so that friction
// is a smooth function of where things slide; f₀ of `slip` is `slip`. Values f₀, f₁ and f₁′.
HK_RULE hk_contact_value contact_slip(double slip, double length)
{
    hk_contact_value f = {length, 1, 0};
    if (length >= slip) return f;
    double t = length / slip;
    f.energy = slip * (t * t - t * t * t / 3 + 1.0 / 3);
    f.slope = (2 - t) * t;
    f.curvature = 2 * (1 - t) / slip;
    return f;
}

// f₁(y)/y, finite where nothing slips.
HK_RULE double contact_slip_ratio(double slip, double length)
{
    return length >= slip ? 1 / length : (2 - length / slip) / slip;
}

#endif
