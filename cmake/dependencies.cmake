# Finds what Hooke stands on and collects it in two interface targets:
#   hooke_dependencies  libraries and their headers
#   hooke_flags         warnings (as errors) and code generation
find_package(OpenMP REQUIRED COMPONENTS C)

option(HOOKE_SCENES "Scene files (jansson), and with them the program and the tests" ON)
option(HOOKE_DIRECT "Direct sparse solvers (CHOLMOD, METIS)" ON)

add_library(hooke_dependencies INTERFACE)
if(HOOKE_SCENES)
    find_package(PkgConfig REQUIRED)
    pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
    target_link_libraries(hooke_dependencies INTERFACE PkgConfig::JANSSON)
    target_compile_definitions(hooke_dependencies INTERFACE HOOKE_SCENES=1)
endif()
target_link_libraries(hooke_dependencies INTERFACE OpenMP::OpenMP_C m)

if(HOOKE_DIRECT)
    find_path(CHOLMOD_INCLUDE cholmod.h PATH_SUFFIXES suitesparse REQUIRED)
    find_library(CHOLMOD_LIBRARY cholmod REQUIRED)
    find_library(SUITESPARSECONFIG_LIBRARY suitesparseconfig REQUIRED)
    find_path(METIS_INCLUDE metis.h REQUIRED)
    find_library(METIS_LIBRARY metis REQUIRED)
    find_library(OPENBLAS_LIBRARY openblas REQUIRED)
    target_include_directories(hooke_dependencies SYSTEM INTERFACE ${CHOLMOD_INCLUDE}
                               ${METIS_INCLUDE})
    target_link_libraries(hooke_dependencies INTERFACE ${CHOLMOD_LIBRARY}
                          ${SUITESPARSECONFIG_LIBRARY} ${METIS_LIBRARY} ${OPENBLAS_LIBRARY})
    target_compile_definitions(hooke_dependencies INTERFACE HOOKE_DIRECT=1)
    # For systems that are not symmetric; of the same package, and done without where it is missing.
    find_path(UMFPACK_INCLUDE umfpack.h PATH_SUFFIXES suitesparse)
    find_library(UMFPACK_LIBRARY umfpack)
    if(UMFPACK_INCLUDE AND UMFPACK_LIBRARY)
        target_include_directories(hooke_dependencies SYSTEM INTERFACE ${UMFPACK_INCLUDE})
        target_link_libraries(hooke_dependencies INTERFACE ${UMFPACK_LIBRARY})
        target_compile_definitions(hooke_dependencies INTERFACE HOOKE_UMFPACK=1)
    else()
        message(STATUS "No UMFPACK: rest shapes are not found by method newton_lu")
    endif()
endif()

add_library(hooke_flags INTERFACE)
target_include_directories(hooke_flags INTERFACE ${CMAKE_BINARY_DIR}/generated)
target_compile_options(hooke_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow
    -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror -Wno-psabi -Wno-format-truncation -fno-math-errno
    -fno-trapping-math -ffp-contract=fast)
if(CMAKE_C_COMPILER_ID MATCHES Clang)
    # GNU extensions (vector types, statement expressions) are wanted.
    target_compile_options(hooke_flags INTERFACE -Wno-gnu -Wno-pass-failed -Wno-unknown-warning-option)
endif()
option(HOOKE_SANITIZE "AddressSanitizer + UndefinedBehaviorSanitizer" OFF)
if(HOOKE_SANITIZE)
    set(hooke_sanitize -fsanitize=address,undefined -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
    add_compile_options(${hooke_sanitize})
    add_link_options(${hooke_sanitize})
endif()
