// All laws. A new one is a new file and a line in HK_LAWS (list.h).
#ifndef HK_LAWS_H
#define HK_LAWS_H

#include "material/custom_call.h"
#include "material/isotropic.h"
#include "material/principal.h"
#ifdef HK_DESCRIBE_LAWS
#include "material/describe.h"
#endif

#include "material/all_laws.h"  // generated from list.h

#endif
