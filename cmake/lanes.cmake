# The element kernels (src/term/lanes.c, lanes_local.c and lanes_vertex.c with all materials;
# src/contact/push_lanes.c; corotation_lanes.c in single precision only, src/design/rest_lanes.c and
# shape_lanes.c, src/contact/feature_lanes.c and src/term/shell_lanes.c in double)
# are compiled once a lane type and instruction set; the
# best set that the running CPU has is chosen at run time (src/term/lanes.h,
# src/term/corotation_lanes.h).
option(HOOKE_WIDE_LANES "Compile the element kernels for AVX2 and AVX-512, too" ON)
set(HOOKE_AVX2 "-mavx2 -mfma")
set(HOOKE_AVX512
    "-mavx512f -mavx512dq -mavx512vl -mavx512bw -mavx2 -mfma -mprefer-vector-width=512")

function(hooke_add_lanes objects)
    if(NOT EXISTS ${PROJECT_SOURCE_DIR}/src/term/lanes.c)
        set(HOOKE_LANE_OBJECTS "" PARENT_SCOPE)
        return()
    endif()
    set(variants "f64x2|generic|-DHK_DOUBLE=1 -DHK_LANES=2" "f32x4|generic|-DHK_DOUBLE=0 -DHK_LANES=4")
    if(NOT HOOKE_WIDE_LANES)
        target_compile_definitions(${objects} PRIVATE HK_GENERIC_LANES=1)
    elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        list(APPEND variants
            "f64x4|avx2|-DHK_DOUBLE=1 -DHK_LANES=4 ${HOOKE_AVX2}"
            "f32x8|avx2|-DHK_DOUBLE=0 -DHK_LANES=8 ${HOOKE_AVX2}"
            "f64x8|avx512|-DHK_DOUBLE=1 -DHK_LANES=8 ${HOOKE_AVX512}"
            "f32x16|avx512|-DHK_DOUBLE=0 -DHK_LANES=16 ${HOOKE_AVX512}")
    endif()
    # What the machine has without being asked: SSE2, or NEON.
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
        set(plain neon)
    else()
        set(plain generic)
    endif()
    # Fuzzing is not about these kernels.
    set(sanitize "")
    if(HOOKE_FUZZ)
        set(sanitize -fno-sanitize=all -g0)
    endif()
    set(all "")
    foreach(variant ${variants})
        string(REPLACE "|" ";" parts "${variant}")
        list(GET parts 0 type)
        list(GET parts 1 isa)
        list(GET parts 2 flags)
        separate_arguments(flags)
        set(target lanes_${type}_${isa})
        set(sources src/term/lanes.c src/term/lanes_local.c src/term/lanes_vertex.c
            src/contact/push_lanes.c)
        if(type MATCHES "^f32")
            list(APPEND sources src/term/corotation_lanes.c)
        else()
            list(APPEND sources src/design/rest_lanes.c src/design/shape_lanes.c
                src/contact/feature_lanes.c src/term/shell_lanes.c)
        endif()
        add_library(${target} OBJECT ${sources})
        target_include_directories(${target} PRIVATE include src)
        target_link_libraries(${target} PRIVATE hooke_flags)
        target_compile_options(${target} PRIVATE ${flags} ${sanitize}
            -DHK_LANE_TABLE=hk_lanes_${type}_${isa} -DHK_LOCAL_TABLE=hk_local_${type}_${isa}
            -DHK_VERTEX_TABLE=hk_vertex_blocks_${type}_${isa} -DHK_PUSH_TABLE=hk_push_${type}_${isa}
            -DHK_REST_TABLE=hk_rest_${type}_${isa} -DHK_SHAPE_TABLE=hk_shape_${type}_${isa}
            -DHK_FEATURE_TABLE=hk_feature_${type}_${isa} -DHK_SHELL_TABLE=hk_shell_${type}_${isa}
            -DHK_COROTATION_TABLE=hk_corotation_${type}_${isa} -DHK_LANE_NAME="${type}_$<IF:$<STREQUAL:${isa},generic>,${plain},${isa}>")
        set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON
                              C_VISIBILITY_PRESET hidden)
        list(APPEND all $<TARGET_OBJECTS:${target}>)
    endforeach()
    set(HOOKE_LANE_OBJECTS ${all} PARENT_SCOPE)
endfunction()
