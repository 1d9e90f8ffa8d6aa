import { z } from "zod";
import { acts } from "../../../src/core/acts.ts";
import { settingsDoor } from "../../../src/core/door.ts";
import { longestTimer } from "../../../src/core/timer.ts";
import { remoteSettingsShape } from "../shared/settings.ts";

/** Its program holds the conversation and knows no key, so the other settings would change nothing. */
const { maxAnswer, concurrency } = remoteSettingsShape;

const here = "127.0.0.1";

/** Settings of `verifiers:` environments. */
export const verifiersSettingsSchema = settingsDoor("settings of verifiers", {
  maxAnswer,
  concurrency,
  /** Files of tasks in JSONL, one for each split: the task data of the taskset, as `task.data.model_dump(mode="json")` writes it. */
  tasks: z.record(z.string(), acts.reads(z.string().min(1))),
  /** The model's folder or name on the Hub, as the environment server finds it: it renders the conversation with this tokenizer. */
  tokenizer: z.string().min(1),
  /** The renderer of the conversation (package `renderers`), such as "qwen3". Default: chosen by the tokenizer's name, else one without tools. */
  renderer: z.string().optional(),
  /** How long a connection may take to open, in milliseconds. */
  connectTimeoutMs: z.int().min(1).max(longestTimer).default(60_000),
  /** Longest rollout, in milliseconds. */
  rolloutTimeoutMs: z.int().min(1).max(longestTimer).default(1_800_000),
  /** Address of this machine as the environment server reaches it. */
  host: z.string().default(here),
  /** Address that the server of actions listens on. Others than this machine's need a key, which is made for each run. */
  listen: acts.by(z.string(), (what) => (what === here ? [] : [{ kind: "listens", what }])).default(here),
  /** 0 takes any free port. */
  port: z.int().min(0).max(65_535).default(0),
});
