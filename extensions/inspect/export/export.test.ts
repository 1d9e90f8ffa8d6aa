import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { expect, test } from "vitest";
import { readEvaluations, readRun } from "../../../src/runs/read.ts";
import { addStep, newRun, timing, trajectoryOf } from "../../../src/runs/store.fixture.ts";
import { writeEvaluation, writeStep } from "../../../src/runs/write.ts";
import { shownPath } from "../../../src/terminal/invocation.ts";
import { escaped } from "../html-page.ts";
import { wholeRun } from "../whole-run.fixture.ts";
import { exampleRun } from "./export.fixture.ts";
import { exportRun } from "./export.ts";
import { runPage } from "./html.ts";
import { asCsv } from "./tables.ts";

const into = () => mkdtempSync(join(tmpdir(), "retrograde-export-"));

function bytesOf(path: string): ArrayBuffer {
  const { buffer, byteOffset, byteLength } = readFileSync(path);
  return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
}

test("a run is one small page: curve, warnings, episodes as text, failures first, without keys", () => {
  const folder = newRun();
  const says = (content: string) =>
    [
      { role: "user", content: "https://me:secret@host/" },
      { role: "assistant", content },
    ] as const;
  const episode = (i: number, reward: number) =>
    trajectoryOf(`step-2/${i}/0`, { reward, messages: [...says(`<script>${"x".repeat(100_000)}`)] });
  addStep(folder, 1, [trajectoryOf("step-1/0/0", { messages: [...says("early")] })], { success: 0.25 });
  addStep(
    folder,
    2,
    Array.from({ length: 60 }, (_, i) => episode(i, i % 2)),
    { success: 0.5 },
  );
  const [file = ""] = exportRun(folder, "html", into());
  const page = readFileSync(file, "utf8");
  expect(page).toContain("30 without success, 30 with");
  expect(page).toContain("<polyline");
  expect(page.indexOf("step-2/0/0")).toBeLessThan(page.indexOf("step-2/1/0"));
  expect(page).toContain("96008 more letters");
  expect(page).not.toMatch(/<script|secret|early/);
  expect(page.length).toBeLessThan(100_000);
});

test("the page of two steps is what they were, the newest episodes, the newest word of each warning, and the settings", () => {
  const folder = newRun();
  const says = (content: string) => [{ role: "user", content }] as const;
  const warning = (cause: string) => ({ rule: "one-behaviour", cause, next: "Train longer." });
  writeStep(folder, { step: 1, metrics: { reward: 0.1 }, warnings: [warning("early")] }, { step: 1, ...timing }, [
    trajectoryOf("step-1/0/0"),
  ]);
  writeStep(folder, { step: 2, metrics: { success: 0.75 }, warnings: [warning("late & last")] }, { step: 2, ...timing }, [
    trajectoryOf("step-2/0/0", { messages: [...says("first")] }),
    trajectoryOf("step-2/0/1", { messages: Array.from({ length: 42 }, (_, i) => says(`${i}`)[0]), reward: 0 }),
  ]);
  const { version, created, config } = readRun(folder);
  const text = (x: string, y: string, said: string) => `<text x="${x}" y="${y}" text-anchor="end">${said}</text>`;
  const article = (said: string) => ['<article class="user">', "<h2>user</h2>", `<pre>${said}</pre>`, "</article>"];
  const name = shownPath(folder);
  const page = runPage(folder);
  expect(page).toContain(`<title>${name}</title>`);
  expect(page).toContain(`<code>npx retrograde-rl runs show ${name}</code>`);
  expect(page.slice(page.indexOf("</h1>\n") + 6, page.indexOf("</main>")).split("\n")).toEqual([
    `<p>retrograde-rl ${version}, ${created.slice(0, 10)}, 2 of 9 steps</p>`,
    "",
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 200" width="600" height="200" font-family="sans-serif" font-size="12">',
    "<title>Success, or mean reward, of training episodes by step</title>",
    '<rect width="600" height="200" fill="#ffffff"/>',
    // From 40 to 580, and 140 upwards from 170 for one.
    '<polyline points="40.0,156.0 580.0,65.0" fill="none" stroke="#2a8a3e" stroke-width="2"/>',
    ...[text("34.0", "174.0", "0"), text("34.0", "34.0", "1"), text("580.0", "190.0", "step 2"), "</svg>", ""],
    "<ul><li>one-behaviour (step 2): late &amp; last Train longer.</li></ul>",
    "<p>Last episodes: 1 without success, 1 with; the first 6 of each.</p>",
    "<details><summary>step-2/0/1, train/1: reward 0, 2 turns, ended: done</summary>",
    ...Array.from({ length: 40 }, (_, i) => article(`${i}`)).flat(),
    ...["<p>… 2 more messages</p>", "</details>"],
    "<details><summary>step-2/0/0, train/1: reward 1, 2 turns, ended: done</summary>",
    ...[...article("first"), "</details>"],
    ...`<details><summary>Settings</summary><pre><code>${escaped(JSON.stringify(config, null, 1))}</code></pre></details>`.split(
      "\n",
    ),
    "",
  ]);
});

test("a page without a finished step or evaluation has no curve and no episodes", () => {
  const page = runPage(newRun());
  expect(page).toContain(" 0 of 9 steps</p>");
  expect(page).toContain("<p>Last episodes: 0 without success, 0 with; the first 6 of each.</p>");
  expect(page).not.toMatch(/<svg|<ul|<article/);
});

test("a curve below 0 or above 1 has its own ends, and a step without a value no point", () => {
  const folder = newRun();
  for (const [i, reward] of [-0.5, Number.NaN, 2].entries())
    writeStep(folder, { step: i + 1, metrics: { reward } }, { step: i + 1, ...timing }, []);
  const page = runPage(folder);
  expect(page).toContain('<polyline points="40.0,170.0 580.0,30.0"');
  expect(page).toContain('text-anchor="end">-0.5</text>');
  expect(page).toContain('text-anchor="end">2</text>');
});

test("warnings of evaluations are on the page beside those of steps", async () => {
  const folder = await wholeRun();
  const [record] = readEvaluations(folder);
  const warning = { rule: "one-behaviour", cause: "the same two <tools> for everybody", next: "Train longer." };
  if (record === undefined) throw new Error("the fixture has no evaluation");
  writeEvaluation(folder, { ...record, split: "train", warnings: [warning] }, [trajectoryOf("after-train-2/0/0")]);
  expect(runPage(folder)).toContain(
    "<li>one-behaviour (train after, step 2): the same two &lt;tools&gt; for everybody Train longer.</li>",
  );
});

test("CSV quotes what it must, and no text becomes a formula", () => {
  expect(
    asCsv({
      columns: [
        ["a", "STRING"],
        ["b", "DOUBLE"],
      ],
      rows: [['x,"y"\n', null], ["=cmd", 1.5], ["", -1.5], ...["+1", "-1", "@a", "\ta", "\ra", "a=b"].map((text) => [text, 0])],
    }),
  ).toBe('a,b\r\n"x,""y""\n",\r\n\'=cmd,1.5\r\n,-1.5\r\n\'+1,0\r\n\'-1,0\r\n\'@a,0\r\n\'\ta,0\r\n"\'\ra",0\r\na=b,0\r\n');
});

test("steps and trajectories are exported with every column, in each format", async () => {
  const folder = exampleRun();
  const [csv] = exportRun(folder, "csv", into());
  expect(readFileSync(csv, "utf8").split("\r\n").slice(0, 3)).toEqual([
    "step,reward,entropy,rolloutSeconds,updateSeconds,sampledTokens,sampledTokensPerSecond,trainedTokens,trainedTokensPerSecond,denseTokens,rssMb",
    "1,0.1,0.5,2,3,10,5,9,3,12,100",
    "2,0.2,,2,3,10,5,9,3,12,100",
  ]);
  const [parquet, episodes] = exportRun(folder, "parquet", into());
  const [first] = await parquetReadObjects({ file: bytesOf(episodes) });
  expect(first).toMatchObject({ id: "step-1/0/0", task: "=1+1", success: true, tokens: 5 });
  expect((await parquetReadObjects({ file: bytesOf(parquet) })).map(({ step, entropy }) => [step, entropy])).toEqual([
    [1, 0.5],
    [2, null],
  ]);
});

test("a column of Parquet has one type, whatever a run has in it", () => {
  const typesOf = (path: string) =>
    Object.fromEntries(parquetMetadata(bytesOf(path)).schema.map(({ name, type }) => [name, type] as const));
  const [steps, trajectories] = exportRun(exampleRun(), "parquet", into()).map(typesOf);
  expect(steps).toMatchObject({ step: "INT32", reward: "DOUBLE" });
  expect(trajectories).toMatchObject({ split: "BYTE_ARRAY", step: "INT32", tokens: "INT32", success: "BOOLEAN" });
});
