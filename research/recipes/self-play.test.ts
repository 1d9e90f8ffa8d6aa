import { expect, test } from "vitest";
import type { Episode, Reply } from "../../src/environments/environment.ts";
import { ofTwo } from "./self-play.ts";

const screen = (text: string, player: number) => ({ role: "user", content: JSON.stringify({ text, player }) }) as const;

test("each player reads its own screen, and the second is paid what the first loses", async () => {
  const replies: Reply[] = [{ done: false, messages: [screen("said", 0), screen("Player 1, move.", 1)] }, { done: true }];
  const closed: string[] = [];
  const game: Episode = {
    messages: [screen("Player 0, begin.", 0)],
    tools: [],
    reply: () => replies.shift() ?? { done: true },
    score: (conversation) => ({ reward: conversation.length - 2, scores: { other: 1 } }),
    close: () => void closed.push("closed"),
  };
  const episode = ofTwo(game);
  expect(episode).toMatchObject({ role: "first", messages: [{ role: "user", content: "Player 0, begin." }], tools: [] });
  const said = { role: "assistant", content: "[take 1]" } as const;
  expect(await episode.reply(said)).toEqual({
    ...{ done: false, role: "second" },
    messages: [{ role: "user", content: "Player 1, move." }],
  });
  expect(await episode.reply(said)).toEqual({ done: true });
  expect(await episode.score([said])).toEqual({ reward: -1, scores: { "reward:first": -1, "reward:second": 1 } });
  await episode.close?.();
  expect(closed).toEqual(["closed"]);
  const of = (content: string) => () => ofTwo({ ...game, messages: [{ role: "user", content }] });
  for (const content of ['{"text":"x","player":2}', '{"player":0}', "no JSON"]) expect(of(content)).toThrow();
});
