#define HK_DOUBLE 0
#define HK_LANES  1
#include "sl3_checks.inl"

int main(void)
{
    return sl3_checks();
}
