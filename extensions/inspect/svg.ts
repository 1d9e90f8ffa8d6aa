/** A picture with a title that is shown at its top, and read out where it cannot be seen. @param parts SVG elements, "" for none */
export function svg(width: number, height: number, title: string, parts: readonly string[]): string {
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...parts.filter((part) => part !== ""),
    "</svg>",
  ].join("\n")}\n`;
}

export function text(x: number, y: number, content: string, anchor: "start" | "middle" | "end" = "start"): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}">${escaped(content)}</text>`;
}

/** A line through points [x, y]. */
export function polyline(points: readonly (readonly [number, number])[], colour: string): string {
  const path = points.map(([x, y]) => `${round(x)},${round(y)}`).join(" ");
  return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`;
}

export function legend(x: number, y: number, colour: string, name: string): string {
  return `<rect x="${x}" y="${y}" width="12" height="12" fill="${colour}"/>\n${text(x + 18, y + 10, name)}`;
}

/** Pixels, to a tenth. */
export function round(value: number): string {
  return value.toFixed(1);
}

function escaped(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
