// The WebSocket: requests with answers, and a connection that comes back by itself.
import { decode, Kind, type Packet } from './binary';
import type { DoneMessage, Request, ServerMessage } from './protocol';

export class RequestError extends Error {
    constructor(
        message: string,
        readonly line: number | null = null,
        readonly column: number | null = null,
    ) {
        super(message);
    }
}

type Waiting = { resolve: (message: DoneMessage) => void; reject: (error: Error) => void };

export interface Listener {
    message(message: ServerMessage): void;
    packet(packet: Packet): void;
    /** The connection is there, or it is lost and tried again after so many ms. */
    connected(): void;
    lost(retryMs: number): void;
}

const RETRY_MS = [250, 500, 1000, 2000, 4000];
const PING_MS = 2000;
const SILENCE_MS = 7000;

export class Connection {
    /** ms, how long a ping takes. */
    roundTrip = NaN;
    open = false;
    private socket: WebSocket | null = null;
    private waiting = new Map<number, Waiting>();
    private nextId = 1;
    private attempt = 0;
    private heard = 0;
    private retryTimer = 0;
    private unseen = 0;

    constructor(
        private readonly token: string,
        private readonly listener: Listener,
    ) {
        window.setInterval(() => this.ping(), PING_MS);
        window.addEventListener('online', () => this.retryNow());
        document.addEventListener('visibilitychange', () => {
            if (!document.hidden && this.unseen > 0) this.send({ type: 'ack', frame: this.unseen });
            this.unseen = 0;
        });
    }

    connect(): void {
        const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
        const socket = new WebSocket(`${scheme}://${location.host}/ws?token=${this.token}`);
        socket.binaryType = 'arraybuffer';
        this.socket = socket;
        socket.onopen = () => this.opened(socket);
        socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => this.receive(event.data);
        socket.onclose = () => {
            if (this.socket === socket) this.closed();
        };
    }

    retryNow(): void {
        if (this.socket) return;
        window.clearTimeout(this.retryTimer);
        this.connect();
    }

    private opened(socket: WebSocket): void {
        if (this.socket !== socket) return;
        this.open = true;
        this.attempt = 0;
        this.heard = performance.now();
        this.listener.connected();
    }

    private closed(): void {
        this.socket = null;
        this.open = false;
        for (const { reject } of this.waiting.values())
            reject(new RequestError('the connection to the server was lost'));
        this.waiting.clear();
        const wait = RETRY_MS[Math.min(this.attempt++, RETRY_MS.length - 1)]!;
        this.listener.lost(wait);
        this.retryTimer = window.setTimeout(() => this.connect(), wait);
    }

    private receive(data: string | ArrayBuffer): void {
        this.heard = performance.now();
        if (typeof data !== 'string') {
            const packet = decode(data);
            this.listener.packet(packet);
            if (packet.kind === Kind.Frame) this.acknowledge(packet.seq);
            return;
        }
        const message = JSON.parse(data) as ServerMessage;
        if (message.type === 'pong') this.roundTrip = performance.now() - message.sent;
        else if (message.type === 'done') this.take(message.id)?.resolve(message);
        else if (message.type === 'error' && message.id !== undefined)
            this.take(message.id)?.reject(
                new RequestError(message.message, message.line ?? null, message.column ?? null),
            );
        else this.listener.message(message);
    }

    /** A page that nobody sees asks for no more frames until it is seen again. */
    private acknowledge(seq: number): void {
        if (document.hidden) this.unseen = seq;
        else this.send({ type: 'ack', frame: seq });
    }

    private take(id: number): Waiting | undefined {
        const waiting = this.waiting.get(id);
        this.waiting.delete(id);
        return waiting;
    }

    /** Without an answer; lost where there is no connection. */
    send(request: Request): void {
        if (this.socket && this.socket.readyState === WebSocket.OPEN)
            this.socket.send(JSON.stringify(request));
    }

    /** With an answer: resolves when the server is done, rejects with its error. */
    ask(request: Request): Promise<DoneMessage> {
        if (!this.open) return Promise.reject(new RequestError('there is no connection to the server'));
        const id = this.nextId++;
        return new Promise((resolve, reject) => {
            this.waiting.set(id, { resolve, reject });
            this.send({ ...request, id });
        });
    }

    private ping(): void {
        if (!this.open) return;
        if (performance.now() - this.heard > SILENCE_MS) {
            this.drop();
            return;
        }
        this.send({ type: 'ping', sent: performance.now() });
    }

    /** Ends the connection as a broken line would; it comes back. */
    drop(): void {
        const socket = this.socket;
        if (!socket) return;
        socket.onclose = null;
        socket.onmessage = null;
        socket.close();
        this.closed();
    }
}
