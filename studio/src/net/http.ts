// Requests of HTTP, all with the token.
import { RequestError } from './connection';
import type { Gallery, Tables, UploadAnswer } from './protocol';

export interface Check {
    ok: boolean;
    error?: string;
    line?: number;
    column?: number;
}

interface Refusal {
    error?: string;
    line?: number;
    column?: number;
}

export class Http {
    constructor(private readonly token: string) {}

    url(path: string, query: Record<string, string> = {}): string {
        const parameters = new URLSearchParams({ ...query, token: this.token });
        return `${path}?${parameters.toString()}`;
    }

    private async get(path: string, query: Record<string, string> = {}, init?: RequestInit): Promise<Response> {
        const response = await fetch(this.url(path, query), init);
        if (response.ok) return response;
        const text = await response.text();
        let refusal: Refusal = { error: text };
        try {
            refusal = JSON.parse(text) as Refusal;
        } catch {
            // not JSON: the text is the message
        }
        throw new RequestError(
            refusal.error || `the server answered ${response.status}`,
            refusal.line ?? null,
            refusal.column ?? null,
        );
    }

    async tables(): Promise<Tables> {
        return (await (await this.get('/api/tables')).json()) as Tables;
    }

    async gallery(): Promise<Gallery> {
        return (await (await this.get('/api/gallery')).json()) as Gallery;
    }

    async sceneText(path?: string): Promise<string> {
        return (await this.get('/api/scene', path ? { path } : {})).text();
    }

    async check(path: string, text: string): Promise<Check> {
        const response = await this.get('/api/check', { path }, { method: 'POST', body: text });
        return (await response.json()) as Check;
    }

    async save(path: string, text: string): Promise<{ ok: boolean; path: string }> {
        const response = await this.get('/api/scene', { path }, { method: 'PUT', body: text });
        return (await response.json()) as { ok: boolean; path: string };
    }

    async upload(file: File): Promise<UploadAnswer> {
        const response = await this.get('/api/upload', { name: file.name }, { method: 'POST', body: file });
        return (await response.json()) as UploadAnswer;
    }

    async exported(what: string, shape?: string): Promise<Blob> {
        const query: Record<string, string> = shape ? { what, shape } : { what };
        return (await this.get('/api/export', query)).blob();
    }

    /** A picture that may still be being drawn. */
    async thumbnail(path: string, stop: AbortSignal): Promise<Blob | null> {
        for (let attempt = 0; attempt < 40 && !stop.aborted; attempt++) {
            const response = await fetch(this.url('/api/thumbnail', { path }), { signal: stop });
            if (response.status === 200) return response.blob();
            if (response.status !== 202) return null;
            const wait = Number(response.headers.get('Retry-After') ?? '1');
            await new Promise((resolve) => window.setTimeout(resolve, 1000 * Math.min(5, wait || 1)));
        }
        return null;
    }
}
