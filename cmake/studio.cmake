# Hooke Studio: the server wants civetweb, the page wants npm. Both are optional; what is missing is
# said, and everything else works without it.
option(HOOKE_STUDIO "Hooke Studio, the page in the browser (civetweb, npm)" ON)

set(HOOKE_STUDIO_SERVER OFF)
if(HOOKE_STUDIO AND HOOKE_SCENES)
    find_path(CIVETWEB_INCLUDE civetweb.h)
    find_library(CIVETWEB_LIBRARY civetweb)
    if(CIVETWEB_INCLUDE AND CIVETWEB_LIBRARY)
        set(HOOKE_STUDIO_SERVER ON)
        find_package(Threads REQUIRED)
    else()
        message(STATUS "No civetweb (libcivetweb-dev): built without `hooke studio`")
    endif()
endif()

# The page is built into ${CMAKE_BINARY_DIR}/studio-page, where the program finds it, and installed
# beside the scenes. A build of the page that fails (no network for npm, say) is told and does not
# fail the rest.
function(hooke_add_studio_page)
    find_program(NPM npm)
    if(NOT EXISTS ${PROJECT_SOURCE_DIR}/studio/package.json)
        return()
    elseif(NOT NPM)
        message(STATUS "No npm (nodejs, npm): the page of Hooke Studio is not built")
        return()
    endif()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/studio/src/*
        ${PROJECT_SOURCE_DIR}/studio/public/*)
    set(stamp ${CMAKE_BINARY_DIR}/studio-page.stamp)
    add_custom_command(OUTPUT ${stamp}
        COMMAND ${CMAKE_COMMAND} -E env NPM=${NPM} sh ${PROJECT_SOURCE_DIR}/tools/studio_page.sh
            ${CMAKE_BINARY_DIR}/studio-page
        COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
        DEPENDS ${sources} ${PROJECT_SOURCE_DIR}/studio/package.json
            ${PROJECT_SOURCE_DIR}/tools/studio_page.sh
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/studio
        COMMENT "The page of Hooke Studio" VERBATIM)
    add_custom_target(hooke_studio_page ALL DEPENDS ${stamp})
    install(DIRECTORY ${CMAKE_BINARY_DIR}/studio-page/
        DESTINATION ${CMAKE_INSTALL_DATADIR}/hooke/studio OPTIONAL)
endfunction()
