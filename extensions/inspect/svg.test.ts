import { expect, test } from "vitest";
import { legend, polyline, svg, text } from "./svg.ts";

test("a picture has its title, escaped, and its parts in order", () => {
  const picture = svg(10, 20, "J < J* & more", [
    text(1, 2, "a<b", "end"),
    "",
    polyline(
      [
        [0, 1.25],
        [2, 3],
      ],
      "#123456",
    ),
  ]);
  expect(picture).toMatch(/^<svg [^>]*viewBox="0 0 10 20"[^>]*>\n<title>J &lt; J\* &amp; more<\/title>\n/);
  expect(picture).toContain('<text x="1.0" y="2.0" text-anchor="end">a&lt;b</text>\n<polyline points="0.0,1.3 2.0,3.0"');
  expect(picture.endsWith("</svg>\n")).toBe(true);
  expect(legend(1, 2, "#ffffff", "name")).toContain('<text x="19.0" y="12.0" text-anchor="start">name</text>');
});
