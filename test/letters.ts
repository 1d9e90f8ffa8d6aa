import { type Chat, makeChat } from "../src/chat/chat.ts";
import { makeTokenizer } from "../src/chat/tokenizer.ts";
import { randomStream } from "../src/core/random.ts";
import type { Environment, Task } from "../src/environments/environment.ts";

const letters = [..."abcsut"];
const end = "<|im_end|>";

export const lettersVocabulary = letters.length + 1;

/** A token for each letter; a message is the first letter of its role, its text and an end. */
export const lettersTokenizer = {
  tokenizer: {
    version: "1.0",
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    model: { type: "BPE", vocab: Object.fromEntries([...letters, end].map((token, id) => [token, id])), merges: [] },
    added_tokens: [
      { id: letters.length, content: end, special: true, normalized: false, lstrip: false, rstrip: false, single_word: false },
    ],
    decoder: { type: "Fuse" },
  },
  config: {
    eos_token: end,
    chat_template:
      "{% for message in messages %}{{ message.role[0] + message.content }}" +
      "{% for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}" +
      "<|im_end|>{% endfor %}{% if add_generation_prompt %}a{% endif %}",
  },
};

/** The same with 26 letters. */
export const moreLettersTokenizer = {
  ...lettersTokenizer,
  tokenizer: {
    ...lettersTokenizer.tokenizer,
    model: {
      type: "BPE",
      vocab: Object.fromEntries([..."abcdefghijklmnopqrstuvwxyz", end].map((token, id) => [token, id])),
      merges: [],
    },
    added_tokens: [{ ...lettersTokenizer.tokenizer.added_tokens[0], id: 26 }],
  },
};

export function lettersChat(): Chat {
  return makeChat(makeTokenizer(lettersTokenizer));
}

interface LettersTask extends Task {
  readonly prompt: string;
}

/** Two turns, each to be answered with b; the reward is the share of b among the letters said. Splits have the given size. */
export function lettersEnvironment(size = Number.POSITIVE_INFINITY): Environment<LettersTask> {
  return {
    name: "letters",
    size: () => size,
    task: (split, index) => {
      const prompt = randomStream(0, split, index).pick(["a", "b", "c"]);
      return { id: `${split}/${index}`, kind: prompt, prompt };
    },
    start: ({ prompt }) => {
      let turns = 0;
      return {
        messages: [{ role: "user", content: prompt }],
        tools: [],
        reply: () => (++turns < 2 ? { done: false, messages: [{ role: "user", content: prompt }] } : { done: true }),
        score: (conversation) => {
          const said = conversation.flatMap((message) => (message.role === "assistant" ? [...message.content] : []));
          return { reward: said.length === 0 ? 0 : said.filter((letter) => letter === "b").length / said.length };
        },
      };
    },
  };
}

/** Letters whose reward is 0 or 1: the intervals of it are exact, and take no time. */
export function wholeLettersEnvironment(size = Number.POSITIVE_INFINITY): Environment {
  const letters = lettersEnvironment(size);
  return {
    ...letters,
    start: async (task, seed) => {
      const episode = await letters.start(task as LettersTask, seed);
      const score = async (...given: Parameters<typeof episode.score>) => ({
        reward: Math.round((await episode.score(...given)).reward),
      });
      return { ...episode, score };
    },
  };
}

/** Letters where all answers to some prompts are worth the same. */
export function environmentSilentFor(prompts: readonly string[], size = Number.POSITIVE_INFINITY): Environment {
  const letters = lettersEnvironment(size);
  return {
    name: "letters",
    size: () => size,
    task: (split, index) => letters.task(split, index),
    start: async (task, seed) => {
      const episode = await letters.start({ ...task, prompt: task.kind ?? "" }, seed);
      return prompts.includes(task.kind ?? "") ? { ...episode, score: () => ({ reward: 1 }) } : episode;
    },
  };
}

/** Letters said in turn by two roles: the first is rewarded for its share of b, the second for its share of c. */
export function duelEnvironment(): Environment {
  const letters = lettersEnvironment();
  return {
    name: "letters",
    roles: ["first", "second"],
    size: () => Number.POSITIVE_INFINITY,
    task: (split, index) => letters.task(split, index),
    start: ({ kind = "" }) => {
      const said: Record<string, string> = { first: "", second: "" };
      let turns = 0;
      const share = (role: string, letter: string) => (said[role] ?? "").split(letter).length - 1;
      return {
        messages: [{ role: "user", content: kind }],
        ...{ role: "first", tools: [] },
        reply: ({ content }) => {
          said[turns % 2 === 0 ? "first" : "second"] += content;
          const role = ++turns % 2 === 0 ? "first" : "second";
          return turns < 4 ? { done: false, role, messages: [{ role: "user", content: kind }] } : { done: true };
        },
        score: () => {
          const scores = { "reward:first": share("first", "b"), "reward:second": share("second", "c") };
          return { reward: (scores["reward:first"] + scores["reward:second"]) / 2, scores };
        },
      };
    },
  };
}
