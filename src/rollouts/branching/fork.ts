import type { Chat } from "../../chat/chat.ts";
import { withinTime } from "../../core/deadline.ts";
import { EpisodeStop } from "../../core/episode-stop.ts";
import { reasonOf } from "../../core/errors.ts";
import { asUserCode } from "../../core/user-code.ts";
import type { Environment, Episode, Task } from "../../environments/environment.ts";
import type { EpisodeState } from "../actors/token-actor.ts";
import { answersTo, type OpenEpisode, opened } from "../answers.ts";
import { close, startEpisode } from "../ask.ts";
import { dialogueOf } from "../dialogue.ts";
import type { RolloutOptions } from "../options.ts";

/** The way to get the state of an environment a second time: copied, or recreated by repeating every call. Or why there is none. */
export type Forking = { readonly by: "clone" | "replay" } | { readonly refused: string };

/** An episode that can copy itself is copied; else it is replayed where its environment and all of its tools allow that. */
export function forkingOf<T extends Task>(environment: Environment<T>, { episode, tools }: OpenEpisode): Forking {
  if (episode.clone !== undefined) return { by: "clone" };
  const name = `The environment "${environment.name}"`;
  if (environment.replayable !== true)
    return { refused: `${name} has no episodes with \`clone\`, and does not say that they are \`replayable\`.` };
  const tool = tools.find(({ replayable, idempotent }) => replayable !== true && idempotent !== true);
  if (tool === undefined) return { by: "replay" };
  return {
    refused: `${name} has no episodes with \`clone\`, and its tool "${tool.name}" does not say that it is \`replayable\` or \`idempotent\`.`,
  };
}

/** A copy of an episode as it is now, or what went wrong: the rollout which was to continue from it reports that. */
export type Copy = { readonly episode: Episode } | { readonly error: string };

/** Copies at once where the episode can: nothing waits then. */
export function copyOf(
  episode: Episode,
  { episodeTimeoutMs, signal }: Pick<RolloutOptions, "episodeTimeoutMs" | "signal">,
): Copy | Promise<Copy> {
  const failed = (error: unknown): Copy => ({ error: reasonOf(error) });
  try {
    const copy = asUserCode("clone() of the environment", () => episode.clone?.());
    if (copy === undefined) return { error: "there is none" };
    if (!(copy instanceof Promise)) return { episode: copy };
    return withinTime(() => copy, episodeTimeoutMs, signal).then((made): Copy => ({ episode: made }), failed);
  } catch (error) {
    return failed(error);
  }
}

/** @throws EpisodeStop */
export function copied(copy: Copy): OpenEpisode {
  if ("episode" in copy) return opened(copy.episode);
  throw new EpisodeStop("environment-error", `clone: ${copy.error}`);
}

/**
 * A fresh episode, brought to where another one stood by repeating its calls and messages.
 * @throws EpisodeStop where the environment fails, or answers otherwise than it did
 */
export async function replay<T extends Task>(
  environment: Environment<T>,
  task: T,
  chat: Chat,
  { messages, turns }: EpisodeState,
  options: RolloutOptions,
): Promise<OpenEpisode> {
  const episode = await startEpisode(environment, task, options);
  const dialogue = dialogueOf(chat, episode.protocol);
  let live = opened(episode);
  try {
    let at = 0;
    const expectNext = (answers: readonly unknown[], when: string) => {
      const recorded = messages.slice(at, at + answers.length);
      if (JSON.stringify(answers) !== JSON.stringify(recorded)) throw otherAnswer(when);
      at += answers.length;
    };
    expectNext(episode.messages, "at the start");
    for (const { action, turn } of turns) {
      const read = dialogue.read(chat.actionText(action), messages.slice(0, at), live.tools);
      at++; // the action
      const answers = await answersTo(live, read, options);
      expectNext(answers.messages, `in turn ${turn}`);
      if (answers.done) throw otherAnswer(`in turn ${turn}`);
      live = { episode, tools: answers.tools };
    }
    if (at < messages.length) throw otherAnswer("in its turns");
    return live;
  } catch (error) {
    await close(episode, options);
    throw error;
  }
}

function otherAnswer(when: string): EpisodeStop {
  return new EpisodeStop("environment-error", `replay: another answer than before ${when}, so it cannot be forked by replay`);
}
