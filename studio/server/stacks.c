// Larger stacks for the threads of civetweb. Debian's civetweb gives its threads 100 KiB, of which
// the C library takes the thread-local storage of all libraries: OpenBLAS and METIS together have
// 90 KiB of it, so that the threads would overflow before they have done anything. civetweb calls
// pthread_attr_setstacksize, which the program defines here in the place of the C library's.
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "stacks.h"

enum { LEAST_STACK = 512 << 10 };

typedef int set_size_fn(pthread_attr_t *attributes, size_t size);
static set_size_fn *set_size;

int pthread_attr_setstacksize(pthread_attr_t *attributes, size_t size)
{
    if (!set_size) st_enlarge_stacks();
    return set_size ? set_size(attributes, size < LEAST_STACK ? LEAST_STACK : size) : 0;
}

void st_enlarge_stacks(void)
{
    // A pointer to a function is none to an object, says ISO C; POSIX says they have one size.
    void *next = dlsym(RTLD_NEXT, "pthread_attr_setstacksize");
    memcpy(&set_size, &next, sizeof set_size);
}
