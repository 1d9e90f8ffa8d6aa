import { z } from "zod";
import { fencedCode } from "../../src/actions/fenced-code.ts";
import { EnvError } from "../../src/core/errors.ts";
import type { CallAnswer, Episode } from "../../src/environments/environment.ts";
import { newMessages } from "../../src/environments/protocol.ts";
import { defineTool } from "../../src/tools/tool.ts";
import type { AppworldTask } from "./data.ts";
import { LostWorld, type World, type WorldPool } from "./pool.ts";
import { scoreOf } from "./reward.ts";
import type { AppworldSettings } from "./settings.ts";

/** A cell and what it printed. */
interface Cell {
  readonly code: string;
  readonly output: string;
}

const noBlock = "[No content provided by the environment]";

const python = defineTool({
  name: "python",
  description: "Runs Python in the session of the task. Only what is printed is shown.",
  parameters: z.object({ code: z.string().describe("the code") }),
  execute: () => noBlock, // the episode answers itself
});

const protocol = {
  actions: fencedCode({ languages: ["python"] }),
  continuation: newMessages((answer) => `Output:\n\`\`\`\n${answer}${answer.endsWith("\n") ? "" : "\n"}\`\`\`\n\n`),
};

export interface EpisodeParts {
  readonly task: AppworldTask;
  readonly pool: WorldPool;
  readonly system: string;
  readonly settings: Pick<AppworldSettings, "maxInteractions" | "maxOutput" | "reward">;
}

/**
 * An episode: the model writes cells until it completes the task. A copy has the cells alone and opens its world when it is first used, by repeating them: a server
 * cannot copy its Python session.
 */
export function startEpisode(parts: EpisodeParts, before: readonly Cell[] = [], wasDone = false): Episode {
  const { task, pool, system, settings } = parts;
  const cells = [...before];
  let world: Promise<World> | undefined;
  let done = wasDone;
  let rescued = false;

  const opened = (): Promise<World> => {
    world ??= replayed(pool, task.id, cells);
    return world;
  };
  const left = () => {
    const old = world;
    world = undefined;
    void old?.then(
      (open) => open.release(),
      () => {},
    );
  };
  /** Asks the world. A server that died is replaced once, with the cells repeated. */
  const query = async <T>(question: (open: World) => Promise<T>): Promise<T> => {
    try {
      return await question(await opened());
    } catch (error) {
      left();
      if (!(error instanceof LostWorld) || !error.lost || rescued) throw error;
      rescued = true;
      return question(await opened());
    }
  };

  return {
    messages: [
      { role: "system", content: system },
      { role: "user", content: task.instruction },
    ],
    tools: [python],
    protocol,
    limits: { turns: settings.maxInteractions },
    async call({ arguments: { code } }, { signal }): Promise<CallAnswer> {
      const text = typeof code === "string" ? code : "";
      const output = await query((open) => open.execute(text, signal));
      cells.push({ code: text, output });
      done = await query((open) => open.completed());
      return { content: cut(output, settings.maxOutput), valid: !output.startsWith("Execution failed."), done };
    },
    reply: () => ({ done: false, messages: [{ role: "user", content: noBlock }] }),
    score: async (conversation) => scoreOf(await query((open) => open.evaluate()), conversation, settings.reward),
    clone: () => startEpisode(parts, cells, done),
    close: left,
  };
}

/** A world in which the cells have been executed. @throws EnvError if one of them answers otherwise than it did */
async function replayed(pool: WorldPool, task: string, cells: readonly Cell[]): Promise<World> {
  const world = await pool.world(task);
  try {
    for (const [i, { code, output }] of cells.entries()) {
      const again = await world.execute(code);
      if (again !== output)
        throw new EnvError(`cell ${i + 1} of ${task}, repeated`, again, {
          expected: output,
          hint: "Its result depends on something outside of the world, so its cells cannot be repeated.",
        });
    }
    return world;
  } catch (error) {
    world.release();
    throw error;
  }
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}\n... truncated ...`;
}
