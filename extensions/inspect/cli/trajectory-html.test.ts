import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Trajectory } from "../../../src/core/trajectory.ts";
import { createScreen } from "../../../src/terminal/screen.ts";
import { htmlCommand } from "./trajectory-html.ts";

test("an episode is one page: what the model wrote is text in it, and passwords are masked", () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-html-"));
  const file = join(folder, "episode.html");
  const episode: Trajectory = {
    ...{ id: "step-1/0/0", group: "g", task: "t", turns: [], reward: 0.5, scores: {}, stopReason: "done" },
    messages: [
      { role: "user", content: "See https://me:secret@host/ <b>now</b>" },
      { role: "assistant", content: "", reasoning: "Hm.", toolCalls: [{ name: "find", arguments: { title: "<script>" } }] },
      { role: "tool", name: "find", content: "none & nothing" },
      { role: "assistant", content: "<script>alert(1)</script>" },
    ],
  };
  htmlCommand(folder, episode, file, createScreen({ write: () => true }));
  const page = readFileSync(file, "utf8");
  rmSync(folder, { recursive: true });
  expect(page).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
  expect(page).toContain("none &amp; nothing");
  expect(page).toContain("find(title: &quot;&lt;script&gt;&quot;)");
  expect(page).toContain("reward 0.5, 0 turns, ended: done");
  expect(page).not.toMatch(/<script|secret|<b>|https?:\/\/[^m]*src=/);
});
