#define HK_DOUBLE 1
#define HK_LANES  2
#include "sl3_checks.inl"

int main(void)
{
    return sl3_checks();
}
