import { execFile } from "node:child_process";
import { ConfigError, reasonOf } from "../../src/core/errors.ts";
import type { Diagnosis } from "../../src/environments/environment.ts";
import type { AppworldData } from "./data.ts";
import { setupCommands, testedVersion } from "./places.ts";
import { type PoolOptions, WorldPool } from "./pool.ts";
import type { AppworldSettings } from "./settings.ts";

interface Places {
  readonly python: string;
  readonly root: string;
}

/** Starts Python for the probe, and a server. */
interface Programs {
  readonly probe: typeof runPython;
  readonly startProgram?: PoolOptions["startProgram"];
}

/** Looks at all that AppWorld needs on this machine, in the order in which it is installed. */
export async function diagnose(
  places: Places,
  data: AppworldData,
  settings: AppworldSettings,
  { probe, startProgram }: Programs = { probe: runPython },
): Promise<Diagnosis[]> {
  const commands = setupCommands(places.root);
  const installed = settings.urls === undefined ? [packageOf(places.python, await probe(places.python), commands.install)] : [];
  const found = checkData(data, commands.data);
  const ready = [...installed, found].every(({ state }) => state !== "bad");
  return [...installed, found, ready ? await checkServer({ ...places, startProgram }, settings) : notTried];
}

const notTried: Diagnosis = { name: "AppWorld server", state: "doubtful", text: "not tried: something above is missing" };

/** Prints the version, and fails where the apps have not been unpacked. */
const probe = `
import importlib.metadata, importlib.util, sys
assert sys.version_info >= (3, 11), "Python " + sys.version.split()[0] + ", but AppWorld needs 3.11"
version = importlib.metadata.version("appworld")
assert importlib.util.find_spec("appworld.apps.simple_note") is not None, "appworld " + version + " without its apps"
print(version)
`;

function packageOf(python: string, { output, problem }: Awaited<ReturnType<typeof runPython>>, install: string): Diagnosis {
  const name = "AppWorld package";
  if (problem !== undefined) {
    const missing = /PackageNotFoundError|No package metadata/.test(problem) ? "the package appworld is not installed" : problem;
    return { name, state: "bad", text: `${python}: ${missing}`, advice: install };
  }
  const version = output.trim();
  const text = `${python}: appworld ${version}`;
  if (version === testedVersion) return { name, state: "good", text };
  return { name, state: "doubtful", text, advice: `Tested with ${testedVersion} alone.` };
}

function runPython(python: string): Promise<{ readonly output: string; readonly problem?: string }> {
  return new Promise((resolve) => {
    execFile(python, ["-c", probe], { timeout: 60_000 }, (error, output, errors) => {
      const last = errors.trim().split("\n").at(-1) ?? "";
      resolve(error === null ? { output } : { output, problem: last === "" ? error.message.split("\n")[0] : last });
    });
  });
}

function checkData(data: AppworldData, download: string): Diagnosis {
  const name = "AppWorld data";
  try {
    data.requireData();
    const sizes = data.names().map((split) => `${split} ${data.ids(split).length}`);
    return { name, state: "good", text: `${data.root}: ${sizes.join(", ")} tasks` };
  } catch (error) {
    const text = error instanceof ConfigError ? `none in ${data.root}` : reasonOf(error);
    return { name, state: "bad", text, advice: download };
  }
}

/** Starts one server, or asks those that are running. */
async function checkServer(
  places: Places & Pick<PoolOptions, "startProgram">,
  { servers, urls, port, startTimeoutMs, timeoutMs }: AppworldSettings,
): Promise<Diagnosis> {
  const name = "AppWorld server";
  const pool = new WorldPool({ ...places, servers, urls, port, startTimeoutMs, timeoutMs });
  const started = performance.now();
  try {
    await pool.open();
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    return {
      name,
      state: "good",
      text: urls === undefined ? `starts in ${seconds} s; ${servers} at most` : `${urls.length} answer`,
    };
  } catch (error) {
    return { name, state: "bad", text: reasonOf(error) };
  } finally {
    await pool.close();
  }
}
