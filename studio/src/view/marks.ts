// What stands beside the surface: dots at vertices, arrows of forces, the line of a pull.
import * as THREE from 'three';

const dotVertex = /* glsl */ `
precision highp float;
uniform mat4 modelViewMatrix, projectionMatrix;
uniform float size, lift;
uniform vec4 plane;
in vec3 position;
void main() {
    if (dot(plane.xyz, position) > plane.w) {
        gl_Position = vec4(2.0, 2.0, 2.0, 1.0); // beyond the section
        return;
    }
    vec4 view = modelViewMatrix * vec4(position, 1.0);
    view.xyz *= 1.0 - lift;
    gl_Position = projectionMatrix * view;
    gl_PointSize = size;
}`;
const dotFragment = /* glsl */ `
precision highp float;
uniform vec3 ink, rim;
out vec4 colour;
void main() {
    float r = length(gl_PointCoord - 0.5) * 2.0;
    if (r > 1.0) discard;
    colour = vec4(r > 0.66 ? rim : ink, 1.0);
}`;

/** Round dots of a size on the screen, drawn a little in front of the surface. */
export class Dots {
    readonly points: THREE.Points<THREE.BufferGeometry, THREE.RawShaderMaterial>;
    private capacity = 0;

    constructor(
        colour: number,
        private readonly size: number,
        /** Seen through what lies before them. */
        through = false,
    ) {
        const material = new THREE.RawShaderMaterial({
            glslVersion: THREE.GLSL3,
            vertexShader: dotVertex,
            fragmentShader: dotFragment,
            depthTest: !through,
            uniforms: {
                size: { value: size },
                lift: { value: 0.004 },
                plane: { value: new THREE.Vector4(0, 0, 0, 1) },
                ink: { value: raw(colour) },
                rim: { value: raw(0xffffff) },
            },
        });
        this.points = new THREE.Points(new THREE.BufferGeometry(), material);
        this.points.frustumCulled = false;
        this.points.renderOrder = through ? 4 : 3;
        this.points.visible = false;
    }

    /** The vertices of x (3 numbers each) with these numbers; all of x without them. */
    set(x: ArrayLike<number>, vertices?: ArrayLike<number>): void {
        const count = vertices ? vertices.length : x.length / 3;
        const geometry = this.points.geometry;
        if (count > this.capacity) {
            this.capacity = Math.max(16, 2 * count);
            geometry.dispose();
            const buffer = new THREE.BufferAttribute(new Float32Array(3 * this.capacity), 3);
            geometry.setAttribute('position', buffer.setUsage(THREE.DynamicDrawUsage));
        }
        this.points.visible = count > 0;
        if (count === 0) return;
        const attribute = geometry.getAttribute('position') as THREE.BufferAttribute;
        const out = attribute.array as Float32Array;
        for (let i = 0; i < count; i++) {
            const from = 3 * (vertices ? vertices[i]! : i);
            out[3 * i] = x[from]!;
            out[3 * i + 1] = x[from + 1]!;
            out[3 * i + 2] = x[from + 2]!;
        }
        attribute.needsUpdate = true;
        geometry.setDrawRange(0, count);
    }

    setPlane(plane: THREE.Vector4): void {
        (this.points.material.uniforms.plane!.value as THREE.Vector4).copy(plane);
    }

    setPixelRatio(ratio: number): void {
        this.points.material.uniforms.size!.value = this.size * ratio;
    }
}

/** The components as they are: the shaders here write what the screen shows. */
export function raw(hex: number): THREE.Color {
    return new THREE.Color().setRGB((hex >> 16) / 255, ((hex >> 8) & 255) / 255, (hex & 255) / 255);
}

function arrowGeometry(): THREE.BufferGeometry {
    const shaft = new THREE.CylinderGeometry(0.018, 0.018, 0.78, 8, 1).translate(0, 0.39, 0);
    const head = new THREE.ConeGeometry(0.06, 0.24, 12, 1).translate(0, 0.88, 0);
    const geometry = new THREE.BufferGeometry();
    const position: number[] = [];
    const index: number[] = [];
    for (const part of [shaft, head]) {
        const offset = position.length / 3;
        position.push(...(part.getAttribute('position').array as Float32Array));
        for (const i of part.getIndex()!.array) index.push(i + offset);
    }
    geometry.setAttribute('position', new THREE.Float32BufferAttribute(position, 3));
    geometry.setIndex(index);
    return geometry;
}

const up = new THREE.Vector3(0, 1, 0);

/** Arrows from points, as long as it takes to tell them apart. */
export class Arrows {
    readonly group = new THREE.Group();
    private mesh: THREE.InstancedMesh | null = null;
    private readonly geometry = arrowGeometry();
    private readonly material: THREE.MeshBasicMaterial;

    constructor(colour: number, inFront = false) {
        this.material = new THREE.MeshBasicMaterial({ color: colour, depthTest: !inFront, transparent: inFront });
        this.group.renderOrder = 4;
    }

    /** [count][3] feet and vectors in m, as they are to be drawn. */
    set(feet: ArrayLike<number>, vectors: ArrayLike<number>): void {
        const count = feet.length / 3;
        if (!this.mesh || this.mesh.instanceMatrix.count < count) {
            this.mesh?.dispose();
            if (this.mesh) this.group.remove(this.mesh);
            this.mesh = new THREE.InstancedMesh(this.geometry, this.material, Math.max(16, 2 * count));
            this.mesh.frustumCulled = false;
            this.group.add(this.mesh);
        }
        const matrix = new THREE.Matrix4();
        const turn = new THREE.Quaternion();
        const foot = new THREE.Vector3();
        const vector = new THREE.Vector3();
        const size = new THREE.Vector3();
        let drawn = 0;
        for (let i = 0; i < count; i++) {
            vector.set(vectors[3 * i]!, vectors[3 * i + 1]!, vectors[3 * i + 2]!);
            const length = vector.length();
            if (!(length > 0)) continue;
            foot.set(feet[3 * i]!, feet[3 * i + 1]!, feet[3 * i + 2]!);
            turn.setFromUnitVectors(up, vector.divideScalar(length));
            this.mesh.setMatrixAt(drawn++, matrix.compose(foot, turn, size.setScalar(length)));
        }
        this.mesh.count = drawn;
        this.mesh.visible = drawn > 0;
        this.mesh.instanceMatrix.needsUpdate = true;
    }
}

/** The line from a grabbed point to the place that it is pulled to. */
export class PullLine {
    readonly group = new THREE.Group();
    private readonly arrow: Arrows;
    private readonly ends: Dots;

    constructor(colour: number) {
        this.arrow = new Arrows(colour, true);
        this.ends = new Dots(colour, 11);
        this.ends.points.material.depthTest = false;
        this.ends.points.renderOrder = 5;
        this.group.add(this.arrow.group, this.ends.points);
        this.group.visible = false;
    }

    set(from: readonly number[], to: readonly number[]): void {
        this.arrow.set(from, to.map((v, i) => v - from[i]!));
        this.ends.set(from);
        this.group.visible = true;
    }

    hide(): void {
        this.group.visible = false;
    }

    setPixelRatio(ratio: number): void {
        this.ends.setPixelRatio(ratio);
    }
}
