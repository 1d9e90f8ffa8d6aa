import "../../../test/loopback.ts";
import "../../../test/office.ts";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newRun } from "../../runs/store.fixture.ts";
import { createScreen } from "../../terminal/screen.ts";
import type { UserConfig } from "../../training/config/user-config.ts";
import type { EvalFlags } from "../settings.ts";
import { evalCommand } from "./eval.ts";
import { compareCommand } from "./eval-compare.ts";

const scratch = mkdtempSync(join(tmpdir(), "retrograde-compare-"));
const configOf = (name: string) => {
  const path = join(scratch, `${name}.config.mjs`);
  writeFileSync(
    path,
    `export default { environment: {
      name: "${name}",
      size: () => 8,
      task: (_, index) => ({ id: "t" + index, index }),
      start: ({ index }) => ({
        messages: [{ role: "user", content: String(index) }],
        tools: [],
        reply: () => ({ done: true }),
        score: (conversation) => ({ reward: Number(conversation.at(-1).content) }),
      }),
    } };`,
  );
  return path;
};
const sums = configOf("sums");

/** Models by their names: how many of the eight tasks they solve. One that is refused after some answers has a negative number. */
const solves: Readonly<Record<string, number>> = { none: 0, all: 8, half: 4, broken: -1, shy: 8 };
const asked: string[] = [];
/** The model `shy` is kept back from answering by a filter, once. */
let refusals = 0;
const server = createServer(async (request, response) => {
  let text = "";
  for await (const part of request) text += part;
  const { model, messages } = JSON.parse(text);
  asked.push(model);
  if (model === "shy" && messages[0].content === "7" && refusals++ === 0)
    return void response.writeHead(400).end("content_filter");
  if (Number(solves[model]) < 0) return void response.writeHead(401).end("expired");
  const content = String(Number(Number(messages[0].content) < Number(solves[model])));
  response.end(JSON.stringify({ choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }] }));
});
let endpoint = "";
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  for (const model of ["none", "all", "half"])
    await evalCommand(flags({ model, out: folder(model) }), screen().screen, screen().screen);
});
afterAll(() => void server.close());

const folder = (name: string) => join(scratch, name);
const flags = (more: object = {}): EvalFlags => ({
  ...{ config: sums, endpoint, k: "1", ...more },
  set: ["evaluation.player.retries=0", "evaluation.greedy=false"],
});
function screen() {
  let text = "";
  return { screen: createScreen({ write: (part: string) => (text += part) }), said: () => text.split("\n").slice(0, -1) };
}
const user = async (config = sums): Promise<UserConfig> => (await import(config)).default;

test("two evaluations are compared as they are: nothing is measured, and every line says what changed", async () => {
  const [output, notes] = [screen(), screen()];
  const before = asked.length;
  expect(await compareCommand([folder("none"), folder("all")], {}, await user(), output.screen, notes.screen)).toBe(0);
  expect(asked).toHaveLength(before);
  expect(output.said()).toEqual([]);
  const side = (letter: string, model: string, filled: string, success: string) => [
    `${letter}  ${model} (${folder(model)})`,
    `   sampled × 1  success  ${filled} ${success}`,
    "                1.0 turns on average, 0 tool calls, 0 tokens",
    "                ended: done 8",
  ];
  expect(notes.said()).toEqual([
    ...side("A", "none", "░".repeat(24), "0.0 %  [0.0, 37.0]"),
    ...side("B", "all", "█".repeat(24), "100.0 %  [63.0, 100.0]"),
    "B − A, on the same tasks",
    "   sampled   +100.0 points  [26.1, 100.0], p = 0.0078 (exact)",
    "             8 tasks better, 0 worse of 8; too few tasks to see any difference",
  ]);
});

test("as JSON: both reports, what was measured, and the difference of each decoding", async () => {
  const [output, notes] = [screen(), screen()];
  const names = [folder("all"), folder("half")];
  expect(await compareCommand(names, { json: true }, {}, output.screen, notes.screen)).toBe(0);
  const { a, b, measure, differs, difference, ...rest } = JSON.parse(output.said().join("\n"));
  expect([a.asked.model, b.asked.model, measure, rest]).toEqual(["all", "half", "success", {}]);
  expect(differs).toEqual([]);
  expect(Object.keys(difference)).toEqual(["sampled"]);
  expect(difference.sampled.success).toMatchObject({ difference: { mean: -0.5 }, better: 0, worse: 4, tasks: 8 });
  expect(notes.said()).toEqual([]);
});

test("a model is measured, and an evaluation taken as it is; each side has a folder of its own", async () => {
  const notes = screen();
  const before = asked.length;
  const names = ["half", folder("all")];
  expect(await compareCommand(names, flags({ out: folder("pair") }), await user(), notes.screen, notes.screen)).toBe(0);
  expect(asked.slice(before)).toEqual(Array(8).fill("half"));
  expect(notes.said().filter((line) => /^[AB] {2}/.test(line))).toEqual([
    `A  half (${join(folder("pair"), "a")})`,
    `B  all (${folder("all")})`,
  ]);
});

test("three names, a model that its server refuses, and an evaluation that has not finished are no comparison", async () => {
  const notes = screen();
  const one = ["none", "all", "half"];
  await expect(compareCommand(one, {}, {}, notes.screen, notes.screen)).rejects.toThrow(
    "expected two models, or two folders of evaluations",
  );
  await expect(
    compareCommand(["broken", folder("all")], flags({ out: folder("b") }), await user(), notes.screen, notes.screen),
  ).rejects.toThrow("401 expired");
  // What was begun has not finished.
  await expect(compareCommand([join(folder("b"), "a"), folder("all")], {}, {}, notes.screen, notes.screen)).rejects.toThrow(
    /--compare is ".*a"; expected an evaluation that has finished\. Finish it with --resume --out .*a/,
  );
});

test.each([
  [{ k: "2" }, '--k is "2"; expected not to be given with two evaluations, which are measured already. Name the models'],
  [{ set: ["seed=2"] }, "--set is "],
  [{ env: "office" }, 'environment.name is "office"; expected "sums", in which '],
] as const)("two evaluations with the settings %j are refused", async (more, message) => {
  const names = [folder("none"), folder("all")];
  await expect(compareCommand(names, { ...more } as EvalFlags, {}, screen().screen, screen().screen)).rejects.toThrow(message);
});

test("a run and an evaluation of other worlds are refused until one world is named", async () => {
  const run = newRun();
  const names = [run, folder("all")];
  await expect(compareCommand(names, {}, {}, screen().screen, screen().screen)).rejects.toThrow(
    /^environment of .*all is .*sums.*; expected .*office.*, that of .*run\. They belong to different worlds\. Name the one in which both are measured with --env/,
  );
  await expect(compareCommand(names, {}, { environment: "office" }, screen().screen, screen().screen)).rejects.toThrow(
    /environment\.name is "office"; expected "sums", in which .*all was measured\. Name a model instead/,
  );
});

test("attempts without a score are counted beside the difference; too many of them leave no verdict, which is exit code 1", async () => {
  const measured = async (model: string, more: object) => {
    const out = folder(`${model} ${JSON.stringify(more)}`.replaceAll(/\W+/g, "-"));
    await evalCommand(flags({ model, out, ...more }), screen().screen, screen().screen);
    return out;
  };
  const [shy, none] = [await measured("shy", { k: "2" }), await measured("none", { k: "2" })];
  const notes = screen();
  expect(await compareCommand([none, shy], {}, {}, notes.screen, notes.screen)).toBe(0);
  const said = notes.said();
  expect(said.slice(said.indexOf("B − A, on the same tasks"))).toEqual([
    "B − A, on the same tasks",
    "   sampled   +100.0 points  [26.1, 100.0], p = 0.0078 (exact)",
    "             8 tasks better, 0 worse of 8; too few tasks to see any difference",
    "             1 of 16 attempts of B ended by an error: no pairs",
  ]);
  refusals = 0;
  const short = { k: "1", tasks: "8" };
  const [once, other] = [await measured("shy", short), await measured("none", short)];
  const verdict = screen();
  expect(await compareCommand([other, once], {}, {}, verdict.screen, verdict.screen)).toBe(1);
  expect(verdict.said().at(-1)).toBe(`   sampled   no verdict: 1 of 8 attempts of ${once} ended by an error, more than a tenth`);
});

test("two sides with the same weights, or other settings, are said to be so", async () => {
  const other = folder("all again");
  await evalCommand(
    {
      ...flags({ model: "all", out: other }),
      set: ["evaluation.player.retries=0", "evaluation.greedy=false", "evaluation.temperature=0.5"],
    },
    screen().screen,
    screen().screen,
  );
  const notes = screen();
  await compareCommand([folder("all"), other], {}, {}, notes.screen, notes.screen);
  expect(notes.said().at(-1)).toMatch(/^They differ in .*temperature/);
});
