"""Hooke: how elastic bodies move and where they come to rest.

    import hooke
    world = hooke.load("scene.json").world()
    world.step()            # or world.pose(), the equilibrium
    world.positions         # a numpy array, without a copy
    hooke.show(world)       # in a notebook
"""

from ._library import (BadInput, FileError, HookeError, InternalError, Iteration, NotConverged,
                       OutOfMemory, Unsupported)
from .custom import Material, Term
from .mesh import Mesh
from .model import Body, Model, load
from .world import Grab, Report, World
from .analysis import Analysis
from .adjoint import Gradient, Tape, pose_gradient
from .design import Design, Fit, Rest
from .picture import picture, write_png
from .viewer import Film, Viewer, show
from .about import (gpu, integrators, log, machine, material_energy, materials, methods,
                    rest_methods, version)

__version__ = version()

__all__ = ["Analysis", "BadInput", "Body", "Design", "FileError", "Film", "Fit", "Grab",
           "Gradient", "HookeError", "InternalError", "Iteration", "Material", "Mesh", "Model",
           "NotConverged", "OutOfMemory", "Report", "Rest", "Tape", "Term", "Unsupported",
           "Viewer", "World", "gpu", "integrators", "load", "log", "machine", "material_energy",
           "materials", "methods", "picture", "pose_gradient", "rest_methods", "show", "version",
           "write_png"]
