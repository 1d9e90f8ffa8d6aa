import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { loadTokenizer } from "../../src/chat/tokenizer-folder.ts";
import type { Episode } from "../../src/environments/environment.ts";
import { publishedRollouts, startServers } from "./nemo-replay.ts";
import { call, opened, type Package, saying, script, serve, withPackage } from "./packages.ts";

/** An answer of a package's server in which a pattern became a text, and what the fault has to name: the field and the version. */
type Fault = readonly [what: string, pattern: string, text: string, names: RegExp];

/**
 * Plays an episode for each fault on one server of a package.
 * @param start starts it through a program with arguments, and returns what plays an episode on it
 */
function faultsOf(
  name: Package,
  what: string,
  faults: readonly Fault[],
  start: (through: readonly string[]) => Promise<() => Promise<unknown>>,
): void {
  withPackage(
    name,
    `${what}: newer answers, rewards that are not numbers and another environment are faults by name`,
    async () => {
      const file = join(mkdtempSync(join(tmpdir(), "faults-")), "fault.json");
      writeFileSync(file, JSON.stringify(["$^", ""]));
      const play = await start([script("faulty.py"), file]);
      for (const [which, pattern, text, names] of faults) {
        writeFileSync(file, JSON.stringify([pattern, text]));
        const ending = await play().then(
          (score) => `no fault, but ${JSON.stringify(score)}`,
          (error: Error) => `${error.name}: ${error.message}`,
        );
        expect(`${which}: ${ending}`).toMatch(names);
      }
    },
  );
}

/** Plays the first task by one action. */
async function played(name: string, settings: object, act: (episode: Episode) => unknown): Promise<unknown> {
  const environment = await opened(name, settings);
  const [split] = environment.splits ?? ["train"];
  const episode = await environment.start(await environment.task(split, 0), 0);
  try {
    await act(episode);
    return await episode.score(episode.messages);
  } finally {
    await episode.close?.();
  }
}

const rewards = (number: string, names: (field: string) => RegExp): readonly Fault[] => [
  ["a reward that is a text", `"reward": ?${number}`, '"reward": "high"', names("reward")],
  ["a reward that is not a number", `"reward": ?${number}`, '"reward": NaN', names('reward\\\\": NaN')],
  ["no reward at the end", `"reward": ?${number}`, '"reward": null', names("reward")],
  ["a reward under another name", `"reward": ?${number}`, '"rewards": [1]', names("reward")],
];

faultsOf(
  "openenv",
  "openenv 0.10",
  [
    ...rewards("-0\\.5", (field) => new RegExp(`${field}.*0\\.10`, "s")),
    ["a message of another kind", '"type": ?"observation"', '"type": "transition"', /type.*0\.10/s],
    ["another environment", '^\\{"task":', '{"env_name":"other","task":', /env_name.*"other".*echo/s],
  ],
  async (through) => {
    const port = await serve("openenv", (at) => [...through, script("openenv_worlds.py"), "echo", String(at)]);
    return () => played(`openenv:ws://127.0.0.1:${port}`, {}, (episode) => call(episode, "submit", { answer: "x" }));
  },
);

faultsOf(
  "ors",
  "ors-sdk 0.1",
  rewards("1\\.0", (field) => new RegExp(`${field}.*ors-sdk 0\\.1`, "s")),
  async (through) => {
    const port = await serve("ors", (at) => [...through, script("ors_worlds.py"), String(at)]);
    return () => played(`ors:http://127.0.0.1:${port}`, {}, (episode) => call(episode, "say", { text: "train-0" }));
  },
);

faultsOf(
  "openreward",
  "openreward 0.1.167",
  [
    ...rewards("-0\\.5", (field) => new RegExp(`${field}.*0\\.1\\.167`, "s")),
    ["a terminal tool without its argument", '"arg": ?"answer",?', "", /terminal_tool\.arg.*0\.1\.167/s],
    ["a newer version", '"version": ?"0\\.1\\.167"', '"version":"0.2.0"', /version.*"0\.2\.0".*0\.1\.167/s],
    ["a newer field of its tools", '"terminal_tool":', '"terminal_tools":[],"terminal_tool":', /terminal_tools.*0\.1\.167/s],
    ["another environment", '"env_name": ?"\\w+"', '"env_name":"other"', /env_name.*"other".*talk.*0\.1\.167/s],
  ],
  async (through) => {
    const port = await serve("openreward", (at) => [...through, script("openreward_worlds.py"), "talk", String(at)]);
    const answer = (episode: Episode) => episode.reply({ role: "assistant", content: "x" });
    return () => played(`ors:http://127.0.0.1:${port}`, {}, answer);
  },
);

const ofNemoGym = rewards("[\\d.]+", (field) => new RegExp(`${field}.*NeMo Gym 0\\.4`, "s"));
for (const [server, faults] of [
  ["mcqa", ofNemoGym],
  [
    "example_multi_turn_gymnasium",
    [...ofNemoGym, ["a newer step", '"terminated":', '"ended":false,"terminated":', /ended.*NeMo Gym 0\.4/s]],
  ],
] as const satisfies readonly (readonly [string, readonly Fault[]])[])
  faultsOf("nemo-gym", `nemo-gym 0.4, ${server}`, faults, async (through) => {
    const published = await publishedRollouts([server]);
    const { value } = await startServers(published, through).next();
    const port = value !== undefined && "port" in value ? value.port : 0;
    const answer = (episode: Episode) => episode.reply({ role: "assistant", content: "A" });
    return () => played(`nemo-gym:http://127.0.0.1:${port}`, { tasks: { train: published[0].rows } }, answer);
  });

faultsOf(
  "verifiers",
  "verifiers 0.4",
  [
    ["a reward that is a text", '"score": ?[\\d.]+', '"score": "high"', /rewards.*score.*verifiers 0\.4/s],
    ["a reward that is not a number", '"score": ?[\\d.]+', '"score": NaN', /rewards.*score.*verifiers 0\.4/s],
    ["no reward", '"rewards": ?\\{"share": ?\\{[^}]*\\}', '"rewards": {"share": null', /rewards of the rollout.*version 0\.4/s],
    ["a newer trace", '"version": ?1\\b', '"version": 2', /open.*version.*verifiers 0\.4/s],
  ],
  async (through) => {
    const tasks = join(mkdtempSync(join(tmpdir(), "verifiers-")), "tasks.jsonl");
    const port = await serve("verifiers", (at) => [...through, script("verifiers_world.py"), `tcp://127.0.0.1:${at}`, tasks]);
    const office = fileURLToPath(new URL("../../models/office", import.meta.url));
    const settings = { tasks: { test: tasks }, tokenizer: office, renderer: "default", rolloutTimeoutMs: 100_000 };
    const policy = saying(loadTokenizer(office), "a");
    return async () => {
      const environment = await opened(`verifiers:tcp://127.0.0.1:${port}`, settings);
      return environment.play?.(await environment.task("test", 0), policy);
    };
  },
);
