import { expect, test } from "vitest";
import { cellOf } from "./cell.ts";
import { labSettingsSchema } from "./config.ts";
import { judge, laboratory } from "./grid.ts";
import { withDrift, withinRegion } from "./mirror.ts";

const simplex = { gain: [0.3, 0.05, 0, 0], loss: [0, -0.01, -0.2, 0], old: [0.2, 0.4, 0.3, 0.1] };
/** E[M·A | a]. */
const q = simplex.old.map((p, a) => ((simplex.gain[a] ?? 0) + (simplex.loss[a] ?? 0)) / p);
const divergence = (policy: ArrayLike<number>) =>
  Array.from(policy).reduce((sum, p, a) => sum + (p > 0 ? p * Math.log(p / (simplex.old[a] ?? 0)) : 0), 0);
const expected = (policy: ArrayLike<number>) => Array.from(policy).reduce((sum, p, a) => sum + p * (q[a] ?? 0), 0);

/** Distributions beside one, in every direction between two actions. */
function* beside(policy: ArrayLike<number>, step: number) {
  for (let from = 0; from < policy.length; from++)
    for (let to = 0; to < policy.length; to++) {
      const other = Array.from(policy);
      other[from] = (other[from] ?? 0) - step;
      other[to] = (other[to] ?? 0) + step;
      if (from !== to && (other[from] ?? 0) > 0) yield other;
    }
}

test("the KL drift: no distribution beside it has more of E[M·A] − KL/η", () => {
  const eta = 0.7;
  const size = Math.max(...q.map(Math.abs));
  const objective = (policy: ArrayLike<number>) => expected(policy) / size - divergence(policy) / eta;
  const policy = withDrift(simplex, eta);
  expect(Array.from(policy).reduce((sum, p) => sum + p, 0)).toBeCloseTo(1, 12);
  for (const step of [1e-2, 1e-4])
    for (const other of beside(policy, step)) expect(objective(other)).toBeLessThan(objective(policy));
});

test("the trust region: the bound is met, and no distribution within it has more of E[M·A]", () => {
  const policy = withinRegion(simplex, 0.02);
  expect(divergence(policy)).toBeCloseTo(0.02, 9);
  for (const step of [1e-2, 1e-3])
    for (const other of beside(policy, step))
      if (divergence(other) <= 0.02) expect(expected(other)).toBeLessThanOrEqual(expected(policy));
  const far = withinRegion(simplex, 10);
  expect(far[0]).toBeCloseTo(1, 9);
  const idle = withinRegion({ ...simplex, gain: [0, 0, 0, 0], loss: [0, 0, 0, 0] }, 0.02);
  expect(Array.from(idle)).toEqual(simplex.old.map((p) => expect.closeTo(p, 12)));
});

const multi = (id: string, changes: object = {}) =>
  judge(cellOf(id), laboratory(labSettingsSchema.parse({ turns: [2], problems: 4, ...changes }))).multi;

test.each(["respond", "maximise", "kl", "trust"])(
  "theorem 1 by the operator %s: separate policies that see all before, exact: J never falls",
  (optimise) => {
    const verdict = multi(`grae.ppu.turn.reverse.m-exact.history.${optimise}.exact`);
    expect(verdict?.monotone).toBe(true);
    expect(verdict?.shares.reached).toBe(1);
  },
);

test("theorem 2: in reverse order the argmax is J* after one update", () => {
  const slowest = (id: string) =>
    Math.max(...(multi(id, { problems: 8 })?.findings ?? []).flatMap(({ reachedAt }) => reachedAt.map((at) => at ?? Infinity)));
  expect(slowest("grae.ppu.turn.reverse.m-exact.history.respond.exact")).toBe(1);
  expect(slowest("grae.ppu.turn.joint.m-off.history.respond.exact")).toBe(2);
});

test("without its condition: turns that do not see what was before, updated jointly, lower J under every operator", () => {
  for (const optimise of ["respond", "maximise", "kl", "trust"])
    expect(multi(`grae.ppu.turn.joint.m-off.index.${optimise}.exact`)?.monotone, optimise).toBe(false);
});

test("the paper's M is the exact one where policies are separate, and another where turns share a table", () => {
  const lab = laboratory(labSettingsSchema.parse({ turns: [2], problems: 2 }));
  const of = (m: string, sees: string) => judge(cellOf(`grae.ppu.turn.reverse.m-${m}.${sees}.maximise.exact`), lab);
  expect(of("paper", "history")).toMatchObject({ status: "same", sameAs: of("exact", "history").id });
  expect(of("paper", "shared").status).toBe("run");
  expect(of("paper", "shared").multi?.findings).not.toEqual(of("exact", "shared").multi?.findings);
});
