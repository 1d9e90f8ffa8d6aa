import { expect, test } from "vitest";
import type { Formed, GrammarMask } from "../../src/chat/grammar.ts";
import { ModelError } from "../../src/core/errors.ts";
import { maskAnswers } from "./mask-answers.ts";
import type { MaskQuestion } from "./thread-masks.ts";

/** A thread's answers over masks that take down what they are asked. */
function answers(made: (formed: Formed) => Partial<GrammarMask> | undefined) {
  const log: string[] = [];
  const forms: Formed[] = [];
  const words = new Int32Array(new SharedArrayBuffer(16));
  const answer = maskAnswers(
    {
      mask: async (formed) => {
        forms.push(formed);
        const own = made(formed);
        if (own === undefined) return undefined;
        return {
          loose: [],
          next: () => Int32Array.of(5, 6),
          allows: (token) => token === 3,
          accept: (token) => void log.push(`accept ${token}`),
          restart: () => void log.push("restart"),
          close: () => void log.push("close"),
          ...own,
        };
      },
    },
    words,
  );
  /** The words after a question, of which the first is cleared before it. */
  const ask = async (question: MaskQuestion) => {
    words[0] = 0;
    return [await answer(question), ...words];
  };
  return { ask, log, forms };
}
const compile = (mask: number): MaskQuestion => ({ ask: "compile", formed: { form: "json" }, mask });

test("a compiled mask answers in words, of which the first says that they are there and the second how many", async () => {
  const { ask, log } = answers(() => ({ loose: ["format"] }));
  expect(await ask(compile(1))).toEqual([{ loose: ["format"] }, 0, 0, 0, 0]);
  expect(await ask({ ask: "next", mask: 1 })).toEqual([undefined, 1, 2, 5, 6]);
  expect(await ask({ ask: "allows", mask: 1, token: 3 })).toEqual([undefined, 1, 1, 1, 6]);
  expect(await ask({ ask: "allows", mask: 1, token: 4 })).toEqual([undefined, 1, 1, 0, 6]);
  // Nobody waits for these.
  expect(await ask({ ask: "accept", mask: 1, token: 3 })).toEqual([undefined, 0, 0, 0, 6]);
  expect(await ask({ ask: "restart", mask: 1 })).toEqual([undefined, 0, 0, 0, 6]);
  expect(await ask({ ask: "close", mask: 1 })).toEqual([undefined, 0, 0, 0, 6]);
  expect(log).toEqual(["accept 3", "restart", "close"]);
  // A closed mask is none: it has no words, and allows nothing.
  expect(await ask({ ask: "next", mask: 1 })).toEqual([undefined, 1, 0, 0, 6]);
  expect(await ask({ ask: "allows", mask: 1, token: 3 })).toEqual([undefined, 1, 1, 0, 6]);
});

test("a token that a mask did not accept is said with its next answer, until it starts again", async () => {
  const accept = () => {
    throw new Error("no such token");
  };
  const { ask } = answers(() => ({ accept }));
  await ask(compile(1));
  await ask(compile(2));
  expect((await ask({ ask: "accept", mask: 1, token: 9 })).slice(0, 2)).toEqual([undefined, 0]);
  expect((await ask({ ask: "next", mask: 1 }))[1]).toBe(2);
  expect((await ask({ ask: "allows", mask: 1, token: 3 }))[1]).toBe(2);
  expect((await ask({ ask: "next", mask: 2 }))[1]).toBe(1);
  await ask({ ask: "restart", mask: 1 });
  expect((await ask({ ask: "next", mask: 1 }))[1]).toBe(1);
  await ask({ ask: "accept", mask: 1, token: 9 });
  await ask({ ask: "close", mask: 1 });
  expect((await ask({ ask: "next", mask: 1 }))[1]).toBe(1);
});

test("a form that any text has is no mask, and one that has no grammar is refused with its reason", async () => {
  const free = answers(() => undefined);
  expect((await free.ask(compile(1)))[0]).toEqual({ loose: [] });
  const failing = (error: unknown) =>
    answers(() => {
      throw error;
    }).ask(compile(1));
  const unknown = new ModelError("schema", { type: "x" }, { expected: ["object"], hint: "Take another." });
  expect((await failing(unknown))[0]).toEqual({
    refused: { subject: "schema", value: "[object Object]", expected: ["object"], hint: "Take another." },
  });
  expect((await failing(new Error("no memory")))[0]).toEqual({
    refused: { subject: "schema", value: "no memory", expected: undefined, hint: undefined },
  });
});

test("tools come without their code, and get one that does nothing", async () => {
  const { ask, forms } = answers(() => ({}));
  const tool = { name: "find", description: "", parameters: { type: "object", properties: {} } } as const;
  await ask({ ask: "compile", mask: 1, formed: { tools: [tool], toolChoice: "required" } });
  expect(forms).toEqual([{ tools: [{ ...tool, execute: expect.any(Function) }], toolChoice: "required" }]);
});
