// The contacts behind the term of contact, for those who report and repair.
#ifndef HK_TERM_CONTACT_H
#define HK_TERM_CONTACT_H

#include "contact/contacts.h"
#include "term/terms.h"

// NULL: the list has none.
hk_contacts *hk_terms_contacts(const hk_terms *terms);

#endif
