"""A material of one's own in numpy, checked by differences, and the modes of a bar that is made of it."""

import sys
from pathlib import Path

import numpy as np

import hooke


class Stiffening(hooke.Material):
    """Saint Venant and Kirchhoff's law with a cubic term: stiffer, the farther it is stretched.

    ψ = μ E:E + λ/2 tr(E)² + κ (E:E)²,   E = (FᵀF − 1)/2
    """

    young, poisson, density = 2e5, 0.3, 1000.0
    stiffening = 4e5  # κ, Pa

    @property
    def lame(self):
        return (self.young / (2 * (1 + self.poisson)),
                self.young * self.poisson / ((1 + self.poisson) * (1 - 2 * self.poisson)))

    @staticmethod
    def strain(F):
        return (np.einsum("nki,nkj->nij", F, F) - np.eye(3)) / 2

    def energy(self, F):
        mu, lam = self.lame
        E = self.strain(F)
        square, trace = (E * E).sum(axis=(1, 2)), np.trace(E, axis1=1, axis2=2)
        return mu * square + lam / 2 * trace ** 2 + self.stiffening * square ** 2

    def second_stress(self, E):
        mu, lam = self.lame
        square, trace = (E * E).sum(axis=(1, 2)), np.trace(E, axis1=1, axis2=2)
        return (2 * mu + 4 * self.stiffening * square)[:, None, None] * E + \
            lam * trace[:, None, None] * np.eye(3)

    def stress(self, F):
        return F @ self.second_stress(self.strain(F))

    def hessian(self, F):
        mu, lam = self.lame
        E, one = self.strain(F), np.eye(3)
        S, square = self.second_stress(E), (E * E).sum(axis=(1, 2))
        slope = 2 * mu + 4 * self.stiffening * square
        # ∂P_ij/∂F_kl = δ_ik S_lj + F_im ∂S_mj/∂E : ∂E/∂F_kl
        H = np.einsum("ik,nlj->nijkl", one, S)
        H += np.einsum("n,nil,nkj->nijkl", slope / 2, F, F)
        H += np.einsum("n,nim,nkm,lj->nijkl", slope / 2, F, F, one)
        H += lam * np.einsum("nij,nkl->nijkl", F, F)
        FE = F @ E
        H += 8 * self.stiffening * np.einsum("nij,nkl->nijkl", FE, FE)
        return H


def modes(world, count=4):
    """The lowest frequencies around the state, Hz, and their shapes [count, vertices, 3]."""
    from scipy.sparse import diags
    from scipy.sparse.linalg import eigsh
    analysis = world.analysis()
    free = analysis.free
    mass = diags(np.repeat(world.masses, 3)[free])
    values, vectors = eigsh(analysis.hessian(free=True).tocsc(), count, mass.tocsc(), sigma=0)
    shapes = np.zeros((count, 3 * world.vertex_count))
    shapes[:, free] = vectors.T
    return np.sqrt(values) / (2 * np.pi), shapes.reshape(count, -1, 3)


def main(out: Path) -> np.ndarray:
    errors = Stiffening().check(strain=0.3)
    print("against differences:", ", ".join(f"{k} {v:.1e}" for k, v in errors.items()))
    model = hooke.load({"bodies": [{
        "mesh": {"box": {"size": [0.6, 0.15, 0.15], "cells": [12, 3, 3]}},
        "material": Stiffening(),
        "fix": [{"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}]}]})
    world = model.world()
    world.pose().require()
    frequencies, shapes = modes(world)
    print("modes around the equilibrium:", ", ".join(f"{f:.2f} Hz" for f in frequencies))
    world.positions = world.positions + 0.05 * shapes[2] / np.abs(shapes[2]).max()
    world.save_png(out / "own_material.png", field="displacement")
    return frequencies


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/python")
    folder.mkdir(parents=True, exist_ok=True)
    main(folder)
