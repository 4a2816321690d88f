# What `make install` puts where: libraries, header, hooke::hooke for CMake, hooke.pc for pkg-config,
# licence (the program: cli/CMakeLists.txt). Everything installed may be moved: no file names the
# prefix.
include(CMakePackageConfigHelpers)

install(TARGETS hooke EXPORT hooke-targets
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS hooke_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/hooke DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/hooke)

# Who links libhooke.a must link what it stands on too. The list is read off hooke_dependencies, so
# that it is kept in one place: pkg-config modules for Requires.private, names of libraries for
# Libs.private, and the names of all for hooke::hooke_static.
set(HOOKE_PRIVATE_MODULES "")
set(HOOKE_PRIVATE_LIBRARIES "")
set(HOOKE_STATIC_LIBRARIES "")
get_target_property(dependencies hooke_dependencies INTERFACE_LINK_LIBRARIES)
foreach(dependency ${dependencies})
    if(dependency MATCHES "^PkgConfig::(.+)$")
        list(APPEND HOOKE_PRIVATE_MODULES ${${CMAKE_MATCH_1}_MODULE_NAME})
        list(APPEND HOOKE_STATIC_LIBRARIES ${${CMAKE_MATCH_1}_LIBRARIES})
    elseif(dependency STREQUAL OpenMP::OpenMP_C)
        list(APPEND HOOKE_PRIVATE_LIBRARIES ${OpenMP_C_LIB_NAMES})
    elseif(IS_ABSOLUTE "${dependency}")
        get_filename_component(name ${dependency} NAME_WE)
        string(REGEX REPLACE "^lib" "" name ${name})
        list(APPEND HOOKE_PRIVATE_LIBRARIES ${name})
    elseif(dependency MATCHES "^[A-Za-z0-9_]+$")
        list(APPEND HOOKE_PRIVATE_LIBRARIES ${dependency})
    else()
        message(FATAL_ERROR "cmake/install.cmake: cannot tell pkg-config about ${dependency}")
    endif()
endforeach()
list(REMOVE_DUPLICATES HOOKE_PRIVATE_LIBRARIES)
list(APPEND HOOKE_STATIC_LIBRARIES ${HOOKE_PRIVATE_LIBRARIES})

# pkg-config knows the place of its file (pcfiledir); the prefix follows from it.
file(RELATIVE_PATH HOOKE_PC_TO_PREFIX
    ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" HOOKE_PC_TO_PREFIX "${HOOKE_PC_TO_PREFIX}")
foreach(where LIBDIR INCLUDEDIR)
    set(HOOKE_PC_${where} "\${prefix}/${CMAKE_INSTALL_${where}}")
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${where}}")
        set(HOOKE_PC_${where} "${CMAKE_INSTALL_${where}}")
    endif()
endforeach()
list(JOIN HOOKE_PRIVATE_MODULES ", " HOOKE_PC_REQUIRES)
list(TRANSFORM HOOKE_PRIVATE_LIBRARIES PREPEND "-l" OUTPUT_VARIABLE HOOKE_PC_LIBS)
list(JOIN HOOKE_PC_LIBS " " HOOKE_PC_LIBS)
# The runtime of CUDA is where no linker looks.
set(HOOKE_CUDART_FOLDER "")
if(HOOKE_CUDA_USED)
    get_filename_component(HOOKE_CUDART_FOLDER ${CUDART_LIBRARY} DIRECTORY)
    string(PREPEND HOOKE_PC_LIBS "-L${HOOKE_CUDART_FOLDER} ")
endif()
configure_file(cmake/hooke.pc.in hooke.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hooke.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/hooke)
configure_package_config_file(cmake/hooke-config.cmake.in hooke-config.cmake
    INSTALL_DESTINATION ${package}
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
# Until 1.0 a new minor version may change the interface, as the soname says.
write_basic_package_version_file(hooke-config-version.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT hooke-targets NAMESPACE hooke:: DESTINATION ${package})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hooke-config.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/hooke-config-version.cmake DESTINATION ${package})
