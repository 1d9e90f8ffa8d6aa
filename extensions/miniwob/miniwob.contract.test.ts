import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, chromium } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { browserProgram } from "../../scripts/browser.mjs";
import { experts } from "./experts.ts";
import { openInJsdom, Page, type PageRuntime, type Shown } from "./page.ts";

/** The folder of the Python package: the one that RETROGRADE_MINIWOB names (.ci/miniwob downloads it). */
const data = process.env.RETROGRADE_MINIWOB ?? "";
const folder = join(data, "html", "miniwob");
const hasPages = data !== "" && existsSync(folder);
const hasJsdom = existsSync(join(import.meta.dirname, "../../node_modules/jsdom"));
const program = browserProgram();
const missing = [...(hasPages ? [] : ["no pages (RETROGRADE_MINIWOB)"]), ...(hasJsdom ? [] : ["no jsdom (npm install)"])];
const because = (reasons: readonly string[]) => (reasons.length === 0 ? "" : ` — skipped: ${reasons.join(", ")}`);
const seeds = process.env.RETROGRADE_PLAY === "all" ? 100 : 1;

let browser: Browser | undefined;
afterAll(async () => browser?.close());

async function openInBrowser(_: string, name: string): Promise<PageRuntime> {
  browser ??= await chromium.launch({ executablePath: program, args: ["--no-sandbox", "--disable-gpu"] });
  const page = await browser.newPage();
  await page.goto(pathToFileURL(join(folder, `${name}.html`)).href, { waitUntil: "load" });
  return { evaluate: (expression) => page.evaluate(expression), close: () => page.close() };
}

/** Everything that is shown, and the page's reward. @param wrong the first element is clicked instead, again and again */
async function play(open: typeof openInJsdom, name: string, seed: number, wrong = false) {
  const page = await Page.start(await open(folder, name), name, seed);
  try {
    const seen: unknown[] = [page.instruction];
    const look = async (): Promise<Shown[]> => {
      const shown = await page.look();
      seen.push(shown);
      return shown;
    };
    let shown = await look();
    const script = experts[name]?.(page.instruction, shown);
    for (let acts = 0; acts < 40; acts++) {
      const turn = wrong ? undefined : script?.next(shown);
      if (turn?.done === true) break;
      await page.act(
        turn === undefined ? { kind: "click", ref: shown.filter(({ ref }) => ref !== undefined).at(-1)?.ref ?? 1 } : turn.value,
      );
      if ((await page.state()).done || (wrong && acts === 2)) break;
      shown = await look();
    }
    return { seen, ...(await page.state()) };
  } finally {
    await page.close();
  }
}

test.skipIf(missing.length > 0)(`each page's script earns reward 1 in jsdom, on each seed${because(missing)}`, async () => {
  const failed: string[] = [];
  for (const name of Object.keys(experts))
    for (let seed = 0; seed < seeds; seed++) {
      const { reward } = await play(openInJsdom, name, seed);
      if (reward !== 1) failed.push(`${name} ${seed}: ${reward}`);
    }
  expect(failed).toEqual([]);
});

const absent = [...missing, ...(program === undefined ? ["no Chromium"] : [])];
test.skipIf(absent.length > 0)(
  `pages show and give the same in Chromium as in jsdom, played right and wrong${because(absent)}`,
  async () => {
    const names = Object.keys(experts);
    expect(names.length).toBe(49);
    const differ: object[] = [];
    for (const name of names)
      for (const wrong of [false, true]) {
        const [here, there] = [await play(openInJsdom, name, 7, wrong), await play(openInBrowser, name, 7, wrong)];
        if (JSON.stringify(there) !== JSON.stringify(here)) differ.push({ name, wrong, here, there });
      }
    expect(differ.slice(0, 2)).toEqual([]);
  },
);
