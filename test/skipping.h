// Tests that cannot run everywhere say why, in a line that `make test` counts (tools/test.sh).
#ifndef TEST_SKIPPING_H
#define TEST_SKIPPING_H

#define SKIP(...)                   \
    do {                            \
        print_message("skipped: "); \
        print_message(__VA_ARGS__); \
        print_message("\n");        \
        skip();                     \
    } while (0)

#endif
