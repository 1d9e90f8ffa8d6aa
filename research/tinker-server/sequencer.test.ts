import { expect, test } from "vitest";
import { Sequencer } from "./sequencer.ts";

/** A sequencer whose requests note that they ran. */
function noting() {
  const sequencer = new Sequencer();
  const ran: string[] = [];
  const accept = (seqId: number, name = `request ${seqId}`) => {
    const known = sequencer.repeated(seqId, name);
    if (known !== undefined) return known;
    const run = async () => {
      await new Promise((resolve) => setImmediate(resolve));
      ran.push(name);
      return name;
    };
    return sequencer.accept(seqId, name, run, (result) => {
      result.catch(() => {});
      return `id of ${name}`;
    });
  };
  return { sequencer, ran, accept };
}

test("requests run by number, whatever the order of arrival", async () => {
  const { sequencer, ran, accept } = noting();
  for (const seqId of [3, 1, 2, 5, 4]) accept(seqId);
  await sequencer.settled();
  expect(ran).toEqual([1, 2, 3, 4, 5].map((n) => `request ${n}`));
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
});

test("a request behind a gap waits for what is missing", async () => {
  const { sequencer, ran, accept } = noting();
  accept(2, "early");
  await sequencer.settled();
  expect(ran).toEqual([]);
  accept(1, "late");
  await sequencer.settled();
  expect(ran).toEqual(["late", "early"]);
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
});
