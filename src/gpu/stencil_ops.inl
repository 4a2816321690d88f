// The version for the GPU of one law of an element, LAW: included by stencil.cu.

struct JOIN(LAW, _on_device) {
    enum { TIE = JOIN(LAW, _tie) };
    static __device__ double energy(const hk_element *e, const double *x)
    {
        return JOIN(LAW, _energy)(e, x);
    }
    static __device__ void gradient(const hk_element *e, const double *x, double *g)
    {
        JOIN(LAW, _gradient)(e, x, g);
    }
    static __device__ void hessian(const hk_element *e, const double *x, double *h)
    {
        JOIN(LAW, _hessian)(e, x, h);
    }
    static __device__ void weights(const hk_element *e, double *w)
    {
        JOIN(LAW, _weights)(e, w);
    }
};

static hk_status JOIN(create_, LAW)(hk_gpu *g, void **term)
{
    return create(g, &JOIN(JOIN(hk_, LAW), _term), JOIN(LAW, _tie), term);
}

extern "C" const hk_gpu_term_ops JOIN(hk_gpu_, LAW) = {
    JOIN(create_, LAW),
    release,
    parts,
    nullptr,
    gradient<JOIN(LAW, _on_device)>,
    diagonal<JOIN(LAW, _on_device)>,
    sums<JOIN(LAW, _on_device)>,
    refresh};
