import { expect, test } from "vitest";
import { setBeside, startBeside } from "./beside.ts";

test("a program that was set starts beside a run, and nothing does before", () => {
  const ended: string[] = [];
  startBeside("runs/a", () => expect.unreachable())();
  setBeside((folder, onAddress) => {
    onAddress(`http://x/${folder}`);
    return () => ended.push(folder);
  });
  const addresses: string[] = [];
  startBeside("runs/b", (url) => addresses.push(url))();
  expect([addresses, ended]).toEqual([["http://x/runs/b"], ["runs/b"]]);
});
