import { spawn } from "node:child_process"; // refused when it is called, which the last tests here show
import { readdirSync, readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { dirname, join, relative } from "node:path";
import { expect, test, vi } from "vitest";
import { root } from "./house.ts";

const own = relative(root, import.meta.filename);
const files = ["src", "extensions", "research", "test"].flatMap((folder) => {
  try {
    const paths = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
    return paths.filter((path) => path.endsWith(".ts")).map((path) => `${folder}/${path.replaceAll("\\", "/")}`);
  } catch {
    return [];
  }
});
const unit = files.filter((file) => file.endsWith(".test.ts") && !/\.(?:contract|slow)\.test\.ts$/.test(file) && file !== own);
const isHelper = (file: string) => file.startsWith("test/") || file.endsWith(".fixture.ts");

/** Modules that start processes, open ports or drive browsers. Their types alone may be imported. */
const forbidden = /^(?:node:)?(?:child_process|cluster|dgram|http|http2|https|net|tls)$|^playwright/;
/** With the network in memory these open no port. */
const network = "test/loopback.ts";
const inMemory = /^(?:node:)?(?:http|net)$/;

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), "utf8");
  const found = [...text.matchAll(/^(?:import|export)\s+(?!type\b)(?:[^;"]*?\sfrom\s+)?"([^"]+)";|\bimport\("([^"]+)"\)/gm)];
  return found.map(([, fixed, dynamic]) => fixed ?? dynamic);
}

const targetOf = (file: string, specifier: string) => join(dirname(file), specifier).replaceAll("\\", "/");
const importsNetwork = (file: string) => importsOf(file).some((specifier) => targetOf(file, specifier) === network);

/** How a file gets to a forbidden module through helpers of tests; undefined if it does not. */
function wayOut(file: string, seen = new Set<string>(), hasNetwork = importsNetwork(file)): string | undefined {
  if (seen.has(file) || file === network) return undefined;
  seen.add(file);
  for (const specifier of importsOf(file)) {
    if (forbidden.test(specifier) && !(hasNetwork && inMemory.test(specifier))) return `${file} imports ${specifier}`;
    const target = targetOf(file, specifier);
    const isOwn = specifier.startsWith(".") && isHelper(target) && files.includes(target);
    const way = isOwn ? wayOut(target, seen, hasNetwork) : undefined;
    if (way !== undefined) return `${file} > ${way}`;
  }
  return undefined;
}

test("a test's name says its kind: unit, contract or slow", () => {
  const others = files.filter((file) => /\.(?!contract\.|slow\.)[a-z-]+\.(?:test|spec)\.ts$|\.spec\.ts$/.test(file));
  expect(others).toEqual([]);
  expect(unit.length).toBeGreaterThan(100);
});

test("unit tests import nothing that starts processes or opens ports, directly or through their helpers", () => {
  expect(unit.flatMap((file) => wayOut(file) ?? [])).toEqual([]);
});

test("unit tests skip nothing: what a machine may lack belongs into a contract test", () => {
  const skips = /\.(?:skip|skipIf|runIf|todo|only)\b/;
  expect(unit.filter((file) => skips.test(readFileSync(join(root, file), "utf8")))).toEqual([]);
});

// What product code does when a unit test runs it is refused by unit-setup.ts.
test.fails("a unit test that starts a process fails", () => {
  spawn(process.execPath, ["--version"]);
});
test.fails("a unit test that opens a port fails, though something catches the error", () => {
  expect(() => createServer().listen(0)).toThrow("A unit test opens a port");
});
test.fails("a unit test that asks the network fails, though something catches the error", async () => {
  expect(() => connect(9, "127.0.0.1")).toThrow("A unit test opens a connection");
});
test.fails("a unit test that computes for more than 5 s of processor time fails", () => {
  vi.spyOn(process, "cpuUsage").mockReturnValueOnce({ user: 4e6, system: 2e6 });
});
