import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { expect, test } from "vitest";
import { readEvaluations } from "../../../src/runs/read.ts";
import { addStep, newRun, trajectoryOf } from "../../../src/runs/store.fixture.ts";
import { writeEvaluation } from "../../../src/runs/write.ts";
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
      rows: [
        ['x,"y"\n', null],
        ["=cmd", 1.5],
      ],
    }),
  ).toBe('a,b\r\n"x,""y""\n",\r\n\'=cmd,1.5\r\n');
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
