import koffi from "koffi";
import { expect, test } from "vitest";
import { functions, openLibrary } from "./library.ts";

test("functions are called as onnxruntime_c_api.h declares them: releases return nothing, all else a status or a text", () => {
  const declared = Object.entries(functions).map(([name, [place, signature]]) => {
    return { name, place, returns: koffi.type(koffi.proto(signature)).proto?.result.name };
  });
  expect(declared.map(({ place }) => place).filter((place, i, all) => all.indexOf(place) !== i)).toEqual([]);
  const returning = (type: string) => declared.flatMap(({ name, returns }) => (returns === type ? [name] : []));
  expect(returning("char *")).toEqual(["GetErrorMessage"]);
  expect(returning("void")).toEqual(declared.flatMap(({ name }) => (name.startsWith("Release") ? [name] : [])));
  expect(returning("void *").length).toBe(declared.length - returning("void").length - 1);
});

test("the library is opened once, and what it cannot make is said with its own words", async () => {
  const library = await openLibrary();
  expect(await openLibrary()).toBe(library);
  expect(library.version).toMatch(/^1\.\d+\.\d+$/);
  expect(() => library.make("CreateMemoryInfo", "no memory", 0, 0, 0)).toThrow(/./);
  await expect(library.callAside("SetIntraOpNumThreads", library.make("CreateSessionOptions"), 1)).resolves.toBeUndefined();
});
