import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Dashboard, startDashboard } from "../extensions/dashboard/server/server.ts";
import { loadRun } from "../extensions/inspect/load-run.ts";
import { readCredits } from "../extensions/inspect/read-credits.ts";
import { CreditWriter } from "../src/runs/credits.ts";
import { layout } from "../src/runs/layout.ts";
import { appendMessage } from "../src/runs/live.ts";
import { readEvaluations, readTrajectories } from "../src/runs/read.ts";
import { trajectoryOf } from "../src/runs/store.fixture.ts";
import { createRun, writeEvaluation, writeStep } from "../src/runs/write.ts";
import { percent } from "../src/terminal/format.ts";
import { resolveConfig } from "../src/training/config/config.ts";
import { train } from "../src/training/trainer.ts";
import { launchBrowser, withoutBrowser } from "./browser.ts";
import { lettersChat, lettersEnvironment, lettersTokenizer, lettersVocabulary } from "./letters.ts";
import { TableEngine } from "./table-engine.ts";

const title = withoutBrowser === undefined ? "in a browser" : `in a browser (skipped: ${withoutBrowser})`;

const script = "<script>window.hacked = 1</script>";
const image = "<img src=x onerror='window.hacked = 1'>";
const steering = "\u001b[31mred\u001b[0m \u202egnp.exe";

describe.skipIf(withoutBrowser !== undefined)(title, () => {
  const root = mkdtempSync(join(tmpdir(), "retrograde-dashboard-"));
  const errors: string[] = [];
  let browser: Browser;
  let dashboard: Dashboard;
  let page: Page;

  /** A run of our own trainer on the letters. @param pace holds every action back, in milliseconds */
  async function trained(name: string, steps: number, seed: number, pace = 0): Promise<string> {
    const folder = join(root, name);
    const rollout = { tasksPerStep: 4, groupSize: 4, maxTokens: 4 };
    const algorithm = { kind: "seeupo", klCoef: 0 } as const;
    const settings = { environment: "letters", algorithm, rollout, steps, seed, evaluation: { tasks: 8, k: 1 } };
    const config = resolveConfig({ ...settings, optimizer: { learningRate: 0.1, schedule: "constant" }, record: { after: 4 } });
    createRun(folder, config);
    mkdirSync(layout.tokenizer(folder));
    writeFileSync(join(layout.tokenizer(folder), "tokenizer.json"), JSON.stringify(lettersTokenizer.tokenizer));
    writeFileSync(join(layout.tokenizer(folder), "tokenizer_config.json"), JSON.stringify(lettersTokenizer.config));
    const engine = new TableEngine(lettersVocabulary);
    const sample = engine.sample.bind(engine);
    if (pace > 0)
      engine.sample = async (request) => {
        await new Promise((resolve) => setTimeout(resolve, pace));
        return sample(request);
      };
    await train({ config, engine, chat: lettersChat(), environment: lettersEnvironment(), folder });
    return folder;
  }

  /** Everything in it tries to be more than text. */
  async function hostile(): Promise<void> {
    const folder = join(root, "hostile");
    createRun(folder, { seed: 1, steps: 1, algorithm: { kind: image }, environment: { name: script }, model: image });
    const messages = [
      { role: "user", content: `${script} ${steering}` },
      { role: "assistant", content: image, toolCalls: [{ name: image, arguments: { x: script } }] },
      { role: "tool", name: image, content: `[${script}]` },
      { role: "assistant", content: image },
    ] as const;
    const timing = { rolloutSeconds: 1, updateSeconds: 1, sampledTokens: 1, sampledTokensPerSecond: 1, trainedTokens: 1 };
    const rest = { trainedTokensPerSecond: 1, denseTokens: 1, rssMb: 1 };
    const id = `${image}/0`;
    writeStep(folder, { step: 1, metrics: { success: 1, reward: 1 } }, { step: 1, ...timing, ...rest }, [
      trajectoryOf(id, { messages, task: script, kind: image, group: image, error: script, scores: { [image]: 1 } }),
    ]);
    const writer = new CreditWriter(folder);
    const logprobs = [-1, -2, -3];
    writer.write(1, [
      { optimiserStep: 0, trajectory: id, turn: 0, learningRate: 1, weights: [1, -1, 2], before: logprobs, old: logprobs },
    ]);
    await writer.flush();
  }

  async function open(path: string, colorScheme: "light" | "dark" = "light"): Promise<Page> {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto("about:blank");
    await page.goto(`${dashboard.url}#/${path}`);
    await page.waitForSelector("h1, .prose");
    // Answers that come later, such as the rows of a list.
    await page.waitForTimeout(400);
    return page;
  }

  async function violations(): Promise<string[]> {
    const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    await page.evaluate(axe);
    // A text, because the program that runs in the page has other types than this one.
    const found = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
      "axe.run().then(({ violations }) => violations)",
    );
    return found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 120)}`);
  }

  beforeAll(async () => {
    await Promise.all([trained("one", 4, 1), trained("two", 4, 2), hostile()]);
    dashboard = await startDashboard({ runs: root, port: 0 });
    browser = await launchBrowser();
    // Axe is added by the test, which the page's own policy would refuse.
    page = await (await browser.newContext({ bypassCSP: true })).newPage();
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(message.text());
    });
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  test("training is watched from its start to its end without a reload", async () => {
    const done = trained("live", 5, 3, 500);
    await open("run/live");
    await page.getByText(/about .* left/).waitFor();
    await page.locator(".pill.finished").waitFor();
    await done;
    await page.getByText("5 / 5").waitFor();
    await page.locator(".stat", { hasText: "Success, test, sampled" }).waitFor();
  });

  test("a run has notes and an episode a mark, which a program reads as its reward; a mark is taken back", async () => {
    await open("run/two");
    await page.getByLabel("Note", { exact: true }).fill("Seed 2, before the new tool");
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByText("Seed 2, before the new tool").waitFor();
    const folder = join(root, "two");
    const [{ id }] = readTrajectories(folder, 1);
    await open(`run/two/trajectory?id=${encodeURIComponent(id)}`);
    await page.getByRole("button", { name: "Mark as bad" }).click();
    await page.locator('button[aria-pressed="true"]', { hasText: "Mark as bad" }).waitFor();
    expect(await violations()).toEqual([]);
    expect([...loadRun(folder).marks]).toEqual([[id, 0]]);
    await page.getByRole("button", { name: "Mark as bad" }).click();
    await page.locator('button[aria-pressed="false"]', { hasText: "Mark as bad" }).waitFor();
    expect(loadRun(folder).marks.size).toBe(0);
  });

  test("a run's success is that of its own split; another split is beside it, and neither is taken for the other", async () => {
    const folder = join(root, "one");
    const after = readEvaluations(folder).filter(({ when }) => when === "after");
    for (const record of after) writeEvaluation(folder, { ...record, split: "challenge", mean: 0.123 }, []);
    const [own] = after.filter(({ decoding }) => decoding === "sampled");
    await open("run/one");
    const stat = (label: string) => page.locator(".stat", { hasText: label }).locator(".stat-value").textContent();
    expect(await stat("Success, test, sampled")).toBe(percent(own.mean));
    expect(await stat("Success, challenge, sampled")).toBe("12.3 %");
    const legend = await page.locator(".chart", { hasText: "Success" }).first().textContent();
    for (const { split, decoding } of readEvaluations(folder)) expect(legend).toContain(`${split}, ${decoding}`);
    await open("");
    const row = await page.locator("tr", { has: page.getByRole("link", { name: "one", exact: true }) }).textContent();
    expect(row).toContain(percent(own.mean));
    expect(row).not.toContain("12.3 %");
  });

  test("a click on a token says why it moved, with the numbers that were recorded", async () => {
    await open("run/one/why");
    await page.locator(".phrases summary").first().click();
    await page.locator(".phrases details a").first().click();
    await page.locator(".token.chosen").waitFor();
    const shades = await page.evaluate<string[]>(
      `[...document.querySelectorAll(".chat-holder .token")].map(({ className }) => className.replace(" chosen", ""))`,
    );
    expect(new Set(shades).size).toBeGreaterThan(1); // by default tokens of one episode differ
    expect(shades.join()).toMatch(/ [ud] l\d/);
    const weight = await page.locator("table.update tr", { hasText: "weight w" }).first().locator("td").innerText();
    expect(Number(weight.replace("−", "-"))).not.toBe(0);
    await page.locator(".chat-holder").press("ArrowRight");
    expect(await page.locator(".token.chosen").count()).toBe(1);
    await page.getByRole("button", { name: "log-prob" }).click();
    expect(await page.locator('.token[class*=" q"]').count()).toBeGreaterThan(0);
  });

  test("trajectories are filtered and two are read side by side, with the first difference marked", async () => {
    await open("run/one/trajectories");
    await page.locator("form.filters select").first().selectOption("train");
    await page.getByText(/^64 of /).waitFor();
    const boxes = page.locator("tbody input[type=checkbox]");
    await boxes.nth(0).check();
    await boxes.nth(9).check();
    await page.getByRole("link", { name: "Read the two side by side" }).click();
    await page.getByText(/They part in turn|The two are the same/).waitFor();
  });

  test("seeds are joined and configurations compared", async () => {
    await open("");
    for (const name of ["one", "two"]) await page.getByLabel(`Show the curves of ${name}`).check();
    await page.getByText("seeupo · 2 seeds").waitFor();
    await page.getByRole("rowheader", { name: "seed", exact: true }).waitFor();
    await page.getByRole("link", { name: "Compare task by task" }).click();
    for (const decoding of ["sampled", "greedy"])
      await page.getByText(`test, ${decoding}: 8 tasks that both attempted`).waitFor();
  });

  const views = [
    "",
    "run/one",
    "run/one/trajectories",
    "run/one/trajectory?id=step-4%2F0%2F0",
    "run/one/why",
    "run/one/tree",
    "run/one/configuration",
    "compare?a=one&b=two",
  ];

  test.each(views)("the view #/%s is accessible in both themes, and fits a phone", async (view) => {
    await page.evaluate("location.protocol === 'about:' || localStorage.clear()");
    await open(view);
    expect(await violations(), "light").toEqual([]);
    await page.getByRole("button", { name: "Switch to the dark theme" }).click();
    await page.locator("html[data-theme=dark]").waitFor({ state: "attached" });
    await page.waitForTimeout(200);
    expect(await violations(), "dark").toEqual([]);
    await page.getByRole("button", { name: "Switch to the light theme" }).click();
    await page.locator("html[data-theme=light]").waitFor({ state: "attached" });
    await page.setViewportSize({ width: 380, height: 800 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(380);
  });

  test("the system's dark theme is the page's", async () => {
    await page.evaluate("localStorage.clear()");
    await open("", "dark");
    expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
  });

  test("what models write is text and never markup, in every view", async () => {
    const id = encodeURIComponent(`${image}/0`);
    for (const view of [
      "",
      "run/hostile",
      "run/hostile/trajectories",
      `run/hostile/trajectory?id=${id}&token=0.0`,
      "run/hostile/why",
      "run/hostile/tree",
      "run/hostile/configuration",
    ]) {
      await open(view);
      expect(await page.evaluate("'hacked' in window"), view).toBe(false);
      expect(await page.locator("main img, main script").count(), view).toBe(0);
    }
    await open(`run/hostile/trajectory?id=${id}`);
    const shown = await page.locator(".message.user").innerText();
    expect(shown).toContain(script);
    expect([...shown].filter((letter) => letter === "\u001b" || letter === "\u202e")).toEqual([]);
  });

  test("control and direction characters are shown as signs wherever names, errors and settings stand", async () => {
    const red = "\u001b[31m \u202egnp.exe \u2066\u200b";
    const folder = join(root, "steering");
    createRun(folder, { seed: 1, steps: 1, algorithm: { kind: red }, environment: { name: red }, model: red, note: red });
    const timing = { rolloutSeconds: 1, updateSeconds: 1, sampledTokens: 1, sampledTokensPerSecond: 1, trainedTokens: 1 };
    const rest = { trainedTokensPerSecond: 1, denseTokens: 1, rssMb: 1 };
    const messages = [
      { role: "user", content: red },
      { role: "assistant", content: red, toolCalls: [{ name: red, arguments: { [red]: red } }] },
      { role: "tool", name: red, content: red },
      { role: "assistant", content: red },
    ] as const;
    const named = { messages, task: red, kind: red, group: red, error: red, scores: { [red]: 1 } };
    const episodes = ["a", "b"].map((id) => trajectoryOf(`${red}/${id}`, named));
    writeStep(folder, { step: 1, metrics: { success: 1, reward: 1, [red]: 1 } }, { step: 1, ...timing, ...rest }, episodes);
    appendMessage(folder, { level: "warning", step: 1, message: red });
    const id = encodeURIComponent(`${red}/a`);
    for (const view of [
      "",
      "run/steering",
      "run/steering/trajectories",
      `run/steering/trajectory?id=${id}&token=0.0`,
      `run/steering/pair?a=${id}&b=${encodeURIComponent(`${red}/b`)}`,
      "run/steering/why",
      "run/steering/tree",
      "run/steering/configuration",
      "compare?a=one&b=steering",
      `run/${encodeURIComponent(`nowhere${red}`)}`,
    ]) {
      await page.goto("about:blank");
      await page.goto(`${dashboard.url}#/${view}`);
      await page.locator("main h1, main .problem").first().waitFor();
      await page.waitForTimeout(400);
      const html = await page.locator("main").innerHTML();
      const { text, title } = await page.evaluate<{ text: string; title: string }>(
        "({ text: document.body.innerText + [...document.querySelectorAll('[title],[aria-label],[placeholder],[alt]')].map((e) => e.title + e.ariaLabel + e.placeholder + e.alt).join(' '), title: document.title })",
      );
      expect(html.length, view).toBeGreaterThan(50);
      for (const sign of ["\u001b", "\u202e", "\u2066", "\u200b"]) {
        expect(text.includes(sign), `${view} shows ${JSON.stringify(sign)}`).toBe(false);
        expect(title.includes(sign), `the title of ${view}`).toBe(false);
      }
    }
    await open("run/steering/configuration");
    expect(await page.locator("main").innerText()).toContain("\ufffd[31m");
    errors.splice(0, errors.length, ...errors.filter((error) => !/ 4\d\d /.test(error))); // the run that is nowhere
  });

  test("the column change is the log-prob after the whole update less the one before its first optimiser step", async () => {
    const credits = (await readCredits(join(root, "one"), 4)) ?? [];
    const last = credits.findLast(({ end }) => end.every(Number.isFinite));
    if (last === undefined) throw new Error("nothing looked at the end of step 4");
    const first = credits.find(({ trajectory, turn }) => trajectory === last.trajectory && turn === last.turn);
    const change = last.end[0] - (first?.before[0] ?? Number.NaN);
    await open(`run/one/trajectory?id=${encodeURIComponent(last.trajectory)}&token=${last.turn}.0&colour=change`);
    const shown = await page.locator(".pairs dt", { hasText: "After" }).locator("+ dd span").innerText();
    expect(Number(shown.replace("−", "-"))).toBeCloseTo(change, 2);
  });

  test("the conversation is one tab stop and Enter away", async () => {
    await open("run/one/trajectory?id=step-4%2F0%2F0");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.className")).toBe("chat-holder");
    await page.keyboard.press("ArrowRight");
    await page.locator(".token.chosen").waitFor();
  });

  test.each(views)("the view #/%s says that it is reading until there is an answer", async (view) => {
    await page.goto("about:blank");
    let go = () => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    await page.route("**/api/**", async (route) => {
      await held;
      await route.continue().catch(() => {});
    });
    await page.goto(`${dashboard.url}#/${view}`);
    await page.locator("main").waitFor();
    expect(await page.locator("main").innerText()).toMatch(view.startsWith("compare") ? /Reading|Compare/ : /Reading/);
    go();
    await page.unroute("**/api/**");
    await page.waitForTimeout(300);
  });

  test("no view has thrown or been refused anything", () => {
    expect(errors).toEqual([]);
  });
});
