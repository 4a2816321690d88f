// What all parts of the page share: the connection, what the server last said, the view.
import { Connection, RequestError, type Listener } from './net/connection';
import { Http } from './net/http';
import { Kind, type Packet } from './net/binary';
import type {
    DesignMessage,
    DoneMessage,
    RecordingMessage,
    Request,
    SceneMessage,
    ServerMessage,
    StatsMessage,
    StatusMessage,
    Tables,
    TopologyMessage,
    Welcome,
} from './net/protocol';
import { Toasts, type Tone } from './ui/toasts';
import { Stage } from './view/stage';
import { WorldView } from './view/world-view';

export interface Events {
    welcome: Welcome;
    scene: SceneMessage;
    status: StatusMessage;
    stats: StatsMessage;
    design: DesignMessage;
    recording: RecordingMessage;
    clients: { clients: number; editor: number };
    topology: { message: TopologyMessage; fresh: boolean };
    frame: Packet;
    connection: { open: boolean; retryMs: number };
    theme: boolean;
}

type Handler<T> = (value: T) => void;

class Emitter {
    private readonly handlers = new Map<keyof Events, Handler<never>[]>();

    on<K extends keyof Events>(name: K, handler: Handler<Events[K]>): void {
        const list = this.handlers.get(name) ?? [];
        list.push(handler as Handler<never>);
        this.handlers.set(name, list);
    }

    emit<K extends keyof Events>(name: K, value: Events[K]): void {
        for (const handler of this.handlers.get(name) ?? []) (handler as Handler<Events[K]>)(value);
    }
}

export class App extends Emitter implements Listener {
    readonly connection: Connection;
    readonly http: Http;
    readonly stage: Stage;
    readonly world: WorldView;
    readonly toasts = new Toasts();
    tables: Tables | null = null;
    welcome: Welcome | null = null;
    scene: SceneMessage | null = null;
    status: StatusMessage | null = null;
    stats: StatsMessage | null = null;
    design: DesignMessage | null = null;
    clients = 1;
    editor = -1;
    dark = false;
    private wasLost = false;
    /** What was shown before a scene of sheets alone was opened, until somebody chooses. */
    fieldOfSolids: string | null = null;
    private generation = -1;
    private readonly lastSent = new Map<string, number>();

    constructor(token: string, viewHost: HTMLElement) {
        super();
        this.http = new Http(token);
        this.connection = new Connection(token, this);
        this.stage = new Stage(viewHost);
        this.world = new WorldView(this.stage);
        this.world.onTopology = (fresh) =>
            this.emit('topology', { message: this.world.data!.topology, fresh });
        this.world.onFrame = (packet) => this.emit('frame', packet);
    }

    async start(): Promise<void> {
        this.tables = await this.http.tables();
        this.world.setFieldTables(this.tables.fields);
        this.connection.connect();
    }

    get edits(): boolean {
        return this.welcome !== null && this.editor === this.welcome.client;
    }

    connected(): void {
        this.toasts.hide('connection');
        if (this.wasLost) this.toasts.show('good', 'Connected again', '', 3, 'connected');
        this.wasLost = false;
        this.emit('connection', { open: true, retryMs: 0 });
    }

    lost(retryMs: number): void {
        this.wasLost = true;
        this.toasts.show(
            'bad',
            'The connection to Hooke was lost',
            'Trying again. The world waits where it is.',
            0,
            'connection',
        );
        this.emit('connection', { open: false, retryMs });
    }

    packet(packet: Packet): void {
        if (packet.kind === Kind.Topology) this.world.takeTopology(packet);
        else if (packet.kind === Kind.Frame) this.world.takeFrame(packet);
    }

    message(message: ServerMessage): void {
        switch (message.type) {
            case 'welcome':
                this.welcome = message;
                this.setEditor(message.clients, message.editor);
                this.askForFields();
                this.emit('welcome', message);
                break;
            case 'clients':
                this.setEditor(message.clients, message.editor);
                break;
            case 'scene':
                this.takeScene(message);
                break;
            case 'topology':
                this.world.announce(message);
                break;
            case 'status':
                this.status = message;
                this.emit('status', message);
                break;
            case 'stats':
                this.stats = message;
                this.emit('stats', message);
                break;
            case 'design':
                this.design = message;
                this.emit('design', message);
                break;
            case 'recording':
                this.emit('recording', message);
                break;
            case 'notice':
                this.notice(message.level, message.text);
                break;
            case 'error':
                this.notice('error', message.message);
                break;
            default:
                break;
        }
    }

    private takeScene(message: SceneMessage): void {
        const text = message.text ?? this.scene?.text;
        this.scene = { ...message, text };
        this.world.generation = `${this.welcome?.session} ${message.generation}`; // another server counts anew
        if (message.mode !== 'design') this.design = null;
        const young = message.bodies.map((b) => b.material.young ?? Infinity);
        const least = Math.min(...young);
        this.world.range.scales.young = Number.isFinite(least) ? least : 1;
        if (!message.edited) this.beginScene(message);
        this.emit('scene', this.scene);
        for (const note of message.edited ? [] : (message.notes ?? []))
            this.toasts.show('info', 'About this scene', note, 8, note);
    }

    private beginScene(message: SceneMessage): void {
        const { generation } = message;
        if (generation !== this.generation) this.toasts.clear();
        this.generation = generation;
        // Sheets have no stress to show.
        const { world } = this;
        const wanted = this.fieldOfSolids ?? world.field;
        const none = message.tets === 0 && ['von_mises', 'J', 'stretch'].includes(wanted);
        this.fieldOfSolids = none ? wanted : null;
        const field = none ? 'displacement' : wanted;
        if (field === world.field) return;
        world.field = field;
        world.range.forget();
        this.askForFields();
    }

    private setEditor(clients: number, editor: number): void {
        this.clients = clients;
        this.editor = editor;
        this.emit('clients', { clients, editor });
    }

    private notice(level: 'info' | 'warning' | 'error', text: string): void {
        const tone: Record<typeof level, Tone> = { info: 'info', warning: 'warn', error: 'bad' };
        // Of a message about steps only the newest is of interest, not the number in it.
        const key = text.replace(/[\d.]+/g, '#').slice(0, 60);
        const title = text.charAt(0).toUpperCase() + text.slice(1);
        this.toasts.show(tone[level], title, '', level === 'error' ? 12 : 7, key);
    }

    /** What this page wants to see of the values. */
    askForFields(): void {
        const field = this.world.field === 'material' ? 'none' : this.world.field;
        this.connection.send({ type: 'fields', field, contacts: this.world.shown.contacts });
    }

    send(request: Request): void {
        this.connection.send(request);
    }

    /** Asks, and tells of an error by a message; null then. */
    async ask(request: Request, what = ''): Promise<DoneMessage | null> {
        try {
            return await this.connection.ask(request);
        } catch (error) {
            this.complain(error, what);
            return null;
        }
    }

    complain(error: unknown, what = ''): void {
        const message = error instanceof Error ? error.message : String(error);
        const where = error instanceof RequestError && error.line ? ` (line ${error.line})` : '';
        if (what) this.toasts.show('bad', what, message + where, 12, what);
        else this.toasts.show('bad', message + where, '', 12);
    }

    /** For sliders: at most one request of a kind every 80 ms, and the last one always. */
    askGently(key: string, request: Request): void {
        window.clearTimeout(this.lastSent.get(key));
        this.lastSent.set(
            key,
            window.setTimeout(() => void this.ask(request), 80),
        );
    }

    setDark(dark: boolean): void {
        this.dark = dark;
        document.documentElement.dataset.theme = dark ? 'dark' : 'light';
        const style = getComputedStyle(document.documentElement);
        this.stage.setGround(style.getPropertyValue('--view').trim());
        this.world.setTheme(dark);
        this.emit('theme', dark);
    }
}
