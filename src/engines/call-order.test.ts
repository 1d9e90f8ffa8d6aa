import { expect, test } from "vitest";
import { CallOrder } from "./call-order.ts";

/** A call that ends when it is told to. */
function held(log: string[], name: string) {
  let end: (error?: Error) => void = () => {};
  const ended = new Promise<void>((resolve, reject) => {
    end = (error) => (error === undefined ? resolve() : reject(error));
  });
  return {
    end: (error?: Error) => end(error),
    call: async () => {
      log.push(name);
      await ended;
      return name;
    },
  };
}
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("each call begins when the one before it has ended, well or not", async () => {
  const order = new CallOrder();
  const log: string[] = [];
  const [a, b, c] = [held(log, "a"), held(log, "b"), held(log, "c")];
  expect(order.idle).toBe(true);
  const results = [a, b, c].map(({ call }) => order.run(call).catch((error: Error) => error.message));
  await turn();
  expect([log, order.idle]).toEqual([["a"], false]);
  a.end(new Error("a fails"));
  await turn();
  expect(log).toEqual(["a", "b"]);
  b.end();
  c.end();
  expect(await Promise.all(results)).toEqual(["a fails", "b", "c"]);
  await order.settled();
  expect(order.idle).toBe(true);
  expect(await order.run(() => 5)).toBe(5);
});

test("breaking off ends the call that runs where it asks, and those that wait; later ones begin again", async () => {
  const order = new CallOrder();
  const log: string[] = [];
  const first = held(log, "first");
  const running = order.run(async () => {
    await first.call();
    order.requireUnbroken();
    log.push("went on");
  });
  const waiting = order.run(() => log.push("waited"));
  await turn();
  order.requireUnbroken();
  const broken = order.breakOff();
  first.end();
  for (const call of [running, waiting]) await expect(call).rejects.toThrow("This call was broken off.");
  await broken;
  expect([log, order.idle]).toEqual([["first"], true]);
  order.requireUnbroken();
  expect(await order.run(() => "later")).toBe("later");
});
