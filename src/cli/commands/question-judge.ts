import { complete, type EndpointSettings } from "../../completions/client.ts";
import { ConfigError } from "../../core/errors.ts";
import { Room } from "../../core/room.ts";
import {
  type AskedAnswer,
  type Judged,
  judgePrompt,
  judgeTries,
  readJudgement,
} from "../../environments/deep-research/answer-judge.ts";

export interface JudgeFlags {
  /** Address of a server of the chat-completions protocol. */
  readonly judge?: string;
  readonly judgeModel?: string;
  /** Environment variable of its key. */
  readonly judgeKeyEnv?: string;
}

/** Questions in flight. */
const concurrency = 8;
const maxTokens = 2048;

/** Asks a judge about one answer. @throws CompletionError if the server gives no answer, or refuses */
export type AnswerJudge = (answer: AskedAnswer) => Promise<Judged>;

/** The judge of the flags; undefined if there is none. @throws ConfigError naming the flag that is missing */
export function judgeOf({ judge, judgeModel, judgeKeyEnv }: JudgeFlags, env: NodeJS.ProcessEnv): AnswerJudge | undefined {
  if (judge === undefined) {
    const stray = judgeModel !== undefined ? "--judge-model" : judgeKeyEnv !== undefined ? "--judge-key-env" : undefined;
    if (stray !== undefined)
      throw new ConfigError("--judge", undefined, { expected: `the address of the server that ${stray} belongs to` });
    return undefined;
  }
  if (!/^https?:\/\//.test(judge)) throw new ConfigError("--judge", judge, { expected: "an http or https URL" });
  if (judgeModel === undefined)
    throw new ConfigError("--judge-model", undefined, { expected: `the name of a model at ${judge}` });
  const apiKey = judgeKeyEnv === undefined ? undefined : env[judgeKeyEnv]?.trim();
  if (judgeKeyEnv !== undefined && !apiKey)
    throw new ConfigError(`environment variable ${judgeKeyEnv}`, undefined, { expected: `the API key of ${judge}` });
  const settings: EndpointSettings = { baseUrl: judge, ...(apiKey ? { apiKey } : {}) };
  const room = new Room(concurrency);
  return (answer) => room.run(() => judged(settings, judgeModel, answer));
}

async function judged(settings: EndpointSettings, model: string, answer: AskedAnswer): Promise<Judged> {
  const messages = [{ role: "user", content: judgePrompt(answer) }];
  for (let attempt = 0; attempt < judgeTries; attempt++) {
    // The same question at temperature 0 would get the same reply again.
    const temperature = attempt === 0 ? 0 : 0.7;
    const { content } = await complete(settings, { model, messages, temperature, max_tokens: maxTokens });
    const verdict = readJudgement(content);
    if (verdict !== undefined) return verdict;
  }
  return "unusable";
}
