import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startDashboard } from "../extensions/dashboard/server/server.ts";
import { launchBrowser, withoutBrowser } from "../test/browser.ts";
import { makeLargeRun } from "./large-run.ts";

/**
 * How fast the dashboard is over a run of 1,000 steps × 512 trajectories: `jiti bench/dashboard.ts [FOLDER]`. The folder is made where it is
 * not there. TaskDuration is wall-clock time of the page's own tasks.
 */
if (withoutBrowser !== undefined) throw new Error(withoutBrowser);
const root = process.argv[2] ?? mkdtempSync(join(tmpdir(), "retrograde-large-"));
const folder = join(root, "large");
if (!existsSync(join(folder, "run.json"))) await makeLargeRun(folder);

const dashboard = await startDashboard({ runs: root, port: 0 });
const browser = await launchBrowser();
const page = await (await browser.newContext({ viewport: { width: 1360, height: 900 }, bypassCSP: true })).newPage();
const devtools = await page.context().newCDPSession(page);
await devtools.send("Performance.enable");
const pageSeconds = async () => {
  const { metrics } = await devtools.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0;
};
/** Wall-clock time, and what of it the page's and this process's own work took: the rest is waiting for a processor that others use. */
const timed = async (name: string, work: () => Promise<unknown>) => {
  const [started, cpu, before] = [performance.now(), process.cpuUsage(), await pageSeconds()];
  await work();
  const wall = performance.now() - started;
  const { user, system } = process.cpuUsage(cpu);
  const inPage = 1000 * ((await pageSeconds()) - before);
  const own = (user + system) / 1000;
  console.log(
    `${name.padEnd(48)} ${Math.round(wall)} ms; in the page ${Math.round(inPage)} ms, in the server ${Math.round(own)} ms of processor time`,
  );
};
const api = async (path: string) => (await fetch(`${dashboard.url}api/${path}`)).json() as Promise<unknown>;

await page.goto(`${dashboard.url}#/reports`);
await page.waitForSelector("h1");
await timed("page of the run, until its curves are drawn", async () => {
  await page.goto(`${dashboard.url}#/run/large`);
  await page.waitForSelector(".chart canvas");
});
await timed("first filter, which reads the index", () => api("run/trajectories?run=large&kind=pay&minReward=1"));
await timed("a filter over 511,489 trajectories", () =>
  api("run/trajectories?run=large&kind=pay&minReward=1&fromStep=100&task=19"),
);
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
