/* Status, version, memory, messages, the machine, files. A part of hooke.h, which includes it. */
#ifndef HOOKE_BASE_H
#define HOOKE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) || defined(__clang__)
#define HK_API __attribute__((visibility("default")))
#else
#define HK_API
#endif

/* ---------------------------------------------------------------- status, version, hooks */

typedef enum hk_status {
    HK_OK = 0,
    HK_BAD_INPUT,   /* a definition, a file's content or an argument is wrong */
    HK_IO_ERROR,    /* a file cannot be opened, read or written */
    HK_NO_MEMORY,   /* an allocation failed */
    HK_UNSUPPORTED, /* a valid request that this build or this method cannot serve */
    HK_INTERNAL     /* a library below failed in a way that should not happen: please report */
} hk_status;

/* "0.1.0" */
HK_API const char *hk_version(void);
/* The message of the last failed call in this thread, never NULL; "" before the first failure. */
HK_API const char *hk_error(void);
/* "ok", "bad input", … */
HK_API const char *hk_status_name(hk_status status);

/* Where memory comes from. `alloc` returns a block aligned to at least `alignment` (a power of
 * two) or NULL; `release` takes what alloc gave. One for the process: set it before any other call;
 * NULL restores the default. Scene files are read through it too; SuiteSparse and METIS keep to
 * malloc, because they may be in use by others in the process. (METIS also draws from rand() while
 * a world is created.) */
typedef struct hk_allocator {
    void *(*alloc)(void *context, size_t size, size_t alignment);
    void (*release)(void *context, void *block);
    void *context;
} hk_allocator;
HK_API void hk_set_allocator(const hk_allocator *allocator);

/* Messages that are not errors: repairs of a mesh, a fallback taken. NULL (the default) drops
 * them. One hook for the process: set it before other threads use the library. It is called from
 * the thread that called the library, never from another. */
typedef enum hk_log_level { HK_LOG_DEBUG = 0, HK_LOG_INFO, HK_LOG_WARNING } hk_log_level;
typedef void hk_log_fn(void *context, hk_log_level level, const char *message);
HK_API void hk_set_log(hk_log_fn *fn, void *context);

/* What the library found on this machine and works with. Texts are never NULL. */
typedef struct hk_machine_info {
    const char *single_lanes;     /* "f32x16_avx512": element kernels of this many lanes */
    const char *double_lanes;     /* "f64x8_avx512" */
    int threads;                  /* of a world that asks for all cores */
    uint64_t memory;              /* bytes of the machine; 0: not known */
    const char *direct_solver;    /* "CHOLMOD 3.0.14"; "": this build has none */
    const char *blas;             /* "OpenBLAS 0.3.21"; "": none, or one that does not say */
    const char *blas_core;        /* the processor that its kernels are for, "Haswell"; "" */
    const char *blas_core_wanted; /* see below; "": nothing to be done */
    const char *warning;          /* one line for users, of what makes it slow here; "" */
} hk_machine_info;
/* Found at the first call. OpenBLAS may take a processor that is newer than itself for a very old
 * one, and factorisations are then several times slower. It can be put right only before OpenBLAS
 * is loaded: by OPENBLAS_CORETYPE, set to blas_core_wanted, in the environment that the program is
 * started in. (The program `hooke` starts itself anew for that.) Unless OPENBLAS_CORETYPE asks for
 * this core, `warning` also goes to the log, when the first direct solver is made. */
HK_API const hk_machine_info *hk_machine(void);
/* Whether there is a GPU that backend "cuda" can use; `text` is its name and memory, or why there
 * is none. It may take long: the driver is woken up. */
HK_API bool hk_machine_gpu(char *text, size_t size);

/* Writes a file as the library writes all of its own: missing folders are made; the file is there
 * whole or not at all, the old one until then; a link stays a link, and what it leads to is
 * replaced; permissions stay; a device or a pipe is written to. A file that nobody may write
 * (chmod a-w) is not replaced, whoever asks. */
HK_API hk_status hk_file_save(const char *path, const void *data, size_t size);
/* Whether that would be possible, before long work. Missing folders are made. */
HK_API hk_status hk_file_check(const char *path);

/* Definition k of an array, whose elements may be longer or shorter than this header has them. */
static inline const void *hk_def_at(const void *definitions, int k)
{
    return (const char *)definitions + (size_t)k * *(const size_t *)definitions;
}

#ifdef __cplusplus
}
#endif
#endif
