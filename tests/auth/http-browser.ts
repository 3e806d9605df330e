/** As much of a browser as signing in takes: cookies, redirects and forms. */
import { request } from 'node:http';

export interface Visited {
  /** With the fragment that it ended at. */
  url: string;
  status: number;
  text: string;
  headers: Record<string, string | string[] | undefined>;
}

interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

export class HttpBrowser {
  /** By host, then by name. */
  readonly #cookies = new Map<string, Map<string, string>>();
  /** Every `Set-Cookie` header. */
  readonly setCookies: string[] = [];
  /** Where an origin really is, as behind a proxy. */
  readonly behind: Record<string, string>;

  constructor(behind: Record<string, string> = {}) {
    this.behind = behind;
  }

  cookiesFor(url: string): string {
    return [...(this.#cookies.get(new URL(url).host) ?? [])].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  setCookie(url: string, name: string, value: string): void {
    const { host } = new URL(url);
    const jar = this.#cookies.get(host) ?? new Map<string, string>();
    if (value === '') jar.delete(name);
    else jar.set(name, value);
    this.#cookies.set(host, jar);
  }

  /** One request, without following redirects. */
  async send(url: string, { method = 'GET', headers = {}, body }: Sent = {}): Promise<Visited> {
    const { origin, host, pathname, search } = new URL(url);
    const cookie = this.cookiesFor(url);
    const all = { host, ...(cookie !== '' && { cookie }), ...headers };
    const visited = await new Promise<Visited>((resolve, reject) => {
      const actual = new URL(`${pathname}${search}`, this.behind[origin] ?? origin);
      const sent = request(actual, { method, headers: all, agent: false }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
        });
        response.on('end', () => resolve({ url, status: response.statusCode ?? 0, text, headers: response.headers }));
      });
      sent.on('error', reject);
      sent.end(body);
    });
    for (const header of [visited.headers['set-cookie'] ?? []].flat()) {
      this.setCookies.push(header);
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(header) ?? [];
      this.setCookie(url, name, /max-age=0|expires=Thu, 01 Jan 1970/i.test(header) ? '' : value);
    }
    return visited;
  }

  /** Follows redirects, up to the page that `until` accepts. */
  async open(url: string, sent: Sent = {}, until: (url: string) => boolean = () => false): Promise<Visited> {
    let visited = await this.send(url, sent);
    for (let step = 0; step < 10 && visited.headers['location'] !== undefined; step += 1) {
      const next = new URL(String(visited.headers['location']), visited.url).href;
      if (until(next)) return { ...visited, url: next };
      visited = await this.send(next);
    }
    return visited;
  }

  /** Sends the first form of a page. */
  async submit(page: Visited, fields: Record<string, string>, until?: (url: string) => boolean): Promise<Visited> {
    const [, action = ''] = /<form[^>]*action="([^"]+)"/.exec(page.text) ?? [];
    const hidden = [...page.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(
      ([, name = '', value = '']): [string, string] => [name, value],
    );
    const body = new URLSearchParams([...hidden, ...Object.entries(fields)]).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    return this.open(new URL(action, page.url).href, { method: 'POST', headers, body }, until);
  }
}
