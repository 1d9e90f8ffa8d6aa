import type { ConversationReply, ConversationRequest } from "../../src/chat/conversation.ts";
import { reasonOf } from "../../src/core/errors.ts";
import type { TokenPolicy } from "../../src/environments/environment.ts";
import { HttpError } from "../http/http-error.ts";
import { noThreads } from "../inference/anthropic-messages.ts";
import type { InferenceModel } from "../inference/model.ts";
import type { Sampling } from "../inference/parsed-request.ts";
import { unknownRoute } from "../inference/server.ts";

/** Whose settings of sampling hold where an agent's request has its own. */
export type Ownership = "override" | "refuse";

export interface ServedPolicy {
  readonly model: InferenceModel;
  /** Counts of what the endpoint did, as scores of the episode. */
  counts(): Readonly<Record<string, number>>;
  /** Why requests were refused, in their order. */
  readonly refusals: readonly string[];
  /** The same of requests for what the endpoint does not have, such as embeddings. An agent may do without. */
  readonly unknownRoutes: readonly string[];
}

/** A policy as a model of the server, for one episode. */
export function servedPolicy(
  policy: TokenPolicy,
  converse: (request: ConversationRequest) => Promise<ConversationReply>,
  sampling: Ownership,
): ServedPolicy {
  const refusals: string[] = [];
  const unknownRoutes: string[] = [];
  const seen = { requests: 0, overridden: 0, tokenCounts: 0 };
  return {
    refusals,
    unknownRoutes,
    counts: () => ({
      "agent.requests": seen.requests,
      "agent.refused": refusals.length,
      "agent.overridden": seen.overridden,
      "agent.tokenCounts": seen.tokenCounts,
      ...Object.fromEntries(Object.entries(policy.captured().counts).map(([name, count]) => [`agent.${name}`, count])),
    }),
    model: {
      maxLength: policy.maxLength,
      vocabularySize: policy.vocabularySize,
      chat: {
        decode: (tokens) => policy.decode(tokens),
        count: (request) => {
          seen.tokenCounts++;
          return policy.count(request);
        },
        converse: async ({ strictTools = [], ...request }, requested) => {
          seen.requests++;
          if (requested.continuesLast === true)
            throw new HttpError(400, "continue_final_message", true, { expected: "false: an agent's messages are whole" });
          const own = settingsOf(requested.sampling, policy);
          // Without masks, a tool's arguments are as the model writes them.
          const isLoose = strictTools.length > 0 && !policy.canMask;
          if (own.length + Number(isLoose) > 0 && sampling === "refuse") throw refusal(own[0] ?? ["strict", true, false]);
          if (own.length + Number(isLoose) > 0) seen.overridden++;
          return converse({ ...request, strictTools: isLoose ? [] : strictTools });
        },
        refused: (error) => {
          const { code } = error instanceof HttpError ? error : {};
          // Without threads its client asks again.
          if (code !== noThreads) (code === unknownRoute ? unknownRoutes : refusals).push(reasonOf(error));
        },
      },
      sample: () => {
        throw new HttpError(400, "route", "token ids", { expected: "POST /v1/chat/completions, for an agent's messages" });
      },
    },
  };
}

type Setting = readonly [name: string, requested: unknown, own: unknown];

/** The settings of a request that are not the run's. */
function settingsOf({ temperature, topP, topK, seed, others }: Sampling, policy: TokenPolicy): Setting[] {
  const requested: Setting[] = [
    ["temperature", temperature, policy.temperature],
    ["top_p", topP, policy.topP],
    ["top_k", topK, policy.topK],
    ["seed", seed, undefined],
    ...Object.entries(others).map(([name, value]): Setting => [name, value, undefined]),
  ];
  return requested.filter(([, value, own]) => value !== undefined && value !== own);
}

function refusal([name, value, own]: Setting): HttpError {
  return new HttpError(400, name, value, {
    expected: own === undefined ? "none: sampling belongs to the run" : `${own}, the run's own`,
    hint: 'Leave it out of the agent\'s requests, or set sampling: "override".',
  });
}
