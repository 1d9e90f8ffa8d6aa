import fc from "fast-check";
import { expect, test } from "vitest";
import type { Message } from "../../src/core/messages.ts";
import { responseOf } from "../../src/environments/protocol.ts";
import { predictionOf } from "../benchmarks/metrics.ts";
import type { ProtocolKind } from "./limits.ts";
import { researchProtocol } from "./protocol.ts";
import { researchReward } from "./reward.ts";

const pieces = [
  ...["think", "search", "python", "result", "answer"].flatMap((tag) => [`<${tag}>`, `</${tag}>`, `<${tag}`, `</${tag}`, tag]),
  ...["\\boxed{", "\\boxed ", "\\boxed", "\\fbox{", "\\text{", "{", "}", "$", "<", ">", "/", " ", "\n", "owl", "1+1", '"'],
  ...["\ud83e", "\udd89", "\0", "\u2028", "<|im_end|>", "<SEARCH>", "<search >", "&lt;search&gt;"],
];
const soup = fc.array(fc.constantFrom(...pieces), { maxLength: 40 }).map((parts) => parts.join(""));
const limits = { calls: 3, search: 2, python: 2 };

/** An action up to where the engine would stop, the rest of what the model has to say behind it. */
function upToStop(text: string, stopStrings: readonly string[]): readonly [action: string, rest: string] {
  const ends = stopStrings.flatMap((stop) => (text.includes(stop) ? [text.indexOf(stop) + stop.length] : []));
  const end = Math.min(text.length, ...ends);
  return [text.slice(0, end), text.slice(end)];
}

/** Plays the protocol with a model that says this, and tools that answer so. */
function respond(kind: ProtocolKind, said: string, answers: readonly string[]) {
  const { actions: format, continuation } = researchProtocol({ kind, limits, maxResponseTokens: 4096 });
  const { stopStrings = [], read } = format;
  const { write } = continuation;
  const conversation: Message[] = [{ role: "user", content: "?" }];
  let [made, refused, actions] = [0, 0, 0];
  for (let left = said, over = false; !over; ) {
    const [action, rest] = upToStop(left, stopStrings);
    left = rest;
    actions++;
    const { message, calls, goesOn } = read(action, conversation);
    expect(action.startsWith(message.content)).toBe(true);
    conversation.push(message);
    for (const call of calls) {
      if ("error" in call) refused++;
      else expect(Object.values(call.arguments).every((value) => typeof value === "string")).toBe(true);
      const name = "error" in call ? "tool_call" : call.name;
      const content = "error" in call ? `Error: ${call.error}` : answers[made++ % answers.length];
      conversation.push({ role: "tool", name, content });
    }
    over = calls.length === 0 && goesOn !== true;
  }
  return { response: responseOf(conversation, write), conversation, made, refused, actions };
}

test.each<ProtocolKind>(["training", "evaluation"])(
  "any soup of tags ends, keeps to the limits, and is worth something: %s",
  (kind) => {
    fc.assert(
      fc.property(soup, fc.array(soup, { minLength: 1, maxLength: 3 }), soup, (said, answers, gold) => {
        const { response, conversation, made, refused, actions } = respond(kind, said, answers);
        expect(made).toBeLessThanOrEqual(limits.calls);
        if (kind === "training") expect(refused).toBe(0);
        // Every call took a closing tag of the model's own, and between two closing tags it is asked at most four times.
        expect(actions).toBeLessThanOrEqual(4 * (made + refused + 1));
        expect(conversation.filter(({ role }) => role === "tool")).toHaveLength(made + refused);
        const { reward, quality, answer, verdict } = researchReward(response, [gold]);
        expect(reward === -1 || (reward >= 0 && reward <= 1.1)).toBe(true);
        expect(reward > 0).toBe(quality > 0);
        if (reward > 0) expect(reward - quality).toBeCloseTo(verdict === "correct_multi_tool" ? 0.1 : 0, 12);
        expect(response).toContain(answer);
        expect(typeof predictionOf(response)).toBe("string");
      }),
      { numRuns: 500 },
    );
  },
);

test("a long soup takes no longer than its length: tags without end, braces without end", () => {
  for (const piece of ["<think>", "<search>", "</search>", "<answer>", "\\boxed{", "{", "\\text{", "<result>", " ", "a"]) {
    const long = piece.repeat(50_000);
    const { reward } = researchReward(`<think></think><answer>\\boxed{${long}}</answer>`, [long]);
    expect(reward >= -1).toBe(true);
    expect(typeof predictionOf(long)).toBe("string");
  }
});
