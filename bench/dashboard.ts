import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startDashboard } from "../src/server/dashboard/server.ts";
import { launchBrowser, withoutBrowser } from "../test/browser.ts";
import { makeLargeRun } from "./large-run.ts";

/**
 * How fast the dashboard is over a run of 1,000 steps × 512 trajectories: `jiti bench/dashboard.ts [FOLDER]`. The folder is made where it is
 * not there. Prints milliseconds.
 */
if (withoutBrowser !== undefined) throw new Error(withoutBrowser);
const root = process.argv[2] ?? mkdtempSync(join(tmpdir(), "retrograde-large-"));
const folder = join(root, "large");
if (!existsSync(join(folder, "run.json"))) await makeLargeRun(folder);

const dashboard = await startDashboard({ runs: root, port: 0 });
const browser = await launchBrowser();
const page = await browser.newPage({ viewport: { width: 1360, height: 900 } });
const timed = async (name: string, work: () => Promise<unknown>) => {
  const started = performance.now();
  await work();
  console.log(`${name.padEnd(56)} ${Math.round(performance.now() - started)} ms`);
};
const api = async (path: string) =>
  (await fetch(`${dashboard.url}api/${path}`)).json() as Promise<{ total: number; took: number }>;

await page.goto(`${dashboard.url}#/reports`);
await page.waitForSelector("h1");
await timed("page of the run, until its curves are drawn", async () => {
  await page.goto(`${dashboard.url}#/run/large`);
  await page.waitForSelector(".chart canvas");
});
await timed("first filter, which reads the index", () => api("run/trajectories?run=large&kind=pay&minReward=1"));
const filter = await api("run/trajectories?run=large&kind=pay&minReward=1&fromStep=100&task=19");
console.log(`a filter over the index: ${filter.took.toFixed(0)} ms in the server, ${filter.total} trajectories pass`);
await timed("the list of trajectories, drawn", async () => {
  await page.goto(`${dashboard.url}#/run/large/trajectories`);
  await page.waitForSelector("tbody tr");
});
await timed("an episode of 10,000 tokens, coloured", async () => {
  await page.goto(`${dashboard.url}#/run/large/trajectory?id=step-1000%2F0%2F0`);
  await page.waitForFunction("document.querySelectorAll('.token[data-token]').length >= 10000");
});
await timed("the same in another colour", async () => {
  await page.getByRole("button", { name: "entropy" }).click();
  await page.waitForFunction("document.querySelectorAll('.token[class*=\" q\"]').length > 5000");
});
await browser.close();
await dashboard.close();
