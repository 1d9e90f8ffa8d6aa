import fc from "fast-check";
import { expect, test } from "vitest";
import { Context, commonPrefix } from "./context.ts";
import { ShapeError } from "./errors.ts";
import type { Message } from "./messages.ts";

const said = (content: string): Message => ({ role: "user", content });

/** Few different ids, so that branches often begin alike. */
const ids = fc.array(fc.nat(2), { maxLength: 6 });
/** What is done to one of the contexts so far, and the ids that it is done with. */
const growth = fc.array(
  fc.record({ of: fc.nat(), how: fc.constantFrom("extend", "branch", "prefix"), ids, length: fc.nat(12) }),
  {
    maxLength: 12,
  },
);

/** Contexts as a tree, and beside each the same as an array. */
function grown(steps: (typeof growth extends fc.Arbitrary<infer Steps> ? Steps : never)[number][]) {
  const all: { context: Context; flat: readonly number[] }[] = [{ context: Context.of([1, 2]), flat: [1, 2] }];
  for (const step of steps) {
    const { context, flat } = all[step.of % all.length];
    if (step.how === "extend") all.push({ context: context.extend(step.ids), flat: [...flat, ...step.ids] });
    else if (step.how === "branch") all.push({ context: context.branch(step.ids), flat: step.ids });
    else {
      const cut = context.prefix(step.length);
      if (cut !== undefined) all.push({ context: cut, flat: flat.slice(0, step.length) });
      else expect(step.length === 0 || flat.length === 0).toBe(true);
    }
  }
  return all;
}

test("a context is the ids of an array, whichever branches it is on", () => {
  fc.assert(
    fc.property(growth, fc.integer({ min: -8, max: 14 }), fc.integer({ min: -8, max: 14 }), (steps, from, to) => {
      for (const { context, flat } of grown(steps)) {
        expect([...context]).toEqual(flat);
        expect(context.length).toBe(flat.length);
        expect(context.slice(from, to)).toEqual(flat.slice(from, to));
        expect(context.slice(from)).toEqual(flat.slice(from));
        expect(JSON.stringify(context)).toBe(JSON.stringify(flat));
      }
    }),
  );
});

test("the common prefix of two contexts is that of their arrays", () => {
  fc.assert(
    fc.property(growth, (steps) => {
      const all = grown(steps);
      for (const a of all)
        for (const b of all) {
          let length = 0;
          while (length < Math.min(a.flat.length, b.flat.length) && a.flat[length] === b.flat[length]) length++;
          expect(commonPrefix(a.context, b.context)).toBe(length);
          expect(commonPrefix(a.context, b.flat)).toBe(length);
        }
    }),
  );
});

test("a rewritten history shares what it has in common, and keeps its own messages", () => {
  //  1 2 3 ─ 4 5 ─ 6          the history
  //          └ 4 ─ 9 9        rewritten after 4
  const history = Context.of([1, 2, 3], [said("ask")])
    .extend([4, 5], [said("act")])
    .extend([6], [said("answer")]);
  const rewritten = history.branch([1, 2, 3, 4, 9, 9], [said("ask"), said("shorter"), said("answer")]);
  expect([...rewritten]).toEqual([1, 2, 3, 4, 9, 9]);
  expect(rewritten.path()[0]).toBe(history.path()[0]);
  expect([...rewritten.ids]).toEqual([9, 9]);
  expect(rewritten.conversation().map(({ content }) => content)).toEqual(["ask", "shorter", "answer"]);
  expect(history.conversation().map(({ content }) => content)).toEqual(["ask", "act", "answer"]);
  // Nothing in common, or everything.
  expect(history.branch([7]).parent).toBeUndefined();
  expect(history.branch([1, 2, 3, 4, 5, 6, 7]).parent).toBe(history);
});

test("a history of many turns takes as many ids as it has, not a copy a turn", () => {
  const turns: Context[] = [];
  let context = Context.of([0]);
  for (let turn = 0; turn < 50; turn++) turns.push((context = context.extend([1, 2, 3])));
  const nodes = new Set(turns.flatMap((turn) => turn.path()));
  expect([...nodes].reduce((sum, node) => sum + node.ids.length, 0)).toBe(1 + 50 * 3);
});

test.each([[[1, 2.5]], [[-1]], [[1, Number.NaN]], [[2 ** 40]]])("%j is refused, not cut to integers", (wrong) => {
  expect(() => Context.of(wrong)).toThrow(ShapeError);
  expect(() => Context.of([1]).extend(wrong)).toThrow(/expected a whole number from 0/);
});
