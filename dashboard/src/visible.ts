import { options } from "preact";

/** Characters that steer or hide text: controls, directions, zero widths, halves of surrogate pairs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that are meant
const steering = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]|\p{Cs}/gu;

/** Spaces and lines stay; what would steer or hide text is shown as a sign. */
export function visible(text: string): string {
  return text.replace(steering, "\ufffd");
}

/** Texts of an element that a reader sees or hears. */
const attributes = ["title", "aria-label", "placeholder", "alt"];

/**
 * Lets every text of the page pass `visible`: names, errors and settings are written by models, tools and environments. Values of
 * inputs and addresses stay as they are.
 */
export function showSteeringCharacters(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    if (typeof vnode.type === "string") {
      const props = vnode.props as Record<string, unknown>;
      if ("children" in props) props.children = shown(props.children);
      for (const name of attributes) if (typeof props[name] === "string") props[name] = visible(props[name]);
    }
    before?.(vnode);
  };
}

function shown(children: unknown): unknown {
  if (typeof children === "string") return visible(children);
  return Array.isArray(children) ? children.map(shown) : children;
}
