import { expect, test } from "vitest";
import { Dict } from "../python/values.ts";
import { rightCalls } from "./right-calls.ts";

const documents = [
  { name: "cd", description: "", parameters: Dict.of({ properties: Dict.of({ folder: null }) }) },
  { name: "refuel", description: "", parameters: Dict.of({ properties: Dict.of({ amount: null, unit: null }) }) },
];
const share = (wanted: readonly (readonly string[])[], made: readonly (readonly string[])[]) =>
  rightCalls(wanted, made, documents);

test("a call is right by its name and the values of its arguments, however it is written", () => {
  expect(share([["cd(folder='a')"]], [['cd( "a" )']])).toBe(1);
  expect(share([["refuel(1.0, 'l')"]], [["refuel(unit='l', amount=1)"]])).toBe(1);
  expect(share([["cd(folder='a')"]], [["cd(folder='b')"]])).toBe(0);
  expect(share([["cd(folder='a')"]], [["cd(folder='a', force=True)"]])).toBe(0);
  expect(share([["cd(folder='a')"]], [["ls(folder='a')"]])).toBe(0);
});

test("in its own turn, in any order, and once", () => {
  const wanted = [
    ["cd('a')", "cd('b')"],
    ["cd('a')", "cd('a')"],
  ];
  expect(share(wanted, [["cd('b')", "cd('a')"], ["cd('a')"]])).toBe(3 / 4);
  expect(share(wanted, [[], ["cd('b')"]])).toBe(0);
  expect(share(wanted, [["cd('a')"]])).toBe(1 / 4);
});

test("what is no call is none, and keeps no other from counting", () => {
  expect(share([["cd('a')"]], [["cd(", "1 + 1", "cd(x)", "cd('a')"]])).toBe(1);
});
