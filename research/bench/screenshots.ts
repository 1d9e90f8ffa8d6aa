import { mkdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { startDashboard } from "../../extensions/dashboard/server/server.ts";
import { launchBrowser, withoutBrowser } from "../../test/browser.ts";

/**
 * Draws the pictures of docs/dashboard.md from a real run: `jiti research/bench/screenshots.ts RUN STEP TRAJECTORY TURN.TOKEN`.
 * Each is below 300 KB.
 */
if (withoutBrowser !== undefined) throw new Error(withoutBrowser);
const [folder, step, trajectory, token] = process.argv.slice(2);
const into = join(import.meta.dirname, "../../docs/dashboard");
mkdirSync(into, { recursive: true });
const dashboard = await startDashboard({ runs: dirname(resolve(folder)), port: 0 });
const run = `run/${encodeURIComponent(resolve(folder).split("/").at(-1) ?? "")}`;
const browser = await launchBrowser();
const pictures = [
  { name: "overview", path: run, theme: "light", wait: ".chart canvas", height: 900 },
  { name: "why", path: `${run}/why?step=${step}`, theme: "dark", wait: ".phrases li", height: 620 },
  {
    name: "trajectory",
    path: `${run}/trajectory?id=${encodeURIComponent(trajectory)}&token=${token}`,
    theme: "light",
    wait: ".token.chosen",
    height: 900,
  },
  {
    name: "tree",
    path: `${run}/tree?step=${step}&group=${encodeURIComponent(trajectory.replace(/\/\d+$/, ""))}`,
    theme: "light",
    wait: ".tree",
    height: 560,
  },
] as const;
for (const { name, path, theme, wait, height } of pictures) {
  const page = await browser.newPage({ viewport: { width: 1360, height }, colorScheme: theme });
  await page.goto(`${dashboard.url}#/${path}`);
  await page.waitForSelector(wait);
  await page.waitForTimeout(1500);
  const file = join(into, `${name}.png`);
  await page.screenshot({ path: file });
  console.log(`${file} ${Math.round(statSync(file).size / 1024)} KB`);
  await page.close();
}
await browser.close();
await dashboard.close();
