import "../../../test/office.ts";
import { expect, test } from "vitest";
import { lettersChat, lettersVocabulary } from "../../../test/letters.ts";
import { TableEngine } from "../../../test/table-engine.ts";
import type { ActionInContext } from "../../core/trajectory.ts";
import { encodeDemonstration } from "../../rollouts/demonstration.ts";
import { resolveConfig } from "../config/config.ts";
import { type SupervisedStep, superviseOnce } from "./sft.ts";

const chat = lettersChat();
const messages = [
  { role: "user", content: "a" },
  { role: "assistant", content: "bc" },
] as const;

function* demonstrations(count: number): Generator<ActionInContext[], void, undefined> {
  for (let i = 0; i < count; i++) yield encodeDemonstration(chat, `demonstration-${i}`, messages, []);
}

async function steps(count: number, tokensPerStep: number, stepLimit = 50): Promise<SupervisedStep[]> {
  const { optimizer } = resolveConfig({ optimizer: { learningRate: 0.2 } });
  const engine = new TableEngine(lettersVocabulary);
  const reports: SupervisedStep[] = [];
  const options = { engine, demonstrations: demonstrations(count), tokensPerStep, optimizer };
  while (reports.length < stepLimit) {
    const report = await superviseOnce(options, reports.length + 1, stepLimit);
    if (report === undefined) break;
    reports.push(report);
  }
  return reports;
}

test("the loss starts at that of a uniform model and falls towards 0", async () => {
  const reports = await steps(200, 1);
  expect(reports[0].loss).toBeCloseTo(Math.log(lettersVocabulary), 12);
  expect(reports).toHaveLength(50);
  expect(reports.at(-1)?.loss).toBeLessThan(0.05);
});

test("whole demonstrations fill a step up to its tokens, and the last ones make a step of their own", async () => {
  // ua<|im_end|>abc<|im_end|> : 7 tokens, of which the last three are the action.
  const reports = await steps(5, 14);
  expect(reports.map(({ demonstrations, tokens, actionTokens }) => [demonstrations, tokens, actionTokens])).toEqual([
    [2, 14, 6],
    [2, 14, 6],
    [1, 7, 3],
  ]);
});
