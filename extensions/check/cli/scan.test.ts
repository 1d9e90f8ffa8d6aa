import "../../install.ts";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createScreen } from "../../../src/terminal/screen.ts";
import { environmentCheckCommand } from "./env-check.ts";
import { type ScanFlags, scanCommand } from "./scan.ts";

const folder = mkdtempSync(join(tmpdir(), "retrograde-scan-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string, lines: readonly object[]) => {
  writeFileSync(join(folder, name), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return join(folder, name);
};
async function printed(work: (screen: ReturnType<typeof createScreen>) => Promise<unknown>) {
  let out = "";
  const result = await work(createScreen({ write: (part: string) => (out += part) }));
  return { out, result };
}
const scan = (what: readonly string[], flags: ScanFlags = {}) =>
  printed((screen) => scanCommand(what, { sampling: false, model: "bundled:office", ...flags }, screen));

const doors = Array.from({ length: 20 }, (_, i) => ({
  prompt: `Is door ${i} open or shut?`,
  answer: i % 2 === 0 ? "open" : "shut",
}));
const sums = Array.from({ length: 20 }, (_, i) => ({ prompt: `${i} + ${2 * i}?`, answer: 3 * i }));

test("each file has a line of its facts, and its best player", async () => {
  const { out } = await scan([file("doors.jsonl", doors), file("sums.jsonl", sums)]);
  const [head, first, second] = out.split("\n");
  expect(head).toMatch(/tasks +prompt +answer +in prompt +chance +greedy +sampled +groups that differ/);
  // 16 of 20 are trained, among them "0 + 0?"; without a model its columns are empty.
  expect(first).toMatch(/doors\.jsonl +16 +\d+ +\d+ +100\.0 % +\d+\.\d % +– +– +– {2}fits$/);
  expect(second).toMatch(/sums\.jsonl +16 .* 6\.3 % .*against it: answers that are not in the prompt/);
  expect(out).toMatch(/Chance is the best player's who reads no meaning:\n {2}\S+doors\.jsonl: \S/);
  expect(out).not.toContain("Next, for");
});

test("as JSON, by number, and the first tasks alone", async () => {
  const sumsFile = file("sums.jsonl", sums);
  const flags = { json: true, tasks: "5", set: ["environment.settings.compare=number"] };
  const { out } = await scan([sumsFile], flags);
  expect(JSON.parse(out)[sumsFile]).toMatchObject({ tasks: 5, answers: { inPrompt: expect.any(Number) } });
});

test("an agent's module is led to check", async () => {
  await expect(scan(["agent.ts"])).rejects.toThrow(/the environment is "agent\.ts".* check agent\.ts --tasks/s);
});

test("env check prints sections of what it measured, and exits with 1 for what does not repeat", async () => {
  const flags = { sampling: false, trainingTasks: "20", tasks: "6" };
  const { out, result } = await printed((screen) => environmentCheckCommand("calculation", flags, screen));
  expect(result).toBe(0);
  expect(out).toMatch(
    /^The environment "calculation", on 6 test tasks; success with 95 % intervals\n\nScripted policies\n {2}100\.0 %/,
  );
  expect(out).toMatch(/the expert\n/);
  expect(out).toMatch(
    /chance: a name or number of the request, at random\n\nTexts of users that training has too\n {2}\d+ of 6 {2}validation/,
  );
  expect(out).toMatch(/\nNot checked\n {2}No model was measured\.\n$/);
  expect(out).not.toContain("The model before training");
  const json = await printed((screen) => environmentCheckCommand("calculation", { ...flags, json: true }, screen));
  expect(JSON.parse(json.out)).toMatchObject({
    environment: "calculation",
    split: "test",
    tasks: 6,
    sizes: { train: 8192, test: 160 },
  });
});
