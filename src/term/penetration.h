// What a world reports of the law "spring_damper".
#ifndef HK_PENETRATION_H
#define HK_PENETRATION_H

#include "contact/spring_damper.h"
#include "term/terms.h"

// NULL: the list has none.
hk_spring_damper *hk_terms_spring_damper(const hk_terms *terms);

#endif
