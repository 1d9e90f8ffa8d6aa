import type { LookupAddress } from "node:dns";
import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/errors.ts";
import { checkedLookup, checkHost, isLoopback } from "./addresses.ts";

const [v4, v6, here, inside] = [
  { address: "93.184.216.34", family: 4 },
  { address: "2606:2800:220:1::1", family: 6 },
  { address: "127.0.0.1", family: 4 },
  { address: "10.0.0.1", family: 4 },
];

/** What a connection is given of the addresses of a host. */
function looked(found: readonly LookupAddress[] | Error, options: object = {}, allowLoopback = false): Promise<unknown[]> {
  const lookup = checkedLookup(async () => {
    if (found instanceof Error) throw found;
    return found;
  }, allowLoopback);
  return new Promise((resolve) => lookup("host", options, (...given) => resolve(given)));
}

test("a connection goes to addresses that were checked: to the first, or to all where it asks for all", async () => {
  expect(await looked([v4, v6])).toEqual([null, "93.184.216.34", 4]);
  expect(await looked([v6, v4])).toEqual([null, "2606:2800:220:1::1", 6]);
  expect(await looked([v4, v6], { all: true })).toEqual([null, [v4, v6]]);
  expect(await looked([here], {}, true)).toEqual([null, "127.0.0.1", 4]);
});

test.each<[string, readonly LookupAddress[] | Error, boolean, string]>([
  ["a private one among them", [v4, inside], true, "a host of the public internet"],
  ["this machine's", [here], false, "a host of the public internet"],
  ["none", [], true, "a host that has an address"],
  ["no such host", new Error("ENOTFOUND"), true, "a host that exists"],
])("a host with %s is refused", async (_, found, allowLoopback, expected) => {
  for (const all of [false, true]) {
    const [error, address, family] = await looked(found, { all }, allowLoopback);
    expect(error).toBeInstanceOf(ToolError);
    expect(error).toMatchObject({ value: "host", expected });
    expect([address, family]).toEqual(["", 0]);
  }
});

test.each([
  ["example.com", false, true],
  ["93.184.216.34", false, true],
  ["[2606:2800:220:1::1]", false, true],
  ["10.0.0.1", true, false],
  ["[::1]", false, false],
  ["[::1]", true, true],
  ["127.9.9.9", true, true],
  ["[::ffff:10.0.0.1]", true, false],
])("the host %s is connected to, with loopback %s: %s", (host, allowLoopback, isAllowed) => {
  const check = () => checkHost(host, allowLoopback);
  if (isAllowed) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ value: host, hint: "Private addresses are not read." }));
});

test("what is no address is none of this machine", () => {
  expect(["127.0.0.1", "::1", "localhost", "10.0.0.1"].map(isLoopback)).toEqual([true, true, false, false]);
});
