import { expect, test } from "vitest";
import { entropySvg } from "./entropy-svg.ts";
import { article, escaped, htmlPage } from "./html-page.ts";

const point = (offset: number, mean: number) => ({ offset, mean, count: 1 });
const text = (x: string, y: string, anchor: string, content: string) =>
  `<text x="${x}" y="${y}" text-anchor="${anchor}">${content}</text>`;

test("entropy around an occasion is a line before it and one behind it, in the scale of all points", () => {
  const series = { start: [point(0, 1), point(1, 1)], tool: [point(-1, 1), point(0, 2), point(3, 0)], user: [] };
  // x: 420 for the tokens −1 to 3, from 60. y: 270 for 0 to 2 nats, from 310 upwards.
  const grid = [
    ["310.0", "0.0"],
    ["256.0", "0.40"],
    ["202.0", "0.80"],
    ["148.0", "1.2"],
    ["94.0", "1.6"],
    ["40.0", "2.0"],
  ].flatMap(([y, label]) => [
    `<line x1="60" x2="480" y1="${y}" y2="${y}" stroke="#dddddd"/>`,
    text("52.0", (Number(y) + 4).toFixed(1), "end", label),
  ]);
  expect(entropySvg(series, "A & B").split("\n")).toEqual([
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 360" width="700" height="360" font-family="sans-serif" font-size="12">',
    "<title>A &amp; B</title>",
    '<rect width="700" height="360" fill="#ffffff"/>',
    text("60.0", "22.0", "start", "A &amp; B"),
    ...grid,
    '<line x1="112.5" x2="112.5" y1="40" y2="310" stroke="#888888" stroke-dasharray="4 3"/>',
    text("60.0", "328.0", "start", "-1"),
    text("112.5", "328.0", "middle", "result"),
    text("480.0", "328.0", "end", "3 tokens"),
    text("60.0", "348.0", "start", "mean entropy of an action token, nats"),
    '<polyline points="165.0,175.0 270.0,175.0" fill="none" stroke="#444444" stroke-width="2"/>',
    '<rect x="500" y="40" width="12" height="12" fill="#444444"/>',
    text("518.0", "50.0", "start", "first action"),
    '<polyline points="60.0,175.0" fill="none" stroke="#c0392b" stroke-width="2"/>',
    '<polyline points="165.0,40.0 480.0,310.0" fill="none" stroke="#c0392b" stroke-width="2"/>',
    '<rect x="500" y="62" width="12" height="12" fill="#c0392b"/>',
    text("518.0", "72.0", "start", "around a tool result"),
    ...["</svg>", ""],
  ]);
});

test("a picture of no occasion has its frame alone, and users have a colour of their own", () => {
  const none = { start: [], tool: [], user: [] };
  expect(entropySvg(none, "T")).not.toMatch(/polyline|NaN|Infinity/);
  const users = entropySvg({ ...none, user: [point(0, 1)] }, "T");
  expect(users).toContain('stroke="#1b6ca8"');
  expect(users).toContain(">around a user's message</text>");
});

test("a message is an article with what it says, its reasoning and its calls", () => {
  const calls = [{ name: "find", arguments: { title: "<A>" } }];
  expect(article({ role: "assistant", content: "Yes & no", reasoning: "Hm.", toolCalls: calls }).split("\n")).toEqual([
    '<article class="assistant">',
    "<h2>assistant</h2>",
    '<pre class="reasoning">Hm.</pre>',
    "<pre>Yes &amp; no</pre>",
    "<p><code>find(title: &quot;&lt;A&gt;&quot;)</code></p>",
    "</article>",
  ]);
  expect(article({ role: "tool", name: "find", content: "" })).toBe('<article class="tool">\n<h2>tool find</h2>\n</article>');
  expect(article({ role: "user", content: "12345" }, 5)).toContain("<pre>12345</pre>");
  expect(article({ role: "user", content: "1234567" }, 5)).toContain("<pre>12345 … (2 more letters)</pre>");
  expect(escaped("http://me:secret@host/?key=abc&a=1")).toBe("http://[key]@host/?key=[key]&amp;a=1");
});

test("a page has its title, its parts, and the command that shows the same", () => {
  const page = htmlPage("A < B", ["<p>1</p>", "<p>2</p>"], "trajectory 'my run' \"x\"");
  expect(page.startsWith('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">')).toBe(true);
  expect(page).toContain(
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
  );
  expect(page).toContain("<title>A &lt; B</title>");
  expect(page).toContain("<main>\n<h1>A &lt; B</h1>\n<p>1</p>\n<p>2</p>\n</main>");
  expect(page).toContain("<code>npx retrograde-rl trajectory 'my run' &quot;x&quot;</code>");
  expect(page.endsWith("</body>\n</html>\n")).toBe(true);
});
