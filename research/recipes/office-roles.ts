/**
 * A planner and a doer in the office (docs/rollouts.md, Roles): the planner makes the first call of every request, the doer all that follows.
 * Both read the whole conversation. The planner is paid for the requests that are fulfilled, the doer for the behaviours that they called for.
 *
 *     npx jiti research/recipes/office-roles.ts --steps 10 --seed 1 --out runs/office-roles
 */
import "../../extensions/install.ts";
import { parseArgs } from "node:util";
import { runTraining } from "../../src/cli/commands/train.ts";
import type { Message } from "../../src/core/messages.ts";
import { roleScore } from "../../src/core/trajectory.ts";
import type { Environment, Episode, Step } from "../../src/environments/environment.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { createScreen } from "../../src/terminal/screen.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";

const roles = ["planner", "doer"] as const;

/** The office with its requests shared out. */
export function officeWithRoles(): Environment {
  const office = createEnvironment("office", {});
  return {
    name: "office-roles",
    roles,
    metrics: roles.map(roleScore),
    size: (split) => office.size(split),
    task: (split, index) => office.task(split, index),
    start: async (task, seed) => shared(await office.start(task, seed)),
  };
}

/** An episode whose first call of each request is the planner's, and the rest the doer's. */
export function shared(episode: Episode): Episode {
  const all: Message[] = [...episode.messages];
  /** How much of the conversation each role has read or written. */
  const known = new Map<string, number>([["planner", all.length]]);
  let acting: string = "planner";
  /** Hands over: who acts next reads all that it has missed. */
  const next = <Given extends Step>(step: Given, role: string): Given => {
    const isNew = role !== acting;
    const messages = isNew ? all.slice(known.get(role) ?? 0) : (step.messages ?? []);
    acting = role;
    known.set(role, all.length);
    return { ...step, role, messages };
  };
  return {
    ...{ messages: episode.messages, tools: episode.tools, role: acting },
    ...(episode.limits !== undefined && { limits: episode.limits }),
    call: (call, context) => episode.call?.(call, context),
    afterTools: async (answers, action) => {
      const step = (await episode.afterTools?.(answers, action)) ?? {};
      all.push(action, ...answers);
      known.set(acting, all.length);
      all.push(...(step.messages ?? []));
      return next(step, "doer");
    },
    reply: async (message) => {
      const reply = await episode.reply(message);
      all.push(message);
      known.set(acting, all.length);
      all.push(...(reply.messages ?? []));
      return reply.done ? reply : next(reply, "planner");
    },
    score: async () => {
      const score = await episode.score(all);
      const counts = Object.values(score.behaviours ?? {}).map((one) =>
        typeof one === "boolean" ? { done: Number(one), called: 1 } : one,
      );
      const [done, called] = [counts.reduce((sum, one) => sum + one.done, 0), counts.reduce((sum, one) => sum + one.called, 0)];
      const paid = { [roleScore("planner")]: score.scores?.requests ?? 0, [roleScore("doer")]: called === 0 ? 1 : done / called };
      return { ...score, scores: { ...score.scores, ...paid } };
    },
    close: () => episode.close?.(),
  };
}

if (process.argv[1]?.endsWith("office-roles.ts") === true) {
  const { values } = parseArgs({
    options: {
      steps: { type: "string", default: "10" },
      seed: { type: "string", default: "1" },
      out: { type: "string", default: "runs/office-roles" },
      tasks: { type: "string", default: "64" },
    },
  });
  const config = {
    ...{ environment: officeWithRoles(), model: "bundled:office" },
    algorithm: { kind: "grpo", miniBatches: 4 },
    ...{ steps: Number(values.steps), seed: Number(values.seed), out: values.out },
    rollout: { tasksPerStep: 8, groupSize: 8, hiddenTools: "allow" },
    evaluation: { tasks: Number(values.tasks), k: 1 },
  } as const satisfies UserConfig;
  process.exitCode = await runTraining(config, { out: values.out }, { dashboard: false }, createScreen(process.stdout));
}
