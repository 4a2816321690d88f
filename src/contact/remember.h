// What contacts know when a step begins, for states in files.
#ifndef HK_CONTACT_REMEMBER_H
#define HK_CONTACT_REMEMBER_H

#include "contact/contacts.h"
#include "core/stream.h"

void hk_contacts_remember(hk_contacts *contacts, hk_stream *stream);

#endif
