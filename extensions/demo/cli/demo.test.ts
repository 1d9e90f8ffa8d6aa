import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { runTraining } from "../../../src/cli/commands/train.ts";
import { layout } from "../../../src/runs/layout.ts";
import { createScreen } from "../../../src/terminal/screen.ts";
import { recipes } from "../recipe.ts";
import { type DemoFlags, demoCommand } from "./demo.ts";

const root = mkdtempSync(join(tmpdir(), "demo-"));
afterAll(() => rmSync(root, { recursive: true }));

/** Runs the command with runs that end with these codes, and notes them. */
async function demo(flags: Partial<DemoFlags> = {}, codes: readonly number[] = [], name = "smollm2") {
  const runs: Parameters<typeof runTraining>[] = [];
  let shown = "";
  const screen = createScreen({ write: (text: string) => (shown += text) });
  const code = await demoCommand(name, { task: "calculation", seed: "1", ...flags }, screen, async (...run) => {
    runs.push(run);
    return codes[runs.length - 1] ?? 0;
  });
  for (const run of runs) expect(run.slice(3)).toEqual([screen]);
  return { code, shown, runs: runs.map(([user, settings, given]) => [user, settings, given] as const) };
}

const lines = {
  form: "1. The form of an answer, by demonstrations of which many choose wrong\n",
  reinforcement: "2. The right choices, by reinforcement: played before and after on tasks that training does not see\n",
};

test("the form is taught to the model, and the run's model reinforced", async () => {
  const { form, reinforcement } = recipes.calculation;
  const folder = join("runs", "demo-smollm2-calculation-1");
  const outs = [join(folder, "form"), join(folder, "reinforcement")] as const;
  const flags = { resume: false, dashboard: undefined };
  expect(await demo()).toEqual({
    code: 0,
    shown: lines.form + lines.reinforcement,
    runs: [
      [{ ...form, seed: 1, model: "smollm2", out: outs[0] }, { out: outs[0] }, flags],
      [{ ...reinforcement, seed: 1, model: outs[0], out: outs[1] }, { out: outs[1] }, flags],
    ],
  });
});

test("another model has no limits of memory; task, seed, threads and folder are the user's", async () => {
  const { form, reinforcement } = recipes.calculator;
  const limits = { memory: undefined, maxLength: undefined, threads: 3 };
  const flags = { model: "my-model", task: "calculator", seed: "0", threads: "3", dashboard: false };
  const { runs } = await demo({ ...flags, out: root });
  const [first, second] = runs;
  expect(first).toEqual([
    { ...form, engine: { ...(form.engine as object), ...limits }, seed: 0, model: "my-model", out: join(root, "form") },
    { out: join(root, "form") },
    { resume: false, dashboard: false },
  ]);
  expect(second?.[0]).toEqual({
    ...reinforcement,
    ...{ engine: { ...(reinforcement.engine as object), ...limits }, seed: 0, model: join(root, "form") },
    out: join(root, "reinforcement"),
  });
  expect((await demo(flags)).runs.map(([, settings]) => settings.out)).toEqual(
    ["form", "reinforcement"].map((stage) => join("runs", "demo-smollm2-calculator-0", stage)),
  );
});

test("a first run that fails ends the command with its code; that of the second is the command's", async () => {
  expect(await demo({}, [130])).toMatchObject({ code: 130, shown: lines.form });
  expect(await demo({}, [0, 3])).toMatchObject({ code: 3, shown: lines.form + lines.reinforcement });
});

test("called again, it continues: what has begun is resumed, and a form that is learnt is left", async () => {
  const out = mkdtempSync(join(root, "again-"));
  const of = async () => (await demo({ out })).runs.map(([, settings, flags]) => [settings.out, flags.resume]);
  const [form, reinforcement] = [join(out, "form"), join(out, "reinforcement")];
  mkdirSync(form);
  const progress = { steps: 10, episodes: 1, toolCalls: 0, sampledTokens: 0, wallSeconds: 1, peakRssMb: 1 };
  const finish = () => writeFileSync(layout.summary(form), JSON.stringify({ before: null, after: null, ...progress }));
  finish();
  expect(await of()).toEqual([
    [form, false],
    [reinforcement, false],
  ]);
  rmSync(layout.summary(form));
  writeFileSync(layout.run(form), "{}");
  expect(await of()).toEqual([
    [form, true],
    [reinforcement, false],
  ]);
  finish();
  expect(await demo({ out })).toMatchObject({ code: 0, shown: lines.reinforcement });
  mkdirSync(reinforcement);
  writeFileSync(layout.run(reinforcement), "{}");
  expect(await of()).toEqual([[reinforcement, true]]);
});

test.each([
  [{}, "qwen", 'demo is "qwen"; expected "smollm2"'],
  [{ task: "sums" }, "smollm2", '--task is "sums"; expected "calculation" or "calculator"'],
  [{ seed: "-1" }, "smollm2", "--seed is"],
  [{ threads: "0" }, "smollm2", "--threads is"],
])("%o of %s is refused", async (flags, name, message) => {
  await expect(demo(flags, [], name)).rejects.toThrow(message);
});
