import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { planTaught } from "./taught-plan.ts";

const folder = mkdtempSync(join(tmpdir(), "taught-plan-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("until a run begins, other settings of the runs take the recorded demonstrations; another teacher does not", async () => {
  const out = join(folder, "desk");
  const tasks = Array.from({ length: 20 }, (_, n) => ({ prompt: `Where is B${n}?` }));
  const agent = async (prompt: string) => prompt;
  const plan = (steps: number, teacher = () => ({ content: "" })) =>
    planTaught({ agent, tasks, reward: () => 1, teacher, demonstrations: { steps } }, { out, seed: 1 });
  const first = await plan(40);
  expect((await plan(30)).file).toBe(first.file);
  await expect(plan(30, () => ({ content: "It is here." }))).rejects.toThrow(/the teacher of this training/);

  mkdirSync(`${out}-sft`);
  expect((await plan(30)).file).toBe(first.file);
  await expect(plan(40)).rejects.toThrow(/"steps":30.*give another --out.*a copy of .*desk-demonstrations beside it/s);
});
