/** The small pages behind an answer link: no scripts, and everything that a server says is text. */

import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Field } from '../../lib/form/fields.ts';
import { VERSION } from '../../lib/version.ts';
import { endResponse } from '../http/response.ts';

/** The entered values, by field index. */
export type EnteredValues = readonly (readonly string[])[];

export interface QuestionPage {
  server: string;
  tool: string | undefined;
  message: string;
  fields: readonly Field[];
  /** The values that the person entered before, or the defaults. */
  entered: EnteredValues;
  /** The mistakes, by field index. */
  mistakes: ReadonlyMap<number, string>;
  /** A mistake in the form as a whole. */
  mistake?: string | undefined;
}

const STYLE = `
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.25rem; }
p.message { white-space: pre-wrap; overflow-wrap: anywhere; }
fieldset { border: 0; margin: 0 0 1rem; padding: 0; }
legend, label.title { display: block; font-weight: 600; padding: 0; }
label.choice { display: block; }
dt { font-weight: 600; }
dd { margin: 0 0 0.5rem; overflow-wrap: anywhere; }
input[type='text'], input[type='password'], select { box-sizing: border-box; width: 100%; font: inherit; padding: 0.4rem; }
.help { font-size: 0.875rem; margin: 0; }
.mistake { color: #b00020; margin: 0; }
button { font: inherit; padding: 0.5rem 1rem; margin: 0 0.5rem 0 0; }
@media (prefers-color-scheme: dark) { .mistake { color: #ff8a80; } }
`;

/** Browsers apply `form-action` also to where a form is redirected to. */
export function contentPolicy(formAction: string): string {
  return [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    `form-action ${formAction}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': contentPolicy("'self'"),
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex, nofollow',
};

export function respondPage(
  res: ServerResponse,
  status: number,
  html: string,
  { withBody = true, headers = {} }: { withBody?: boolean; headers?: Record<string, string | string[]> } = {},
): void {
  const page = Buffer.from(html);
  res.writeHead(status, { ...HEADERS, 'content-length': page.length, ...headers });
  endResponse(res, withBody ? page : undefined);
}

/** A page with a message. */
export function notePage(title: string, text: string, link?: { href: string; label: string }): string {
  const more =
    link === undefined ? '' : `<p><a href="${escape(link.href)}" rel="noreferrer">${escape(link.label)}</a></p>`;
  return layout(title, `<h1>${escape(title)}</h1>\n<p>${escape(text)}</p>\n${more}`);
}

export function questionPage({ server, tool, message, fields, entered, mistakes, mistake }: QuestionPage): string {
  const title = `${server} asks a question`;
  const by = tool === undefined ? '' : `<p class="help">Tool: ${escape(tool)}</p>\n`;
  const wrong = mistake === undefined ? '' : `<p class="mistake" role="alert">${escape(mistake)}</p>\n`;
  const inputs = fields.map((field, index) => input(field, index, entered[index] ?? [], mistakes.get(index)));
  return layout(
    title,
    `<h1>${escape(title)}</h1>
${by}<p class="message">${escape(message)}</p>
${wrong}<form method="post">
${inputs.join('\n')}
<button name="action" value="accept">${fields.length === 0 ? 'Accept' : 'Send'}</button>
<button name="action" value="decline" formnovalidate>Decline</button>
<button name="action" value="cancel" formnovalidate>Cancel</button>
</form>
<p class="help">The answer goes to the server ${escape(server)}. Do not enter passwords or other secrets.</p>`,
  );
}

function input(field: Field, index: number, entered: readonly string[], mistake: string | undefined): string {
  const name = `field-${index}`;
  const help = field.help === '' ? '' : `<p class="help" id="${name}-help">${escape(field.help)}</p>\n`;
  const wrong = mistake === undefined ? '' : `<p class="mistake" id="${name}-mistake">${escape(mistake)}</p>\n`;
  const described = [...(help === '' ? [] : [`${name}-help`]), ...(wrong === '' ? [] : [`${name}-mistake`])].join(' ');
  const aria = described === '' ? '' : ` aria-describedby="${described}"`;
  const legend = `<legend>${escape(field.title)}</legend>`;
  switch (field.kind) {
    case 'text': {
      const value = escape(entered[0] ?? '');
      const hint = field.placeholder === undefined ? '' : ` placeholder="${escape(field.placeholder)}"`;
      const label = `<label class="title" for="${name}">${escape(field.title)}</label>`;
      return `<fieldset>${label}\n<input type="text" id="${name}" name="${name}" value="${value}"${hint}${aria}>\n${help}${wrong}</fieldset>`;
    }
    case 'yes or no': {
      const radio = (value: string, label: string): string =>
        choice('radio', name, value, label, entered.includes(value));
      return `<fieldset${aria}>${legend}\n${radio('true', 'Yes')}\n${radio('false', 'No')}\n${help}${wrong}</fieldset>`;
    }
    case 'one of': {
      const options = field.choices.map(({ label }, place) =>
        choice('radio', name, String(place), label, entered.includes(String(place))),
      );
      return `<fieldset${aria}>${legend}\n${options.join('\n')}\n${help}${wrong}</fieldset>`;
    }
    case 'several of': {
      const options = field.choices.map(({ label }, place) =>
        choice('checkbox', name, String(place), label, entered.includes(String(place))),
      );
      return `<fieldset${aria}>${legend}\n${options.join('\n')}\n${help}${wrong}</fieldset>`;
    }
  }
}

function choice(type: 'radio' | 'checkbox', name: string, value: string, label: string, checked: boolean): string {
  const state = checked ? ' checked' : '';
  return `<label class="choice"><input type="${type}" name="${name}" value="${value}"${state}> ${escape(label)}</label>`;
}

export function layout(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="Meanwhile ${VERSION}">
<title>${escape(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
