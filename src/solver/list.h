// The methods, in the order in which they are listed. A new one is a file with its table, hk_NAME,
// and a line here.
#ifndef HK_METHOD_LIST_H
#define HK_METHOD_LIST_H

#define HK_METHODS(METHOD)   \
    METHOD(newton)           \
    METHOD(descent)          \
    METHOD(gradient_descent) \
    METHOD(nonlinear_cg)     \
    METHOD(lbfgs)            \
    METHOD(quasi_newton)     \
    METHOD(projective)       \
    METHOD(split_method)     \
    METHOD(admm)             \
    METHOD(xpbd)             \
    METHOD(vbd)              \
    METHOD(linear_implicit)

#endif
