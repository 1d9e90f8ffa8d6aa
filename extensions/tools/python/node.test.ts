import { expect, test } from "vitest";
import { findNode } from "./node.ts";

const deno = { name: "deno", version: "Deno 2.6.0" } as const;

test("in Node the program is this one, elsewhere where the Node of the PATH says that it is", async () => {
  const asked: unknown[] = [];
  const run = async (...args: unknown[]) => {
    asked.push(args);
    return " /opt/node\n";
  };
  expect(await findNode({ name: "node", version: "v22.0.0" }, {}, run)).toBe(process.execPath);
  expect(asked).toEqual([]);
  expect(await findNode(deno, { PATH: "/a" }, run)).toBe("/opt/node");
  expect(asked).toEqual([[["-p", "process.versions.bun === undefined ? process.execPath : ''"], { PATH: "/a" }]]);
});

test("without Node, the error says what to install beside what", async () => {
  const cause = new Error("spawn node ENOENT");
  const problem = {
    value: "without Node",
    expected: "Node 20.19 or later on the PATH: its processes can be closed off, those of Deno 2.6.0 cannot",
    hint: "Install Node beside Deno 2.6.0.",
  };
  await expect(findNode(deno, {}, () => Promise.reject(cause))).rejects.toMatchObject({ ...problem, cause });
  // Bun calls itself so, and says nothing.
  await expect(findNode(deno, {}, async () => "\n")).rejects.toMatchObject(problem);
});
