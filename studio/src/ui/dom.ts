// Elements in one call.

type Child = Node | string | null | undefined | false;

export interface Props {
    class?: string;
    id?: string;
    title?: string;
    text?: string;
    html?: never;
    attrs?: Record<string, string>;
    on?: Partial<{ [K in keyof HTMLElementEventMap]: (event: HTMLElementEventMap[K]) => void }>;
}

export function h<K extends keyof HTMLElementTagNameMap>(
    tag: K,
    props: Props = {},
    ...children: Child[]
): HTMLElementTagNameMap[K] {
    const element = document.createElement(tag);
    if (props.class) element.className = props.class;
    if (props.id) element.id = props.id;
    if (props.title) element.title = props.title;
    if (props.text !== undefined) element.textContent = props.text;
    for (const [name, value] of Object.entries(props.attrs ?? {})) element.setAttribute(name, value);
    for (const [name, listener] of Object.entries(props.on ?? {}))
        element.addEventListener(name, listener as EventListener);
    for (const child of children) if (child) element.append(child);
    return element;
}

const paths = {
    play: 'M8 5v14l11-7z',
    pause: 'M7 5h4v14H7zM13 5h4v14h-4z',
    step: 'M6 5v14l8-7zM16 5h3v14h-3z',
    reset: 'M12 5V1L7 6l5 5V7a6 6 0 1 1-6 6H4a8 8 0 1 0 8-8z',
    hand: 'M9 11V5.5a1.5 1.5 0 0 1 3 0V10h.5V4.5a1.5 1.5 0 0 1 3 0V10h.5V6a1.5 1.5 0 0 1 3 0v8.5c0 4-2.5 7-6.5 7-3 0-4.6-1.3-6-3.8L3.9 14c-.8-1.5 1-2.9 2.3-1.7L9 14.6z',
    orbit: 'M12 3a9 9 0 1 0 9 9h-2a7 7 0 1 1-7-7v3l5-4-5-4zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z',
    pin: 'M9 3h6l-1 7 4 3v2h-5v6l-1 1-1-1v-6H6v-2l4-3z',
    brush: 'M20.7 3.3a2 2 0 0 0-2.8 0L9.5 11.700l2.800 2.800 8.400-8.400a2 2 0 0 0 0-2.800zM8.300 13c-2 0-3.300 1.500-3.300 3.500 0 1.500-.7 2.500-2 3 1 1 2.600 1.500 4 1.500 2.700 0 4.700-2 4.700-4.600z',
    box: 'M4 4h4v2H6v2H4zM16 4h4v4h-2V6h-2zM4 16h2v2h2v2H4zM18 16h2v4h-4v-2h2zM10 4h4v2h-4zM10 18h4v2h-4zM4 10h2v4H4zM18 10h2v4h-2z',
    load: 'M11 3h2v11h4l-5 7-5-7h4z',
    fit: 'M4 9V4h5v2H6v3zM15 4h5v5h-2V6h-3zM4 15h2v3h3v2H4zM18 15h2v5h-5v-2h3zM12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z',
    sun: 'M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM11 1h2v4h-2zM11 19h2v4h-2zM1 11h4v2H1zM19 11h4v2h-4zM4.200 5.600l1.400-1.400 2.800 2.800L7 8.400zM15.600 17l1.400-1.400 2.800 2.800-1.400 1.400zM4.200 18.400L7 15.600 8.400 17l-2.800 2.800zM15.600 7l2.800-2.800 1.400 1.400L17 8.400z',
    help: 'M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20zm1 16h-2v-2h2zm1.800-6.600c-.9.800-1.800 1.400-1.800 2.600h-2c0-2 1.300-2.900 2.200-3.700.6-.5 1-.9 1-1.600a2 2 0 1 0-4.200 0H8a4 4 0 1 1 8 0c0 1.300-.6 2-1.200 2.700z',
    camera: 'M9 4l-1.500 2H4a2 2 0 0 0-2 2v10a2 2 0 0 0 2 2h16a2 2 0 0 0 2-2V8a2 2 0 0 0-2-2h-3.500L15 4zm3 5a4.500 4.500 0 1 1 0 9 4.500 4.500 0 0 1 0-9z',
    record: 'M12 5a7 7 0 1 0 0 14 7 7 0 0 0 0-14z',
    stop: 'M6 6h12v12H6z',
    save: 'M5 3h11l5 5v11a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2zm2 2v4h8V5zm5 8a3 3 0 1 0 0 6 3 3 0 0 0 0-6z',
    open: 'M3 5h6l2 2h10v3H7l-3 8H3zM8 12h14l-3 7H5z',
    code: 'M8.700 6.300L3 12l5.700 5.700 1.400-1.400L5.800 12l4.300-4.300zM15.300 6.300L21 12l-5.700 5.700-1.400-1.400 4.300-4.300-4.300-4.300z',
    undo: 'M8 5l-6 5 6 5v-4h6a4 4 0 0 1 0 8h-3v2h3a6 6 0 0 0 0-12H8z',
    redo: 'M16 5l6 5-6 5v-4h-6a4 4 0 0 0 0 8h3v2h-3a6 6 0 0 1 0-12h6z',
    download: 'M11 3h2v9h4l-5 6-5-6h4zM4 19h16v2H4z',
    close: 'M6.400 5L5 6.400l5.600 5.600L5 17.600 6.400 19l5.600-5.600 5.600 5.600 1.400-1.400-5.600-5.600L19 6.400 17.600 5 12 10.600z',
    chart: 'M4 4h2v14h15v2H4zM8 15l4-6 3 3 5-7 1.600 1.200-6.400 9-3.100-3.100L9.600 16z',
    compare: 'M3 5h8v14H3zm2 2v10h4V7zM13 5h8v14h-8z',
    design: 'M3 17.200V21h3.800L17.900 9.900l-3.800-3.800zM20.700 7a1 1 0 0 0 0-1.400l-2.300-2.300a1 1 0 0 0-1.400 0l-1.800 1.800 3.800 3.800z',
    grid: 'M3 3h8v8H3zM13 3h8v8h-8zM3 13h8v8H3zM13 13h8v8h-8z',
    eye: 'M12 5C6 5 2 12 2 12s4 7 10 7 10-7 10-7-4-7-10-7zm0 3a4 4 0 1 1 0 8 4 4 0 0 1 0-8z',
    warn: 'M12 2L1 21h22zm-1 7h2v6h-2zm0 8h2v2h-2z',
    check: 'M9 16.200L4.800 12l-1.400 1.400L9 19 21 7l-1.400-1.400z',
    gravity: 'M12 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM11 13h2v4h3l-4 5-4-5h3z',
} as const;

export type IconName = keyof typeof paths;

export function icon(name: IconName, size = 18): SVGSVGElement {
    const ns = 'http://www.w3.org/2000/svg';
    const svg = document.createElementNS(ns, 'svg');
    svg.setAttribute('viewBox', '0 0 24 24');
    svg.setAttribute('width', String(size));
    svg.setAttribute('height', String(size));
    svg.setAttribute('aria-hidden', 'true');
    const path = document.createElementNS(ns, 'path');
    path.setAttribute('d', paths[name]);
    path.setAttribute('fill', 'currentColor');
    path.setAttribute('fill-rule', 'evenodd');
    svg.append(path);
    return svg;
}

export function button(
    label: string,
    action: () => void,
    options: { icon?: IconName; title?: string; class?: string; id?: string } = {},
): HTMLButtonElement {
    const title = options.title ?? label;
    const element = h(
        'button',
        {
            class: `button ${options.class ?? ''}`,
            title,
            id: options.id,
            attrs: { type: 'button', 'aria-label': title },
            on: { click: action },
        },
        options.icon ? icon(options.icon) : null,
        label ? h('span', { text: label }) : null,
    );
    return element;
}

export function setIcon(element: HTMLElement, name: IconName): void {
    element.querySelector('svg')?.replaceWith(icon(name));
}
