// The surface of all bodies of a world as one mesh to draw: positions and values change every frame,
// in place.
import * as THREE from 'three';
import { categories } from './colormap';
import { raw } from './marks';
import { faceNormals, splitAtCreases, type Split, type Surface } from './surface';

const vertexShader = /* glsl */ `
precision highp float;
uniform mat4 modelViewMatrix, projectionMatrix;
uniform mat3 normalMatrix;
in vec3 position, normal;
in float value;
in vec4 tint;
out vec3 vNormal;
#ifdef CUT
out vec3 vWorld;
#endif
out float vValue;
out vec4 vTint;
void main() {
#ifdef CUT
    vWorld = position;
#endif
    vNormal = normalMatrix * normal;
    vValue = value;
    vTint = tint;
    gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

// One light from above the left shoulder, light from the sky, and a rim that keeps the outline
// apart from the background; the eye is taken to be far away, which saves most of the arithmetic on
// machines that draw without a GPU. Of a solid that is cut the first thing seen behind the plane is
// a back face wherever the plane lies inside: drawn flat, with hatching, it is the cut.
const fragmentShader = /* glsl */ `
precision highp float;
uniform sampler2D scale;
uniform vec2 range;
uniform bool coloured, ghost;
uniform vec3 cutColour, up;
uniform float opacity, hatch;
in vec3 vNormal;
in float vValue;
in vec4 vTint;
out vec4 colour;
#ifdef CUT
uniform vec4 plane;
in vec3 vWorld;
#endif
void main() {
#ifdef CUT
    if (dot(plane.xyz, vWorld) > plane.w) discard;
    if (!gl_FrontFacing && vTint.a > 0.5 && !ghost) {
        float line = abs(fract((gl_FragCoord.x + gl_FragCoord.y) / hatch) - 0.5);
        colour = vec4(mix(cutColour, cutColour * 0.82, smoothstep(0.36, 0.44, line)), opacity);
        return;
    }
#endif
    vec3 base = vTint.rgb;
    if (coloured && vValue > -1e29) {
        float t = clamp((vValue - range.x) / max(range.y - range.x, 1e-30), 0.0, 1.0);
        base = texture(scale, vec2((t * 255.0 + 0.5) / 256.0, 0.5)).rgb;
    }
    base *= base;
    vec3 n = normalize(vNormal) * (gl_FrontFacing ? 1.0 : -1.0);
    float key = max(dot(n, vec3(-0.424, 0.707, 0.566)), 0.0);
    float sky = 0.5 + 0.5 * dot(n, up);
    float facing = max(n.z, 0.0);
    float edge = 1.0 - facing;
    vec3 lit = base * (0.24 + 0.30 * sky + 0.14 * facing + 0.52 * key + 0.10 * edge * edge * edge);
    float shine = max(dot(n, vec3(-0.240, 0.399, 0.885)), 0.0);
    shine *= shine;
    shine *= shine;
    shine *= shine;
    shine *= shine;
    lit += 0.09 * shine * shine;
    colour = vec4(sqrt(lit), opacity);
}`;

/** Of vertices that have none: they are drawn in the colour of their material. */
const NO_VALUE = -1e30;

export interface Look {
    coloured: boolean;
    scale: THREE.Texture;
    range: [number, number];
}

function makeMaterial(): THREE.RawShaderMaterial {
    return new THREE.RawShaderMaterial({
        glslVersion: THREE.GLSL3,
        vertexShader,
        fragmentShader,
        side: THREE.DoubleSide,
        defines: {},
        polygonOffset: true,
        polygonOffsetFactor: 1,
        polygonOffsetUnits: 1,
        uniforms: {
            scale: { value: null },
            range: { value: new THREE.Vector2(0, 1) },
            coloured: { value: false },
            ghost: { value: false },
            plane: { value: new THREE.Vector4(0, 0, 0, 1) },
            cutColour: { value: new THREE.Color(0xffffff) },
            up: { value: new THREE.Vector3(0, 1, 0) },
            opacity: { value: 1 },
            hatch: { value: 9 },
        },
    });
}

const lineVertex = /* glsl */ `
precision highp float;
uniform mat4 modelViewMatrix, projectionMatrix;
in vec3 position;
out vec3 vWorld;
void main() {
    vWorld = position;
    gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;
const lineFragment = /* glsl */ `
precision highp float;
uniform vec4 plane, ink;
in vec3 vWorld;
out vec4 colour;
void main() {
    if (dot(plane.xyz, vWorld) > plane.w) discard;
    colour = ink;
}`;

export class BodyMesh {
    readonly group = new THREE.Group();
    readonly mesh: THREE.Mesh<THREE.BufferGeometry, THREE.RawShaderMaterial>;
    readonly lines: THREE.LineSegments<THREE.BufferGeometry, THREE.RawShaderMaterial>;
    /** Positions as they were given last, [vertexCount][3] m. */
    readonly positions: Float32Array;
    private readonly split: Split;
    private readonly faces: Float32Array;
    private readonly position: THREE.BufferAttribute;
    private readonly normal: THREE.BufferAttribute;
    private readonly value: THREE.BufferAttribute;
    private readonly tint: THREE.BufferAttribute;

    constructor(
        readonly surface: Surface,
        ghost = false,
    ) {
        this.split = splitAtCreases(surface);
        const n = this.split.count;
        this.positions = new Float32Array(surface.rest);
        this.faces = new Float32Array(surface.triangles.length);
        this.position = dynamic(new THREE.BufferAttribute(new Float32Array(3 * n), 3));
        this.normal = dynamic(new THREE.BufferAttribute(new Float32Array(3 * n), 3));
        this.value = dynamic(new THREE.BufferAttribute(new Float32Array(n), 1));
        this.tint = new THREE.BufferAttribute(new Uint8Array(4 * n).fill(255), 4, true);
        const geometry = new THREE.BufferGeometry();
        geometry.setAttribute('position', this.position);
        geometry.setAttribute('normal', this.normal);
        geometry.setAttribute('value', this.value);
        geometry.setAttribute('tint', this.tint);
        geometry.setIndex(new THREE.BufferAttribute(this.split.corners, 1));
        this.mesh = new THREE.Mesh(geometry, makeMaterial());
        this.lines = makeLines(this.position, this.split.edges, this.mesh.material);
        this.mesh.frustumCulled = this.lines.frustumCulled = false;
        this.group.add(this.mesh, this.lines);
        this.lines.visible = false;
        if (ghost) this.becomeGhost();
        this.setPositions(surface.rest);
    }

    private becomeGhost(): void {
        const material = this.mesh.material;
        material.transparent = true;
        material.depthWrite = false;
        material.uniforms.ghost!.value = true;
        material.uniforms.opacity!.value = 0.16;
        this.mesh.renderOrder = 2;
    }

    setPositions(x: Float32Array): void {
        this.positions.set(x.subarray(0, this.positions.length));
        faceNormals(this.positions, this.surface.triangles, this.faces);
        const p = this.position.array as Float32Array;
        const n = this.normal.array as Float32Array;
        const { source, corners } = this.split;
        for (let i = 0, k = 0; i < source.length; i++) {
            const s = 3 * source[i]!;
            p[k++] = x[s]!;
            p[k++] = x[s + 1]!;
            p[k++] = x[s + 2]!;
        }
        n.fill(0);
        const faces = this.faces;
        for (let c = 0; c < corners.length; c++) {
            const v = 3 * corners[c]!;
            const f = c - (c % 3);
            n[v] = n[v]! + faces[f]!;
            n[v + 1] = n[v + 1]! + faces[f + 1]!;
            n[v + 2] = n[v + 2]! + faces[f + 2]!;
        }
        this.position.needsUpdate = true;
        this.normal.needsUpdate = true;
    }

    setValues(values: Float32Array): void {
        const v = this.value.array as Float32Array;
        const { source } = this.split;
        for (let i = 0; i < source.length; i++) {
            const value = values[source[i]!]!;
            v[i] = Number.isNaN(value) ? NO_VALUE : value;
        }
        this.value.needsUpdate = true;
    }

    /** A colour for each surface vertex by number, and whether it is one of a sheet. */
    setTints(numbers: ArrayLike<number>, sheets: (vertex: number) => boolean): void {
        const t = this.tint.array as Uint8Array;
        this.split.source.forEach((s, i) => {
            const rgb = categories[(numbers[s] ?? 0) % categories.length]!;
            t.set([rgb >> 16, (rgb >> 8) & 255, rgb & 255, sheets(s) ? 0 : 255], 4 * i);
        });
        this.tint.needsUpdate = true;
    }

    /** Neither a body nor a material: what is in the way. */
    setGrey(): void {
        const t = this.tint.array as Uint8Array;
        for (let i = 0; i < t.length; i += 4) t.set([204, 209, 218, 0], i);
        this.tint.needsUpdate = true;
    }

    setLook(look: Look): void {
        const u = this.mesh.material.uniforms;
        u.coloured!.value = look.coloured;
        u.scale!.value = look.scale;
        (u.range!.value as THREE.Vector2).set(look.range[0], look.range[1]);
    }

    setPlane(plane: THREE.Vector4): void {
        const { material } = this.mesh;
        (material.uniforms.plane!.value as THREE.Vector4).copy(plane);
        const cuts = plane.x !== 0 || plane.y !== 0 || plane.z !== 0;
        if (cuts !== 'CUT' in material.defines) {
            // A shader that discards nothing lets hidden parts be skipped: another program.
            material.defines = cuts ? { CUT: '' } : {};
            material.needsUpdate = true;
        }
        (this.lines.material.uniforms.plane!.value as THREE.Vector4).copy(plane);
    }

    setTheme(dark: boolean): void {
        const u = this.mesh.material.uniforms;
        (u.cutColour!.value as THREE.Color).copy(raw(dark ? 0x8d97a8 : 0xd5dae3));
        const ink = dark ? [1, 1, 1, 0.3] : [0.05, 0.08, 0.15, 0.42];
        (this.lines.material.uniforms.ink!.value as THREE.Vector4).fromArray(ink);
    }

    setUp(viewUp: THREE.Vector3, pixelRatio: number): void {
        const u = this.mesh.material.uniforms;
        (u.up!.value as THREE.Vector3).copy(viewUp);
        u.hatch!.value = 9 * pixelRatio;
    }

    dispose(): void {
        this.mesh.geometry.dispose();
        this.mesh.material.dispose();
        this.lines.geometry.dispose();
        this.lines.material.dispose();
    }
}

function dynamic(attribute: THREE.BufferAttribute): THREE.BufferAttribute {
    attribute.setUsage(THREE.DynamicDrawUsage);
    return attribute;
}

function makeLines(
    position: THREE.BufferAttribute,
    edges: Uint32Array,
    body: THREE.RawShaderMaterial,
): THREE.LineSegments<THREE.BufferGeometry, THREE.RawShaderMaterial> {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', position);
    geometry.setIndex(new THREE.BufferAttribute(edges, 1));
    const material = new THREE.RawShaderMaterial({
        glslVersion: THREE.GLSL3,
        vertexShader: lineVertex,
        fragmentShader: lineFragment,
        transparent: true,
        depthWrite: false,
        uniforms: {
            plane: { value: (body.uniforms.plane!.value as THREE.Vector4).clone() },
            ink: { value: new THREE.Vector4(0, 0, 0, 0.4) },
        },
    });
    const lines = new THREE.LineSegments(geometry, material);
    lines.renderOrder = 1;
    return lines;
}
