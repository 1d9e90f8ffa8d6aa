import { changesBetween, sameLines } from "../../extensions/office/changes.ts";
import { demonstrate } from "../../extensions/office/demonstrations.ts";
import { startEpisode } from "../../extensions/office/episode.ts";
import { officeEnvironment } from "../../extensions/office/office.ts";
import { completeSettings } from "../../extensions/office/settings.ts";
import type { OfficeTask } from "../../extensions/office/task.ts";
import { toolsOn } from "../../extensions/office/tools.ts";
import { cloneWorld, type World } from "../../extensions/office/world.ts";
import { apiKeyFrom, keyHint } from "../../src/core/api-key.ts";
import { randomStream } from "../../src/core/random.ts";
import { parseSettings } from "../../src/core/settings.ts";
import type { Environment, Episode } from "../../src/environments/environment.ts";
import { endpointUser } from "./endpoint.ts";
import { officeUserSettingsSchema } from "./settings.ts";
import { type Said, type SimulatedUser, scriptedUser } from "./user.ts";

/** Turns of the user, after which an episode ends: a model may never stop. */
const mostUserTurns = 30;

/**
 * The office with a user that is simulated, as τ-bench (arXiv:2406.12045, §3): the agent learns what is wanted in the conversation alone, and an
 * episode is solved if the office ends in the state in which the requests leave it. The user's messages are part of the context: nothing of
 * them is trained. An error of the user's is a fault of the environment, so the episode has no score.
 * Scores: `success`, and `userTurns`. What must not be done, and is not, counts as done: words are not judged.
 * @throws ConfigError naming the first setting that is wrong, or a user behind an endpoint without its key
 */
export function officeUserEnvironment(
  userSettings: unknown = {},
  env: Readonly<Record<string, string | undefined>> = process.env,
): Environment<OfficeTask> {
  const { office: ofOffice, user } = parseSettings(officeUserSettingsSchema, userSettings, "environment.settings");
  const settings = completeSettings(ofOffice);
  const office = officeEnvironment(ofOffice);
  if (user.kind === "scripted")
    return { ...office, name: "office-user", start: (task, seed) => talk(task, settings, scriptedUser, seed), expert: undefined };
  const { apiKeyEnv, baseUrl } = user;
  const key =
    apiKeyEnv === null ? undefined : apiKeyFrom(env, apiKeyEnv, baseUrl, keyHint("environment.settings.user.apiKeyEnv"));
  const simulated = endpointUser(user, key);
  return { ...office, name: "office-user", start: (task, seed) => talk(task, settings, simulated, seed), expert: undefined };
}

/** An episode with any user. */
export async function talk(
  task: OfficeTask,
  settings: Parameters<typeof startEpisode>[1],
  user: SimulatedUser,
  seed: number,
): Promise<Episode> {
  const world = cloneWorld(task.world);
  const [system] = startEpisode(task, settings).messages;
  const first = (await user.next(task, [], seed)) ?? "";
  const said: Said[] = [{ role: "user", content: first }];
  return {
    messages: [...(system === undefined ? [] : [system]), { role: "user", content: first }],
    tools: toolsOn(world, () => {}),
    async reply({ content }) {
      said.push({ role: "assistant", content });
      if (said.length >= 2 * mostUserTurns) return { done: true };
      const next = await user.next(task, said, seed);
      if (next === undefined) return { done: true };
      said.push({ role: "user", content: next });
      return { done: false, messages: [{ role: "user", content: next }] };
    },
    score() {
      const wanted = changesBetween(task.world, afterExpert(task));
      const success = sameLines(changesBetween(task.world, world), wanted) ? 1 : 0;
      return { reward: success, scores: { success, userTurns: said.filter(({ role }) => role === "user").length } };
    },
  };
}

/** The office after the expert has done what is asked. */
function afterExpert(task: OfficeTask): World {
  const world = cloneWorld(task.world);
  const tools = toolsOn(world, () => {});
  const context = { signal: new AbortController().signal };
  for (const message of demonstrate(task, randomStream(0)).messages)
    if (message.role === "assistant")
      for (const { name, arguments: args } of message.toolCalls ?? [])
        void tools.find((tool) => tool.name === name)?.execute(args, context);
  return world;
}
