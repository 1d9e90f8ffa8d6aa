import "../../test/loopback.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { EnvError } from "../../src/core/errors.ts";
import { AppworldData } from "./data.ts";
import { diagnose } from "./diagnose.ts";
import { setupCommands, testedVersion } from "./places.ts";
import { appworldSettingsSchema } from "./settings.ts";
import { stubRoot } from "./stub-server.fixture.ts";

const root = stubRoot();
const settings = appworldSettingsSchema.parse({});
const version = { output: `${testedVersion}\n` };
/** @param start throws: no server is started here */
const diagnosed = (probed: { output: string; problem?: string }, at = root, said = "no such port") =>
  diagnose({ python: "py", root: at }, new AppworldData(at), settings, {
    probe: async (python) => {
      expect(python).toBe("py");
      return probed;
    },
    startProgram: () => {
      throw new EnvError("a server", said, { expected: "one that answers" });
    },
  });
const data = { name: "AppWorld data", state: "good", text: `${root}: train 2, own 1 tasks` };

test("the package: its version, another one, and what is missing, with the command that installs it", async () => {
  const [found, , server] = await diagnosed(version);
  expect(found).toEqual({ name: "AppWorld package", state: "good", text: "py: appworld 0.1.3.post1" });
  expect(server).toEqual({
    name: "AppWorld server",
    state: "bad",
    text: 'a server is "no such port"; expected one that answers.',
  });
  const [other, second, third] = await diagnosed({ output: "0.2\n" });
  expect(other).toEqual({
    ...{ name: "AppWorld package", state: "doubtful", text: "py: appworld 0.2", advice: "Tested with 0.1.3.post1 alone." },
  });
  expect([second, third?.state]).toEqual([data, "bad"]);
  const { install } = setupCommands(root);
  const notTried = { name: "AppWorld server", state: "doubtful", text: "not tried: something above is missing" };
  for (const [problem, text] of [
    [
      "importlib.metadata.PackageNotFoundError: No package metadata was found for appworld",
      "the package appworld is not installed",
    ],
    ["No package metadata was found for appworld", "the package appworld is not installed"],
    ["AssertionError: Python 3.9, but AppWorld needs 3.11", "AssertionError: Python 3.9, but AppWorld needs 3.11"],
  ] as const)
    expect(await diagnosed({ output: "", problem })).toEqual([
      { name: "AppWorld package", state: "bad", text: `py: ${text}`, advice: install },
      data,
      notTried,
    ]);
});

test("the data: none, with the command that downloads it", async () => {
  const empty = mkdtempSync(join(tmpdir(), "appworld-none-"));
  expect((await diagnosed(version, empty)).slice(1)).toEqual([
    { name: "AppWorld data", state: "bad", text: `none in ${empty}`, advice: setupCommands(empty).data },
    { name: "AppWorld server", state: "doubtful", text: "not tried: something above is missing" },
  ]);
});

test("what is typed to install: a virtual environment in the cache, and the data in its folder", () => {
  expect(setupCommands("/data", { XDG_CACHE_HOME: "/cache" })).toEqual({
    install:
      "python3 -m venv /cache/retrograde/appworld && /cache/retrograde/appworld/bin/pip install appworld==0.1.3.post1 && /cache/retrograde/appworld/bin/appworld install",
    data: "mkdir -p /data && /cache/retrograde/appworld/bin/appworld download data --root /data",
  });
});
