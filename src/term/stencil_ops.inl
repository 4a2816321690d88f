// The table of one law of an element, LAW: included by stencils.c.

static const hk_stencil_law JOIN(LAW, _law) = {.name = NAME(LAW),
                                               .tie = JOIN(LAW, _tie),
                                               .live = JOIN(LAW, _live),
                                               .elements = JOIN(LAW, _elements),
                                               .energy = JOIN(LAW, _energy),
                                               .gradient = JOIN(LAW, _gradient),
                                               .hessian = JOIN(LAW, _hessian),
                                               .weights = JOIN(LAW, _weights)};

static bool JOIN(LAW, _in_model)(const hk_model *model)
{
    return hk_stencil_in_model(&JOIN(LAW, _law), model);
}

static hk_status JOIN(LAW, _create)(const hk_terms *list, hk_term **term)
{
    return hk_stencil_create(list, &JOIN(LAW, _law), term);
}

static void JOIN(LAW, _stencils)(const hk_model *model, hk_stencil_fn *visit, void *context)
{
    hk_stencil_model_stencils(&JOIN(LAW, _law), model, visit, context);
}

static void JOIN(LAW, _live_stencils)(const hk_model *model, const hk_live *live,
                                      hk_stencil_fn *visit, void *context)
{
    hk_stencil_live_stencils(&JOIN(LAW, _law), model, live, visit, context);
}

static void JOIN(LAW, _model_weights)(const hk_model *model, const double *material_weight,
                                      hk_weight_fn *visit, void *context)
{
    (void)material_weight;
    hk_stencil_model_weights(&JOIN(LAW, _law), model, visit, context);
}

static const hk_term_shape JOIN(LAW, _shape) = {JOIN(LAW, _stencils), JOIN(LAW, _model_weights)};

// A law of the model has stencils for patterns and matrices, one of a world those that change.
const hk_term_ops JOIN(JOIN(hk_, LAW), _term) = {
    HK_STENCIL_COMMON_OPS,
    .name = NAME(LAW),
    .create = JOIN(LAW, _create),
    .device = &JOIN(hk_gpu_, LAW),
    .shape = JOIN(LAW, _live) ? NULL : &JOIN(LAW, _shape),
    .in_model = JOIN(LAW, _live) ? NULL : JOIN(LAW, _in_model),
    .stencils = JOIN(LAW, _live) ? NULL : hk_stencil_stencils,
    .block_size = JOIN(LAW, _live) ? NULL : hk_stencil_block_size,
    .blocks = JOIN(LAW, _live) ? NULL : hk_stencil_blocks,
    .refresh = JOIN(LAW, _live) ? hk_stencil_refresh : NULL,
    .live_stencils = JOIN(LAW, _live) ? JOIN(LAW, _live_stencils) : NULL,
    .visit_blocks = JOIN(LAW, _live) ? hk_stencil_visit_blocks : NULL,
    .visit_weights = JOIN(LAW, _live) ? hk_stencil_visit_weights : NULL,
};
