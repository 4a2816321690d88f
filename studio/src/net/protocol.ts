// The messages between page and server, as PROTOCOL.md has them.

export type Vec3 = [number, number, number];
export type Mode = 'live' | 'design' | 'compare';
export type Outcome = 'converged' | 'stopped' | 'failed';

export interface Welcome {
    type: 'welcome';
    protocol: number;
    version: string;
    client: number;
    editor: number;
    clients: number;
    session: string;
    machine: { threads: number; lanes: string; warning: string };
}

export interface Material {
    model: string;
    young: number | null;
    poisson: number | null;
    density: number | null;
    thickness?: number | null;
    parameters?: Record<string, number>;
}

export interface Load {
    force: Vec3;
    pressure: number;
    vertices: number;
}

export interface SceneBody {
    name: string;
    sheet: boolean;
    rope?: boolean;
    material: Material;
    regions: { name: string; material: Material; added?: boolean }[];
    loads: Load[];
    mass: number;
}

export interface Damping {
    air: number;
    viscous: number;
    ether: number;
    pbd: number;
    air_per_vertex: number;
}

export interface SolverChoice {
    method: string;
    iterations: number;
    tolerance: number;
    options: Record<string, number | string>;
}

export interface SceneMessage {
    type: 'scene';
    path: string;
    title: string;
    mode: Mode;
    generation: number;
    text?: string;
    edited?: boolean;
    writable: boolean;
    vertices: number;
    tets: number;
    triangles: number;
    lines: number; // of ropes
    step: number;
    end: number;
    integrator: string;
    gravity: Vec3;
    damping: Damping;
    solver: SolverChoice;
    threads?: number; // these four not in design
    backend?: string;
    describe?: string;
    contact: { distance: number } | null;
    solvers?: SolverChoice[]; // in compare, of both worlds
    bodies: SceneBody[];
    setup_ms?: number;
    notes?: string[];
}

export interface Part {
    name: string;
    vertices: [first: number, count: number];
    triangles: [first: number, count: number];
}

export interface TopologyMessage {
    type: 'topology';
    topology: number;
    bounds: [Vec3, Vec3];
    size: number;
    origin: Vec3;
    shapes: string[];
    bodies: (Part & { skin: boolean; sheet: boolean })[];
    obstacles: (Part & { plane: boolean; moves: boolean })[];
    materials: (Material & { label: string; body: number })[];
    springs?: number;
}

export interface StatusMessage {
    type: 'status';
    mode: Mode;
    playing: boolean;
    speed: number;
    busy: string | null;
}

export type HistoryRow = (number | string | null)[];

export interface CompareStats {
    methods: string[];
    ms_per_step: number[];
    history: (number | null)[][];
}

export interface StatsMessage {
    type: 'stats';
    time: number;
    step: number;
    frame: number;
    history: HistoryRow[];
    rate: number;
    realtime: number;
    ms_per_step: number;
    reason: string;
    detail: string;
    outcome: Outcome;
    trouble: number;
    contact: { pairs: number; least_gap: number | null; clamped: number } | null;
    compare?: CompareStats;
}

export interface DesignMessage {
    type: 'design';
    version: number;
    state: 'preview' | 'refining' | 'converged' | 'failed';
    given: 'loaded' | 'rest';
    progress: number;
    sag: number | null;
    least_j: number | null;
    greatest_stretch: number | null;
    iterations: number;
    relative_residual: number | null;
    load_reached: number;
    reason: string;
    detail: string;
    handles: number;
    out_of_bounds: number;
    preview_ms: number;
    refine_ms: number;
    undo: string | null;
    redo: string | null;
    gravity: Vec3;
    failure: { message: string; load_reached: number | null; place: Vec3 | null } | null;
    check?: { stable: boolean | null; overlaps: number | null; place: Vec3 | null } | null;
}

export interface NoticeMessage {
    type: 'notice';
    level: 'info' | 'warning' | 'error';
    text: string;
}

export interface RecordingMessage {
    type: 'recording';
    frames: number;
    seconds: number;
    full: boolean;
    on: boolean;
}

export interface DoneMessage {
    type: 'done';
    id: number;
    curves?: { method: string; points: [number, number, number][] }[];
    reference?: string;
    scene?: string; // of `save`
}

export interface ErrorMessage {
    type: 'error';
    id?: number;
    message: string;
    line?: number;
    column?: number;
}

export type ServerMessage =
    | Welcome
    | SceneMessage
    | TopologyMessage
    | StatusMessage
    | StatsMessage
    | DesignMessage
    | NoticeMessage
    | RecordingMessage
    | DoneMessage
    | ErrorMessage
    | { type: 'clients'; clients: number; editor: number }
    | { type: 'pong'; sent: number; server: number };

export interface Selection {
    topology?: number; // of the triangles
    vertices?: number[];
    triangles?: number[];
    box?: [Vec3, Vec3];
    sphere?: { center: Vec3; radius: number };
    of?: 'rest';
}

/** What the page asks for; the server checks it. */
export type Request = { type: string; id?: number } & Record<string, unknown>;

export interface MethodTable {
    name: string;
    summary: string;
    iterations: number;
    tolerance: number;
    options: OptionTable[];
}

export interface OptionTable {
    name: string;
    help: string;
    words: string[] | null;
    minimum: number | null;
    maximum: number | null;
    fallback: number | string;
}

export interface MaterialTable {
    name: string;
    summary: string;
    parameters: string[];
    use: 'solids' | 'sheets';
}

export interface FieldTable {
    name: string;
    label: string;
    unit: string;
}

export interface Tables {
    methods: MethodTable[];
    materials: MaterialTable[];
    integrators: { name: string; summary: string }[];
    contact_laws: { name: string; summary: string }[];
    formats: { ending: string; reads: boolean; writes: boolean; surface: boolean }[];
    fields: FieldTable[];
    version: string;
    uploads: string;
}

export interface GalleryEntry {
    path: string;
    title: string;
    group: string;
    about: string;
    tets?: number;
}

export interface Gallery {
    scenes: GalleryEntry[];
    meshes: { path: string }[];
    uploads: string;
}

export interface Defect {
    name: string;
    count: number;
    numbers: number[];
    places: Vec3[];
}

export interface UploadAnswer {
    ok: boolean;
    mesh: string;
    scene: string | null;
    report?: {
        vertices: number;
        tets: number;
        triangles: number;
        components: number;
        bounds: [Vec3, Vec3];
        volume: number;
        area: number;
        worst_quality: number | null;
        mean_quality: number | null;
        simulable: boolean;
        scale?: number; // metres per unit of the file
        verdict: string;
        defects: Defect[];
    };
    notes?: string[];
    waits_for?: string;
}
