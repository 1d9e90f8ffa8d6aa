import "../../install.ts";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { adamW, expectClose, plain } from "../../../test/engine-fixtures.ts";
import { openShifts, type ShiftEngine } from "./shift-engine.ts";

const model = resolve("models/office-handover");
const before = process.cwd();
let folder: string;
let engine: ShiftEngine;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "retrograde-shifts-"));
  process.chdir(folder);
  const opened = await openShifts(3)(model, { kind: "local", device: "cpu", threads: 1, lora: lora(4) });
  engine = opened.engine as ShiftEngine;
});

afterAll(async () => {
  await engine.dispose();
  process.chdir(before);
  rmSync(folder, { recursive: true, force: true });
});

function lora(rank: number) {
  return { rank, alpha: 32, targets: "all-linear", base: "float32" } as const;
}

/** Three shifts of two, one and one turns: a context that does not continue the one before begins the next. */
async function rollout(trajectory: string) {
  const turns: { context: readonly number[]; action: readonly number[]; logprobs: readonly number[]; weightVersion: number }[] =
    [];
  const act = async (context: readonly number[]) => {
    const request = { context, maxTokens: 4, stopTokens: [], seed: turns.length, cacheKey: trajectory };
    const { tokens, logprobs, weightVersion } = await engine.sample(request);
    turns.push({ context, action: tokens, logprobs, weightVersion });
    return [...context, ...tokens];
  };
  await act([...(await act([1, 2, 3])), 7, 8]);
  await act([1, 2, 9]);
  await act([1, 2, 9]); // as the shift before: the context alone does not say whose turn it is
  engine.release(trajectory);
  return turns.map((turn, i) => ({ trajectory, turn: i, ...turn }));
}

async function savedAs(name: string): Promise<string[]> {
  await engine.saveState(name);
  return [0, 1, 2].map((shift) => readFileSync(join(name, `shift-${shift}`, "adapter", "adapter_model.safetensors"), "base64"));
}

test("the gradient of a shift moves its adapter alone, and each turn is sampled by the parameters that it trains", async () => {
  for (const [step, [first, second]] of [
    [3, 3],
    [2, 2],
    [0, 1],
  ].entries()) {
    const turns = await rollout(`step-${step}`);
    expect(turns.map(({ weightVersion }) => weightVersion)).toEqual([step, step, step, step]);
    const logprobs = await engine.logprobs(turns, plain);
    expectClose(
      logprobs,
      turns.map((turn) => turn.logprobs),
    );
    const trained = [turns[first], turns[second]].slice(0, first === second ? 1 : 2);
    const stored = await savedAs(`before-${step}`);
    // The others are looked at in the same pass, as SeeUPO does, with weights of 0.
    const weights = turns.map((turn) => turn.action.map(() => (trained.includes(turn) ? 1 : 0)));
    expectClose(await engine.forwardBackward(turns, () => weights, plain), logprobs);
    expect((await engine.step(adamW)).gradientNorm).toBeGreaterThan(0);
    const changed = (await savedAs(`after-${step}`)).map((adapter, shift) => adapter !== stored[shift]);
    expect(changed).toEqual([0, 1, 2].map((shift) => shift === 2 - step));
    const after = await engine.logprobs(turns, plain);
    const moved = turns.map((_, i) => after[i].some((value, t) => value !== logprobs[i][t]));
    expect(moved).toEqual(
      [
        [false, false, false, true],
        [false, false, true, false],
        [true, true, false, false],
      ][step],
    );
  }
  expect(engine.weightVersion).toBe(3);
  const turns = await rollout("restored");
  const logprobs = await engine.logprobs(turns, plain);
  await engine.loadState("before-1");
  expect(engine.weightVersion).toBe(1);
  await engine.loadState("after-2");
  expectClose(await engine.logprobs(turns, plain), logprobs);
});

test("a turn that was not sampled here, a fourth shift and a request without a trajectory are refused by name", async () => {
  const unknown = { trajectory: "elsewhere", turn: 0, context: [1], action: [2] };
  await expect(engine.logprobs([unknown], plain)).rejects.toThrow('the shift of turn 0 is "elsewhere"');
  const request = { maxTokens: 1, stopTokens: [], seed: 1 };
  await expect(engine.sample({ ...request, context: [1] })).rejects.toThrow("cacheKey");
  for (const context of [[1], [2], [3]]) await engine.sample({ ...request, context, cacheKey: "long" });
  await expect(engine.sample({ ...request, context: [4], cacheKey: "long" })).rejects.toThrow("shift is 3; expected one of 3");
});
