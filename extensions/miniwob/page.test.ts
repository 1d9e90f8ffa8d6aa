import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { EnvError } from "../../src/core/errors.ts";
import { type Jsdom, type JsdomWindow, openInJsdom, Page, type PageRuntime } from "./page.ts";
import { pageScript } from "./page-script.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "pages-")));
const folder = join(root, "html", "miniwob");
mkdirSync(folder, { recursive: true });
mkdirSync(join(root, "html-of-others"));
const [own, secret, link] = [join(root, "html", "own.js"), join(root, "html-of-others", "a.js"), join(root, "html", "link.js")];
for (const file of [own, secret]) writeFileSync(file, "");
symlinkSync(secret, link);
afterAll(() => rmSync(root, { recursive: true }));

/** jsdom as far as pages are opened in it. @param loads whether the page is ever loaded */
function fakeJsdom({ loads = true, dispatches = true } = {}) {
  const opened: { readonly file: string; readonly options: Record<string, unknown> }[] = [];
  const evaluated: string[] = [];
  const dispatched: unknown[] = [];
  let closed = 0;
  const dispatcher = {
    name: "the loader",
    dispatch(this: { readonly name: string }, request: object) {
      dispatched.push([this.name, request]);
      return true;
    },
  };
  const window: JsdomWindow = {
    eval: (code) => {
      evaluated.push(code);
      return code.length;
    },
    close: () => closed++,
    addEventListener: (event, listener) => {
      if (loads && event === "load") listener();
    },
    ...(dispatches ? { _dispatcher: dispatcher } : {}),
    HTMLElement: { prototype: {} },
    HTMLCanvasElement: { prototype: { getContext: undefined } },
  };
  const jsdom: Jsdom = {
    JSDOM: {
      fromFile: async (file, options: Record<string, unknown>) => {
        opened.push({ file, options });
        (options.beforeParse as (window: JsdomWindow) => void)(window);
        return { window };
      },
    },
    VirtualConsole: class {
      readonly kind = "console";
    },
    CookieJar: class {
      readonly kind = "jar";
    },
  };
  const open = (loadMs?: number) => openInJsdom(folder, "click-test", { jsdom: async () => jsdom, loadMs });
  return { open, window, opened, evaluated, dispatched, closed: () => closed };
}

test("a page is opened by its file, with its scripts, and evaluates what it is given until it is closed", async () => {
  const { open, opened, evaluated, closed } = fakeJsdom();
  const { evaluate, close } = await open();
  const [{ file, options } = expect.unreachable()] = opened;
  expect(file).toBe(join(folder, "click-test.html"));
  const { beforeParse: _, virtualConsole, cookieJar, ...rest } = options;
  expect(rest).toEqual({
    ...{ runScripts: "dangerously", resources: "usable", pretendToBeVisual: true },
    contentType: "text/html; charset=utf-8",
  });
  expect([virtualConsole, cookieJar].map((each) => (each as { readonly kind: string }).kind)).toEqual(["console", "jar"]);
  const { serializeSync } = cookieJar as { readonly serializeSync: () => void };
  expect(serializeSync).toThrow(new TypeError("a page requests nothing synchronously"));
  expect(await evaluate("1 + 1")).toBe(5);
  expect(evaluated.slice(1)).toEqual(["1 + 1"]);
  await close();
  expect(closed()).toBe(1);
});

test("searches of jQuery draw nothing of the seed's numbers", async () => {
  const { open, evaluated } = fakeJsdom();
  await open();
  const math = { random: () => 0, seedrandom: (seed: number) => void (math.random = () => seed / 100) };
  new Function("Math", evaluated[0] ?? "")(math);
  math.seedrandom(25);
  function superMatcher() {
    return math.random();
  }
  expect([math.random(), superMatcher(), math.random()]).toEqual([0.25, 0.5, 0.25]);
});

test("only files of the package are loaded, and data", async () => {
  const { open, window, dispatched } = fakeJsdom();
  await open();
  const request = (url?: string) => ({ opaque: { url } });
  const dispatch = (asked: object) => window._dispatcher?.dispatch(asked, {});
  const allowed = [request(pathToFileURL(own).href), request("data:text/css,a")];
  expect(allowed.map(dispatch)).toEqual([true, true]);
  expect(dispatched).toEqual(allowed.map((asked) => ["the loader", asked]));
  const others = [secret, link, join(root, "html", "missing.js"), join(root, "html")].map((file) => pathToFileURL(file).href);
  for (const url of [...others, "http://127.0.0.1/own.js", "about:blank"])
    expect(() => dispatch(request(url))).toThrow(new TypeError(`${url} is not one of the pages' files`));
  for (const asked of [{}, request()])
    expect(() => dispatch(asked)).toThrow(new TypeError("no address is not one of the pages' files"));
  expect(dispatched.length).toBe(2);
});

interface Drawing {
  fillStyle: string;
  measureText(text: string): { readonly width: unknown };
}

test("what pages use and jsdom lacks is added: drawing, which does nothing, and innerText", async () => {
  const { open, window } = fakeJsdom();
  await open();
  const { getContext } = window.HTMLCanvasElement.prototype as { readonly getContext: () => Drawing };
  const context = getContext();
  context.fillStyle = "red";
  expect(Number(context.measureText("a").width)).toBe(0);
  const element = Object.assign(Object.create(window.HTMLElement.prototype), { textContent: "before" });
  expect(element.innerText).toBe("before");
  element.innerText = "after";
  expect(element.textContent).toBe("after");
});

test("a page that is never loaded, and another jsdom, are errors of the environment", async () => {
  await expect(fakeJsdom({ loads: false }).open(20)).rejects.toThrow(new EnvError("the page click-test", "not loaded in 0.02 s"));
  await expect(fakeJsdom({ dispatches: false }).open()).rejects.toThrow(
    new EnvError("jsdom", "a version that loads in another way", { expected: "jsdom 29" }),
  );
});

/** A page that answers these expressions. */
function runtime(answers: Readonly<Record<string, unknown>>) {
  const asked: string[] = [];
  let closed = 0;
  const page: PageRuntime = {
    evaluate: async (expression) => {
      asked.push(expression);
      return answers[expression];
    },
    close: async () => void closed++,
  };
  return { page, asked, closed: () => closed };
}
const turn = "new Promise((resolve) => setTimeout(() => setTimeout(resolve, 0), 0))";

test("a page is started with its seed, looked at, acted on and asked how it stands", async () => {
  const element = { ref: 1, role: "textbox", name: "Name", value: "", checked: false };
  const { page, asked, closed } = runtime({
    "wob.start(7)": "Do it.",
    "wob.look()": [element, { role: "text", name: "a" }],
    'wob.act("type", 1, "a \\"b\\"")': "",
    'wob.act("click", 9, "")': "there is no element 9",
    "wob.state()": { done: true, reward: -1 },
  });
  const started = await Page.start(page, "some", 7);
  expect(started.instruction).toBe("Do it.");
  expect(await started.look()).toEqual([element, { role: "text", name: "a" }]);
  expect(await started.act({ kind: "type", ref: 1, text: 'a "b"' })).toBe("");
  expect(await started.act({ kind: "click", ref: 9 })).toBe("there is no element 9");
  expect(await started.state()).toEqual({ done: true, reward: -1 });
  await started.close();
  expect(closed()).toBe(1);
  expect(pageScript).toMatch(/^\nwindow\.wob = \(\(\) => \{/);
  expect(asked).toEqual([
    ...[`${pageScript}; 0`, "wob.start(7)", "wob.look()"],
    ...['wob.act("type", 1, "a \\"b\\"")', turn, 'wob.act("click", 9, "")', turn, "wob.state()"],
  ]);
});

test("a page that does not start is closed, and one that shows something else refused", async () => {
  for (const instruction of [undefined, ""]) {
    const { page, closed } = runtime({ "wob.start(7)": instruction });
    await expect(Page.start(page, "some", 7)).rejects.toThrow(
      /^the page some is .*; expected a page of MiniWoB\+\+ that starts/s,
    );
    expect(closed()).toBe(1);
  }
  const { page } = runtime({ "wob.start(7)": "Do it.", "wob.look()": [{ role: "text", name: "a", colour: "red" }] });
  await expect((await Page.start(page, "some", 7)).look()).rejects.toThrow("colour");
  await expect((await Page.start(page, "some", 7)).state()).rejects.toThrow();
});
