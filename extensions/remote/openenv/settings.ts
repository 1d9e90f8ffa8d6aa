import { z } from "zod";
import { settingsDoor } from "../../../src/core/door.ts";
import { longestTimer } from "../../../src/core/timer.ts";
import { remoteSettingsShape } from "../shared/settings.ts";

export const openenvSettingsSchema = settingsDoor("settings of OpenEnv", {
  ...remoteSettingsShape,
  /** How long a connection may take to open, in milliseconds. */
  connectTimeoutMs: z.int().min(1).max(longestTimer).default(60_000),
  /**
   * How the model acts. "tools" calls the environment's MCP tools, "schema" calls one tool whose parameters are the action's schema, "text"
   * puts the model's message into one field of the action. "auto" chooses the first two by the server's schema.
   */
  actions: z.enum(["auto", "tools", "schema", "text"]).default("auto"),
  /** The action's field that gets the model's message. Default: its only required field of type string. */
  textField: z.string().optional(),
  /** Fields of an observation that the model reads. Default all but the metadata; a single text is shown as it is. */
  show: z.array(z.string()).min(1).optional(),
  /** The fields that are sent to `reset` besides the seed. */
  reset: z.record(z.string(), z.unknown()).default({}),
  /**
   * Where tasks come from. "seeds": every index has a seed of its own. "listed": the server's task routes, whose split and index are sent to
   * `reset`. "auto": listed where the server has such routes.
   */
  tasks: z.enum(["auto", "seeds", "listed"]).default("auto"),
  /** Parameters of `reset` for each task of a split, instead of seeds. */
  resets: z.record(z.string(), z.array(z.record(z.string(), z.unknown())).min(1)).optional(),
});

export type OpenenvSettings = z.output<typeof openenvSettingsSchema>;
