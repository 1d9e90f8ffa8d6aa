/** Draws the pictures of docs/dashboard.md from a real run: `jiti research/bench/screenshots.ts RUN STEP TRAJECTORY TURN.TOKEN`. Each is below 300 KB. */
import { mkdirSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { startDashboard } from "../../extensions/dashboard/server/server.ts";
import { launchBrowser, withoutBrowser } from "../../test/browser.ts";

/** The pages that are drawn, and the element that each waits for. */
export function picturesOf(folder: string, step: string, trajectory: string, token: string) {
  const run = `run/${encodeURIComponent(basename(folder))}`;
  const [id, group] = [trajectory, trajectory.replace(/\/\d+$/, "")].map(encodeURIComponent);
  return [
    { name: "overview", path: run, colorScheme: "light", wait: ".chart canvas", height: 900 },
    { name: "why", path: `${run}/why?step=${step}`, colorScheme: "dark", wait: ".phrases li", height: 620 },
    {
      name: "trajectory",
      path: `${run}/trajectory?id=${id}&token=${token}`,
      colorScheme: "light",
      wait: ".token.chosen",
      height: 900,
    },
    { name: "tree", path: `${run}/tree?step=${step}&group=${group}`, colorScheme: "light", wait: ".tree", height: 560 },
  ] as const;
}

async function main([run = "", step = "", trajectory = "", token = ""]: readonly string[]): Promise<void> {
  if (withoutBrowser !== undefined) throw new Error(withoutBrowser);
  const into = join(import.meta.dirname, "../../docs/dashboard");
  mkdirSync(into, { recursive: true });
  const folder = resolve(run);
  const dashboard = await startDashboard({ runs: dirname(folder), port: 0 });
  const browser = await launchBrowser();
  for (const { name, path, colorScheme, wait, height } of picturesOf(folder, step, trajectory, token)) {
    const page = await browser.newPage({ viewport: { width: 1360, height }, colorScheme });
    await page.goto(`${dashboard.url}#/${path}`);
    await page.waitForSelector(wait);
    await page.waitForTimeout(1500);
    await page.screenshot({ path: join(into, `${name}.png`) });
    await page.close();
  }
  await browser.close();
  await dashboard.close();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
