import { expect, test } from "vitest";
import { HttpError } from "../../extensions/http/http-error.ts";
import { Futures } from "./futures.ts";

test("a result can be fetched once it is there, and again; errors are results that say whose they are", async () => {
  const futures = new Futures();
  let finish = (_: { json: object }) => {};
  const slow = futures.add(new Promise((resolve) => (finish = resolve)));
  expect(await futures.retrieve(slow, 5)).toBe("pending");
  finish({ json: { n: 1 } });
  for (const _ of [1, 2]) expect(await futures.retrieve(slow, 1_000)).toEqual({ json: { n: 1 } });
  const failing = (error: Error) => futures.retrieve(futures.add(Promise.reject(error)), 1_000);
  expect(await failing(new HttpError(422, "data", "empty"))).toMatchObject({ category: "user", error: /data is "empty"/ });
  expect(await failing(new Error("broken"))).toEqual({ category: "server", error: "broken" });
  expect(await futures.retrieve("nope", 0)).toBeUndefined();
});

test("4,096 results are kept, the newest", async () => {
  const futures = new Futures();
  const ids = Array.from({ length: 4_098 }, (_, n) => futures.add(Promise.resolve({ json: { n } })));
  expect(await futures.retrieve(ids[1] ?? "", 1_000)).toBeUndefined();
  expect(await futures.retrieve(ids[2] ?? "", 1_000)).toEqual({ json: { n: 2 } });
  expect(await futures.retrieve(ids[4_097] ?? "", 1_000)).toEqual({ json: { n: 4_097 } });
});
