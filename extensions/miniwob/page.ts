import { realpathSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { EnvError } from "../../src/core/errors.ts";
import { withPackage } from "../../src/core/optional-package.ts";
import { pageScript } from "./page-script.ts";

const shownSchema = z.strictObject({
  /** Absent for text that cannot be acted on. */
  ref: z.int().optional(),
  role: z.string(),
  name: z.string(),
  value: z.string().optional(),
  checked: z.boolean().optional(),
});
export type Shown = z.output<typeof shownSchema>;
const instructionSchema = z.string().min(1);

export interface Act {
  readonly kind: "click" | "type";
  readonly ref: number;
  readonly text?: string;
}

/** An open page, in whatever runs its JavaScript. */
export interface PageRuntime {
  /** @returns the value of an expression, as JSON has it */
  evaluate(expression: string): Promise<unknown>;
  close(): Promise<void>;
}

/** A page of MiniWoB++ that is played: one episode. */
export class Page {
  readonly instruction: string;
  readonly #runtime: PageRuntime;

  private constructor(runtime: PageRuntime, instruction: string) {
    this.#runtime = runtime;
    this.instruction = instruction;
  }

  /** @param seed of the page's own generator, which decides the whole task @throws EnvError if it does not start */
  static async start(runtime: PageRuntime, name: string, seed: number): Promise<Page> {
    try {
      await runtime.evaluate(`${pageScript}; 0`);
      const instruction = instructionSchema.parse(await runtime.evaluate(`wob.start(${seed})`));
      return new Page(runtime, instruction);
    } catch (cause) {
      await runtime.close();
      throw new EnvError(`the page ${name}`, cause, { expected: "a page of MiniWoB++ that starts", cause });
    }
  }

  async look(): Promise<Shown[]> {
    return z.array(shownSchema).parse(await this.#runtime.evaluate("wob.look()"));
  }

  /** @returns what is wrong with the action; "" if nothing is */
  async act({ kind, ref, text = "" }: Act): Promise<string> {
    const values = [kind, ref, text].map((each) => JSON.stringify(each));
    const wrong = z.string().parse(await this.#runtime.evaluate(`wob.act(${values.join(", ")})`));
    // Pages answer in timers of no delay.
    await this.#runtime.evaluate("new Promise((resolve) => setTimeout(() => setTimeout(resolve, 0), 0))");
    return wrong;
  }

  /** The page's own reward, from -1 to 1, without its penalty for time: a model is no slower than its machine. */
  async state(): Promise<{ readonly done: boolean; readonly reward: number }> {
    return z.strictObject({ done: z.boolean(), reward: z.number() }).parse(await this.#runtime.evaluate("wob.state()"));
  }

  close(): Promise<void> {
    return this.#runtime.close();
  }
}

interface Dispatcher {
  dispatch(request: { readonly opaque?: { readonly url?: string } }, handler: object): boolean;
}

export interface JsdomWindow {
  eval(code: string): unknown;
  close(): void;
  addEventListener(name: "load", listener: () => void): void;
  /** Reads what the window and its frames load: elements, XMLHttpRequest, WebSocket. */
  readonly _dispatcher?: Dispatcher;
  readonly HTMLElement: { readonly prototype: object };
  readonly HTMLCanvasElement: { readonly prototype: { getContext: unknown } };
}

export interface Jsdom {
  readonly JSDOM: { fromFile(file: string, options: object): Promise<{ readonly window: JsdomWindow }> };
  readonly VirtualConsole: new () => object;
  readonly CookieJar: new () => object;
}

/**
 * jQuery's own selector engine takes over where jsdom refuses a selector that browsers know, and each of its searches draws a number. Without these
 * draws a seed is the same task here as in a browser.
 */
const sameDraws = `(() => {
  const seedrandom = Math.seedrandom;
  Math.seedrandom = (...seed) => {
    seedrandom.apply(Math, seed);
    const seeded = Math.random;
    Math.random = () => (new Error().stack.includes("superMatcher") ? 0.5 : seeded());
  };
})()`;

async function installedJsdom(): Promise<Jsdom> {
  const specifier: string = "jsdom";
  return (await withPackage("jsdom", "pages of MiniWoB++", () => import(specifier))) as Jsdom;
}

/**
 * Opens a page in jsdom, which loads only files of the package.
 * @param folder html/miniwob of the package
 * @param loadMs the time that the page has to load
 */
export async function openInJsdom(
  folder: string,
  name: string,
  { jsdom = installedJsdom, loadMs = 60_000 }: { readonly jsdom?: () => Promise<Jsdom>; readonly loadMs?: number } = {},
): Promise<PageRuntime> {
  const { JSDOM, VirtualConsole, CookieJar } = await jsdom();
  const { window } = await JSDOM.fromFile(join(folder, `${name}.html`), {
    ...{ runScripts: "dangerously", resources: "usable", pretendToBeVisual: true },
    contentType: "text/html; charset=utf-8", // browsers find it out by themselves
    virtualConsole: new VirtualConsole(), // nobody listens
    cookieJar: alone(new CookieJar()),
    beforeParse: (window: JsdomWindow) => {
      serveOnly(realpathSync(dirname(folder)), window);
      complete(window);
    },
  });
  const late = AbortSignal.timeout(loadMs);
  await new Promise<void>((resolve, reject) => {
    window.addEventListener("load", () => setTimeout(resolve, 0));
    late.addEventListener("abort", () => reject(new EnvError(`the page ${name}`, `not loaded in ${loadMs / 1000} s`)));
  });
  window.eval(sameDraws);
  return { evaluate: async (expression) => window.eval(expression), close: async () => window.close() };
}

/** Has a window and its frames load nothing but files of a folder: no network, and no other file. */
function serveOnly(root: string, window: JsdomWindow): void {
  const loader = window._dispatcher;
  if (loader === undefined) throw new EnvError("jsdom", "a version that loads in another way", { expected: "jsdom 29" });
  const { dispatch } = loader;
  loader.dispatch = (request, handler) => {
    const url = request.opaque?.url ?? "no address";
    if (!url.startsWith("data:") && !isInside(root, url)) throw new TypeError(`${url} is not one of the pages' files`);
    return dispatch.call(loader, request, handler);
  };
}

function isInside(root: string, url: string): boolean {
  try {
    return realpathSync(fileURLToPath(url)).startsWith(`${root}${sep}`);
  } catch {
    return false;
  }
}

/** A synchronous XMLHttpRequest passes the loader by: another thread makes it, which gets the cookies as text. So there is no such text. */
function alone(cookieJar: object): object {
  const serializeSync = () => {
    throw new TypeError("a page requests nothing synchronously");
  };
  return Object.assign(cookieJar, { serializeSync });
}

/** Adds what pages use and jsdom does not have: drawing, which only shows clicks, and `innerText`. */
function complete(window: JsdomWindow): void {
  const context: unknown = new Proxy(() => {}, {
    ...{ get: (_, key) => (key === Symbol.toPrimitive ? () => 0 : context), set: () => true, apply: () => context },
  });
  window.HTMLCanvasElement.prototype.getContext = () => context;
  Object.defineProperty(window.HTMLElement.prototype, "innerText", {
    get(this: { textContent: string }) {
      return this.textContent;
    },
    set(this: { textContent: string }, text: string) {
      this.textContent = text;
    },
  });
}
