import { z } from "zod";
import { acts } from "../../src/core/acts.ts";
import { longestTimer } from "../../src/core/timer.ts";

const rewardKinds = ["dense", "sparse", "seeupo"] as const;

export const appworldSettingsSchema = z.strictObject({
  /** A Python that has the package `appworld`. Default: the one in ~/.cache/retrograde/appworld if it is there, else python3. */
  python: acts.program(z.string().min(1)).optional(),
  /** The folder that contains AppWorld's `data`. Default: the environment variable APPWORLD_ROOT, else ~/.cache/retrograde/appworld-root. */
  root: acts.reads(z.string().min(1)).optional(),
  /** Server processes, which is the number of episodes at a time: a process has one world. Each takes about 300 MB. */
  servers: z.int().min(1).default(4),
  /** Servers that are running already, instead of own ones: addresses of `appworld serve environment`. They are not restarted. */
  urls: z
    .array(acts.address(z.url({ protocol: /^https?$/ })))
    .min(1)
    .optional(),
  /** Port of the first own server; the others have the next ones. Free ports if left out. */
  port: z.int().min(1).max(65_535).optional(),
  /** Assistant messages of an episode. 10 is SeeUPO's (arXiv:2602.06554). */
  maxInteractions: z.int().min(1).default(10),
  /**
   * dense: the share of the task's tests that pass. sparse: 1 if all do. seeupo: 1.5 if all do, else half of the share, and -1 where the model
   * repeats itself without end.
   */
  reward: z.enum(rewardKinds).default("dense"),
  /** Which API documents the prompt has: `discover`, those calls that find them; `listed`, the names and descriptions of all APIs too. */
  apiDocs: z.enum(["discover", "listed"]).default("discover"),
  /** Longest program output that the model reads, in characters. 12,000 are about the 3,000 tokens of SeeUPO. */
  maxOutput: z.int().min(100).default(12_000),
  /** For a server to start. */
  startTimeoutMs: z.int().min(1).max(longestTimer).default(120_000),
  /** For an answer of a server: AppWorld itself ends a cell after 100 seconds. */
  timeoutMs: z.int().min(1).max(longestTimer).default(110_000),
});

export type AppworldSettings = z.output<typeof appworldSettingsSchema>;
