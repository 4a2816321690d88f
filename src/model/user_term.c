// Users' terms: checked and copied.
#include <math.h>

#include "model/build.h"

static hk_status check_element(const hk_term_def *def, int vertex_count, int element)
{
    const int32_t *v = def->vertices + (int64_t)element * def->vertex_count;
    for (int k = 0; k < def->vertex_count; k++) {
        if (v[k] < 0 || v[k] >= vertex_count)
            return hk_fail(HK_BAD_INPUT, "element %d: there is no vertex %d (vertices: 0 to %d)",
                           element, v[k], vertex_count - 1);
        for (int l = 0; l < k; l++)
            if (v[k] == v[l])
                return hk_fail(HK_BAD_INPUT, "element %d has vertex %d twice", element, v[k]);
    }
    return HK_OK;
}

static hk_status check_term(const hk_term_def *def, int vertex_count)
{
    if (!def->batch && (!def->energy || !def->gradient || !def->hessian))
        return hk_fail(HK_BAD_INPUT, "energy, gradient and hessian are needed, or batch");
    if (def->vertex_count < 1 || def->vertex_count > HK_MAX_TERM_VERTICES)
        return hk_fail(HK_BAD_INPUT, "an element must have 1 to %d vertices (has %d)",
                       HK_MAX_TERM_VERTICES, def->vertex_count);
    if (def->element_count < 0 || (def->element_count > 0 && !def->vertices))
        return hk_fail(HK_BAD_INPUT, "vertices are needed");
    if (!(isfinite(def->stiffness) && def->stiffness > 0))
        return hk_fail(HK_BAD_INPUT, "the stiffness must be greater than 0 (is %g N/m)",
                       def->stiffness);
    for (int k = 0; k < def->element_count; k++) HK_TRY(check_element(def, vertex_count, k));
    return HK_OK;
}

static hk_status take_term(const hk_term_def *def, hk_user_term *to)
{
    size_t count = (size_t)def->element_count * (size_t)def->vertex_count;
    to->def = *def;
    to->name = hk_strdup(def->name ? def->name : "term");
    to->vertices = HK_ARRAY(int32_t, count);
    if (!to->name || !to->vertices) return HK_NO_MEMORY;
    if (count > 0) memcpy(to->vertices, def->vertices, sizeof(int32_t) * count);
    to->def.name = to->name;
    to->def.vertices = to->vertices;
    return HK_OK;
}

hk_status hk_model_take_terms(const hk_model_def *def, hk_model *m)
{
    m->user_terms = HK_ZEROS(hk_user_term, def->term_count);
    if (!m->user_terms) return HK_NO_MEMORY;
    for (int k = 0; k < def->term_count; k++) {
        hk_status status = check_term(&def->terms[k], m->vertex_count);
        if (status != HK_OK)
            return hk_fail_within(status, "term %d (%s)", k,
                                  def->terms[k].name ? def->terms[k].name : "unnamed");
        m->user_term_count++;
        HK_TRY(take_term(&def->terms[k], &m->user_terms[k]));
    }
    return HK_OK;
}
