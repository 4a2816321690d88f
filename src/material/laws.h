// All laws. A new one is a new file, included here, and a line in HK_LAWS.
#ifndef HK_LAWS_H
#define HK_LAWS_H

#include "material/isotropic.h"
#include "material/principal.h"
#ifdef HK_DESCRIBE_LAWS
#include "material/describe.h"
#endif

#include "material/corotated.h"
#include "material/fixed_corotated.h"
#include "material/arap.h"
#include "material/stvk.h"
#include "material/neo_hookean.h"
#include "material/neo_hookean_wy.h"
#include "material/mooney_rivlin.h"
#include "material/fung.h"
#include "material/stable_neo_hookean.h"
#include "material/spline.h"
#include "material/polynomial.h"
#include "material/projective.h"
#include "material/fibre.h"

#endif
