import type { Chat } from "../../chat/chat.ts";
import type { Environment, Episode, Task } from "../../environments/environment.ts";
import { messageOf } from "../call-tool.ts";
import { answersTo, close, EpisodeStop, type RolloutOptions, readAction, type Standing, startEpisode } from "../play.ts";

/** How the state of an environment is had a second time: copied, or made again by repeating every call. Or why it cannot be had. */
export type Forking = { readonly by: "clone" | "replay" } | { readonly refused: string };

/** An episode that can copy itself is copied; else it is replayed where its environment and all of its tools allow that. */
export function forkingOf<T extends Task>(environment: Environment<T>, episode: Episode): Forking {
  if (episode.clone !== undefined) return { by: "clone" };
  const name = `The environment "${environment.name}"`;
  if (environment.replayable !== true)
    return { refused: `${name} has no episodes with \`clone\`, and does not say that they are \`replayable\`.` };
  const tool = episode.tools.find(({ replayable, idempotent }) => replayable !== true && idempotent !== true);
  if (tool === undefined) return { by: "replay" };
  return {
    refused: `${name} has no episodes with \`clone\`, and its tool "${tool.name}" does not say that it is \`replayable\` or \`idempotent\`.`,
  };
}

/** A copy of an episode as it is now, or what went wrong: that is told by the rollout which was to go on from it. */
export type Copy = { readonly episode: Episode } | { readonly error: string };

export function copyOf(episode: Episode): Copy {
  try {
    const copy = episode.clone?.();
    return copy === undefined ? { error: "there is none" } : { episode: copy };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

export function opened(copy: Copy): Episode {
  if ("episode" in copy) return copy.episode;
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
  { context, turns }: Standing,
  options: RolloutOptions,
): Promise<Episode> {
  const episode = await startEpisode(environment, task, options);
  try {
    let at = 0;
    const expectNext = (answers: readonly unknown[], when: string) => {
      const recorded = context.messages.slice(at, at + answers.length);
      if (JSON.stringify(answers) !== JSON.stringify(recorded))
        throw new EpisodeStop(
          "environment-error",
          `replay: another answer than before ${when}, so it cannot be forked by replay`,
        );
      at += answers.length;
    };
    expectNext(episode.messages, "at the start");
    for (const { action, turn } of turns) {
      const parsed = readAction(episode, chat.actionText(action), context.messages.slice(0, at));
      at++; // the action
      expectNext(await answersTo(episode, parsed, options), `in turn ${turn}`);
    }
    return episode;
  } catch (error) {
    await close(episode, options);
    throw error;
  }
}
