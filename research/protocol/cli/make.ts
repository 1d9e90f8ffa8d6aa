import { basename } from "node:path";
import { z } from "zod";
import { type SettingValues, settingsOf } from "../../../src/cli/settings.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { parseJson } from "../../../src/core/json.ts";
import { parseSettings } from "../../../src/core/settings.ts";
import { whileOpen } from "../../../src/environments/lifetime.ts";
import { writeFileAtomic } from "../../../src/files/atomic.ts";
import { codeDigests } from "../../../src/files/code-digests.ts";
import { environmentOf } from "../../../src/sdk/run-environment.ts";
import { percent } from "../../../src/terminal/format.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { filesOf, loadConfigFile } from "../../../src/training/config/config-file.ts";
import type { TrainingConfig } from "../../../src/training/config/settings.ts";
import { checkSplit } from "../../../src/training/config/tasks.ts";
import type { UserConfig } from "../../../src/training/config/user-config.ts";
import { shownTasks } from "../play.ts";
import { makeProtocol, ProtocolError, type Sampling, textOf } from "../protocol.ts";
import { measureFlags } from "./flags.ts";

interface MakeFlags extends SettingValues {
  readonly out: string;
  readonly name?: string;
  readonly source: string;
  readonly ignore: string;
  readonly differing: string;
}

const ignoreSchema = z.array(z.enum(["case", "spaces"]));
const rowSchema = z
  .strictObject({
    id: z.string().optional(),
    prompt: z.string().optional(),
    messages: z.array(z.strictObject({ role: z.enum(["system", "user", "assistant"]), content: z.string() })).optional(),
    answer: z.union([z.string(), z.array(z.string()).min(1)]),
  })
  .refine(({ prompt, messages }) => (prompt === undefined) !== (messages === undefined), "either a prompt or messages");

/** Writes a protocol of a file of tasks, or of an environment. @throws ConfigError, ProtocolError, EnvError */
export async function makeCommand(file: string | undefined, flags: MakeFlags, screen: Screen): Promise<void> {
  const user = await loadConfigFile(flags.config);
  const given = settingsOf(measureFlags, flags);
  const config = resolveConfig(user, given);
  const differing = parseSettings(z.number().min(0).max(1), Number(flags.differing), "--differing");
  const { split } = config.evaluation;
  const { tasks, scorer } =
    file === undefined ? await ofEnvironment(config, user) : ofFile(file, split, given.evaluation?.tasks, flags);
  const name =
    flags.name ?? (file === undefined ? `${config.environment.name} ${split}` : basename(file).replace(/\.jsonl$/, ""));
  const protocol = makeProtocol({ name, source: flags.source, split, tasks, scorer, sampling: samplingOf(config) }, differing);
  writeFileAtomic(flags.out, `${JSON.stringify(protocol, null, 1)}\n`);
  const { smallest } = protocol.power;
  screen.line(`${flags.out}: ${protocol.tasks.length} tasks, ${protocol.sha256.slice(0, 12)}`);
  const seen = smallest === null ? "none: too few tasks" : percent(smallest);
  screen.line(`Smallest difference that would be seen if ${percent(differing)} of the tasks differ: ${seen}`);
}

type Parts = Pick<Parameters<typeof makeProtocol>[0], "tasks" | "scorer">;

/** @param count of them. Default: all */
function ofFile(file: string, split: string, count: number | undefined, { ignore }: MakeFlags): Parts {
  const rows = textOf(file)
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line, i) =>
      parseJson(
        line,
        rowSchema,
        (expected, cause) => new ProtocolError("malformed", `line ${i + 1} of ${file}`, "no task", { expected, cause }),
      ),
    );
  return {
    tasks: rows.slice(0, count).map(({ id, prompt, messages, answer }, i) => ({
      id: id ?? `${split}/${i}`,
      messages: messages ?? [{ role: "user", content: prompt ?? "" }],
      answers: [answer].flat(),
    })),
    scorer: { kind: "equal", ignore: parseSettings(ignoreSchema, ignore === "" ? [] : ignore.split(","), "--ignore") },
  };
}

async function ofEnvironment(config: TrainingConfig, user: UserConfig): Promise<Parts> {
  const environment = environmentOf(config, user);
  const { split, tasks } = config.evaluation;
  await checkSplit(environment, "evaluation.split", split);
  return {
    tasks: await whileOpen(environment, { timeoutMs: config.rollout.episodeTimeoutMs }, (opened) =>
      shownTasks(opened, split, tasks),
    ),
    scorer: { kind: "environment", ...config.environment, code: codeDigests(filesOf(environment)) },
  };
}

function samplingOf({ evaluation, rollout, seed }: TrainingConfig): Sampling {
  const { k, temperature, greedy } = evaluation;
  const { topP, topK, maxTokens, maxTurns } = rollout;
  if (topK !== 0) throw new ConfigError("rollout.topK", topK, { expected: "0: not every program that plays a protocol has it" });
  const attempts = temperature === 0 ? 0 : k;
  return {
    greedy: greedy || attempts === 0,
    attempts,
    ...{ temperature: attempts === 0 ? 1 : temperature, topP, maxTokens, maxTurns, seed },
  };
}
