#ifndef STUDIO_STACKS_H
#define STUDIO_STACKS_H

// Before civetweb starts.
void st_enlarge_stacks(void);

#endif
