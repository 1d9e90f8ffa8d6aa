import { expect, test } from "vitest";
import { Sequencer } from "./sequencer.ts";

/** A sequencer whose requests note that they ran. */
function noting(gapMs = 1000) {
  const sequencer = new Sequencer(gapMs);
  const ran: string[] = [];
  const results = new Map<string, Promise<string>>();
  const accept = (seqId: number, name = `request ${seqId}`) => {
    const known = sequencer.repeated(seqId, name);
    if (known !== undefined) return known;
    const run = async () => {
      await new Promise((resolve) => setImmediate(resolve));
      ran.push(name);
      return name;
    };
    return sequencer.accept(seqId, name, run, (result) => {
      results.set(name, result);
      result.catch(() => {});
      return `id of ${name}`;
    });
  };
  return { sequencer, ran, accept, results };
}

test("requests run by number, whatever the order of arrival", async () => {
  const { sequencer, ran, accept } = noting();
  for (const seqId of [3, 1, 2, 5, 4]) accept(seqId);
  await sequencer.settled();
  expect(ran).toEqual([1, 2, 3, 4, 5].map((n) => `request ${n}`));
  sequencer.close();
});

test("a repeat gets the first one's result, and another request with its number is refused", async () => {
  const { sequencer, ran, accept } = noting();
  expect(accept(1, "a")).toBe("id of a");
  expect(accept(1, "a")).toBe("id of a");
  expect(() => accept(1, "b")).toThrow(/seq_id is 1; expected a number that no other request/);
  await sequencer.settled();
  expect(accept(1, "a")).toBe("id of a");
  expect(ran).toEqual(["a"]);
  for (const bad of [-1, 1.5, 1e6]) expect(() => accept(bad)).toThrow(/seq_id/);
  sequencer.close();
});

test("a request behind a gap waits, fails after a time, and does not hold up what comes later", async () => {
  const { sequencer, ran, accept, results } = noting(20);
  accept(2, "early");
  await expect(results.get("early")).rejects.toThrow(/request 1 of the model is "missing"; expected it before request 2/);
  accept(1, "late");
  accept(3, "next");
  await sequencer.settled();
  expect(ran).toEqual(["late", "next"]);
  sequencer.close();
});

test("a refused number is used again, or skipped once the next one comes", async () => {
  const { sequencer, ran, accept } = noting();
  const skipped: number[] = [];
  sequencer.refuse(1, () => skipped.push(1));
  accept(1, "mended");
  sequencer.refuse(2, () => skipped.push(2));
  accept(3);
  await sequencer.settled();
  expect(ran).toEqual(["mended", "request 3"]);
  expect(skipped).toEqual([2]);
  expect(() => accept(2)).toThrow(/seq_id is 2; expected 4 or more/);
  sequencer.close();
});
