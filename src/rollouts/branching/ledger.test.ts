import fc from "fast-check";
import { expect, test } from "vitest";
import { LeafLedger } from "./ledger.ts";

test("wishes of a turn are granted in the order of the paths, once all have passed it", () => {
  const ledger = new LeafLedger<string>({ budget: 5, firstRollouts: 3, beam: 2 });
  ledger.passed(2, 1, "c1");
  ledger.passed(0, 0);
  ledger.passed(0, 1, "a1");
  expect(ledger.grant()).toEqual([]);
  ledger.ended(1);
  expect(ledger.grant()).toEqual([
    { request: "a1", forks: [3] },
    { request: "c1", forks: [4] },
  ]);
  expect(ledger.full).toBe(true);
  ledger.passed(0, 2, "a2");
  expect(ledger.grant()).toEqual([{ request: "a2", forks: [] }]);
});

test("a later turn waits for the forks of the earlier ones", () => {
  const ledger = new LeafLedger<string>({ budget: 4, firstRollouts: 1, beam: 3 });
  ledger.passed(0, 1, "a1");
  expect(ledger.grant()).toEqual([{ request: "a1", forks: [1, 2] }]);
  ledger.passed(0, 2, "a2");
  ledger.passed(1, 1);
  expect(ledger.grant()).toEqual([]);
  ledger.passed(1, 2, "b2");
  ledger.ended(2);
  expect(ledger.grant()).toEqual([
    { request: "a2", forks: [3] },
    { request: "b2", forks: [] },
  ]);
});

test("what is left is rolled out from the root once all have ended", () => {
  const ledger = new LeafLedger<string>({ budget: 5, firstRollouts: 2, beam: 2 });
  ledger.passed(1, 1, "b1");
  ledger.ended(1);
  expect(ledger.refill()).toEqual([]);
  ledger.ended(0);
  expect(ledger.refill()).toEqual([]); // a request is open
  expect(ledger.grant()).toEqual([{ request: "b1", forks: [2] }]);
  expect(ledger.refill()).toEqual([]);
  ledger.ended(2);
  expect(ledger.refill()).toEqual([3, 4]);
  expect(ledger.refill()).toEqual([]);
});

/** Path p would branch at these turns, and ends after its last one. Forks begin at the turn after which they were forked. */
type Course = { readonly wishes: readonly boolean[] };

/** Plays paths in an order that `pick` chooses among those that can move; the tree that comes of it. */
function grown(
  courses: readonly Course[],
  options: { budget: number; firstRollouts: number; beam: number },
  pick: (n: number) => number,
) {
  const ledger = new LeafLedger<{ path: number; turn: number }>(options);
  const at = new Map<number, number>(Array.from({ length: options.firstRollouts }, (_, path) => [path, 0]));
  const forks: string[] = [];
  while (at.size > 0) {
    const moving = [...at.keys()];
    const path = moving[pick(moving.length)];
    const turn = at.get(path) ?? 0;
    const { wishes } = courses[path % courses.length];
    if (turn >= wishes.length) {
      at.delete(path);
      ledger.ended(path);
    } else {
      at.set(path, turn + 1);
      ledger.passed(path, turn, wishes[turn] ? { path, turn } : undefined);
    }
    for (const settled of ledger.grant())
      for (const fork of settled.forks) {
        forks.push(`${settled.request.path}@${settled.request.turn} → ${fork}`);
        at.set(fork, settled.request.turn + 1);
      }
    for (const root of ledger.refill()) {
      forks.push(`→ ${root}`);
      at.set(root, 0);
    }
  }
  return { forks, leaves: options.firstRollouts + forks.length };
}

test("the tree is the same whichever path moves first, and has as many leaves as the budget", () => {
  const courses = fc.array(fc.record({ wishes: fc.array(fc.boolean(), { maxLength: 5 }) }), { minLength: 1, maxLength: 6 });
  const sizes = fc.record({
    budget: fc.integer({ min: 1, max: 12 }),
    first: fc.integer({ min: 1, max: 12 }),
    beam: fc.integer({ min: 2, max: 4 }),
  });
  fc.assert(
    fc.property(courses, sizes, fc.array(fc.nat(), { minLength: 1, maxLength: 50 }), (each, { budget, first, beam }, picks) => {
      const options = { budget, firstRollouts: Math.min(first, budget), beam };
      let next = 0;
      const mixed = grown(each, options, (n) => picks[next++ % picks.length] % n);
      const inOrder = grown(each, options, () => 0);
      expect(mixed).toEqual(inOrder);
      expect(mixed.leaves).toBe(budget);
    }),
  );
});
