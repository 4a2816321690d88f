"""The C interface of libhooke for ctypes. Written by generate.py: do not edit."""

from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int,
                    c_int8, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p)

# Constants and enumerations
HK_ALL_AXES = 7
HK_AXIS_X = 1
HK_AXIS_Y = 2
HK_AXIS_Z = 4
HK_BACKEND_AUTO = 2
HK_BACKEND_CPU = 0
HK_BACKEND_CUDA = 1
HK_BAD_INPUT = 1
HK_BY_AREA = 1
HK_CONSTRAINT_KINDS = 7
HK_CONTACT_AFTER = 1
HK_CONTACT_DURING = 0
HK_CONVERGED = 0
HK_CUT_ALL = -1
HK_CUT_POINTS = 4
HK_DEFECT_LIST = 8
HK_DESIGN_CONVERGED = 2
HK_DESIGN_FAILED = 3
HK_DESIGN_PREVIEW = 0
HK_DESIGN_REFINING = 1
HK_EVENLY = 0
HK_FIXED_WORK = 8
HK_FOR_NOTHING = 0
HK_FOR_ROPES = 3
HK_FOR_SHEETS = 2
HK_FOR_SOLIDS = 1
HK_INTERNAL = 5
HK_INTERSECTION = 11
HK_INVERTED = 4
HK_IO_ERROR = 2
HK_ITERATION_LIMIT = 1
HK_JOINT_BALL = 0
HK_JOINT_HINGE = 1
HK_JOINT_KINDS = 4
HK_JOINT_SLIDER = 2
HK_JOINT_WELD = 3
HK_KEEP_CYLINDER = 3
HK_KEEP_LINE = 1
HK_KEEP_PERIODIC = 5
HK_KEEP_PLANE = 0
HK_KEEP_SPHERE = 2
HK_KEEP_TOGETHER = 4
HK_KEEP_VOLUME = 6
HK_LOADED_SHAPE = 0
HK_LOAD_STEP_LIMIT = 6
HK_LOG_DEBUG = 0
HK_LOG_INFO = 1
HK_LOG_WARNING = 2
HK_MAX_PARAMETERS = 8
HK_MAX_TERM_VERTICES = 8
HK_MOST_PHASES = 16
HK_MOVED = 8
HK_NOT_FINITE = 3
HK_NOT_HELD = 5
HK_NO_MEMORY = 3
HK_OBSTACLE_BOX = 1
HK_OBSTACLE_CAPSULE = 3
HK_OBSTACLE_CYLINDER = 4
HK_OBSTACLE_MESH = 6
HK_OBSTACLE_PLANE = 0
HK_OBSTACLE_PLATE = 5
HK_OBSTACLE_SPHERE = 2
HK_OK = 0
HK_ON_TETS = 1
HK_ON_VERTICES = 0
HK_OUTCOME_CONVERGED = 0
HK_OUTCOME_FAILED = 2
HK_OUTCOME_STOPPED = 1
HK_OVERLAP_RECOVER = 1
HK_OVERLAP_REFUSE = 0
HK_PHASE_ASSEMBLY = 1
HK_PHASE_COUNT = 9
HK_PHASE_DETECTION = 6
HK_PHASE_ELEMENTS = 0
HK_PHASE_FACTOR = 2
HK_PHASE_GUARD = 8
HK_PHASE_OTHER = 5
HK_PHASE_PAIRS = 7
HK_PHASE_SOLVE = 3
HK_PHASE_VOLUME = 4
HK_POINT_VERTICES = 4
HK_PRECISION_LIMIT = 9
HK_REST_SHAPE = 1
HK_SCENE_VERSION = 1
HK_SELECT_ALL = 0
HK_SELECT_ANY = 6
HK_SELECT_BOX = 2
HK_SELECT_GROUP = 5
HK_SELECT_NONE = 1
HK_SELECT_NOT = 7
HK_SELECT_SPHERE = 3
HK_SELECT_VERTICES = 4
HK_SHAPE_BOX = 0
HK_SHAPE_CYLINDER = 1
HK_SHAPE_FIGURE = 5
HK_SHAPE_FUNNEL = 9
HK_SHAPE_HELIX = 3
HK_SHAPE_PYRAMID = 7
HK_SHAPE_ROPE = 10
HK_SHAPE_SHEET = 4
HK_SHAPE_SPHERE = 2
HK_SHAPE_TORUS = 6
HK_SHAPE_WEDGE = 8
HK_STALLED = 2
HK_STOPPED = 7
HK_THE_WORLD = -1
HK_TIED = 32
HK_UNDETERMINED = 10
HK_UNSUPPORTED = 4
HK_VERSION_MAJOR = 0
HK_VERSION_MINOR = 1
HK_VERSION_PATCH = 0

ENUMS = {
    'hk_backend': {
        'HK_BACKEND_CPU': 0,
        'HK_BACKEND_CUDA': 1,
        'HK_BACKEND_AUTO': 2,
    },
    'hk_constraint_kind': {
        'HK_KEEP_PLANE': 0,
        'HK_KEEP_LINE': 1,
        'HK_KEEP_SPHERE': 2,
        'HK_KEEP_CYLINDER': 3,
        'HK_KEEP_TOGETHER': 4,
        'HK_KEEP_PERIODIC': 5,
        'HK_KEEP_VOLUME': 6,
        'HK_CONSTRAINT_KINDS': 7,
    },
    'hk_contact_when': {
        'HK_CONTACT_DURING': 0,
        'HK_CONTACT_AFTER': 1,
    },
    'hk_design_side': {
        'HK_LOADED_SHAPE': 0,
        'HK_REST_SHAPE': 1,
    },
    'hk_design_state': {
        'HK_DESIGN_PREVIEW': 0,
        'HK_DESIGN_REFINING': 1,
        'HK_DESIGN_CONVERGED': 2,
        'HK_DESIGN_FAILED': 3,
    },
    'hk_distribution': {
        'HK_EVENLY': 0,
        'HK_BY_AREA': 1,
    },
    'hk_field_site': {
        'HK_ON_VERTICES': 0,
        'HK_ON_TETS': 1,
    },
    'hk_joint_kind': {
        'HK_JOINT_BALL': 0,
        'HK_JOINT_HINGE': 1,
        'HK_JOINT_SLIDER': 2,
        'HK_JOINT_WELD': 3,
        'HK_JOINT_KINDS': 4,
    },
    'hk_log_level': {
        'HK_LOG_DEBUG': 0,
        'HK_LOG_INFO': 1,
        'HK_LOG_WARNING': 2,
    },
    'hk_material_use': {
        'HK_FOR_NOTHING': 0,
        'HK_FOR_SOLIDS': 1,
        'HK_FOR_SHEETS': 2,
        'HK_FOR_ROPES': 3,
    },
    'hk_obstacle_shape': {
        'HK_OBSTACLE_PLANE': 0,
        'HK_OBSTACLE_BOX': 1,
        'HK_OBSTACLE_SPHERE': 2,
        'HK_OBSTACLE_CAPSULE': 3,
        'HK_OBSTACLE_CYLINDER': 4,
        'HK_OBSTACLE_PLATE': 5,
        'HK_OBSTACLE_MESH': 6,
    },
    'hk_outcome': {
        'HK_OUTCOME_CONVERGED': 0,
        'HK_OUTCOME_STOPPED': 1,
        'HK_OUTCOME_FAILED': 2,
    },
    'hk_overlap': {
        'HK_OVERLAP_REFUSE': 0,
        'HK_OVERLAP_RECOVER': 1,
    },
    'hk_phase': {
        'HK_PHASE_ELEMENTS': 0,
        'HK_PHASE_ASSEMBLY': 1,
        'HK_PHASE_FACTOR': 2,
        'HK_PHASE_SOLVE': 3,
        'HK_PHASE_VOLUME': 4,
        'HK_PHASE_OTHER': 5,
        'HK_PHASE_DETECTION': 6,
        'HK_PHASE_PAIRS': 7,
        'HK_PHASE_GUARD': 8,
        'HK_PHASE_COUNT': 9,
    },
    'hk_reason': {
        'HK_CONVERGED': 0,
        'HK_ITERATION_LIMIT': 1,
        'HK_STALLED': 2,
        'HK_NOT_FINITE': 3,
        'HK_INVERTED': 4,
        'HK_NOT_HELD': 5,
        'HK_LOAD_STEP_LIMIT': 6,
        'HK_STOPPED': 7,
        'HK_FIXED_WORK': 8,
        'HK_PRECISION_LIMIT': 9,
        'HK_UNDETERMINED': 10,
        'HK_INTERSECTION': 11,
    },
    'hk_select_kind': {
        'HK_SELECT_ALL': 0,
        'HK_SELECT_NONE': 1,
        'HK_SELECT_BOX': 2,
        'HK_SELECT_SPHERE': 3,
        'HK_SELECT_VERTICES': 4,
        'HK_SELECT_GROUP': 5,
        'HK_SELECT_ANY': 6,
        'HK_SELECT_NOT': 7,
    },
    'hk_shape': {
        'HK_SHAPE_BOX': 0,
        'HK_SHAPE_CYLINDER': 1,
        'HK_SHAPE_SPHERE': 2,
        'HK_SHAPE_HELIX': 3,
        'HK_SHAPE_SHEET': 4,
        'HK_SHAPE_FIGURE': 5,
        'HK_SHAPE_TORUS': 6,
        'HK_SHAPE_PYRAMID': 7,
        'HK_SHAPE_WEDGE': 8,
        'HK_SHAPE_FUNNEL': 9,
        'HK_SHAPE_ROPE': 10,
    },
    'hk_status': {
        'HK_OK': 0,
        'HK_BAD_INPUT': 1,
        'HK_IO_ERROR': 2,
        'HK_NO_MEMORY': 3,
        'HK_UNSUPPORTED': 4,
        'HK_INTERNAL': 5,
    },
}


# Structs: declared, and then their members
class hk_allocator(Structure):
    pass


class hk_machine_info(Structure):
    pass


class hk_parameter(Structure):
    pass


class hk_curve(Structure):
    pass


class hk_invertible(Structure):
    pass


class hk_custom_law(Structure):
    pass


class hk_material_def(Structure):
    pass


class hk_mesh_def(Structure):
    pass


class hk_mesh_format(Structure):
    pass


class hk_field(Structure):
    pass


class hk_defect(Structure):
    pass


class hk_mesh_report(Structure):
    pass


class hk_intersection(Structure):
    pass


class hk_intersection_report(Structure):
    pass


class hk_selector(Structure):
    pass


class hk_transform(Structure):
    pass


class hk_factor_def(Structure):
    pass


class hk_motion_def(Structure):
    pass


class hk_move_def(Structure):
    pass


class hk_attach_def(Structure):
    pass


class hk_load_def(Structure):
    pass


class hk_region_def(Structure):
    pass


class hk_body_def(Structure):
    pass


class hk_term_def(Structure):
    pass


class hk_contact_def(Structure):
    pass


class hk_obstacle_def(Structure):
    pass


class hk_spring_def(Structure):
    pass


class hk_seam_def(Structure):
    pass


class hk_joint_def(Structure):
    pass


class hk_constraint_def(Structure):
    pass


class hk_tearing_def(Structure):
    pass


class hk_model_def(Structure):
    pass


class hk_option(Structure):
    pass


class hk_solver_def(Structure):
    pass


class hk_option_info(Structure):
    pass


class hk_damping(Structure):
    pass


class hk_world_def(Structure):
    pass


class hk_energy(Structure):
    pass


class hk_step_report(Structure):
    pass


class hk_iteration(Structure):
    pass


class hk_grab_def(Structure):
    pass


class hk_reaction(Structure):
    pass


class hk_greatest(Structure):
    pass


class hk_probe(Structure):
    pass


class hk_rigid_state(Structure):
    pass


class hk_joint_state(Structure):
    pass


class hk_cavity_state(Structure):
    pass


class hk_between_def(Structure):
    pass


class hk_key_def(Structure):
    pass


class hk_formula_def(Structure):
    pass


class hk_contact_report(Structure):
    pass


class hk_obstacle_load(Structure):
    pass


class hk_rest_def(Structure):
    pass


class hk_rest_report(Structure):
    pass


class hk_fit_def(Structure):
    pass


class hk_fit_parameter(Structure):
    pass


class hk_fit_report(Structure):
    pass


class hk_design_def(Structure):
    pass


class hk_design_view(Structure):
    pass


class hk_handle_def(Structure):
    pass


class hk_filling_def(Structure):
    pass


class hk_filling_report(Structure):
    pass


class hk_point_def(Structure):
    pass


class hk_side_def(Structure):
    pass


class hk_spring_state(Structure):
    pass


class hk_output_def(Structure):
    pass


class hk_probe_def(Structure):
    pass


class hk_sdf_def(Structure):
    pass


class hk_sdf_report(Structure):
    pass


class hk_cut_def(Structure):
    pass


class hk_tear_report(Structure):
    pass


class hk_tool_def(Structure):
    pass


class hk_tool_pose(Structure):
    pass


# Callbacks
hk_log_fn = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
hk_monitor_fn = CFUNCTYPE(c_bool, c_void_p, POINTER(hk_iteration))
hk_take_bytes_fn = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)

hk_allocator._fields_ = [
    ('alloc', CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_size_t)),
    ('release', CFUNCTYPE(None, c_void_p, c_void_p)),
    ('context', c_void_p),
]
hk_machine_info._fields_ = [
    ('single_lanes', c_char_p),
    ('double_lanes', c_char_p),
    ('threads', c_int),
    ('memory', c_uint64),
    ('direct_solver', c_char_p),
    ('blas', c_char_p),
    ('blas_core', c_char_p),
    ('blas_core_wanted', c_char_p),
    ('warning', c_char_p),
]
hk_parameter._fields_ = [
    ('name', c_char_p),
    ('value', c_double),
]
hk_curve._fields_ = [
    ('values', POINTER(c_double)),
    ('count', c_int),
]
hk_invertible._fields_ = [
    ('upper', c_double),
    ('lower', c_double),
    ('decay', c_double),
    ('stiffness', c_double),
]
hk_custom_law._fields_ = [
    ('energy', CFUNCTYPE(c_double, c_void_p, POINTER(c_double))),
    ('stress', CFUNCTYPE(None, c_void_p, POINTER(c_double), POINTER(c_double))),
    ('hessian', CFUNCTYPE(None, c_void_p, POINTER(c_double), POINTER(c_double))),
    ('context', c_void_p),
]
hk_mesh_def._fields_ = [
    ('def_size', c_size_t),
    ('shape', c_int),
    ('size', (c_double * 3)),
    ('cells', (c_int * 3)),
    ('radius', c_double),
    ('length', c_double),
    ('pitch', c_double),
    ('turns', c_double),
    ('thickness', c_double),
    ('strands', c_int),
    ('height', c_double),
    ('neck', c_double),
    ('degrees', c_double),
    ('points', POINTER(c_double)),
    ('point_count', c_int),
    ('reserved_int', c_int),
]
hk_mesh_format._fields_ = [
    ('ending', c_char_p),
    ('reads', c_bool),
    ('writes', c_bool),
    ('surface', c_bool),
]
hk_field._fields_ = [
    ('name', c_char_p),
    ('site', c_int),
    ('components', c_int),
    ('values', POINTER(c_double)),
]
hk_defect._fields_ = [
    ('count', c_int64),
    ('first', (c_int64 * 8)),
]
hk_intersection._fields_ = [
    ('triangles', (c_int32 * 2)),
    ('faces', ((c_int32 * 3) * 2)),
    ('bodies', (c_int32 * 2)),
    ('names', (c_char_p * 2)),
    ('place', (c_double * 3)),
    ('touching', c_bool),
    ('reserved', (c_uint64 * 4)),
]
hk_selector._fields_ = [
    ('kind', c_int),
    ('box', ((c_double * 3) * 2)),
    ('center', (c_double * 3)),
    ('radius', c_double),
    ('vertices', POINTER(c_int32)),
    ('vertex_count', c_int),
    ('group', c_char_p),
    ('children', POINTER(hk_selector)),
    ('child_count', c_int),
]
hk_transform._fields_ = [
    ('scale', c_double),
    ('axis', (c_double * 3)),
    ('degrees', c_double),
    ('translate', (c_double * 3)),
]
hk_factor_def._fields_ = [
    ('formula', c_char_p),
    ('table', POINTER(c_double)),
    ('table_count', c_int64),
    ('over', c_double),
]
hk_motion_def._fields_ = [
    ('axis', (c_double * 3)),
    ('center', (c_double * 3)),
    ('degrees', c_double),
    ('translate', (c_double * 3)),
    ('over', c_double),
    ('formula', c_char_p),
    ('table', POINTER(c_double)),
    ('table_count', c_int64),
    ('reserved', (c_uint64 * 5)),
]
hk_term_def._fields_ = [
    ('def_size', c_size_t),
    ('name', c_char_p),
    ('element_count', c_int),
    ('vertex_count', c_int),
    ('vertices', POINTER(c_int32)),
    ('stiffness', c_double),
    ('tie', c_bool),
    ('energy', CFUNCTYPE(c_double, c_void_p, c_int, POINTER(c_double))),
    ('gradient', CFUNCTYPE(None, c_void_p, c_int, POINTER(c_double), POINTER(c_double))),
    ('hessian', CFUNCTYPE(None, c_void_p, c_int, POINTER(c_double), POINTER(c_double))),
    ('context', c_void_p),
    ('batch', CFUNCTYPE(None, c_void_p, c_int, c_int, POINTER(c_double), POINTER(c_double), POINTER(c_double), POINTER(c_double))),
]
hk_joint_def._fields_ = [
    ('def_size', c_size_t),
    ('name', c_char_p),
    ('parts', (c_char_p * 2)),
    ('kind', c_int),
    ('reserved_int', c_int),
    ('at', (c_double * 3)),
    ('axis', (c_double * 3)),
]
hk_option._fields_ = [
    ('name', c_char_p),
    ('number', c_double),
    ('text', c_char_p),
]
hk_option_info._fields_ = [
    ('name', c_char_p),
    ('help', c_char_p),
    ('words', POINTER(c_char_p)),
    ('minimum', c_double),
    ('maximum', c_double),
    ('fallback', c_double),
]
hk_damping._fields_ = [
    ('air', c_double),
    ('viscous', c_double),
    ('ether', c_double),
    ('pbd', c_double),
    ('air_per_vertex', c_double),
]
hk_energy._fields_ = [
    ('elastic', c_double),
    ('gravity', c_double),
    ('load', c_double),
    ('kinetic', c_double),
    ('total', c_double),
    ('contact', c_double),
    ('reserved', (c_uint64 * 7)),
]
hk_iteration._fields_ = [
    ('iteration', c_int),
    ('energy', c_double),
    ('residual', c_double),
    ('relative_residual', c_double),
    ('step_length', c_double),
    ('projected', c_bool),
    ('load', c_double),
    ('linear_iterations', c_int),
    ('resumed', c_int),
    ('reserved', (c_uint64 * 7)),
]
hk_grab_def._fields_ = [
    ('def_size', c_size_t),
    ('count', c_int),
    ('vertices', (c_int32 * 4)),
    ('weights', (c_double * 4)),
    ('stiffness', c_double),
    ('target', (c_double * 3)),
]
hk_reaction._fields_ = [
    ('body', c_int),
    ('moves', c_bool),
    ('number', c_int),
    ('name', c_char_p),
    ('vertices', c_int),
    ('force', (c_double * 3)),
    ('moment', (c_double * 3)),
    ('center', (c_double * 3)),
    ('reserved', (c_uint64 * 4)),
]
hk_greatest._fields_ = [
    ('displacement', c_double),
    ('displacement_body', c_int),
    ('displacement_place', (c_double * 3)),
    ('von_mises', c_double),
    ('von_mises_body', c_int),
    ('von_mises_place', (c_double * 3)),
    ('vertex', c_int),
    ('tet', c_int),
    ('reserved', (c_uint64 * 4)),
]
hk_probe._fields_ = [
    ('body', c_int),
    ('count', c_int),
    ('tet', c_int),
    ('vertices', (c_int32 * 4)),
    ('weights', (c_double * 4)),
    ('reserved', (c_uint64 * 4)),
]
hk_rigid_state._fields_ = [
    ('center', (c_double * 3)),
    ('rotation', ((c_double * 3) * 3)),
    ('velocity', (c_double * 3)),
    ('spin', (c_double * 3)),
    ('mass', c_double),
    ('deformation', c_double),
    ('reserved', (c_uint64 * 4)),
]
hk_joint_state._fields_ = [
    ('at', (c_double * 3)),
    ('axis', (c_double * 3)),
    ('turn', c_double),
    ('slide', c_double),
    ('error', c_double),
    ('reserved', (c_uint64 * 4)),
]
hk_cavity_state._fields_ = [
    ('volume', c_double),
    ('goal', c_double),
    ('pressure', c_double),
    ('reserved', (c_uint64 * 4)),
]
hk_between_def._fields_ = [
    ('a', c_char_p),
    ('b', c_char_p),
    ('friction', c_double),
    ('ignore', c_int),
    ('reserved_int', c_int),
    ('reserved', (c_uint64 * 4)),
]
hk_key_def._fields_ = [
    ('time', c_double),
    ('axis', (c_double * 3)),
    ('center', (c_double * 3)),
    ('degrees', c_double),
    ('translate', (c_double * 3)),
    ('reserved', (c_uint64 * 4)),
]
hk_formula_def._fields_ = [
    ('translate', (c_char_p * 3)),
    ('degrees', c_char_p),
    ('axis', (c_double * 3)),
    ('center', (c_double * 3)),
    ('reserved', (c_uint64 * 4)),
]
hk_contact_report._fields_ = [
    ('pairs', c_int64),
    ('candidates', c_int64),
    ('least_gap', c_double),
    ('clamped', c_int64),
    ('detections', c_int64),
    ('certified', c_int),
    ('recovering', c_int),
    ('recovery_steps', c_int),
    ('reserved_int', c_int),
    ('recovered_time', c_double),
    ('energy', c_double),
    ('detection_ms', c_double),
    ('pairs_ms', c_double),
    ('guard_ms', c_double),
    ('certificate_ms', c_double),
    ('reserved', (c_uint64 * 10)),
]
hk_obstacle_load._fields_ = [
    ('force', (c_double * 3)),
    ('torque', (c_double * 3)),
    ('center', (c_double * 3)),
    ('reserved', (c_uint64 * 4)),
]
hk_rest_def._fields_ = [
    ('def_size', c_size_t),
    ('model', c_void_p),
    ('method', c_char_p),
    ('tolerance', c_double),
    ('iterations', c_int),
    ('load_steps', c_int),
    ('reuse', c_int),
    ('threads', c_int),
    ('linear', c_char_p),
]
hk_rest_report._fields_ = [
    ('reason', c_int),
    ('detail', (c_char * 160)),
    ('attempts', (c_char * 80)),
    ('iterations', c_int),
    ('linear_iterations', c_int),
    ('load_steps', c_int),
    ('factorisations', c_int),
    ('load_reached', c_double),
    ('residual', c_double),
    ('relative_residual', c_double),
    ('correction', c_double),
    ('sag', c_double),
    ('least_j', c_double),
    ('greatest_stretch', c_double),
    ('sag_vertex', c_int),
    ('least_j_tet', c_int),
    ('greatest_stretch_tet', c_int),
    ('overlaps', c_int),
    ('ms', c_double),
    ('phase_ms', (c_double * 16)),
    ('overlap_faces', ((c_int32 * 3) * 2)),
    ('overlap_bodies', (c_int32 * 2)),
    ('overlap_place', (c_double * 3)),
    ('overlap_touches', c_int),
    ('touching', c_int),
    ('sheet_residual', c_double),
    ('least_rest_length', c_double),
    ('greatest_rest_length', c_double),
    ('sheet_vertex', c_int),
    ('pushing_springs', c_int),
    ('unstable', c_int),
    ('reserved', (c_uint64 * 3)),
]
hk_fit_parameter._fields_ = [
    ('name', c_char_p),
    ('start', c_double),
    ('value', c_double),
    ('deviation', c_double),
]
hk_fit_report._fields_ = [
    ('reason', c_int),
    ('detail', (c_char * 400)),
    ('iterations', c_int),
    ('poses', c_int),
    ('pose_iterations', c_int),
    ('factorisations', c_int),
    ('observed', c_int),
    ('missing', c_int),
    ('held', c_int),
    ('outliers', c_int),
    ('undetermined', c_int),
    ('sag_vertex', c_int),
    ('held_vertex', c_int),
    ('rms', c_double),
    ('noise', c_double),
    ('sag', c_double),
    ('held_distance', c_double),
    ('relative_gradient', c_double),
    ('residual', c_double),
    ('relative_residual', c_double),
    ('ms', c_double),
    ('phase_ms', (c_double * 16)),
    ('reserved', (c_uint64 * 16)),
]
hk_design_def._fields_ = [
    ('def_size', c_size_t),
    ('model', c_void_p),
    ('given', c_int),
    ('threads', c_int),
    ('tolerance', c_double),
    ('steps', c_int),
    ('undo_mb', c_int),
]
hk_design_view._fields_ = [
    ('loaded', POINTER(c_double)),
    ('rest', POINTER(c_double)),
    ('state', c_int),
    ('given', c_int),
    ('version', c_uint64),
    ('sequence', c_uint64),
    ('reason', c_int),
    ('detail', (c_char * 160)),
    ('iterations', c_int),
    ('relative_residual', c_double),
    ('load_reached', c_double),
    ('sag', c_double),
    ('least_j', c_double),
    ('greatest_stretch', c_double),
    ('handles', c_int),
    ('out_of_bounds', c_int),
    ('preview_ms', c_double),
    ('refine_ms', c_double),
    ('reserved', (c_uint64 * 16)),
]
hk_handle_def._fields_ = [
    ('def_size', c_size_t),
    ('side', c_int),
    ('count', c_int),
    ('vertices', POINTER(c_int32)),
    ('weights', POINTER(c_double)),
]
hk_filling_def._fields_ = [
    ('def_size', c_size_t),
    ('size', c_double),
    ('grade', c_double),
    ('thickness', c_double),
    ('sharp_angle', c_double),
    ('least_part', c_double),
    ('cells', c_int),
    ('threads', c_int),
]
hk_filling_report._fields_ = [
    ('vertices', c_int),
    ('tets', c_int),
    ('surface_triangles', c_int),
    ('pieces', c_int),
    ('triangles', c_int64),
    ('flat_triangles', c_int64),
    ('repeated', c_int64),
    ('turned', c_int64),
    ('inner_triangles', c_int64),
    ('outer_triangles', c_int64),
    ('left_out', c_int64),
    ('left_out_volume', c_double),
    ('flipped', c_int),
    ('rough', c_int),
    ('closed', c_int),
    ('levels', c_int),
    ('size', c_double),
    ('rim', c_double),
    ('area', c_double),
    ('volume', c_double),
    ('mesh_volume', c_double),
    ('least_angle', c_double),
    ('greatest_angle', c_double),
    ('least_plain_angle', c_double),
    ('sharp_length', c_double),
    ('sharp_kept', c_double),
    ('distance', c_double),
    ('lost_area', c_double),
    ('ms', c_double),
    ('reserved', (c_uint64 * 16)),
]
hk_point_def._fields_ = [
    ('body', c_int),
    ('count', c_int),
    ('nearest', c_int),
    ('vertices', (c_int32 * 4)),
    ('reserved_int', c_int),
    ('weights', (c_double * 4)),
    ('at', (c_double * 3)),
]
hk_spring_state._fields_ = [
    ('ends', ((c_double * 3) * 2)),
    ('length', c_double),
    ('rest', c_double),
    ('tension', c_double),
    ('broken', c_int),
    ('reserved_int', c_int),
    ('reserved', (c_uint64 * 4)),
]
hk_probe_def._fields_ = [
    ('name', c_char_p),
    ('body', c_char_p),
    ('at', (c_double * 3)),
]
hk_sdf_def._fields_ = [
    ('def_size', c_size_t),
    ('cell', c_double),
    ('band', c_double),
    ('cells', c_int),
    ('threads', c_int),
]
hk_sdf_report._fields_ = [
    ('cells', (c_int * 3)),
    ('flipped', c_int),
    ('bounds', ((c_double * 3) * 2)),
    ('cell', c_double),
    ('band', c_double),
    ('bricks', c_int64),
    ('bytes', c_int64),
    ('triangles', c_int64),
    ('flat_triangles', c_int64),
    ('inner_triangles', c_int64),
    ('lid_triangles', c_int64),
    ('area', c_double),
    ('volume', c_double),
    ('least', c_double),
    ('greatest', c_double),
    ('rim', c_double),
    ('openness', c_double),
    ('least_winding', c_double),
    ('greatest_winding', c_double),
    ('ms', c_double),
    ('reserved', (c_uint64 * 16)),
]
hk_tear_report._fields_ = [
    ('events', c_int),
    ('facets', c_int),
    ('vertices', c_int),
    ('postponed', c_int),
    ('factorisations', c_int),
    ('renewals', c_int),
    ('steps_before', c_int),
    ('steps_after', c_int),
    ('iterations_before', c_int),
    ('iterations_after', c_int),
    ('reserved', (c_uint64 * 4)),
]
hk_tool_def._fields_ = [
    ('def_size', c_size_t),
    ('obstacle', c_char_p),
    ('stiffness', c_double),
    ('damping', c_double),
    ('turn_stiffness', c_double),
    ('turn_damping', c_double),
]
hk_tool_pose._fields_ = [
    ('position', (c_double * 3)),
    ('quaternion', (c_double * 4)),
]
hk_material_def._fields_ = [
    ('def_size', c_size_t),
    ('model', c_char_p),
    ('young', c_double),
    ('poisson', c_double),
    ('density', c_double),
    ('parameters', (hk_parameter * 8)),
    ('parameter_count', c_int),
    ('f', hk_curve),
    ('g', hk_curve),
    ('h', hk_curve),
    ('axes', (hk_curve * 3)),
    ('axis_directions', ((c_double * 3) * 3)),
    ('fibre_stiffness', c_double),
    ('fibre_direction', (c_double * 3)),
    ('fibre_directions', POINTER(c_double)),
    ('invertible', hk_invertible),
    ('custom', hk_custom_law),
    ('viscous', c_double),
    ('thickness', c_double),
    ('membrane', c_char_p),
    ('bending_form', c_char_p),
    ('warp_direction', (c_double * 3)),
    ('tear_stress', c_double),
    ('tear_strain', c_double),
    ('reserved', (c_uint64 * 7)),
]
hk_mesh_report._fields_ = [
    ('vertices', c_int),
    ('tets', c_int),
    ('triangles', c_int),
    ('groups', c_int),
    ('components', c_int),
    ('bounds', ((c_double * 3) * 2)),
    ('volume', c_double),
    ('area', c_double),
    ('worst_quality', c_double),
    ('mean_quality', c_double),
    ('worst_tet', c_int64),
    ('turned', hk_defect),
    ('flat', hk_defect),
    ('duplicate_tets', hk_defect),
    ('duplicate_vertices', hk_defect),
    ('unreferenced', hk_defect),
    ('non_manifold', hk_defect),
    ('open_edges', hk_defect),
    ('not_finite', hk_defect),
    ('simulable', c_bool),
    ('verdict', c_char_p),
    ('reserved', (c_uint64 * 16)),
]
hk_intersection_report._fields_ = [
    ('count', c_int64),
    ('touching', c_int64),
    ('triangles', c_int),
    ('listed', c_int),
    ('first', (hk_intersection * 8)),
    ('reserved', (c_uint64 * 8)),
]
hk_move_def._fields_ = [
    ('def_size', c_size_t),
    ('select', hk_selector),
    ('motion', hk_motion_def),
]
hk_attach_def._fields_ = [
    ('def_size', c_size_t),
    ('select', hk_selector),
    ('stiffness', c_double),
    ('motion', hk_motion_def),
    ('damping', c_double),
]
hk_load_def._fields_ = [
    ('def_size', c_size_t),
    ('select', hk_selector),
    ('distribution', c_int),
    ('force', (c_double * 3)),
    ('pressure', c_double),
    ('moment', c_double),
    ('axis', (c_double * 3)),
    ('center', (c_double * 3)),
    ('factor', hk_factor_def),
    ('wind', (c_double * 3)),
    ('air_density', c_double),
    ('drag', c_double),
    ('lift', c_double),
    ('gas', c_double),
    ('outside', c_double),
]
hk_contact_def._fields_ = [
    ('def_size', c_size_t),
    ('distance', c_double),
    ('stiffness', c_double),
    ('friction', c_double),
    ('slip_speed', c_double),
    ('friction_passes', c_int),
    ('self', c_int),
    ('law', c_char_p),
    ('overlap', c_int),
    ('when', c_int),
    ('certify', c_int),
    ('between_count', c_int),
    ('between', POINTER(hk_between_def)),
    ('restitution', c_double),
    ('normal_stiffness', c_double),
    ('normal_damping', c_double),
    ('drag', c_double),
]
hk_obstacle_def._fields_ = [
    ('def_size', c_size_t),
    ('name', c_char_p),
    ('shape', c_int),
    ('sides', c_int),
    ('point', (c_double * 3)),
    ('normal', (c_double * 3)),
    ('size', (c_double * 2)),
    ('thickness', c_double),
    ('min', (c_double * 3)),
    ('max', (c_double * 3)),
    ('center', (c_double * 3)),
    ('radius', c_double),
    ('from', (c_double * 3)),
    ('to', (c_double * 3)),
    ('mesh', c_void_p),
    ('transform', hk_transform),
    ('friction', c_double),
    ('moves', POINTER(hk_motion_def)),
    ('keys', POINTER(hk_key_def)),
    ('move_count', c_int),
    ('key_count', c_int),
    ('formula', hk_formula_def),
]
hk_spring_def._fields_ = [
    ('def_size', c_size_t),
    ('name', c_char_p),
    ('ends', (hk_point_def * 2)),
    ('stiffness', c_double),
    ('rest', c_double),
    ('to', c_double),
    ('factor', hk_factor_def),
    ('damping', c_double),
    ('breaking', c_double),
    ('slack', c_int),
    ('reserved_int', c_int),
]
hk_constraint_def._fields_ = [
    ('def_size', c_size_t),
    ('name', c_char_p),
    ('kind', c_int),
    ('body', c_int),
    ('select', hk_selector),
    ('other', hk_selector),
    ('at', (c_double * 3)),
    ('axis', (c_double * 3)),
    ('volume', c_double),
    ('factor', hk_factor_def),
]
hk_solver_def._fields_ = [
    ('def_size', c_size_t),
    ('method', c_char_p),
    ('iterations', c_int),
    ('tolerance', c_double),
    ('options', POINTER(hk_option)),
    ('option_count', c_int),
    ('reserved', (c_uint64 * 16)),
]
hk_step_report._fields_ = [
    ('reason', c_int),
    ('detail', (c_char * 160)),
    ('iterations', c_int),
    ('load_steps', c_int),
    ('time', c_double),
    ('residual', c_double),
    ('relative_residual', c_double),
    ('energy', hk_energy),
    ('ms', c_double),
    ('phase_ms', (c_double * 16)),
    ('rounding', c_double),
    ('linear_iterations', c_int),
    ('reserved_int', c_int),
    ('reserved', (c_uint64 * 14)),
]
hk_side_def._fields_ = [
    ('body', c_int),
    ('reserved_int', c_int),
    ('select', hk_selector),
]
hk_output_def._fields_ = [
    ('every', c_double),
    ('vtu', c_char_p),
    ('points', c_char_p),
    ('stats', c_char_p),
    ('skin', c_char_p),
    ('probes', POINTER(hk_probe_def)),
    ('probe_count', c_int),
    ('probe_file', c_char_p),
    ('reactions', c_char_p),
    ('fields', POINTER(c_char_p)),
    ('field_count', c_int),
]
hk_cut_def._fields_ = [
    ('def_size', c_size_t),
    ('name', c_char_p),
    ('body', c_int),
    ('point_count', c_int),
    ('points', ((c_double * 3) * 4)),
    ('moves', POINTER(hk_motion_def)),
    ('move_count', c_int),
    ('reserved_int', c_int),
    ('from', c_double),
    ('until', c_double),
]
hk_region_def._fields_ = [
    ('def_size', c_size_t),
    ('select', hk_selector),
    ('material', hk_material_def),
    ('name', c_char_p),
    ('rigid', c_int),
    ('reserved_int', c_int),
]
hk_seam_def._fields_ = [
    ('def_size', c_size_t),
    ('name', c_char_p),
    ('sides', (hk_side_def * 2)),
    ('stiffness', c_double),
    ('to', c_double),
    ('factor', hk_factor_def),
    ('damping', c_double),
    ('breaking', c_double),
    ('reverse', c_int),
    ('slack', c_int),
]
hk_tearing_def._fields_ = [
    ('def_size', c_size_t),
    ('cuts', POINTER(hk_cut_def)),
    ('cut_count', c_int),
    ('most', c_int),
    ('renew', c_double),
    ('opening', c_double),
]
hk_world_def._fields_ = [
    ('def_size', c_size_t),
    ('model', c_void_p),
    ('step', c_double),
    ('integrator', c_char_p),
    ('beta', c_double),
    ('gamma', c_double),
    ('conserve', c_bool),
    ('solver', hk_solver_def),
    ('threads', c_int),
    ('backend', c_int),
    ('damping', hk_damping),
    ('laplacian_damping', c_double),
]
hk_body_def._fields_ = [
    ('def_size', c_size_t),
    ('name', c_char_p),
    ('mesh', c_void_p),
    ('transform', hk_transform),
    ('material', hk_material_def),
    ('regions', POINTER(hk_region_def)),
    ('region_count', c_int),
    ('fixes', POINTER(hk_selector)),
    ('fix_count', c_int),
    ('moves', POINTER(hk_move_def)),
    ('move_count', c_int),
    ('loads', POINTER(hk_load_def)),
    ('load_count', c_int),
    ('attachments', POINTER(hk_attach_def)),
    ('attachment_count', c_int),
    ('velocity', (c_double * 3)),
    ('sag_free', c_int),
    ('reserved_int', c_int),
    ('skin', c_void_p),
    ('friction', c_double),
    ('thickness', c_double),
    ('start_posed', c_int),
    ('reserved_int2', c_int),
    ('start_state', c_char_p),
    ('fix_axes', POINTER(c_uint8)),
    ('fix_names', POINTER(c_char_p)),
    ('move_names', POINTER(c_char_p)),
    ('rigid', c_int),
    ('reserved_int3', c_int),
]
hk_model_def._fields_ = [
    ('def_size', c_size_t),
    ('bodies', POINTER(hk_body_def)),
    ('body_count', c_int),
    ('term_count', c_int),
    ('terms', POINTER(hk_term_def)),
    ('gravity', (c_double * 3)),
    ('contact', POINTER(hk_contact_def)),
    ('obstacles', POINTER(hk_obstacle_def)),
    ('obstacle_count', c_int),
    ('reserved_int', c_int),
    ('gravity_factor', hk_factor_def),
    ('springs', POINTER(hk_spring_def)),
    ('seams', POINTER(hk_seam_def)),
    ('spring_count', c_int),
    ('seam_count', c_int),
    ('joints', POINTER(hk_joint_def)),
    ('constraints', POINTER(hk_constraint_def)),
    ('joint_count', c_int),
    ('constraint_count', c_int),
    ('tearing', POINTER(hk_tearing_def)),
]
hk_fit_def._fields_ = [
    ('def_size', c_size_t),
    ('model', POINTER(hk_model_def)),
    ('vary', c_char_p),
    ('tolerance', c_double),
    ('outlier', c_double),
    ('iterations', c_int),
    ('threads', c_int),
]

# name: (result, [types of the arguments], [their names])
FUNCTIONS = {
    'hk_analysis_create': (c_int, [c_void_p, POINTER(c_void_p)], ['world', 'analysis']),
    'hk_analysis_energy': (c_int, [c_void_p, POINTER(hk_energy), POINTER(c_double)], ['analysis', 'energy', 'gradient']),
    'hk_analysis_factor': (c_int, [c_void_p, c_double, POINTER(c_double), POINTER(c_bool)], ['analysis', 'weight', 'extra', 'positive']),
    'hk_analysis_free': (None, [c_void_p], ['analysis']),
    'hk_analysis_held': (c_int, [c_void_p, POINTER(c_uint8), POINTER(c_double)], ['analysis', 'axes', 'positions']),
    'hk_analysis_hessian': (c_int, [c_void_p, c_bool, POINTER(c_int64), POINTER(c_int32), POINTER(c_double)], ['analysis', 'projected', 'row_start', 'column', 'values']),
    'hk_analysis_hessian_size': (c_int, [c_void_p, POINTER(c_int64)], ['analysis', 'blocks']),
    'hk_analysis_product': (c_int, [c_void_p, c_bool, POINTER(c_double), POINTER(c_double)], ['analysis', 'projected', 'direction', 'product']),
    'hk_analysis_rest_slope': (c_int, [c_void_p, POINTER(c_double), POINTER(c_double), POINTER(c_double)], ['analysis', 'direction', 'factors', 'slope']),
    'hk_analysis_set_state': (c_int, [c_void_p, POINTER(c_double), c_double], ['analysis', 'positions', 'time']),
    'hk_analysis_solve': (c_int, [c_void_p, POINTER(c_double), POINTER(c_double)], ['analysis', 'right', 'solution']),
    'hk_constraint_kind_name': (c_char_p, [c_int], ['kind']),
    'hk_contact_law_count': (c_int, [], []),
    'hk_contact_law_name': (c_char_p, [c_int], ['law']),
    'hk_contact_law_summary': (c_char_p, [c_int], ['law']),
    'hk_default_invertible': (hk_invertible, [], []),
    'hk_design_create': (c_int, [POINTER(hk_design_def), POINTER(c_void_p)], ['def', 'design']),
    'hk_design_drag': (c_int, [c_void_p, c_int, POINTER(c_double)], ['design', 'handle', 'target']),
    'hk_design_drag_frame': (c_int, [c_void_p, c_int, POINTER(c_double)], ['design', 'handle', 'transform']),
    'hk_design_fix': (c_int, [c_void_p, c_int, POINTER(c_int32)], ['design', 'count', 'vertices']),
    'hk_design_free': (None, [c_void_p], ['design']),
    'hk_design_grab': (c_int, [c_void_p, POINTER(hk_handle_def), POINTER(c_int)], ['design', 'def', 'handle']),
    'hk_design_mark': (c_int, [c_void_p, c_char_p], ['design', 'name']),
    'hk_design_model': (c_int, [c_void_p, POINTER(c_void_p)], ['design', 'model']),
    'hk_design_preview': (c_int, [c_void_p], ['design']),
    'hk_design_redo': (c_int, [c_void_p], ['design']),
    'hk_design_redo_name': (c_char_p, [c_void_p], ['design']),
    'hk_design_release': (c_int, [c_void_p, c_int], ['design', 'handle']),
    'hk_design_set_gravity': (c_int, [c_void_p, POINTER(c_double)], ['design', 'gravity']),
    'hk_design_set_loads': (c_int, [c_void_p, c_int, POINTER(hk_load_def), c_int], ['design', 'body', 'loads', 'count']),
    'hk_design_set_material': (c_int, [c_void_p, c_int, POINTER(hk_selector), POINTER(hk_material_def)], ['design', 'body', 'region', 'material']),
    'hk_design_set_shape': (c_int, [c_void_p, c_int, POINTER(c_double)], ['design', 'side', 'positions']),
    'hk_design_snapshot': (c_int, [c_void_p, POINTER(hk_design_view)], ['design', 'view']),
    'hk_design_state_name': (c_char_p, [c_int], ['state']),
    'hk_design_undo': (c_int, [c_void_p], ['design']),
    'hk_design_undo_name': (c_char_p, [c_void_p], ['design']),
    'hk_design_unfix': (c_int, [c_void_p, c_int, POINTER(c_int32)], ['design', 'count', 'vertices']),
    'hk_design_vertex_count': (c_int, [c_void_p], ['design']),
    'hk_design_wait': (c_int, [c_void_p, c_double, POINTER(c_int)], ['design', 'seconds', 'state']),
    'hk_embedding_apply': (c_int, [c_void_p, c_int, POINTER(c_double), POINTER(c_double)], ['embedding', 'components', 'values', 'carried']),
    'hk_embedding_create': (c_int, [c_void_p, c_void_p, c_int, POINTER(c_void_p)], ['mesh', 'surface', 'threads', 'embedding']),
    'hk_embedding_free': (None, [c_void_p], ['embedding']),
    'hk_embedding_outside': (c_int, [c_void_p, POINTER(c_double), POINTER(c_int)], ['embedding', 'farthest', 'vertex']),
    'hk_embedding_surface': (c_void_p, [c_void_p], ['embedding']),
    'hk_error': (c_char_p, [], []),
    'hk_file_check': (c_int, [c_char_p], ['path']),
    'hk_file_save': (c_int, [c_char_p, c_void_p, c_size_t], ['path', 'data', 'size']),
    'hk_fill_attach_def': (None, [POINTER(hk_attach_def), c_size_t], ['def', 'size']),
    'hk_fill_body_def': (None, [POINTER(hk_body_def), c_size_t], ['def', 'size']),
    'hk_fill_constraint_def': (None, [POINTER(hk_constraint_def), c_size_t], ['def', 'size']),
    'hk_fill_contact_def': (None, [POINTER(hk_contact_def), c_size_t], ['def', 'size']),
    'hk_fill_cut_def': (None, [POINTER(hk_cut_def), c_size_t], ['def', 'size']),
    'hk_fill_design_def': (None, [POINTER(hk_design_def), c_size_t], ['def', 'size']),
    'hk_fill_empty_law': (None, [POINTER(hk_custom_law)], ['law']),
    'hk_fill_filling_def': (None, [POINTER(hk_filling_def), c_size_t], ['def', 'size']),
    'hk_fill_fit_def': (None, [POINTER(hk_fit_def), c_size_t], ['def', 'size']),
    'hk_fill_grab_def': (None, [POINTER(hk_grab_def), c_size_t], ['def', 'size']),
    'hk_fill_handle_def': (None, [POINTER(hk_handle_def), c_size_t], ['def', 'size']),
    'hk_fill_joint_def': (None, [POINTER(hk_joint_def), c_size_t], ['def', 'size']),
    'hk_fill_load_def': (None, [POINTER(hk_load_def), c_size_t], ['def', 'size']),
    'hk_fill_material_def': (None, [POINTER(hk_material_def), c_size_t], ['def', 'size']),
    'hk_fill_mesh_def': (None, [POINTER(hk_mesh_def), c_size_t, c_int], ['def', 'size', 'kind']),
    'hk_fill_model_def': (None, [POINTER(hk_model_def), c_size_t], ['def', 'size']),
    'hk_fill_move_def': (None, [POINTER(hk_move_def), c_size_t], ['def', 'size']),
    'hk_fill_obstacle_def': (None, [POINTER(hk_obstacle_def), c_size_t], ['def', 'size']),
    'hk_fill_region_def': (None, [POINTER(hk_region_def), c_size_t], ['def', 'size']),
    'hk_fill_rest_def': (None, [POINTER(hk_rest_def), c_size_t], ['def', 'size']),
    'hk_fill_sdf_def': (None, [POINTER(hk_sdf_def), c_size_t], ['def', 'size']),
    'hk_fill_seam_def': (None, [POINTER(hk_seam_def), c_size_t], ['def', 'size']),
    'hk_fill_solver_def': (None, [POINTER(hk_solver_def), c_size_t], ['def', 'size']),
    'hk_fill_spring_def': (None, [POINTER(hk_spring_def), c_size_t], ['def', 'size']),
    'hk_fill_tearing_def': (None, [POINTER(hk_tearing_def), c_size_t], ['def', 'size']),
    'hk_fill_term_def': (None, [POINTER(hk_term_def), c_size_t], ['def', 'size']),
    'hk_fill_tool_def': (None, [POINTER(hk_tool_def), c_size_t], ['def', 'size']),
    'hk_fill_world_def': (None, [POINTER(hk_world_def), c_size_t], ['def', 'size']),
    'hk_fit_covariance': (POINTER(c_double), [c_void_p], ['fit']),
    'hk_fit_create': (c_int, [POINTER(hk_fit_def), POINTER(c_void_p)], ['def', 'fit']),
    'hk_fit_distances': (POINTER(c_double), [c_void_p], ['fit']),
    'hk_fit_free': (None, [c_void_p], ['fit']),
    'hk_fit_load_target': (c_int, [c_void_p, c_char_p], ['fit', 'path']),
    'hk_fit_misfit': (c_int, [c_void_p, POINTER(c_double), POINTER(c_double), POINTER(c_double)], ['fit', 'values', 'misfit', 'gradient']),
    'hk_fit_model': (c_int, [c_void_p, POINTER(c_void_p)], ['fit', 'model']),
    'hk_fit_outliers': (POINTER(c_int32), [c_void_p], ['fit']),
    'hk_fit_parameter_at': (POINTER(hk_fit_parameter), [c_void_p, c_int], ['fit', 'parameter']),
    'hk_fit_parameter_count': (c_int, [c_void_p], ['fit']),
    'hk_fit_positions': (POINTER(c_double), [c_void_p], ['fit']),
    'hk_fit_sensitivity': (c_int, [c_void_p, POINTER(c_double)], ['fit', 'sensitivity']),
    'hk_fit_set_monitor': (None, [c_void_p, hk_monitor_fn, c_void_p], ['fit', 'fn', 'context']),
    'hk_fit_set_target': (c_int, [c_void_p, c_int, POINTER(c_int32), POINTER(c_double)], ['fit', 'count', 'vertices', 'positions']),
    'hk_fit_setting': (c_char_p, [c_void_p, c_int], ['fit', 'line']),
    'hk_fit_setup_ms': (c_double, [c_void_p], ['fit']),
    'hk_fit_solve': (c_int, [c_void_p, POINTER(hk_fit_report)], ['fit', 'report']),
    'hk_fit_threads': (c_int, [c_void_p], ['fit']),
    'hk_integrator_count': (c_int, [], []),
    'hk_integrator_name': (c_char_p, [c_int], ['integrator']),
    'hk_integrator_summary': (c_char_p, [c_int], ['integrator']),
    'hk_joint_kind_name': (c_char_p, [c_int], ['kind']),
    'hk_machine': (POINTER(hk_machine_info), [], []),
    'hk_machine_gpu': (c_bool, [c_char_p, c_size_t], ['text', 'size']),
    'hk_material_count': (c_int, [], []),
    'hk_material_evaluate': (c_int, [POINTER(hk_material_def), POINTER(c_double), c_bool, POINTER(c_double), POINTER(c_double), POINTER(c_double)], ['def', 'F', 'projected', 'energy', 'stress', 'hessian']),
    'hk_material_kind': (c_int, [c_int], ['material']),
    'hk_material_name': (c_char_p, [c_int], ['material']),
    'hk_material_parameters': (POINTER(c_char_p), [c_int], ['material']),
    'hk_material_summary': (c_char_p, [c_int], ['material']),
    'hk_membrane_count': (c_int, [], []),
    'hk_membrane_name': (c_char_p, [c_int], ['law']),
    'hk_membrane_summary': (c_char_p, [c_int], ['law']),
    'hk_mesh_check': (c_int, [c_void_p, POINTER(hk_mesh_report)], ['mesh', 'report']),
    'hk_mesh_field': (hk_field, [c_void_p, c_int], ['mesh', 'field']),
    'hk_mesh_field_count': (c_int, [c_void_p], ['mesh']),
    'hk_mesh_fill': (c_int, [c_void_p, POINTER(hk_filling_def), POINTER(c_void_p), POINTER(hk_filling_report)], ['surface', 'def', 'mesh', 'report']),
    'hk_mesh_format_at': (hk_mesh_format, [c_int], ['number']),
    'hk_mesh_format_count': (c_int, [], []),
    'hk_mesh_free': (None, [c_void_p], ['mesh']),
    'hk_mesh_from_arrays': (c_int, [c_int, POINTER(c_double), c_int, POINTER(c_int32), c_int, POINTER(c_int32), POINTER(c_void_p)], ['vertex_count', 'positions', 'tet_count', 'tets', 'triangle_count', 'triangles', 'mesh']),
    'hk_mesh_from_lines': (c_int, [c_int, POINTER(c_double), c_int, POINTER(c_int32), POINTER(c_void_p)], ['vertex_count', 'positions', 'line_count', 'lines', 'mesh']),
    'hk_mesh_group_count': (c_int, [c_void_p], ['mesh']),
    'hk_mesh_group_name': (c_char_p, [c_void_p, c_int], ['mesh', 'group']),
    'hk_mesh_intersections': (c_int, [c_void_p, c_int, POINTER(hk_intersection_report)], ['mesh', 'threads', 'report']),
    'hk_mesh_line_count': (c_int, [c_void_p], ['mesh']),
    'hk_mesh_lines': (POINTER(c_int32), [c_void_p], ['mesh']),
    'hk_mesh_load': (c_int, [c_char_p, POINTER(c_void_p)], ['path', 'mesh']),
    'hk_mesh_make': (c_int, [POINTER(hk_mesh_def), POINTER(c_void_p)], ['def', 'mesh']),
    'hk_mesh_middles': (POINTER(c_int32), [c_void_p], ['mesh']),
    'hk_mesh_note': (c_char_p, [c_void_p, c_int], ['mesh', 'note']),
    'hk_mesh_note_count': (c_int, [c_void_p], ['mesh']),
    'hk_mesh_order': (c_int, [c_void_p], ['mesh']),
    'hk_mesh_path': (c_char_p, [c_void_p], ['mesh']),
    'hk_mesh_positions': (POINTER(c_double), [c_void_p], ['mesh']),
    'hk_mesh_save': (c_int, [c_void_p, c_char_p, POINTER(hk_field), c_int], ['mesh', 'path', 'fields', 'field_count']),
    'hk_mesh_set_middles': (c_int, [c_void_p, POINTER(c_int32)], ['mesh', 'middles']),
    'hk_mesh_set_order': (c_int, [c_void_p, c_int], ['mesh', 'order']),
    'hk_mesh_set_positions': (c_int, [c_void_p, POINTER(c_double)], ['mesh', 'positions']),
    'hk_mesh_surface': (c_int, [c_void_p, POINTER(c_int), POINTER(POINTER(c_int32)), POINTER(POINTER(c_int32))], ['mesh', 'triangle_count', 'triangles', 'tets']),
    'hk_mesh_tet_count': (c_int, [c_void_p], ['mesh']),
    'hk_mesh_tets': (POINTER(c_int32), [c_void_p], ['mesh']),
    'hk_mesh_triangle_count': (c_int, [c_void_p], ['mesh']),
    'hk_mesh_triangles': (POINTER(c_int32), [c_void_p], ['mesh']),
    'hk_mesh_vertex_count': (c_int, [c_void_p], ['mesh']),
    'hk_method_count': (c_int, [], []),
    'hk_method_defaults': (hk_solver_def, [c_int, c_bool], ['method', 'pose']),
    'hk_method_name': (c_char_p, [c_int], ['method']),
    'hk_method_option': (POINTER(hk_option_info), [c_int, c_int], ['method', 'option']),
    'hk_method_option_count': (c_int, [c_int], ['method']),
    'hk_method_summary': (c_char_p, [c_int], ['method']),
    'hk_model_body_count': (c_int, [c_void_p], ['model']),
    'hk_model_body_start': (c_int, [c_void_p, c_int], ['model', 'body']),
    'hk_model_body_tet_count': (c_int, [c_void_p, c_int], ['model', 'body']),
    'hk_model_cavity_count': (c_int, [c_void_p], ['model']),
    'hk_model_cavity_name': (c_char_p, [c_void_p, c_int], ['model', 'cavity']),
    'hk_model_constraint_count': (c_int, [c_void_p], ['model']),
    'hk_model_contact_distance': (c_double, [c_void_p], ['model']),
    'hk_model_create': (c_int, [POINTER(hk_model_def), POINTER(c_void_p)], ['def', 'model']),
    'hk_model_find_cavity': (c_int, [c_void_p, c_char_p], ['model', 'name']),
    'hk_model_find_joint': (c_int, [c_void_p, c_char_p], ['model', 'name']),
    'hk_model_find_rigid_part': (c_int, [c_void_p, c_char_p], ['model', 'name']),
    'hk_model_find_spring': (c_int, [c_void_p, c_char_p], ['model', 'name']),
    'hk_model_free': (None, [c_void_p], ['model']),
    'hk_model_holds': (c_int, [c_void_p, POINTER(c_uint8)], ['model', 'holds']),
    'hk_model_joint_count': (c_int, [c_void_p], ['model']),
    'hk_model_joint_name': (c_char_p, [c_void_p, c_int], ['model', 'joint']),
    'hk_model_line_count': (c_int, [c_void_p], ['model']),
    'hk_model_line_radius': (c_double, [c_void_p, c_int], ['model', 'line']),
    'hk_model_lines': (POINTER(c_int32), [c_void_p], ['model']),
    'hk_model_load_forces': (c_int, [c_void_p, POINTER(c_double)], ['model', 'forces']),
    'hk_model_masses': (POINTER(c_double), [c_void_p], ['model']),
    'hk_model_obstacle_count': (c_int, [c_void_p], ['model']),
    'hk_model_obstacle_mesh': (c_int, [c_void_p, c_int, c_double, c_double, POINTER(c_double), POINTER(c_void_p)], ['model', 'obstacle', 'time', 'size', 'center', 'mesh']),
    'hk_model_obstacle_name': (c_char_p, [c_void_p, c_int], ['model', 'obstacle']),
    'hk_model_obstacle_pose': (c_int, [c_void_p, c_int, c_double, POINTER(c_double), POINTER(c_double)], ['model', 'obstacle', 'time', 'rotation', 'translation']),
    'hk_model_point_spring_count': (c_int, [c_void_p], ['model']),
    'hk_model_probe': (c_int, [c_void_p, c_int, POINTER(c_double), POINTER(hk_probe)], ['model', 'body', 'at', 'probe']),
    'hk_model_rest_positions': (POINTER(c_double), [c_void_p], ['model']),
    'hk_model_rigid_part_count': (c_int, [c_void_p], ['model']),
    'hk_model_rigid_part_name': (c_char_p, [c_void_p, c_int], ['model', 'part']),
    'hk_model_rigid_part_vertices': (POINTER(c_int32), [c_void_p, c_int, POINTER(c_int)], ['model', 'part', 'count']),
    'hk_model_select': (c_int, [c_void_p, c_int, POINTER(hk_selector), POINTER(c_uint8), POINTER(c_uint8)], ['model', 'body', 'selector', 'vertices', 'tets']),
    'hk_model_skin': (c_void_p, [c_void_p, c_int], ['model', 'body']),
    'hk_model_spring_count': (c_int, [c_void_p], ['model']),
    'hk_model_surface': (c_int, [c_void_p, POINTER(c_double), c_bool, POINTER(c_void_p)], ['model', 'positions', 'sheets', 'mesh']),
    'hk_model_tet_count': (c_int, [c_void_p], ['model']),
    'hk_model_triangle_count': (c_int, [c_void_p], ['model']),
    'hk_model_vertex_count': (c_int, [c_void_p], ['model']),
    'hk_obstacle_shape_name': (c_char_p, [c_int], ['shape']),
    'hk_phase_name': (c_char_p, [c_int], ['phase']),
    'hk_reason_name': (c_char_p, [c_int], ['reason']),
    'hk_reason_outcome': (c_int, [c_int], ['reason']),
    'hk_rest_create': (c_int, [POINTER(hk_rest_def), POINTER(c_void_p)], ['def', 'rest']),
    'hk_rest_find_overlaps': (c_int, [c_void_p, POINTER(hk_rest_report)], ['rest', 'report']),
    'hk_rest_find_stability': (c_int, [c_void_p, POINTER(hk_rest_report)], ['rest', 'report']),
    'hk_rest_free': (None, [c_void_p], ['rest']),
    'hk_rest_method_count': (c_int, [], []),
    'hk_rest_method_name': (c_char_p, [c_int], ['method']),
    'hk_rest_method_summary': (c_char_p, [c_int], ['method']),
    'hk_rest_model': (c_int, [c_void_p, POINTER(c_void_p)], ['rest', 'model']),
    'hk_rest_positions': (POINTER(c_double), [c_void_p], ['rest']),
    'hk_rest_refactor': (c_int, [c_void_p], ['rest']),
    'hk_rest_set_monitor': (None, [c_void_p, hk_monitor_fn, c_void_p], ['rest', 'fn', 'context']),
    'hk_rest_set_shape': (c_int, [c_void_p, POINTER(c_double)], ['rest', 'positions']),
    'hk_rest_setup_ms': (c_double, [c_void_p], ['rest']),
    'hk_rest_solve': (c_int, [c_void_p, POINTER(c_double), POINTER(hk_rest_report)], ['rest', 'start', 'report']),
    'hk_rest_threads': (c_int, [c_void_p], ['rest']),
    'hk_scene_free': (None, [c_void_p], ['scene']),
    'hk_scene_load': (c_int, [c_char_p, POINTER(c_char_p), c_int, POINTER(c_void_p)], ['path', 'sets', 'set_count', 'scene']),
    'hk_scene_model': (POINTER(hk_model_def), [c_void_p], ['scene']),
    'hk_scene_output': (POINTER(hk_output_def), [c_void_p], ['scene']),
    'hk_scene_parse': (c_int, [c_char_p, c_size_t, c_char_p, POINTER(c_char_p), c_int, POINTER(c_void_p)], ['text', 'length', 'name', 'sets', 'set_count', 'scene']),
    'hk_scene_steps': (c_int, [c_void_p], ['scene']),
    'hk_scene_world': (POINTER(hk_world_def), [c_void_p], ['scene']),
    'hk_sdf_covers': (c_bool, [c_void_p, POINTER(c_double)], ['sdf', 'point']),
    'hk_sdf_create': (c_int, [c_void_p, POINTER(hk_sdf_def), POINTER(c_void_p)], ['surface', 'def', 'sdf']),
    'hk_sdf_describe': (c_int, [c_void_p, POINTER(hk_sdf_report)], ['sdf', 'report']),
    'hk_sdf_free': (None, [c_void_p], ['sdf']),
    'hk_sdf_save': (c_int, [c_void_p, c_char_p], ['sdf', 'path']),
    'hk_sdf_value': (c_double, [c_void_p, POINTER(c_double), POINTER(c_double), POINTER(c_double)], ['sdf', 'point', 'gradient', 'hessian']),
    'hk_series_append': (c_int, [c_char_p, c_double, c_char_p], ['path', 'time', 'file']),
    'hk_series_save': (c_int, [c_char_p, POINTER(c_double), POINTER(c_char_p), c_int], ['path', 'times', 'files', 'count']),
    'hk_set_allocator': (None, [POINTER(hk_allocator)], ['allocator']),
    'hk_set_log': (None, [hk_log_fn, c_void_p], ['fn', 'context']),
    'hk_state_extra': (c_int, [c_char_p, hk_take_bytes_fn, c_void_p], ['path', 'take', 'context']),
    'hk_status_name': (c_char_p, [c_int], ['status']),
    'hk_take_world_def': (None, [POINTER(hk_world_def), c_size_t, POINTER(hk_world_def)], ['def', 'size', 'from']),
    'hk_tool_create': (c_int, [c_void_p, POINTER(hk_tool_def), POINTER(c_void_p)], ['world', 'def', 'tool']),
    'hk_tool_free': (None, [c_void_p], ['tool']),
    'hk_tool_servo': (c_int, [c_void_p, POINTER(hk_tool_pose), c_double, POINTER(c_double), POINTER(c_double)], ['tool', 'hand', 'dt', 'force', 'torque']),
    'hk_tool_step': (c_int, [c_void_p, POINTER(hk_step_report)], ['tool', 'report']),
    'hk_tool_where': (c_int, [c_void_p, POINTER(hk_tool_pose)], ['tool', 'pose']),
    'hk_version': (c_char_p, [], []),
    'hk_world_backend': (c_char_p, [c_void_p], ['world']),
    'hk_world_break_spring': (c_int, [c_void_p, c_int, c_bool], ['world', 'spring', 'broken']),
    'hk_world_broken_springs': (c_int, [c_void_p], ['world']),
    'hk_world_cavity_state': (c_int, [c_void_p, c_int, POINTER(hk_cavity_state)], ['world', 'cavity', 'state']),
    'hk_world_contact': (c_int, [c_void_p, POINTER(hk_contact_report)], ['world', 'report']),
    'hk_world_copy_state': (c_int, [c_void_p, c_void_p], ['world', 'from']),
    'hk_world_create': (c_int, [POINTER(hk_world_def), POINTER(c_void_p)], ['def', 'world']),
    'hk_world_cut': (c_int, [c_void_p, c_int, c_int, POINTER(c_double)], ['world', 'body', 'triangle_count', 'corners']),
    'hk_world_describe': (c_char_p, [c_void_p], ['world']),
    'hk_world_energy': (c_int, [c_void_p, POINTER(hk_energy), POINTER(c_double)], ['world', 'energy', 'gradient']),
    'hk_world_field': (c_int, [c_void_p, c_char_p, POINTER(c_double)], ['world', 'name', 'values']),
    'hk_world_fix': (c_int, [c_void_p, c_int, POINTER(c_int32), POINTER(c_double)], ['world', 'count', 'vertices', 'positions']),
    'hk_world_free': (None, [c_void_p], ['world']),
    'hk_world_grab': (c_int, [c_void_p, POINTER(hk_grab_def), POINTER(c_int)], ['world', 'def', 'grab']),
    'hk_world_grab_force': (c_int, [c_void_p, c_int, POINTER(c_double)], ['world', 'grab', 'force']),
    'hk_world_greatest': (c_int, [c_void_p, POINTER(hk_greatest)], ['world', 'greatest']),
    'hk_world_joint_state': (c_int, [c_void_p, c_int, POINTER(hk_joint_state)], ['world', 'joint', 'state']),
    'hk_world_load_state': (c_int, [c_void_p, c_char_p], ['world', 'path']),
    'hk_world_mesh': (c_int, [c_void_p, POINTER(c_void_p)], ['world', 'mesh']),
    'hk_world_method': (c_char_p, [c_void_p], ['world']),
    'hk_world_model': (c_void_p, [c_void_p], ['world']),
    'hk_world_move_grab': (c_int, [c_void_p, c_int, POINTER(c_double)], ['world', 'grab', 'target']),
    'hk_world_obstacle_load': (c_int, [c_void_p, c_int, POINTER(hk_obstacle_load)], ['world', 'obstacle', 'load']),
    'hk_world_origin': (c_int, [c_void_p, c_int], ['world', 'vertex']),
    'hk_world_pose': (c_int, [c_void_p, POINTER(hk_step_report)], ['world', 'report']),
    'hk_world_positions': (POINTER(c_double), [c_void_p], ['world']),
    'hk_world_probe': (c_int, [c_void_p, POINTER(hk_probe), POINTER(c_double)], ['world', 'probe', 'place']),
    'hk_world_reactions': (c_int, [c_void_p, POINTER(hk_reaction), POINTER(c_double)], ['world', 'reactions', 'vertices']),
    'hk_world_release_grab': (c_int, [c_void_p, c_int], ['world', 'grab']),
    'hk_world_report_energy': (None, [c_void_p, c_bool], ['world', 'always']),
    'hk_world_rigid_state': (c_int, [c_void_p, c_int, POINTER(hk_rigid_state)], ['world', 'part', 'state']),
    'hk_world_save': (c_int, [c_void_p, c_char_p], ['world', 'path']),
    'hk_world_save_fields': (c_int, [c_void_p, c_char_p, POINTER(c_char_p), c_int], ['world', 'path', 'fields', 'count']),
    'hk_world_save_points': (c_int, [c_void_p, c_char_p], ['world', 'path']),
    'hk_world_save_state': (c_int, [c_void_p, c_char_p], ['world', 'path']),
    'hk_world_save_state_with': (c_int, [c_void_p, c_char_p, c_void_p, c_size_t], ['world', 'path', 'extra', 'extra_size']),
    'hk_world_set_damping': (c_int, [c_void_p, POINTER(hk_damping)], ['world', 'damping']),
    'hk_world_set_forces': (c_int, [c_void_p, POINTER(c_double)], ['world', 'forces']),
    'hk_world_set_gravity': (c_int, [c_void_p, POINTER(c_double)], ['world', 'gravity']),
    'hk_world_set_loads': (c_int, [c_void_p, c_int, POINTER(hk_load_def), c_int], ['world', 'body', 'loads', 'count']),
    'hk_world_set_material': (c_int, [c_void_p, c_int, POINTER(hk_selector), POINTER(hk_material_def)], ['world', 'body', 'region', 'material']),
    'hk_world_set_monitor': (None, [c_void_p, hk_monitor_fn, c_void_p], ['world', 'fn', 'context']),
    'hk_world_set_positions': (c_int, [c_void_p, POINTER(c_double)], ['world', 'positions']),
    'hk_world_set_rest_positions': (c_int, [c_void_p, POINTER(c_double)], ['world', 'positions']),
    'hk_world_set_solver': (c_int, [c_void_p, POINTER(hk_solver_def)], ['world', 'solver']),
    'hk_world_set_step': (c_int, [c_void_p, c_double], ['world', 'step']),
    'hk_world_set_targets': (c_int, [c_void_p, c_int, POINTER(c_int32), POINTER(c_double)], ['world', 'count', 'vertices', 'positions']),
    'hk_world_set_time': (c_int, [c_void_p, c_double], ['world', 'time']),
    'hk_world_set_velocities': (c_int, [c_void_p, POINTER(c_double)], ['world', 'velocities']),
    'hk_world_setup_ms': (c_double, [c_void_p], ['world']),
    'hk_world_spring_state': (c_int, [c_void_p, c_int, POINTER(hk_spring_state)], ['world', 'spring', 'state']),
    'hk_world_step': (c_int, [c_void_p, POINTER(hk_step_report)], ['world', 'report']),
    'hk_world_tears': (c_int, [c_void_p, POINTER(hk_tear_report)], ['world', 'report']),
    'hk_world_threads': (c_int, [c_void_p], ['world']),
    'hk_world_time': (c_double, [c_void_p], ['world']),
    'hk_world_unfix': (c_int, [c_void_p, c_int, POINTER(c_int32)], ['world', 'count', 'vertices']),
    'hk_world_velocities': (POINTER(c_double), [c_void_p], ['world']),
    'hk_world_watch_energy': (None, [c_void_p, c_bool], ['world', 'always']),
}

# Those that return a hk_status
FAILING = frozenset([
    'hk_analysis_create',
    'hk_analysis_energy',
    'hk_analysis_factor',
    'hk_analysis_held',
    'hk_analysis_hessian',
    'hk_analysis_hessian_size',
    'hk_analysis_product',
    'hk_analysis_rest_slope',
    'hk_analysis_set_state',
    'hk_analysis_solve',
    'hk_design_create',
    'hk_design_drag',
    'hk_design_drag_frame',
    'hk_design_fix',
    'hk_design_grab',
    'hk_design_mark',
    'hk_design_model',
    'hk_design_preview',
    'hk_design_redo',
    'hk_design_release',
    'hk_design_set_gravity',
    'hk_design_set_loads',
    'hk_design_set_material',
    'hk_design_set_shape',
    'hk_design_snapshot',
    'hk_design_undo',
    'hk_design_unfix',
    'hk_design_wait',
    'hk_embedding_apply',
    'hk_embedding_create',
    'hk_file_check',
    'hk_file_save',
    'hk_fit_create',
    'hk_fit_load_target',
    'hk_fit_misfit',
    'hk_fit_model',
    'hk_fit_sensitivity',
    'hk_fit_set_target',
    'hk_fit_solve',
    'hk_material_evaluate',
    'hk_mesh_check',
    'hk_mesh_fill',
    'hk_mesh_from_arrays',
    'hk_mesh_from_lines',
    'hk_mesh_intersections',
    'hk_mesh_load',
    'hk_mesh_make',
    'hk_mesh_save',
    'hk_mesh_set_middles',
    'hk_mesh_set_order',
    'hk_mesh_set_positions',
    'hk_mesh_surface',
    'hk_model_create',
    'hk_model_holds',
    'hk_model_load_forces',
    'hk_model_obstacle_mesh',
    'hk_model_obstacle_pose',
    'hk_model_probe',
    'hk_model_select',
    'hk_model_surface',
    'hk_rest_create',
    'hk_rest_find_overlaps',
    'hk_rest_find_stability',
    'hk_rest_model',
    'hk_rest_refactor',
    'hk_rest_set_shape',
    'hk_rest_solve',
    'hk_scene_load',
    'hk_scene_parse',
    'hk_sdf_create',
    'hk_sdf_describe',
    'hk_sdf_save',
    'hk_series_append',
    'hk_series_save',
    'hk_state_extra',
    'hk_tool_create',
    'hk_tool_servo',
    'hk_tool_step',
    'hk_tool_where',
    'hk_world_break_spring',
    'hk_world_cavity_state',
    'hk_world_contact',
    'hk_world_copy_state',
    'hk_world_create',
    'hk_world_cut',
    'hk_world_energy',
    'hk_world_field',
    'hk_world_fix',
    'hk_world_grab',
    'hk_world_grab_force',
    'hk_world_greatest',
    'hk_world_joint_state',
    'hk_world_load_state',
    'hk_world_mesh',
    'hk_world_move_grab',
    'hk_world_obstacle_load',
    'hk_world_pose',
    'hk_world_probe',
    'hk_world_reactions',
    'hk_world_release_grab',
    'hk_world_rigid_state',
    'hk_world_save',
    'hk_world_save_fields',
    'hk_world_save_points',
    'hk_world_save_state',
    'hk_world_save_state_with',
    'hk_world_set_damping',
    'hk_world_set_forces',
    'hk_world_set_gravity',
    'hk_world_set_loads',
    'hk_world_set_material',
    'hk_world_set_positions',
    'hk_world_set_rest_positions',
    'hk_world_set_solver',
    'hk_world_set_step',
    'hk_world_set_targets',
    'hk_world_set_time',
    'hk_world_set_velocities',
    'hk_world_spring_state',
    'hk_world_step',
    'hk_world_tears',
    'hk_world_unfix',
])
