import { expect, test } from "vitest";
import { Recent } from "./recent.ts";

test("the value that was asked for longest ago is released where there are too many", () => {
  const released: object[] = [];
  const recent = new Recent<{ readonly of: string }>(2, (value) => released.push(value));
  const [a, b, c] = ["a", "b", "c"].map((of) => ({ of }));
  expect(recent.get("a")).toBeUndefined();
  expect([recent.add("a", a), recent.add("b", b), recent.get("a")]).toEqual([a, b, a]);
  expect(released).toEqual([]);
  recent.add("c", c);
  expect([released, recent.get("b"), recent.get("a"), recent.get("c")]).toEqual([[b], undefined, a, c]);
  recent.drop((key, value) => key === "a" && value === a);
  expect([released, recent.get("a"), recent.get("c")]).toEqual([[b, a], undefined, c]);
  recent.drop();
  recent.drop();
  expect([released, recent.get("c")]).toEqual([[b, a, c], undefined]);
});
