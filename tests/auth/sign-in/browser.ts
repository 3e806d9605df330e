/** A browser as far as a sign-in needs one: it keeps cookies, follows redirects and sends forms. */
export class Browser {
  /** Goes elsewhere than a redirect says. */
  onRedirect = (url: URL): URL => url;
  readonly #cookies = new Map<string, Map<string, string>>();

  /** Opens a page. */
  async open(url: string, init: RequestInit = {}): Promise<{ url: string; status: number; text: string }> {
    let [address, request] = [url, init];
    for (let redirects = 0; redirects < 20; redirects += 1) {
      const { host, hostname } = new URL(address);
      const jar = this.#cookies.get(hostname) ?? new Map<string, string>();
      this.#cookies.set(hostname, jar);
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(address, {
        redirect: 'manual',
        ...request,
        headers: { ...(cookie !== '' && { cookie }), accept: 'text/html', ...(request.headers as object) },
      });
      for (const each of response.headers.getSetCookie()) {
        const [name = '', value = ''] = (each.split(';')[0] ?? '').split(/=(.*)/s);
        if (value === '') jar.delete(name);
        else jar.set(name, value);
      }
      const location = response.headers.get('location');
      const text = await response.text();
      if (location === null) return { url: address, status: response.status, text };
      address = this.onRedirect(new URL(location, `http://${host}`)).href;
      request = response.status === 307 ? request : {};
    }
    throw new Error('too many redirects');
  }

  /** Sends the form of a page. */
  async send(url: string, fields: Record<string, string>): Promise<{ url: string; status: number; text: string }> {
    const headers = { origin: new URL(url).origin };
    return this.open(url, { method: 'POST', body: new URLSearchParams(fields), headers });
  }
}

/** Opens a page of the gateway as somebody who signs in to the console with a token, as the page of the console does it. */
export async function openAs(browser: Browser, token: string, link: string): ReturnType<Browser['open']> {
  const { url } = await browser.open(link);
  const [address = '', path = ''] = url.split('#to=');
  const headers = { 'content-type': 'application/json', origin: new URL(address).origin };
  const send = async (to: string, body: object, more = {}): Promise<Record<string, string>> => {
    const init = { method: 'POST', body: JSON.stringify(body), headers: { ...headers, ...more } };
    return JSON.parse((await browser.open(new URL(to, address).href, init)).text) as Record<string, string>;
  };
  const { pageKey = '' } = await send('/console/sign-in', { key: token });
  const { location = '' } = await send('/console/pass', { path }, { 'meanwhile-console': pageKey });
  return browser.open(new URL(location, address).href);
}

/** Signs in as a person does who opens the link. Resolves with the last page. */
export async function signInWith(link: string, browser = new Browser()): Promise<string> {
  return signInOn(await browser.open(link), browser);
}

/** The same on the page that is open. */
export async function signInOn(page: Awaited<ReturnType<Browser['open']>>, browser: Browser): Promise<string> {
  if (page.status !== 200) throw new Error(`${page.status}: ${page.text}`);
  const last = await browser.send(page.url, { action: 'continue' });
  if (last.status !== 200) throw new Error(`${last.status}: ${last.text}`);
  return last.text;
}

/** The same at an authorization server that has forms for the name of the person and for the consent. */
export async function signInWithForms(link: string, browser = new Browser()): Promise<string> {
  let page = await browser.send((await browser.open(link)).url, { action: 'continue' });
  for (let forms = 0; forms < 5; forms += 1) {
    const [, action] = /<form[^>]* action="([^"]+)"/.exec(page.text) ?? [];
    if (action === undefined) return page.text;
    const isLogin = page.text.includes('name="login"');
    const fields = isLogin ? { prompt: 'login', login: 'ann', password: 'any' } : { prompt: 'consent' };
    page = await browser.send(new URL(action, page.url).href, fields);
  }
  throw new Error('the forms do not end');
}
