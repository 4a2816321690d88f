// The method of vertex block descent, for its version on the GPU.
#ifndef HK_VBD_H
#define HK_VBD_H

#include "rules/vbd.h"
#include "solver/method.h"

// The options of the method as its rules have them; slowest is 0.
hk_vbd_rules hk_vbd_rules_of(const hk_settings *settings);

#endif
