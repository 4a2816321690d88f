// The mesh formats, in the order in which they are listed. A new one is a file with its table,
// hk_NAME_format, and a line here.
#ifndef HK_FORMAT_LIST_H
#define HK_FORMAT_LIST_H

#define HK_FORMATS(FORMAT) \
    FORMAT(msh)            \
    FORMAT(tetgen)         \
    FORMAT(medit)          \
    FORMAT(vtk)            \
    FORMAT(vtu)            \
    FORMAT(veg)            \
    FORMAT(obj)            \
    FORMAT(stl)            \
    FORMAT(ply)            \
    FORMAT(glb)

#endif
