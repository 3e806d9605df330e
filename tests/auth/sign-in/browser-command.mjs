/** What `BROWSER` names in tests: opens the page to sign in on, presses its button, and comes back to the gateway. */
const [link = ''] = process.argv.slice(2);
const cookies = [];
let [address, request] = [link, { method: 'POST', body: new URLSearchParams({ action: 'continue' }) }];
for (let step = 0; step < 10; step += 1) {
  const headers = { cookie: cookies.join('; '), ...(request.method === 'POST' && { origin: new URL(address).origin }) };
  const response = await fetch(address, { redirect: 'manual', ...request, headers });
  cookies.push(...response.headers.getSetCookie().map((cookie) => cookie.split(';')[0]));
  const location = response.headers.get('location');
  await response.text();
  if (location === null) break;
  [address, request] = [new URL(location, address).href, {}];
}
