// Binary messages of the server (PROTOCOL.md): a header of 64 bytes, then blocks.

export const enum Kind {
    Frame = 1,
    Topology = 2,
}

export const enum What {
    Positions = 1,
    Field = 2,
    Obstacles = 3,
    Grabs = 4,
    ContactForces = 5,
    Bounds = 6,
    Springs = 7,
    Triangles = 16,
    Rest = 17,
    VertexNumbers = 18,
    Flags = 19,
    Materials = 20,
    ObstacleTriangles = 21,
    ObstaclePositions = 22,
    LoadForces = 23,
}

export type BlockData = Float32Array | Uint32Array | Int32Array | Uint8Array;

export interface Block {
    what: number;
    shape: number;
    components: number;
    count: number;
    data: BlockData;
}

export interface Packet {
    kind: number;
    topology: number;
    seq: number;
    time: number;
    sent: number;
    serverMs: number;
    step: number;
    stepMs: number;
    answerMs: number;
    blocks: Block[];
}

const HEADER = 64;
const BLOCK_HEADER = 16;
const MAGIC = 0x31534b48; // "HKS1", little-endian

function dataAt(buffer: ArrayBuffer, format: number, at: number, length: number): BlockData {
    switch (format) {
        case 0:
            return new Float32Array(buffer, at, length);
        case 1:
            return new Uint32Array(buffer, at, length);
        case 2:
            return new Int32Array(buffer, at, length);
        case 3:
            return new Uint8Array(buffer, at, length);
        default:
            throw new Error(`a block of the unknown format ${format}`);
    }
}

/** Blocks are views of the buffer: nothing is copied. */
export function decode(buffer: ArrayBuffer): Packet {
    const view = new DataView(buffer);
    if (buffer.byteLength < HEADER || view.getUint32(0, true) !== MAGIC)
        throw new Error('not a message of Hooke Studio');
    const blocks: Block[] = [];
    let at = HEADER;
    for (let i = view.getUint32(44, true); i > 0; i--) {
        const components = view.getUint32(at + 8, true);
        const count = view.getUint32(at + 12, true);
        const data = dataAt(buffer, view.getUint32(at + 4, true), at + BLOCK_HEADER, components * count);
        blocks.push({
            what: view.getUint16(at, true),
            shape: view.getUint16(at + 2, true),
            components,
            count,
            data,
        });
        at += BLOCK_HEADER + 8 * Math.ceil(data.byteLength / 8);
    }
    return {
        kind: view.getUint32(4, true),
        topology: view.getUint32(8, true),
        seq: view.getUint32(12, true),
        time: view.getFloat64(16, true),
        sent: view.getFloat64(24, true),
        serverMs: view.getFloat64(32, true),
        step: view.getUint32(40, true),
        stepMs: view.getFloat32(48, true),
        answerMs: view.getFloat32(52, true),
        blocks,
    };
}

function blockOf(packet: Packet, what: number, shape: number): BlockData | null {
    return packet.blocks.find((b) => b.what === what && b.shape === shape)?.data ?? null;
}

export function floats(packet: Packet, what: number, shape = 0): Float32Array | null {
    const data = blockOf(packet, what, shape);
    return data instanceof Float32Array ? data : null;
}

export function integers(packet: Packet, what: number, shape = 0): Uint32Array | Int32Array | Uint8Array | null {
    const data = blockOf(packet, what, shape);
    return data === null || data instanceof Float32Array ? null : data;
}
