#define HK_DOUBLE 0
#define HK_LANES  4
#include "math_checks.inl"

int main(void)
{
    return math_checks();
}
