# The CUDA backend: src/gpu/*.cu behind src/gpu/gpu.h; without it src/gpu/none.c stands there. The
# kernels of the elements, law*.cu, are compiled once a law (src/material/list.h) and once for models
# of several laws.
set(HOOKE_CUDA AUTO CACHE STRING "CUDA backend: ON, OFF, or AUTO (where there is a CUDA compiler)")
set_property(CACHE HOOKE_CUDA PROPERTY STRINGS AUTO ON OFF)

# Sets HOOKE_CUDA_USED, or says why not. A macro: enable_language wants the scope of the project.
macro(hooke_find_cuda)
    set(HOOKE_CUDA_USED OFF)
    file(GLOB HOOKE_CUDA_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/gpu/*.cu)
    set(hooke_no_cuda "")
    if(NOT HOOKE_CUDA_SOURCES)
        set(hooke_no_cuda "src/gpu holds no kernels")
    elseif(HOOKE_SANITIZE OR HOOKE_FUZZ)
        # The sanitizers would want to know the host side of the kernels, which nvcc compiles.
        set(hooke_no_cuda "sanitizer and fuzz builds go without")
    elseif(HOOKE_CUDA)
        hooke_find_nvcc()
    endif()
    if(NOT HOOKE_CUDA)
        message(STATUS "CUDA backend: off")
    elseif(hooke_no_cuda)
        message(STATUS "CUDA backend: off (${hooke_no_cuda})")
    else()
        set(HOOKE_CUDA_USED ON)
    endif()
endmacro()

macro(hooke_find_nvcc)
    if(NOT CMAKE_CUDA_COMPILER)
        # On Debian the program of the toolkit is not on the PATH.
        find_program(HOOKE_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_PATH ENV CUDA_HOME /usr/local/cuda
                     PATH_SUFFIXES bin)
        mark_as_advanced(HOOKE_NVCC)
        unset(CMAKE_CUDA_COMPILER CACHE)  # a compiler may have come since the last time
        if(HOOKE_NVCC)
            if(NOT DEFINED ENV{CUDACXX})
                set(ENV{CUDACXX} ${HOOKE_NVCC})
            endif()
            include(CheckLanguage)
            check_language(CUDA)
        endif()
    endif()
    if(CMAKE_CUDA_COMPILER)
        if(NOT CMAKE_CUDA_ARCHITECTURES)
            set(CMAKE_CUDA_ARCHITECTURES 90 CACHE STRING "compute capabilities to compile for")
        endif()
        enable_language(CUDA)
        # Programs are linked as C, with what hooke_dependencies names.
        set(CMAKE_CUDA_RUNTIME_LIBRARY None)
        set(CMAKE_CUDA_IMPLICIT_LINK_LIBRARIES "")
        find_library(CUDART_LIBRARY cudart_static
                     HINTS ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES} ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES}
                     PATH_SUFFIXES lib64 lib)
        if(NOT CUDART_LIBRARY)
            set(hooke_no_cuda "the CUDA toolkit of ${CMAKE_CUDA_COMPILER} has no libcudart_static.a")
        endif()
    elseif(HOOKE_NVCC)
        set(hooke_no_cuda "$ENV{CUDACXX} does not compile; it needs a C++ compiler, too")
    else()
        set(hooke_no_cuda "no CUDA compiler (nvcc)")
    endif()
    if(hooke_no_cuda AND NOT HOOKE_CUDA STREQUAL AUTO)
        message(FATAL_ERROR "HOOKE_CUDA=${HOOKE_CUDA}: ${hooke_no_cuda}. Install the CUDA toolkit, "
                "set CMAKE_CUDA_COMPILER to its nvcc, or configure with -DHOOKE_CUDA=OFF.")
    endif()
endmacro()

# Compiles the backend into object libraries: HOOKE_CUDA_OBJECTS is what the libraries take in.
#   gpu_NAME       src/gpu/NAME.cu
#   gpu_law_LAW    src/gpu/law.cu with -DHK_GPU_LAW=LAW, and gpu_law_NAME_LAW law_NAME.cu
function(hooke_add_cuda)
    set(HOOKE_CUDA_OBJECTS "" PARENT_SCOPE)
    if(NOT HOOKE_CUDA_USED)
        return()
    endif()
    set(all "")
    foreach(source ${HOOKE_CUDA_SOURCES})
        get_filename_component(name ${source} NAME_WE)
        if(name MATCHES "^law(_|$)")
            hooke_read_laws(laws)
            foreach(law ${laws} any)
                hooke_cuda_objects(gpu_${name}_${law} ${source})
                target_compile_definitions(gpu_${name}_${law} PRIVATE HK_GPU_LAW=${law})
                list(APPEND all $<TARGET_OBJECTS:gpu_${name}_${law}>)
            endforeach()
        else()
            hooke_cuda_objects(gpu_${name} ${source})
            list(APPEND all $<TARGET_OBJECTS:gpu_${name}>)
        endif()
    endforeach()
    set(HOOKE_CUDA_OBJECTS ${all} PARENT_SCOPE)
    # The driver comes with the machine that runs it; the runtime is linked in.
    target_link_libraries(hooke_dependencies INTERFACE ${CUDART_LIBRARY} dl rt pthread)
    target_compile_definitions(hooke_dependencies INTERFACE HOOKE_CUDA=1)
    message(STATUS "CUDA backend: ${CMAKE_CUDA_COMPILER} ${CMAKE_CUDA_COMPILER_VERSION}, "
            "architectures ${CMAKE_CUDA_ARCHITECTURES}")
endfunction()

# No exceptions, run-time types or locks about statics: nothing of the C++ library is needed, and a C
# compiler links.
function(hooke_cuda_objects target source)
    add_library(${target} OBJECT ${source})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include
                               ${PROJECT_SOURCE_DIR}/src ${HOOKE_GENERATED})
    target_compile_definitions(${target} PRIVATE HOOKE_CUDA=1)
    target_compile_options(${target} PRIVATE
        "SHELL:-Xcompiler -Wall,-Wextra,-Wno-unused-parameter"
        "SHELL:-Xcompiler -fno-exceptions,-fno-rtti,-fno-threadsafe-statics"
        --Werror=cross-execution-space-call,reorder -lineinfo
        -prec-div=false -ftz=true)  # divisions within 2 units in the last place, at half the price
    set_target_properties(${target} PROPERTIES
        CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON
        POSITION_INDEPENDENT_CODE ON CUDA_VISIBILITY_PRESET hidden)
    if(NOT CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel)$")
        target_compile_options(${target} PRIVATE -O3)  # as in a release: what they check is the host
    endif()
    if(CMAKE_C_COMPILER_LAUNCHER AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
        set_target_properties(${target} PROPERTIES
                              CUDA_COMPILER_LAUNCHER "${CMAKE_C_COMPILER_LAUNCHER}")
    endif()
endfunction()
