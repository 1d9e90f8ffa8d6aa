import { expect, test } from "vitest";
import { Futures } from "./futures.ts";

const megabytes = (n: number) => ({ protobuf: new Uint8Array(n * 2 ** 20) });
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

test("a result is kept five minutes after its delivery, ten without one, and counts as pending until it is there", async () => {
  let now = 0;
  const futures = new Futures(undefined, () => now);
  let finish = (_: { json: object }) => {};
  const slow = futures.add(new Promise((resolve) => (finish = resolve)));
  const [fetched, unfetched] = [
    futures.add(Promise.resolve({ json: { n: 1 } })),
    futures.add(Promise.resolve({ json: { n: 2 } })),
  ];
  await settled();
  expect(futures.pending).toBe(1);
  expect(await futures.retrieve(fetched, 0)).toEqual({ json: { n: 1 } });
  const keptAt = (ms: number) => {
    now = ms;
    futures.add(Promise.resolve({ json: {} }));
    return [slow, fetched, unfetched].map((id) => futures.has(id));
  };
  expect(keptAt(299_000)).toEqual([true, true, true]);
  expect(keptAt(302_000)).toEqual([true, false, true]);
  expect(keptAt(602_000)).toEqual([true, false, false]);
  finish({ json: {} });
  await settled();
  expect(futures.pending).toBe(0);
  expect(await futures.retrieve(slow, 0)).toEqual({ json: {} });
});

test("beyond half a gigabyte delivered results go first, then the oldest", async () => {
  const futures = new Futures(undefined, () => 0);
  const ids = [futures.add(Promise.resolve(megabytes(200))), futures.add(Promise.resolve(megabytes(200)))];
  await settled();
  await futures.retrieve(ids[1], 0);
  ids.push(futures.add(Promise.resolve(megabytes(200))));
  await settled();
  ids.push(futures.add(Promise.resolve({ json: {} })));
  expect(ids.map((id) => futures.has(id))).toEqual([true, false, true, true]);
});

test("thousands of kept results do not make the next one slower", async () => {
  const futures = new Futures(undefined, () => 0);
  const add = async (count: number) => {
    const start = process.cpuUsage();
    for (let i = 0; i < count; i++) futures.add(Promise.resolve({ json: {} }));
    const { user, system } = process.cpuUsage(start);
    await settled();
    return user + system;
  };
  await add(1_000);
  const few = await add(1_000);
  await add(50_000);
  // Looking through all of them each time took more than a hundred times as long.
  expect(await add(1_000)).toBeLessThan(20 * few + 20_000);
});
